#!/usr/bin/env python3
"""The units of deploy/systemd are ones that systemd takes, and what they say fits the command.

Copies are checked whose ExecStart is the built command; systemd itself does not run.
Usage: systemd_test.py SOURCE PAWL
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
PAWL = sys.argv[2]
UNITS = SOURCE / "deploy/systemd"
# Of 100, as `systemd-analyze security` counts; less is safer. The agent is root, and runs what it is told to.
EXPOSURE_MAX = 40


def seconds(text):
    """A time span as the units write it."""
    units = {"s": 1, "min": 60, "h": 3600}
    return sum(int(count) * units[unit] for count, unit in re.findall(r"(\d+)(s|min|h)", text))


def settings(unit):
    """NAME to VALUE of a unit, the last of each."""
    lines = (UNITS / unit).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


class Units(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pawl-units-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for unit in (file for file in UNITS.iterdir() if file.is_file()):
            text = unit.read_text().replace("/usr/bin/pawl", PAWL)
            (self.folder / unit.name.replace("@.", "@instance.")).write_text(text)
            (self.folder / unit.name).write_text(text)

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments], cwd=self.folder, capture_output=True, text=True)

    def verify(self, unit):
        return self.analyze("verify", "--recursive-errors=yes", "--man=no", unit)

    def test_systemd_takes_every_unit(self):
        units = sorted(unit.name for unit in self.folder.glob("*.*") if "@." not in unit.name)
        self.assertEqual(units, ["pawl-agent.service", "pawl-agent.socket", "pawl@instance.service", "pawl@instance.timer"])
        for unit in units:
            with self.subTest(unit):
                done = self.verify(unit)
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_a_misspelt_setting_would_be_noticed(self):
        unit = self.folder / "pawl-agent.service"
        unit.write_text(unit.read_text().replace("WatchdogSec=", "WatchdogSecs="))
        self.assertIn("WatchdogSecs", self.verify(unit.name).stderr)

    def test_a_command_that_is_not_there_would_be_noticed(self):
        unit = self.folder / "pawl-agent.service"
        unit.write_text(unit.read_text().replace(PAWL, "/nonexistent/pawl"))
        self.assertNotEqual(self.verify(unit.name).returncode, 0)

    def test_users_of_jobs_get_to_the_sockets_of_their_runs(self):
        self.assertTrue(int(settings("pawl-agent.service")["RuntimeDirectoryMode"], 8) & 0o001)

    def test_the_agent_is_confined(self):
        done = self.analyze("security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", "pawl-agent.service")
        self.assertEqual(done.returncode, 0, done.stdout[-300:])
        loose = self.folder / "loose.service"
        loose.write_text(f"[Service]\nExecStart={PAWL}\n")
        self.assertNotEqual(
            self.analyze("security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", loose.name).returncode, 0)

    def test_the_options_exist(self):
        for unit in ("pawl-agent.service", "pawl@.service"):
            line = settings(unit)["ExecStart"].split(" -- ")[0].split()
            done = subprocess.run([PAWL, line[1], "--help"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{unit}: pawl {line[1]} {done.stderr}")
            self.assertIn(f"pawl {line[1]} ", done.stdout)
            for option in (word for word in line if word.startswith("--")):
                self.assertRegex(done.stdout, rf"{option}\b", unit)

    def test_a_host_that_was_off_repeats_nothing(self):
        """Another host has run it, and without an occurrence the store cannot say so."""
        if "--occurrence" not in settings("pawl@.service")["ExecStart"]:
            self.assertEqual(settings("pawl@.timer")["Persistent"], "no")

    def test_runs_may_finish_before_the_stop_timeout_of_systemd(self):
        page = (SOURCE / "docs/configuration.md").read_text()
        defaults = dict(re.findall(r"^\| `(\w+)` \| duration \| `\"(\w+)\"`", page, re.MULTILINE))
        needed = seconds(defaults["shutdown_grace"]) + seconds(defaults["grace"])
        self.assertGreater(needed, 0)
        self.assertGreater(seconds(settings("pawl-agent.service")["TimeoutStopSec"]), needed)

    def test_the_socket_is_where_the_agent_listens_by_default(self):
        page = (SOURCE / "docs/configuration.md").read_text()
        listen = re.search(r"^\| `listen` \| text \| `\"([^\"]+)\"`", page, re.MULTILINE).group(1)
        self.assertEqual(settings("pawl-agent.socket")["ListenStream"], listen)

    def test_the_user_and_the_folders_are_made(self):
        root = self.folder / "root"
        (root / "etc").mkdir(parents=True)
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (root / "etc/group").write_text("root:x:0:\n")
        for tool, options, file in (("systemd-sysusers", [], "sysusers.d/pawl.conf"),
                                    ("systemd-tmpfiles", ["--create"], "tmpfiles.d/pawl.conf")):
            done = subprocess.run([tool, *options, f"--root={root}", str(UNITS / file)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        home = re.search(r"(?m)^pawl:x:(\d+):(\d+):pawl jobs:/(\S+):/usr/sbin/nologin$", (root / "etc/passwd").read_text())
        user, group, home = int(home.group(1)), int(home.group(2)), home.group(3)
        for folder in ("etc/pawl", "etc/pawl/exec"):
            self.assertEqual((root / folder).stat().st_mode & 0o7777, 0o750, folder)
        # The user gets to its home, and to no list of what is beside it.
        self.assertEqual((root / home).parent, root / "var/lib/pawl")
        self.assertEqual((root / "var/lib/pawl").stat().st_mode & 0o7777, 0o711)
        self.assertEqual(int(settings("pawl-agent.service")["StateDirectoryMode"], 8), 0o711)
        if os.geteuid() == 0:
            self.assertEqual([(root / home).stat().st_uid, (root / home).stat().st_gid], [user, group])
        # Handed over to the user, as docs/systemd.md says, they stay so at the next boot.
        handed_over = ("etc/pawl", "etc/pawl/exec", "var/lib/pawl") if os.geteuid() == 0 else ()
        for folder in handed_over:
            os.chown(root / folder, user, group)
        done = subprocess.run(["systemd-tmpfiles", "--create", f"--root={root}", str(UNITS / "tmpfiles.d/pawl.conf")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for folder in handed_over:
            self.assertEqual(((root / folder).stat().st_uid, (root / folder).stat().st_gid), (user, group), folder)

    def test_the_example_works_in_a_folder_that_its_user_may_enter(self):
        example = (SOURCE / "deploy/debian/pawl.toml").read_text()
        folder = re.search(r'^#working_directory = "(.+)"$', example, re.MULTILINE).group(1)
        self.assertRegex((UNITS / "sysusers.d/pawl.conf").read_text(), rf'(?m)^u pawl - "[^"]*" {folder} ')

    def test_the_units_leave_the_guards_their_means(self):
        """Real time, memory that stays, and exemption from the OOM killer: docs/exec.md."""
        for unit in ("pawl-agent.service", "pawl@.service"):
            self.assertNotEqual(settings(unit).get("RestrictRealtime"), "yes", unit)
        powers = settings("pawl-agent.service")["CapabilityBoundingSet"].split()
        self.assertLessEqual({"CAP_SYS_NICE", "CAP_IPC_LOCK", "CAP_SYS_RESOURCE"}, set(powers))

    def test_an_instance_holds_the_key_that_its_name_says(self):
        """`%I` would turn each "-" of the name into "/", and hold the key of an agent's job."""
        page = (SOURCE / "docs/systemd.md").read_text()
        key = settings("pawl@.service")["ExecStart"].split()[2]
        self.assertEqual(key, "timer/%i")
        self.assertIn(f"`{key.replace('%i', 'NAME')}`", page)


