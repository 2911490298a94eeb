"""What the tests of the command line share: the binary, folders, and real servers."""
import json
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

PAWL = os.environ["PAWL_BINARY"]


class Outcome:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out)


def environment(**variables):
    """Ours, without what would change what pawl does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PAWL_", "XDG_"))}
    kept.update(variables)
    return kept


def pawl(*words, env=None, stdin="", timeout=60):
    return Outcome(subprocess.run([PAWL, *words], env=env or environment(), input=stdin, timeout=timeout,
                                  capture_output=True, text=True))


def start(*words, env=None):
    """Runs pawl in the background; its stdout can be read line by line."""
    return subprocess.Popen([PAWL, *words], env=env or environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def until(condition, bound=30.0):
    """Looks again and again until the condition holds; fails when it does not in time."""
    deadline = time.monotonic() + bound
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError("what was waited for did not happen")
        time.sleep(0.005)
    return found


def free_port():
    """Below the range of outgoing connections, which would take it while its server is down."""
    while True:
        port = random.randrange(10_000, 22_000)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue


def nobody(name):
    """How to become an unprivileged user, when we are root: servers never run as root."""
    if os.geteuid() != 0:
        return {}
    who = pwd.getpwnam(name)
    return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}


class Redis:
    """A real server on loopback, in a folder of its own."""

    def __init__(self, *options):
        self.folder = tempfile.mkdtemp(prefix="pawl-redis-")
        self.port = free_port()
        identity = nobody("redis")
        if identity:
            shutil.chown(self.folder, identity["user"], identity["group"])
        self.command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
                        "--save", "", "--appendonly", "no", *options]
        self.identity = identity
        self.begin()

    def begin(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.identity)
        until(self.answers)

    def restart(self):
        self.process.terminate()
        self.process.wait()
        self.begin()

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
                link.sendall(b"PING\r\n")
                return link.recv(64) != b""
        except OSError:
            return False

    def ask(self, *words):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, timeout=10)
        return done.stdout.strip()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Postgres:
    """A real server on loopback, in a folder of its own."""

    PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-postgresql-")
        self.port = free_port()
        self.identity = nobody("postgres")
        if self.identity:
            shutil.chown(self.folder, self.identity["user"], self.identity["group"])
        self.run("initdb", "--pgdata", f"{self.folder}/data", "--username", "pawl", "--auth", "trust", "--no-sync",
                 "--encoding", "UTF8", "--locale", "C")
        self.begin()

    def run(self, program, *words):
        subprocess.run([self.PROGRAMS / program, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       cwd=self.folder, **self.identity)

    def begin(self):
        self.process = subprocess.Popen([self.PROGRAMS / "postgres", "-D", f"{self.folder}/data", "-p", str(self.port),
                                         "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}"],
                                        cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.identity)
        until(self.answers)

    def answers(self):
        done = subprocess.run([self.PROGRAMS / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False)
        return done.returncode == 0

    def restart(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.begin()

    @property
    def url(self):
        return f"postgresql://pawl@127.0.0.1:{self.port}/postgres"

    def stop(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Case(unittest.TestCase):
    """A test with a folder and a store of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = f"sqlite:{self.folder}/pawl.db"

    def pawl(self, *words, **how):
        return pawl("--store", self.store, *words, **how)

    def start(self, *words):
        process = start("--store", self.store, *words)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def hold(self, key, *options):
        """Somebody else who holds the key, until the test ends."""
        process = self.start("exec", key, *options, "--", "sh", "-c", "echo held; exec sleep 60")
        self.assertEqual(process.stdout.readline(), "held\n")
        return process

    def assert_one_line(self, outcome, status, says):
        self.assertEqual(outcome.status, status, outcome.err)
        self.assertEqual(outcome.err.count("\n"), 1, outcome.err)
        self.assertIn(says, outcome.err)
