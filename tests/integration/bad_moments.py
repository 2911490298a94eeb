"""Claims whose servers are paused or killed, and whose answers are lost, late or cut off: no occurrence is used up, and
none runs twice.

PAWL_ROUNDS says how many claims are disturbed on each store, PAWL_SEED which. Each store tells its figures."""
import collections
import contextlib
import os
import random
import signal
import subprocess
import sys
import time

from network_link import NetworkLink
from harness import Case, pawl, start, until

ROUNDS = int(os.environ.get("PAWL_ROUNDS", "7"))
# Of one of the last day it is recorded that it may not have run.
OCCURRENCE = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
RAN, DOWN, LOST, ALONE, BUSY, DONE = 0, 69, 70, 74, 75, 76  # alone: no replica has it, and the grant was given back
AROUND = 0.05  # s, before the claim's first word and after it


class Moment:
    """What is done to one claim, and when: seconds after its first word, or before that word arrives."""

    def __init__(self, kind, offset, duration, places):
        self.kind, self.offset, self.duration = kind, offset, duration
        self.places = places  # which of the store's servers

    def __str__(self):
        return f"{self.kind} of {self.places} for {self.duration:.3f} s, {self.offset:+.3f} s from the first word"

    @property
    def may_cost_an_occurrence(self):
        """At most once, a holder that dies takes it along."""
        return self.kind == "holder"

    def inject(self, server, links, claimer):
        """Returns when the store can be reached again."""
        struck = [server.nodes[place] for place in self.places]
        cut = [links[place] for place in self.places]
        if self.kind == "cut":
            for one in cut:
                one.cut()
        elif self.kind == "holder":
            claimer.send_signal(signal.SIGKILL)
        elif self.kind in ("deaf", "still"):
            gates = [one.answers if self.kind == "deaf" else one.open for one in cut]
            self.between([gate.clear for gate in gates], [gate.set for gate in gates])
        elif self.kind == "pause":
            self.between([one.freeze for one in struck], [one.thaw for one in struck])
        elif self.kind == "kill":
            self.between([one.crash for one in struck], [one.begin for one in struck])

    def between(self, first, then):
        for each in first:
            each()
        time.sleep(self.duration)  # how long it lasts is tried out as well
        for each in then:
            each()


# Half of what is done comes from the network, the other half from the machines.
KINDS = ("deaf", "still", "cut", "pause", "kill", "kill", "holder")


