"""Agents with jobs of a test's own, and what the journal says of them."""
import json
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.request

from harness import PAWL, Case, environment, pawl, until

RUN_FIELDS = {"id", "job", "partition", "owner", "node", "fence_token", "occurrence", "trigger", "status", "reason", "started_at",
              "completed_at", "last_heartbeat", "exit_status", "attempt", "checkpoint", "key", "output_size", "cancel_requested"}
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
OVER = {"completed", "failed", "cancelled", "lost", "timed_out", "skipped"}


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def job(name, script, **keys):
    """Its command is a shell script; what `jobs run` adds is in "$@"."""
    keys = {"name": name, "command": ["/bin/sh", "-c", script, "sh"], **keys}
    return "\n".join(["[[job]]", *(f"{key} = {toml(value)}" for key, value in keys.items())]) + "\n"


class Agent:
    """A process of `pawl agent`, its file and its log."""

    def __init__(self, folder, name, store, jobs, journal="", **keys):
        self.name, self.store, self.journal, self.keys = name, store, journal, {"name": name, "listen": "127.0.0.1:0", **keys}
        self.folder = pathlib.Path(folder)
        self.file, self.log_file = pathlib.Path(folder) / f"{name}.toml", pathlib.Path(folder) / f"{name}.log"
        self.process = None
        self.write(*jobs)

    def write(self, *jobs):
        lines = [f"store = {toml(self.store)}", *([f"journal = {toml(self.journal)}"] if self.journal else []), "[agent]",
                 *(f"{key} = {toml(value)}" for key, value in self.keys.items()), *jobs]
        self.replace("\n".join(lines) + "\n")

    def replace(self, text):
        """By rename, as editors do: the agent never sees half a file."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self.file)

    def start(self, socket=None, binary=PAWL, inside=(), stdin=subprocess.DEVNULL):
        """Again and again into the same log. It inherits the socket as systemd hands one over. `inside` comes before its words: a
        program that becomes it."""
        begins = self.log().count("node ready")
        words, kept = [*inside, str(binary), "agent", "--config", str(self.file)], []
        if socket is not None:
            kept = [socket.fileno()]
            words = ["sh", "-c", f'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=api exec "$@" 3<&{kept[0]}', "sh", *words]
        with open(self.log_file, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(words, env=environment(PAWL_BINARY=PAWL, RUNTIME_DIRECTORY=str(self.folder)), stdin=stdin, stdout=log, stderr=log,
                                            pass_fds=kept)
        until(lambda: self.log().count("node ready") > begins or self.process.poll() is not None, 60)
        if self.process.poll() is not None:
            raise AssertionError(f"agent {self.name} did not start: {self.log()}")
        return self

    def start_unread(self):
        """Whatever read its log goes as soon as the agent is ready."""
        self.process = subprocess.Popen([PAWL, "agent", "--config", str(self.file)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env=environment(PAWL_BINARY=PAWL, RUNTIME_DIRECTORY=str(self.folder)))
        with self.process.stderr as log:
            if not any("node ready" in line for line in log):
                raise AssertionError(f"agent {self.name} did not start")
        return self

    def login_link(self):
        """As a user of this machine gets one; nothing while there is none."""
        made = pawl("agent", "login-link", "--file", str(self.folder / f"login-{self.name}"))
        return made.out.strip() if made.status == 0 else None

    def log(self):
        return self.log_file.read_text() if self.log_file.exists() else ""

    def get(self, path):
        """Of its API, without a log-in: status and text."""
        port = re.findall(r"http://127\.0\.0\.1:(\d+)", self.log())[-1]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as rejected:
            with rejected:
                return rejected.code, rejected.read().decode()

    def says(self, text, times=1):
        until(lambda: self.log().count(text) >= times)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """In order: it has to end by itself, with status 0."""
        self.signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        if status != 0:
            raise AssertionError(f"agent {self.name} ended with {status}: {self.log()}")

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        if self.process is not None:
            self.process.wait()


class AgentCase(Case):
    """A test with agents on its store."""

    def agent(self, name, *jobs, **keys):
        one = Agent(self.folder, name, self.store, jobs, **keys)
        self.addCleanup(one.kill)
        return one

    def runs(self, name, *words):
        """The oldest first."""
        listed = self.pawl("runs", "ls", "--job", name, "--limit", "10000", "--json", *words)
        self.assertEqual(listed.status, 0, listed.err)
        return listed.json()["runs"][::-1]

    def run_now(self, name, *words):
        """Asks for a run and leaves it to itself."""
        asked = self.pawl("jobs", "run", name, "--json", *words)
        self.assertEqual(asked.status, 0, asked.err)
        (run,) = asked.json()["ids"]
        return run

    def shown(self, run, *words):
        found = self.pawl("runs", "show", run, "--json", *words)
        return found.json() if found.status == 0 else None

    def ended(self, run, bound=60.0, *words):
        """How a run ended, once it has."""
        return until(lambda: (row := self.shown(run, *words)) and row["status"] in OVER and row, bound)

    def nodes(self):
        return {one["name"]: one for one in self.pawl("nodes", "ls", "--json").json()["nodes"]}

    def file(self, name):
        return self.folder / name

    def lines(self, name):
        path = self.file(name)
        return path.read_text().splitlines() if path.exists() else []

    def assert_none_is_held(self):
        locks = pawl("--store", self.store, "locks", "ls", "--prefix", "job/", "--json").json()["locks"]
        self.assertTrue(locks)
        self.assertEqual([one["key"] for one in locks if one["held"] or one["remaining_ms"] > 0], [])

    def assert_is_run(self, row):
        self.assertEqual(set(row), RUN_FIELDS)
        self.assertTrue(0 <= row["fence_token"] < 2**53)
        for name in ("started_at", "completed_at", "last_heartbeat", "occurrence"):
            if row[name] is not None:
                self.assertTrue(re.match(TIME, row[name]), row)
