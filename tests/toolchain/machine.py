"""A machine of one's own: this one's files, changed in memory only, with or without systemd."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BOOT = pathlib.Path(__file__).with_name("boot")
SYSTEMD = ["/lib/systemd/systemd", "--unit=multi-user.target", "--log-target=console", "--show-status=no"]
IDLE = ["/bin/sleep", "infinity"]
# One command in it; a service that drains takes longest.
COMMAND_MAX = 120


def until(condition, bound=60.0):
    deadline = time.monotonic() + bound
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError("what was waited for did not happen")
        time.sleep(0.01)
    return found


def cgroups():
    """Where the second version of control groups is mounted, alone or beside the first."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return pathlib.Path(place)
    raise SystemExit("machine: no cgroup2 is mounted, and systemd needs one")


class Machine:
    def __init__(self, init):
        if os.geteuid() != 0:
            raise SystemExit("machine: only root may boot a machine of its own (mounts, namespaces): run the test as root")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-machine-"))
        self.group = cgroups() / self.folder.name
        self.group.mkdir()
        self.started = []
        self.log = open(self.folder.with_suffix(".log"), "w+b")
        enter = 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"'
        self.process = subprocess.Popen(
            ["sh", "-c", enter, "sh", self.group, "unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--net", "--cgroup",
             "--kill-child", BOOT, self.folder, *init],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        try:
            self.first = until(self.find_first)
            if init is SYSTEMD:
                until(lambda: self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"))
        except BaseException:
            self.stop()
            raise

    def find_first(self):
        """The process that is number one in there, once it has its root."""
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"the machine did not boot: {self.log.read().decode()[-2000:]}")
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children or os.readlink(f"/proc/{children[0]}/root") == "/":
            return None
        return int(children[0])

    def run(self, *words, **how):
        return subprocess.run(["nsenter", "--target", str(self.first), "--all", "--root", "--wd", *map(str, words)],
                              capture_output=True, text=True, timeout=COMMAND_MAX, stdin=subprocess.DEVNULL, **how)

    def start(self, *words):
        self.started.append(subprocess.Popen(["nsenter", "--target", str(self.first), "--all", "--root", "--wd", *map(str, words)],
                                             stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log))
        return self.started[-1]

    def path(self, inside):
        """A path of the machine, as it is seen from here."""
        return pathlib.Path(f"/proc/{self.first}/root{inside}")

    def stop(self):
        """Its first process takes all others with it, and its mounts go with the last of them."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for one in self.started:
            one.wait()
        for _ in range(2):  # children before their parents
            for group in sorted(self.group.rglob("*/"), reverse=True):
                until(lambda group=group: remove(group))
        until(lambda: remove(self.group))
        self.log.close()
        os.unlink(self.log.name)
        shutil.rmtree(self.folder)


def remove(group):
    """Whether the group is gone: it can be removed once the last process in it has ended."""
    try:
        if group.is_dir():
            group.rmdir()
        return True
    except OSError:
        return False