class BadMoments(Case):
    """Goal: an occurrence that is claimed at a bad moment runs once, or its row tells why it did not. Method: the claim's
    connection is stalled or cut, or its server or its claimer paused or killed, around the claim; sometimes another node asks
    at the same time. Then nodes ask for the same occurrence until one is told that it has run."""

    def setUp(self):
        super().setUp()
        self.figures = collections.Counter()
        self.statuses = collections.Counter()
        self.was_stopped = False

    def words(self, key, name, keeps_journal, ttl="1s"):
        journal = [] if keeps_journal else ["--no-journal"]
        return ["exec", key, "--ttl", ttl, "--occurrence", OCCURRENCE, "--grace", "100ms", *journal,
                "--", "sh", "-c", f"echo {name} >> {self.folder}/{key}"]

    def runs(self, key):
        marks = self.folder / key
        return marks.read_text().split() if marks.exists() else []

    def judge(self, process, name, key, moment, told):
        """Whoever is told that it ran has run, and the others have not, as far as they can know."""
        try:
            _, error = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail(f"{name} hangs: {told}")
        status, ran = process.returncode, name in self.runs(key)
        told += f"; {name} ended with {status} and {'ran' if ran else 'did not run'}: {error}"
        if moment.may_cost_an_occurrence and name == "first" and status == -signal.SIGKILL:
            return told, status
        self.assertIn(status, (RAN, DOWN, LOST, ALONE, BUSY, DONE), told)
        # It had begun and was stopped, perhaps before its first line.
        self.was_stopped = self.was_stopped or (status == LOST and "lease lost, stopped the command" in error)
        if status != LOST:
            self.assertEqual(ran, status == RAN, told)
        return told, status

    def start(self, key, name, address, timeout, keeps_journal):
        process = start("--store", self.url(address, timeout), *self.words(key, name, keeps_journal))
        self.leftovers.callback(self.end, process)
        return process

    def round(self, key, rng, moment, keeps_journal):
        """What became of the claim, in words."""
        timeout, has_rival = rng.choice(self.timeouts), rng.random() < 0.3
        links = [NetworkLink(one.port, max(0, -moment.offset)) for one in self.server.entries]
        for one in links:
            self.leftovers.callback(one.close)
        first = self.start(key, "first", ",".join(one.address for one in links), timeout, keeps_journal)
        until(lambda: any(one.heard.is_set() for one in links) or first.poll() is not None)
        time.sleep(max(0, moment.offset))  # the moment is what is tried out
        rival = self.start(key, "rival", self.server.address, timeout, keeps_journal) if has_rival else None
        moment.inject(self.server, links, first)
        told, status = self.judge(first, "first", key, moment, str(moment))
        self.statuses[status] += 1
        if rival:
            told, _ = self.judge(rival, "rival", key, moment, told)
        else:
            # It is the only one that asks, so no other holds the key or has run.
            self.assertNotIn(status, (BUSY, DONE), told)
        return told

    def settle(self, key, told, keeps_journal):
        """Other nodes ask, until one is told that the occurrence has run. Nothing disturbs them, but a busy machine."""
        said = []

        def settled():
            again = pawl("--store", self.url(self.server.address, "2s"), *self.words(key, f"node-{len(said)}", keeps_journal, "10s"))
            said.append(again.status)
            self.assertIn(again.status, (RAN, BUSY, DONE, DOWN, ALONE), told + again.err)
            self.assertEqual(f"node-{len(said) - 1}" in self.runs(key), again.status == RAN, told + again.err)
            return again.status in (RAN, DONE)

        until(settled)
        return f"{told}; then {said}"

    def assert_row_tells_why(self, key, told):
        """Nothing has run, and there is one row that says so. A run that was killed counts as lost once it has been silent for
        eight seconds."""
        rows = []

        def is_over():
            listed = pawl("--store", self.url(self.server.address, "2s"), "runs", "ls", "--job", key, "--json")
            rows[:] = listed.json()["runs"] if listed.status == 0 else []
            return rows and all(one["status"] != "started" for one in rows)

        with contextlib.suppress(AssertionError):
            until(is_over, 60)
        self.assertEqual([(one["status"] in ("lost", "skipped", "failed"), one["reason"] != "") for one in rows], [(True, True)],
                         f"{rows}: {told}")
        self.figures[f"told as {rows[0]['status']}"] += 1

    def moment(self, rng, kind):
        whole = len(self.server.nodes)
        places = sorted(rng.sample(range(whole), rng.randint(1, whole)))
        # Half of them somewhere around the first word, half between it and the command.
        around = rng.random() < 0.5
        offset = rng.uniform(-AROUND, AROUND) if around else rng.uniform(0, self.begins_after)
        return Moment(kind, offset, rng.uniform(0.1, 2.0), places)

    def one_round(self, number, rng, kind):
        self.figures["rounds"] += 1
        self.figures[kind] += 1
        self.was_stopped = False
        key, moment, keeps_journal = f"key-{number}", self.moment(rng, kind), rng.random() < 0.5
        with contextlib.ExitStack() as self.leftovers:
            told = self.round(key, rng, moment, keeps_journal)
        told = self.settle(key, told, keeps_journal)
        ran = self.runs(key)
        self.figures["runs"] += len(ran)
        self.figures["twice"] += len(ran) > 1
        if (moment.may_cost_an_occurrence or self.was_stopped) and not ran:
            self.figures["lost with a killed holder" if moment.may_cost_an_occurrence else "stopped before its first line"] += 1
            if keeps_journal and self.server.HAS_JOURNAL:
                self.assert_row_tells_why(key, told)
            return
        self.figures["lost"] += not ran
        self.assertEqual(len(ran), 1, f"ran by {ran}: {told}")

    def disturb(self, server, *timeouts, kinds=KINDS):
        self.server = server
        self.addCleanup(server.stop)
        self.timeouts = timeouts
        self.begins_after = self.calm_delay()
        seed = int(os.environ.get("PAWL_SEED", random.randrange(1 << 30)))
        rng = random.Random(seed)
        left = []
        for number in range(ROUNDS):
            left = left or rng.sample(kinds, len(kinds))
            with self.subTest(seed=seed, round=number):
                self.one_round(number, rng, left.pop())
        figures = ", ".join(f"{name} {count}" for name, count in sorted(self.figures.items()))
        print(f"\n{getattr(server, 'engine', type(server).__name__)}: {figures}; exit statuses of the first {dict(sorted(self.statuses.items()))}; "
              f"seed {seed}, a calm command begins {self.begins_after * 1000:.0f} ms after the first word",
              file=sys.stderr, flush=True)

    def calm_delay(self):
        """From the first word of a claim to its command."""
        delays = []
        for number in range(3):
            links = [NetworkLink(one.port, 0) for one in self.server.entries]
            url = self.url(",".join(one.address for one in links), "20s")
            process = start("--store", url, "exec", f"calm-{number}", "--", "date", "+%s.%N")
            until(lambda links=links: any(one.heard.is_set() for one in links))
            heard = time.time()
            delays.append(float(process.communicate(timeout=60)[0]) - heard)
            for one in links:
                one.close()
        return max(0.001, min(delays))

    def url(self, address, timeout):
        whole = self.server.url_at(address)
        return f"{whole}{'&' if '?' in whole else '?'}timeout={timeout}"
