#!/usr/bin/env python3
"""The Debian packages do what an administrator expects, on a machine of their own with systemd at work.

They are made from the build, and installed, upgraded, removed and purged in a copy of this machine that
is in memory only (machine.py): as root, and nothing is left behind. Usage: package_test.py SOURCE BUILD
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from machine import IDLE, SYSTEMD, Machine, until

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BUILD = pathlib.Path(sys.argv[2]).resolve()
CONFFILE = "/etc/pawl/pawl.toml"
UNIT = "pawl-agent.service"
ENGINES = sorted(path.stem.removeprefix("pawl-") for path in (BUILD / "lib/pawl/engines").glob("pawl-*.so"))

work = tempfile.TemporaryDirectory(prefix="pawl-package-")
packages = {}


def call(*words, **how):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **how)
    if done.returncode != 0:
        raise AssertionError(f"{words[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def revised(package, revision, change=lambda tree: None):
    """The same package as a later one, with something changed in it."""
    tree = pathlib.Path(work.name) / f"tree-{revision}"
    call("dpkg-deb", "-R", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", lambda line: line.group(0).split("-")[0] + f"-{revision}", control.read_text()))
    change(tree)
    made = pathlib.Path(work.name) / f"changed-{revision}.deb"
    call("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, made)
    return made


def setUpModule():
    call("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", work.name, cwd=work.name)
    for made in pathlib.Path(work.name).glob("*.deb"):
        packages[made.name.split("_")[0]] = made


def tearDownModule():
    work.cleanup()


class Package(unittest.TestCase):
    def test_there_are_the_command_the_library_and_each_engine(self):
        version = re.search(r'view version = "(.+)"', (SOURCE / "include/pawl/version.hpp").read_text()).group(1)
        self.assertEqual(sorted(packages), ["libpawl-dev", "pawl", *(f"pawl-{name}" for name in ENGINES)])
        for name, made in packages.items():
            self.assertRegex(made.name, rf"^{name}_{re.escape(version)}-\d+_\w+\.deb$")
            self.assertLess(made.stat().st_size, 100 << 20)

    def test_lintian_has_nothing_to_say(self):
        """It reads every section of every object for a minute: of the library's, one stands for all."""
        def shorten(tree):
            sums = tree / "DEBIAN/md5sums"
            for library in (tree / "usr/lib").glob("libpawl*.a"):
                first = call("ar", "t", library).split()[0]
                call("ar", "x", library, first, cwd=work.name)
                library.unlink()
                call("ar", "rcs", library, pathlib.Path(work.name) / first)
                library.chmod(0o644)
                now = hashlib.md5(library.read_bytes()).hexdigest()
                sums.write_text(re.sub(rf"\w{{32}}(?=  usr/lib/{library.name})", now, sums.read_text()))
        shorter = revised(packages["libpawl-dev"], 1, shorten)
        for name, made in {**packages, "libpawl-dev": shorter}.items():
            said = call("lintian", "--allow-root", "--fail-on", "error,warning", made)
            self.assertEqual(said, "", name)

    def test_what_the_command_links_is_what_it_depends_on(self):
        depends = call("dpkg-deb", "-f", packages["pawl"], "Depends")
        for program in ("bin/pawl", "lib/pawl/pawl"):
            for line in call("ldd", BUILD / program).splitlines():
                for library, package in (("libssl.so", "libssl3"), ("libsqlite3.so", "libsqlite3-0"), ("libnettle.so", "libnettle8")):
                    if library in line:
                        self.assertIn(package, depends)
        self.assertIn("tzdata", depends)
        for engine, library in (("redis", "libhiredis0.14"), ("postgresql", "libpq5"), ("mysql", "libmariadb3"),
                                ("etcd", "libgrpc++1.51"), ("zookeeper", "libzookeeper-st2"), ("kubernetes", "libyaml-cpp0.7")):
            needed = call("dpkg-deb", "-f", packages[f"pawl-{engine}"], "Depends")
            self.assertIn(library, needed)
            self.assertIn(f"pawl (= {call('dpkg-deb', '-f', packages['pawl'], 'Version').strip()})", needed)
            self.assertNotIn(library, depends)

    def test_an_upgrade_takes_the_engines_along(self):
        """An engine of another version is a configuration that is rejected, after which systemd starts no agent again."""
        version = call("dpkg-deb", "-f", packages["pawl"], "Version").strip()
        breaks = call("dpkg-deb", "-f", packages["pawl"], "Breaks").strip().split(", ")
        self.assertEqual(sorted(breaks), sorted(f"pawl-{name} ({than} {version})" for name in ENGINES for than in ("<<", ">>")))

    def test_the_scripts_are_clean(self):
        call("shellcheck", "--shell=sh", *(SOURCE / "deploy/debian" / name for name in ("postinst", "prerm", "postrm", "engine/postinst")))

    def test_the_configuration_shows_every_key_and_none_that_is_wrong(self):
        text = (SOURCE / "deploy/debian/pawl.toml").read_text()
        page = (SOURCE / "docs/configuration.md").read_text()
        shown = set(re.findall(r"(?:^#?|[{,] )(\w+) = ", text, re.MULTILINE))
        keys = {key.split(".")[-1] for key in re.findall(r"^\| `([\w.]+)` \| [a-z]", page, re.MULTILINE)}
        self.assertGreater(len(keys), 50)
        self.assertEqual(keys - shown, set())
        # With every key taken out of its comment: nothing but that the examples' files are not there.
        folder = pathlib.Path(work.name)
        open_text = re.sub(r"(?m)^#(?=[\[a-z])", "", text)
        self.assertGreater(open_text.count("\n["), text.count("\n["))
        for named in re.findall(r'"(/etc/pawl/[^"]+)"|password_file=([^"]+)"', open_text):
            path = next(filter(None, named))
            (folder / pathlib.Path(path).name).write_text("NAME=value\n")
            open_text = open_text.replace(path, str(folder / pathlib.Path(path).name))
        call("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a", "-days", "1",
             "-keyout", folder / "tls.key", "-out", folder / "tls.crt")
        (folder / "all.toml").write_text(open_text)
        self.assertIn("ok, 1 job\n", call(BUILD / "bin/pawl", "agent", "--config", folder / "all.toml", "--check"))