# What a job tells of itself: its user, its limits, and whether it sees what is the agent's alone.
WITNESS = """
import json, os, resource, socket, sys
told = {"user": os.getuid(), "nice": os.nice(0), "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "private": [name for name in os.environ if name.startswith(("NOTIFY_", "WATCHDOG_", "LISTEN_"))],
        "guard locked": "VmLck:\t       0 kB" not in open(f"/proc/{os.getppid()}/status").read()}
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(json.dumps(told).encode(), "\\0" + sys.argv[1])
"""


class Agent(unittest.TestCase):
    """With the rights that the unit leaves it, and a manager that listens."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pawl-units-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.names = {}
        for name in ("manager", "witness"):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(listener.close)
            listener.settimeout(60)
            self.names[name] = f"pawl-{name}-{os.getpid()}-{id(self)}"
            listener.bind("\0" + self.names[name])
            setattr(self, name, listener)

    def configure(self, schedule):
        python = shutil.which("python3", path="/usr/bin:/bin")
        command = [python, "-c", WITNESS, self.names["witness"]]
        new = self.folder / "new"
        new.write_text(f"""
store = "sqlite:{self.folder}/pawl.db"
[agent]
name = "node"
listen = "127.0.0.1:0"
shutdown_grace = "1s"
[[job]]
name = "witness"
schedule = "{schedule}"
command = {json.dumps(command)}
user = "nobody"
nice = -3
limits = {{ open_files = 99 }}
grace = "2m"
""")
        new.rename(self.folder / "pawl.toml")

    def start(self):
        powers = settings("pawl-agent.service")["CapabilityBoundingSet"].lower().replace("cap_", "").split()
        bound = ",".join(["-all", *(f"+{power}" for power in powers)])
        agent = subprocess.Popen(
            ["setpriv", f"--bounding-set={bound}", "--no-new-privs", PAWL, "agent", "--config", self.folder / "pawl.toml"],
            env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": "@" + self.names["manager"], "WATCHDOG_USEC": "400000"},
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.communicate)
        self.addCleanup(agent.kill)
        return agent

    def hear(self, wanted):
        """Listens until a notice begins with what is wanted."""
        while not (said := self.manager.recv(4096).decode()).startswith(wanted):
            pass
        return said

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes other users")
    def test_runs_commands_as_other_users_and_tells_how_it_is(self):
        self.configure("@every 1s")
        agent = self.start()
        self.hear("READY=1")
        told = json.loads(self.witness.recv(4096))
        self.assertEqual(told, {"user": 65534, "nice": -3, "files": 99, "private": [], "guard locked": True})
        for _ in range(3):
            self.hear("WATCHDOG=1")
        agent.send_signal(signal.SIGHUP)
        self.assertRegex(self.hear("RELOADING=1"), r"MONOTONIC_USEC=\d+$")
        self.hear("READY=1")
        self.configure("@every 2s")  # seen without being told
        self.hear("RELOADING=1")
        self.hear("READY=1")
        agent.send_signal(signal.SIGTERM)
        self.hear("STOPPING=1")
        # As long as runs may take, and the longest grace behind it.
        asked = int(self.hear("EXTEND_TIMEOUT_USEC=").split("=")[1]) / 1_000_000
        self.assertGreaterEqual(asked, 1 + 120)
        self.assertEqual(agent.wait(30), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
