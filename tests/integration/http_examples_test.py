"""The programs of examples/http against a real agent."""
import http.client
import json
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import time

from access_test import user
from agents import AgentCase
from api_leases_test import port_in
from harness import Case, environment, pawl, state_of, until

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "http"


class HttpExamples(AgentCase):
    def setUp(self):
        super().setUp()
        self.token, block = user("programs", "client")
        self.node = self.agent("a", block)
        self.node.start()
        self.port = until(lambda: port_in(self.node.log()))
        self.database = self.stores / "counter.db"

    def begin(self, *command, **variables):
        told = environment(PAWL_URL=f"http://127.0.0.1:{self.port}", PAWL_TOKEN=self.token, TMPDIR=str(self.folder), **variables)
        one = subprocess.Popen(command, env=told, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, one)
        return one

    def python(self, **variables):
        return self.begin(sys.executable, "-B", str(EXAMPLES / "lease.py"), "counter", str(self.database), **variables)

    def shell(self, script, **variables):
        return self.begin(str(EXAMPLES / "lease.sh"), "job", "sh", "-c", script, **variables)

    def held(self, key):
        shown = pawl("--store", self.store, "locks", "show", key, "--json")
        return shown.json() if shown.status == 0 and shown.json()["held"] else None

    def value(self):
        with sqlite3.connect(self.database) as where:
            return where.execute("select value from counter").fetchone()[0]

    def test_eight_processes_add_one_each(self):
        all_of_them = [self.python() for _ in range(8)]
        for one in all_of_them:
            self.assertEqual(one.wait(timeout=120), 0, one.communicate())
        self.assertEqual(self.value(), 8)
        self.assertIsNone(self.held("counter"))

    def test_a_client_that_lost_the_lease_writes_nothing(self):
        """Goal: a write is held back. Method: the lease is taken away while the program works, and its loss is told at a renewal."""
        late = self.python(TTL_MS="9000", WORK_SECONDS="12")
        until(lambda: self.held("counter"))
        released = pawl("--store", self.store, "locks", "release", "counter", "--reason", "a test", "--yes", "--now")
        self.assertEqual(released.status, 0, released.err)
        self.assertEqual(late.wait(timeout=60), 70, late.communicate())
        self.assertEqual(self.value(), 0)

    def test_a_newer_token_keeps_the_old_holder_from_writing(self):
        """Goal: the fence holds where the lease cannot. Method: the old holder does not hear of its loss before it writes."""
        late = self.python(TTL_MS="60000", WORK_SECONDS="12")
        until(lambda: self.held("counter") and self.database.exists() and self.raised() > 0)
        pawl("--store", self.store, "locks", "release", "counter", "--reason", "a test", "--yes", "--now")
        # However long the other takes, this one writes after it.
        late.send_signal(signal.SIGSTOP)
        self.assertEqual(self.python().wait(timeout=60), 0)
        late.send_signal(signal.SIGCONT)
        self.assertEqual(late.wait(timeout=60), 70, late.communicate())
        self.assertEqual(self.value(), 1)

    def raised(self):
        try:
            with sqlite3.connect(self.database) as where:
                row = where.execute("select fence_token from counter").fetchone()
                return row[0] if row else 0
        except sqlite3.OperationalError:
            return 0

    def test_a_command_runs_under_its_lease(self):
        one = self.shell('echo "$PAWL_KEY $PAWL_FENCE_TOKEN"; exit 3')
        out, _ = one.communicate(timeout=60)
        self.assertEqual(one.returncode, 3)
        key, token = out.split()
        self.assertEqual((key, int(token) > 0), ("job", True))
        self.assertIsNone(self.held("job"))

    def test_a_second_command_finds_the_key_busy(self):
        done = self.file("done")
        first = self.shell(f"echo held; while [ ! -e {done} ]; do sleep 0.05; done")
        self.assertEqual(first.stdout.readline(), "held\n")
        self.assertEqual(self.shell("exit 0").wait(timeout=60), 75)
        done.touch()
        self.assertEqual(first.wait(timeout=60), 0, first.communicate())

    def test_a_long_command_keeps_its_lease(self):
        done = self.file("done")
        one = self.shell(f"echo held; while [ ! -e {done} ]; do sleep 0.05; done", TTL_MS="20000")
        self.assertEqual(one.stdout.readline(), "held\n")
        ends = time.monotonic() + 21
        while time.monotonic() < ends:
            self.assertEqual(self.shell("exit 0").wait(timeout=60), 75)
        done.touch()
        self.assertEqual(one.wait(timeout=60), 0, one.communicate())

    def test_a_command_ends_with_its_script(self):
        """Goal: nothing works on without a lease. Method: the script is told to end, and then its lease is taken from it."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number.name):
                one = self.shell("echo $$; exec sleep 60", TTL_MS="60000")
                command = int(one.stdout.readline())
                one.send_signal(number)
                self.assertEqual(one.wait(timeout=60), 128 + number)
                until(lambda command=command: state_of(f"/proc/{command}") == "Z")
                self.assertIsNone(self.held("job"))
        one = self.shell("trap '' TERM; echo $$; while :; do sleep 0.05; done", TTL_MS="60000")
        command = int(one.stdout.readline())
        pawl("--store", self.store, "locks", "release", "job", "--reason", "a test", "--yes", "--now")
        self.assertEqual(one.wait(timeout=60), 70, one.communicate())
        until(lambda: state_of(f"/proc/{command}") == "Z")

    def test_a_command_is_dead_before_its_lease_ends(self):
        """Goal: no answer is no permission. Method: the agent is killed; the command writes the time until it is stopped. Once more
        where the machine, and not the script, may have been late."""
        for turn in range(3):
            if self.is_dead_in_time(self.file(f"beats-{turn}")):
                return
            self.node.start()
            self.port = re.findall(r"listening on http://127\.0\.0\.1:(\d+)", self.node.log())[-1]
            until(lambda: not self.held("job"))
        self.fail("the command outlived its lease three times")

    def is_dead_in_time(self, beats):
        script = f"trap '' TERM; while :; do cut -d ' ' -f 1 /proc/uptime >>{beats}; sleep 0.05; done"
        one = self.shell(script, TTL_MS="9000")
        until(lambda: one.poll() is not None or (beats.exists() and self.held("job")))
        if one.poll() is not None:
            self.assertEqual(one.returncode, 70, one.communicate())
            self.node.kill()
            return False  # its lease was over before it was looked at
        self.node.kill()
        at = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.assertEqual(one.wait(timeout=60), 70, one.communicate())
        last = float(beats.read_text().split()[-1])
        until(lambda: subprocess.run(["pgrep", "-f", str(beats)], check=False, stdout=subprocess.DEVNULL).returncode == 1)
        return last < at + 9.0


class FencedService(Case):
    """The sender and the receiver of a job's token."""

    def setUp(self):
        super().setUp()
        server = subprocess.Popen([sys.executable, "-B", str(EXAMPLES / "receiver.py"), str(self.stores / "invoices.db")], env=environment(),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, server)
        self.port = int(server.stdout.readline().split()[-1])

    def send(self, key, invoice):
        """By a run of its own: its token, and how it ended."""
        script = f'echo "$PAWL_FENCE_TOKEN"; exec {EXAMPLES / "sender.sh"} http://127.0.0.1:{self.port} "$0" "$1"'
        ran = self.pawl("exec", "invoices", "--", "sh", "-c", script, key, invoice)
        return int(ran.out.split()[0]), ran.status

    def ask(self, method, body=None, **fields):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.addCleanup(link.close)
        link.request(method, "/invoices", body, {name.replace("_", "-"): value for name, value in fields.items()})
        answer = link.getresponse()
        return answer.status, json.loads(answer.read())

    def test_a_late_run_is_rejected_and_changes_nothing(self):
        first, status = self.send("2026-10", "old")
        self.assertEqual(status, 0)
        second, status = self.send("2026-11", "new")
        self.assertEqual(status, 0)
        self.assertGreater(second, first)
        late = subprocess.run([EXAMPLES / "sender.sh", f"http://127.0.0.1:{self.port}", "2026-12", "late"], capture_output=True, text=True,
                              env=environment(PAWL_FENCE_TOKEN=str(first)), timeout=60)
        self.assertEqual(late.returncode, 70, late.stderr)
        self.assertIn(f"token {first} is stale", late.stderr)
        self.assertEqual(self.ask("GET")[1], [{"key": "2026-10", "body": "old", "token": first}, {"key": "2026-11", "body": "new", "token": second}])

    def test_a_repeated_request_is_stored_once(self):
        first, _ = self.send("2026-11", "once")
        _, status = self.send("2026-11", "twice")
        self.assertEqual(status, 0)
        self.assertEqual(self.ask("GET")[1], [{"key": "2026-11", "body": "once", "token": first}])

    def test_a_request_without_a_token_is_rejected(self):
        for token in ("", "0", "-1", "seven", str(2**53)):
            status, said = self.ask("POST", "x", X_Job_Token=token, Idempotency_Key="k")
            self.assertEqual(status, 400, token)
            self.assertIn(f"invalid X-Job-Token '{token}'; expected", said["detail"])
        self.assertEqual(self.ask("POST", "x", X_Job_Token="7")[0], 400)
        self.assertEqual(self.ask("GET")[1], [])