class OnMachine(unittest.TestCase):
    INIT = SYSTEMD

    def setUp(self):
        self.machine = Machine(self.INIT)
        self.addCleanup(self.machine.stop)
        # The index of all manual pages, which dpkg's trigger would make anew each time.
        self.machine.path("/var/lib/man-db/auto-update").unlink(missing_ok=True)
        for made in packages.values():
            shutil.copy(made, self.machine.path(f"/opt/{made.name}"))

    def run_in(self, *words, status=0):
        done = self.machine.run(*words)
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout.strip()

    def dpkg(self, *words):
        return self.run_in("env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "dpkg", *words)

    def install(self, made, *options):
        return self.dpkg("--install", *options, f"/opt/{made.name}")

    def state(self, name="ActiveState"):
        return self.run_in("systemctl", "show", "--property", name, "--value", UNIT)

    def exists(self, path):
        return self.machine.run("test", "-e", path).returncode == 0

    def assert_installed(self):
        self.assertIn("pawl ", self.run_in("pawl", "--version"))
        self.assertIn("ok, 0 jobs", self.run_in("pawl", "agent", "--config", CONFFILE, "--check"))
        self.assertRegex(self.run_in("getent", "passwd", "pawl"), r"^pawl:x:\d+:\d+:pawl jobs:/var/lib/pawl/jobs:/usr/sbin/nologin$")
        for folder, kept in (("/etc/pawl", "750 root root"), ("/etc/pawl/exec", "750 root root"), ("/var/lib/pawl", "711 root root"),
                             ("/var/lib/pawl/jobs", "750 pawl pawl")):
            self.assertEqual(self.run_in("stat", "--format=%a %U %G", folder), kept, folder)
        self.assertEqual(self.run_in("stat", "--format=%a", CONFFILE), "640")
        self.run_in("systemd-analyze", "verify", "--recursive-errors=yes", "--man=no", UNIT, "pawl-agent.socket", "pawl@x.service",
                    "pawl@x.timer")
        for path in ("/usr/share/man/man1/pawl.1.gz", "/usr/share/bash-completion/completions/pawl", "/usr/share/doc/pawl/runbook.md",
                     "/usr/share/zsh/vendor-completions/_pawl", "/usr/share/doc/pawl/changelog.Debian.gz",
                     "/usr/share/doc/pawl/examples/prometheus/pawl.rules.yml", "/usr/share/doc/pawl/examples/grafana/pawl.json"):
            self.assertTrue(self.exists(path), path)
        self.assertEqual(self.run_in("dpkg", "--verify", "pawl"), "")


class WithoutSystemd(OnMachine):
    """In a container, say: nothing starts, and nothing fails."""

    INIT = IDLE

    def test_installs_is_removed_and_purged(self):
        self.assertNotIn("pawl:", self.run_in("getent", "passwd"))
        self.install(packages["pawl"])
        self.assert_installed()
        # An engine is there with its package and gone with it.
        nowhere = ("pawl", "locks", "ls", "--store", "redis://127.0.0.1:1")
        self.assertIn("install the package pawl-redis", self.machine.run(*nowhere).stderr)
        self.install(packages["pawl-redis"])
        self.assertIn("Connection refused", self.machine.run(*nowhere).stderr)
        self.dpkg("--remove", "pawl-redis")
        self.assertIn("install the package pawl-redis", self.machine.run(*nowhere).stderr)
        self.dpkg("--remove", "pawl")
        self.assertTrue(self.exists(CONFFILE))
        self.dpkg("--purge", "pawl")
        for path in ("/etc/pawl", "/var/lib/pawl", "/usr/bin/pawl", "/usr/share/doc/pawl"):
            self.assertFalse(self.exists(path), path)

    def test_a_program_finds_the_library(self):
        self.install(packages["libpawl-dev"])
        # From here: the machine has a /tmp of its own, and the sources may lie in this one's.
        shutil.copy(SOURCE / "tests/consumer/consumer.cpp", self.machine.path("/opt/consumer.cpp"))
        self.assertIn("-lpawl", self.run_in("pkg-config", "--libs", "pawl"))
        self.run_in("sh", "-c", "g++ -std=c++20 -fsyntax-only $(pkg-config --cflags pawl) /opt/consumer.cpp")
        folder = pathlib.Path("/usr/lib/cmake/pawl")
        self.assertTrue(self.exists(folder / "pawlTargets.cmake"))
        self.dpkg("--purge", "libpawl-dev")
        self.assertFalse(self.exists(folder))


class WithSystemd(OnMachine):
    JOB = """
[[job]]
name = "every-second"
schedule = "@every 1s"
command = ["/bin/true"]
occurrence = "at-least-once"
[[job]]
name = "long"
command = ["/bin/sh", "-c", "until test -e /var/lib/pawl/let-go; do sleep 0.05; done"]
"""

    def configure(self, path=CONFFILE, name="packaged"):
        """As an administrator edits it."""
        text = self.machine.path(CONFFILE).read_text().split("[[job]]\nname = \"every", 1)[0].rstrip()
        text = text.replace("\n[agent]\n", f'\n[agent]\nname = "{name}"\n', 1) if "\nname =" not in text else text
        fresh = self.machine.path(path + ".new")
        fresh.write_text(text + "\n" + self.JOB)
        self.run_in("mv", path + ".new", path)

    def runs(self, job):
        return json.loads(self.run_in("pawl", "runs", "ls", "--job", job, "--limit", "10000", "--json"))["runs"][::-1]

    def begun(self, made):
        self.install(made)
        until(lambda: self.state() == "active")

    def test_the_agent_starts_and_takes_the_administrators_jobs(self):
        self.begun(packages["pawl"])
        self.assert_installed()
        self.assertEqual(self.run_in("systemctl", "is-enabled", UNIT), "enabled")
        self.configure()
        until(lambda: any(one["status"] == "completed" for one in self.runs("every-second")))
        self.assertEqual(self.state("NRestarts"), "0")

    def test_an_upgrade_keeps_edits_finishes_runs_and_leaves_no_occurrence_out(self):
        def change(tree):
            edited = tree / "etc/pawl/pawl.toml"
            edited.write_text(edited.read_text() + "# A new line of the maintainers.\n")
        later = revised(packages["pawl"], 2, change)
        shutil.copy(later, self.machine.path(f"/opt/{later.name}"))
        self.begun(packages["pawl"])
        self.configure()
        # Another host with the same jobs, but for the long one, which is to be this agent's.
        self.run_in("cp", CONFFILE, "/opt/other.toml")
        self.run_in("sed", "-i", 's/name = "packaged"/name = "other"\\nlisten = "127.0.0.1:0"/', "/opt/other.toml")
        self.run_in("sed", "-i", 's/name = "long"/name = "elsewhere"/', "/opt/other.toml")
        self.run_in("mkdir", "/opt/bin", "/opt/lib")
        self.run_in("cp", "/usr/bin/pawl", "/opt/bin")
        self.run_in("cp", "-r", "/usr/lib/pawl", "/opt/lib")
        self.machine.start("/opt/bin/pawl", "agent", "--config", "/opt/other.toml")
        until(lambda: [one["state"] for one in json.loads(self.run_in("pawl", "nodes", "ls", "--json"))["nodes"]].count("live") >= 2)
        until(lambda: len(self.runs("every-second")) >= 2)
        (waiting,) = json.loads(self.run_in("pawl", "jobs", "run", "long", "--json"))["ids"]
        until(lambda: any(one["id"] == waiting and one["status"] == "started" for one in self.runs("long")))
        agent = self.state("MainPID")
        before = len(self.runs("every-second"))
        upgrade = self.machine.start("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--install", "--force-confold", f"/opt/{later.name}")
        until(lambda: self.state() in ("deactivating", "reloading") or self.state("MainPID") != agent or upgrade.poll() is not None)
        self.run_in("touch", "/var/lib/pawl/let-go")
        self.assertEqual(upgrade.wait(120), 0)
        self.assertEqual(self.state(), "active")
        self.assertNotEqual(self.state("MainPID"), agent)
        self.assertIn("-2", self.run_in("dpkg-query", "-W", "-f", "${Version}", "pawl"))
        (ended,) = [one for one in self.runs("long") if one["id"] == waiting]
        self.assertEqual(ended["status"], "completed", ended)
        self.assertIn("every-second", self.machine.path(CONFFILE).read_text())
        self.assertIn("A new line", self.machine.path(CONFFILE + ".dpkg-dist").read_text())
        until(lambda: len(self.runs("every-second")) >= before + 3)
        # From the last occurrence before the upgrade on.
        times = sorted(one["occurrence"] for one in self.runs("every-second"))[before - 1:]
        seconds = [int(stamp[14:16]) * 60 + int(stamp[17:19]) for stamp in times]
        steps = {(late - early) % 3600 for early, late in zip(seconds, seconds[1:])}
        self.assertEqual(steps, {1}, times)

    def test_an_upgrade_neither_starts_nor_enables_what_was_disabled(self):
        later = revised(packages["pawl"], 3)
        shutil.copy(later, self.machine.path(f"/opt/{later.name}"))
        self.begun(packages["pawl"])
        self.run_in("systemctl", "disable", "--now", UNIT)
        self.install(later)
        self.assertEqual(self.state(), "inactive")
        self.run_in("systemctl", "is-enabled", UNIT, status=1)

    def test_an_engine_that_comes_after_its_configuration_starts_the_agent(self):
        self.begun(packages["pawl"])
        self.run_in("sed", "-i", "s|^#store = .*|store = \"redis://127.0.0.1:1\"|", CONFFILE)
        self.machine.run("systemctl", "restart", UNIT)
        until(lambda: self.state() == "failed")
        self.assertEqual(self.state("ExecMainStatus"), "78")
        self.install(packages["pawl-redis"])
        until(lambda: self.state() in ("active", "activating"))
        self.assertNotEqual(self.state("ExecMainStatus"), "78")
        # A disabled one stays as it is.
        self.dpkg("--remove", "pawl-redis")
        self.machine.run("systemctl", "restart", UNIT)
        until(lambda: self.state() == "failed")
        self.run_in("systemctl", "disable", UNIT)
        self.install(packages["pawl-redis"])
        self.assertEqual(self.state(), "failed")

    def test_a_removal_stops_it_and_keeps_what_is_the_administrators(self):
        self.begun(packages["pawl"])
        self.configure()
        until(lambda: self.runs("every-second"))
        self.dpkg("--remove", "pawl")
        self.assertEqual(self.machine.run("pgrep", "-x", "pawl").returncode, 1)
        self.assertIn("every-second", self.machine.path(CONFFILE).read_text())
        self.assertTrue(self.exists("/var/lib/pawl/pawl.db"))
        self.begun(packages["pawl"])
        self.assertTrue(self.runs("every-second"))
        self.run_in("systemctl", "enable", "pawl-agent.socket")
        self.dpkg("--purge", "pawl")
        for path in ("/etc/pawl", "/var/lib/pawl"):
            self.assertFalse(self.exists(path), path)
        self.assertEqual(self.run_in("find", "/etc/systemd", "/lib/systemd/system", "/var/lib/systemd", "-name", "*pawl*"), "")
        # Files of jobs may belong to the user, whose number must not pass on to another.
        self.assertIn("pawl:x:", self.run_in("getent", "passwd", "pawl"))

    def test_a_configuration_that_is_wrong_is_no_reason_for_dpkg_to_fail(self):
        later = revised(packages["pawl"], 4)
        shutil.copy(later, self.machine.path(f"/opt/{later.name}"))
        self.begun(packages["pawl"])
        self.run_in("sh", "-c", f"echo 'stroe = 1' >>{CONFFILE}")
        self.install(later, "--force-confold")
        until(lambda: self.state() == "failed")
        self.assertEqual(self.state("ExecMainStatus"), "78")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
