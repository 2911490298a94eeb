"""What `pawl exec` and those who use force leave in the journal, without any agent."""
import contextlib
import datetime
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

from agents import TIME, AgentCase
from network_link import NetworkLink
from harness import PAWL, OnRedis, Postgres, Redis, environment, free_port, pawl, start, until

SILENCE = 8.5  # s, after which a run of pawl exec counts as dead; it says 8
SQLITE = ("sqlite3", "-cmd", ".timeout 30000")  # by itself it waits for none who writes


class Audited(AgentCase):
    def audited(self):
        """Three things that somebody did."""
        for key in ("a", "b", "c"):
            holder = self.hold(key)
            self.assertEqual(self.pawl("locks", "release", key, "--reason", f"no {key}", "--yes", "--now").status, 0)
            self.end(holder)
        entries = self.pawl("audit", "ls", "--json").json()["audit"]
        self.assertEqual([(one["sequence"], one["action"], one["target"]) for one in entries],
                         [(3, "lock.release", "c"), (2, "lock.release", "b"), (1, "lock.release", "a")])
        return entries


class Exec(Audited):
    FIRED = ("--occurrence", "2026-01-02T03:04:05Z")

    def row(self, key):
        (one,) = self.runs(key)
        self.assert_is_run(one)
        return one

    def test_a_run_leaves_a_row(self):
        done = self.pawl("exec", "invoices/nightly", *self.FIRED, "--", "sh", "-c", 'echo "$PAWL_RUN_ID $PAWL_FENCE_TOKEN $PAWL_OWNER"; exit 3')
        self.assertEqual(done.status, 3)
        run, token, owner = done.out.split()
        row = self.row("invoices/nightly")
        self.assertEqual({name: row[name] for name in ("id", "job", "key", "partition", "owner", "fence_token", "occurrence", "trigger",
                                                       "status", "reason", "exit_status", "attempt", "checkpoint")},
                         {"id": run, "job": "invoices/nightly", "key": "invoices/nightly", "partition": 0, "owner": owner,
                          "fence_token": int(token), "occurrence": "2026-01-02T03:04:05.000Z", "trigger": "exec", "status": "failed",
                          "reason": "exit 3", "exit_status": 3, "attempt": 1, "checkpoint": ""})
        self.assertEqual(row["owner"].split(":")[0], row["node"])
        self.assertLessEqual(row["started_at"], row["completed_at"])

    def test_a_run_leaves_none_where_it_is_not_wanted(self):
        self.assertEqual(self.pawl("exec", "k", "--no-journal", "--", "true").status, 0)
        self.assertEqual(self.runs("k"), [])
        self.assertEqual(self.pawl("exec", "k", "--", "true").status, 0)
        self.assertEqual(self.row("k")["status"], "completed")

    def test_an_occurrence_has_one_row_however_often_it_is_run(self):
        again = ("exec", "k", *self.FIRED, "--at-least-once", "--", "sh", "-c")
        first = self.pawl(*again, 'echo "$PAWL_RUN_ID"; exit 1')
        self.assertEqual((first.status, self.row("k")["status"]), (1, "abandoned"))
        second = self.pawl(*again, 'echo "$PAWL_RUN_ID"')
        row = self.row("k")
        self.assertEqual((second.status, second.out, row["status"], row["attempt"]), (0, first.out, "completed", 2))
        self.assertEqual(row["id"], first.out.strip())
        self.assertEqual(self.pawl(*again, "true").status, 76)
        self.assertEqual(self.row("k")["attempt"], 2)

    def test_a_checkpoint_comes_back_on_the_next_run(self):
        save = ("exec", "k", "--", "sh", "-c", 'echo "<$PAWL_CHECKPOINT>"; "$0" checkpoint "$1"', PAWL)
        self.assertEqual(self.pawl(*save, "invoice 1").out, "<>\n")
        self.assertEqual(self.pawl(*save, "Rechnung ②\nzwei").out, "<invoice 1>\n")
        self.assertEqual(self.pawl("exec", "k", "--", "sh", "-c", 'echo "<$PAWL_CHECKPOINT>"').out, "<Rechnung ②\nzwei>\n")
        self.assertEqual([one["checkpoint"] for one in self.runs("k")][:2], ["invoice 1", "Rechnung ②\nzwei"])

    def test_a_run_is_found_by_the_beginning_of_its_id_where_one_run_has_it(self):
        for word in ("first", "second"):
            self.assertEqual(self.pawl("exec", "k", "--", "echo", word).status, 0)
        first, second = (one["id"] for one in self.runs("k"))
        shared = "abcd"
        ids = [shared + one[4:] for one in (first, second)]
        with contextlib.closing(sqlite3.connect(self.store.removeprefix("sqlite:"))) as rows, rows:
            for old, new in zip((first, second), ids):
                rows.execute("UPDATE pawl_run SET run_id = ? WHERE run_id = ?", (new, old))
        for verb in ("show", "output", "cancel"):
            unclear = self.pawl("runs", verb, shared)
            self.assert_one_line(unclear, 64, f"ambiguous run ID '{shared}'; expected one of ")
            self.assertTrue(all(one in unclear.err for one in ids), unclear.err)
            self.assert_one_line(self.pawl("runs", verb, shared[:3]), 64, "invalid run ID 'abc'; expected at least 4 characters of it")
            self.assert_one_line(self.pawl("runs", verb, "zzzzz"), 64, "run 'zzzzz' not found; see 'pawl runs ls'")
        beginning = os.path.commonprefix(ids) + ids[1][len(os.path.commonprefix(ids))]
        self.assertIn(ids[1], self.pawl("runs", "show", beginning).out)
        self.assertEqual(self.pawl("runs", "output", beginning).status, 0)
        self.assert_one_line(self.pawl("runs", "cancel", beginning), 64, f"run '{ids[1]}' already finished: completed")

    def test_a_checkpoint_is_read_from_standard_input_and_has_a_bound(self):
        most = "x" * 65_536
        for text, status in ((most + "\n", 0), (most + "x", 64)):
            saved = self.pawl("exec", "k", "--", PAWL, "checkpoint", "-", stdin=text)
            self.assertEqual(saved.status, status, saved.err)
        self.assertEqual(saved.err.count("\n"), 1)
        self.assertIn("has at most 65536 bytes", saved.err)
        # The one that was too long has changed nothing.
        self.assertEqual(self.pawl("exec", "k", "--", "sh", "-c", 'printf %s "$PAWL_CHECKPOINT" | wc -c').out.strip(), "65536")

    def test_a_journal_that_is_down_keeps_no_key(self):
        """Once more where the machine, and not the holder, may have been late: a key that is kept is late each time."""
        for turn in range(5):
            if self.is_granted_before_the_journal_is_given_up(self.folder / f"told-{turn}", self.folder / f"go-{turn}"):
                return
        self.fail("the next holder waited for the journal, five times")

    def is_granted_before_the_journal_is_given_up(self, told, go):
        with open(told, "w") as log:
            holder = subprocess.Popen([PAWL, "--store", self.store, "--journal", "redis://127.0.0.1:1", "exec", "k", "--", "sh", "-c",
                                       f'echo held; until [ -e "{go}" ]; do sleep 0.02; done'],
                                      env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        self.addCleanup(self.end, holder)
        self.assertEqual(holder.stdout.readline(), "held\n")
        waiting = self.start("exec", "k", "--wait", "--no-journal", "--", "date", "+%s%N")
        self.assertIn("waiting for lock 'k'", waiting.stderr.readline())
        go.touch()
        granted = int(waiting.stdout.readline())
        self.assertEqual(holder.wait(30), 0)
        self.assertIn("result of the run not recorded", told.read_text().splitlines()[-1])
        self.assertEqual(waiting.wait(30), 0)
        # It waited for the journal, for two seconds, when the other had its key already.
        return granted < told.stat().st_mtime_ns - 500_000_000

    def test_a_checkpoint_that_no_variable_can_hold_is_rejected(self):
        """It would come back cut off at its NUL byte."""
        outcome = self.pawl("exec", "k", "--", PAWL, "checkpoint", "-", stdin="page 1")
        self.assertEqual(outcome.status, 0, outcome.err)
        outcome = self.pawl("exec", "k", "--", PAWL, "checkpoint", "-", stdin="a\0b")
        self.assert_one_line(outcome, 64, "NUL at byte 2")
        self.assertEqual(self.pawl("exec", "k", "--", "sh", "-c", 'echo "<$PAWL_CHECKPOINT>"').out, "<page 1>\n")

    def test_no_command_is_given_a_part_of_a_checkpoint(self):
        """A body of the library may have saved a NUL byte."""
        self.assertEqual(self.pawl("exec", "k", "--", PAWL, "checkpoint", "page 1").status, 0)
        with contextlib.closing(sqlite3.connect(self.store.removeprefix("sqlite:"))) as rows, rows:
            for table in ("pawl_run", "pawl_checkpoint"):
                rows.execute(f"UPDATE {table} SET checkpoint = x'610062'")
        outcome = self.pawl("exec", "k", "--", "echo", "started")
        self.assertEqual((outcome.status, outcome.out), (126, ""))
        self.assertIn("PAWL_CHECKPOINT holds a NUL byte", outcome.err)
        row = self.runs("k")[-1]
        self.assertEqual((row["status"], row["exit_status"]), ("failed", 126))

    def test_a_checkpoint_is_rejected_outside_a_run_and_after_it(self):
        self.assert_one_line(self.pawl("checkpoint", "x"), 64, "PAWL_RUN_ID")
        run, token = self.pawl("exec", "k", "--", "sh", "-c", 'echo "$PAWL_RUN_ID $PAWL_FENCE_TOKEN"').out.split()
        for stale in (token, str(int(token) - 1), str(int(token) + 1), ""):
            late = self.pawl("checkpoint", "late", env=environment(PAWL_RUN_ID=run, PAWL_FENCE_TOKEN=stale))
            self.assert_one_line(late, 77, "not saved")
        self.assert_one_line(self.pawl("checkpoint", "x", env=environment(PAWL_RUN_ID=run, PAWL_FENCE_TOKEN="none")), 64, "'none'")
        self.assert_one_line(self.pawl("checkpoint", "x", env=environment(PAWL_RUN_ID="unknown", PAWL_FENCE_TOKEN=token)), 77, "unknown")
        self.assertEqual(self.row("k")["checkpoint"], "")
        self.assertEqual(self.pawl("exec", "k", "--", "sh", "-c", 'echo "<$PAWL_CHECKPOINT>"').out, "<>\n")

    def test_a_cancelled_run_ends_as_its_command_does(self):
        for script, status in (("echo held; exec sleep 600", 143), ("trap 'exit 5' TERM; echo held; while :; do sleep 0.05; done", 5)):
            process = self.start("exec", f"k{status}", "--", "sh", "-c", script)
            self.assertEqual(process.stdout.readline(), "held\n")
            self.assertEqual(self.pawl("runs", "cancel", self.row(f"k{status}")["id"]).status, 0)
            self.assertEqual(process.wait(timeout=30), status)
            row = self.row(f"k{status}")
            self.assertEqual((row["status"], row["exit_status"], row["cancel_requested"]), ("cancelled", status, True))
            self.assertFalse(self.pawl("locks", "show", f"k{status}", "--json").json()["held"])
            self.assertIn("cancelled", process.stderr.read())

    def written(self, space, run):
        """What the row of a run says, to one who only looks: its status and its reason."""
        status, reason = subprocess.run(
            [*SQLITE, "-separator", "\n", self.store.removeprefix("sqlite:"),
             f"SELECT status, reason FROM pawl_run JOIN pawl_space USING (space) WHERE name = '{space}' AND run_id = '{run}'"],
            capture_output=True, text=True, timeout=60, check=True).stdout.split("\n")[:2]
        return status, reason

    def test_a_killed_one_is_ended_as_lost_by_each_that_reads(self):
        """Each in a namespace of its own, so that none finds what another has written down."""
        readers = {"ls": lambda run: ["runs", "ls"], "show": lambda run: ["runs", "show", run],
                   "doctor": lambda run: ["doctor", "--for", "10ms"], "exec": lambda run: ["exec", "k", "--", "true"]}
        killed = {}
        for space in readers:
            holder = start("--store", f"{self.store}?namespace={space}", "exec", "k", "--ttl", "3s", "--grace", "0s",
                           "--", "sh", "-c", 'echo "$PAWL_RUN_ID"; exec sleep 60')
            self.addCleanup(self.end, holder)
            killed[space] = holder.stdout.readline().strip()
            self.end(holder)
        since = time.monotonic()
        until(lambda: time.monotonic() - since > SILENCE)
        for space, words in readers.items():
            with self.subTest(space):
                self.assertEqual(self.written(space, killed[space]), ("started", ""))
                told = pawl("--store", f"{self.store}?namespace={space}&timeout=20s", *words(killed[space]))
                self.assertIn(told.status, (0, 1), told.err)  # 1: the doctor warns of a fresh store
                status, reason = self.written(space, killed[space])
                self.assertEqual(status, "lost", told.out + told.err)
                self.assertIn("became unresponsive", reason)

    def belongs_to_a_program(self, space, run, silent=0):
        """Writes into the row of a run what `locks.run` would have written, so many ms ago."""
        change = f"run_trigger = 'library', last_heartbeat = last_heartbeat - {silent}"
        subprocess.run([*SQLITE, self.store.removeprefix("sqlite:"), f"UPDATE pawl_run SET {change} WHERE run_id = '{run}'"],
                       capture_output=True, text=True, timeout=60, check=True)

    def test_a_killed_program_is_told_as_lost_unless_it_may_still_tell(self):
        """In doubt it is where the store knows a later occurrence as done."""
        once, again = ("--occurrence", "2026-01-02T03:04:05Z"), ("--at-least-once",)
        killed = {}
        for space, words in (("lost", once), ("late", once), ("doubt", (*once, *again)), ("exec", (*once, *again))):
            store = ("--store", f"{self.store}?namespace={space}")
            holder = start(*store, "exec", "k", *words, "--ttl", "3s", "--grace", "0s", "--", "sh", "-c", 'echo "$PAWL_RUN_ID"; exec sleep 60')
            self.addCleanup(self.end, holder)
            killed[space] = holder.stdout.readline().strip()
            self.end(holder)
            if space != "exec":
                # It may tell for ten minutes how the run ended.
                self.belongs_to_a_program(space, killed[space], 660_000 if space == "lost" else 0)
            if space in ("doubt", "exec"):
                later = pawl(*store, "exec", "k", "--wait", "30s", "--occurrence", "2026-01-02T03:04:06Z", *again, "--", "true")
                self.assertEqual(later.status, 0, later.err)
        since = time.monotonic()
        until(lambda: time.monotonic() - since > SILENCE)
        for space, status in (("lost", "lost"), ("late", "started"), ("doubt", "started"), ("exec", "abandoned")):
            with self.subTest(space):
                self.assertEqual(pawl("--store", f"{self.store}?namespace={space}", "runs", "ls").status, 0)
                self.assertEqual(self.written(space, killed[space])[0], status)

    def test_one_that_lives_is_left_alone(self):
        holder = self.hold("k", "--ttl", "60s")
        holder.send_signal(signal.SIGSTOP)
        run = self.row("k")
        # Silent for longer than any run says it will be, but it holds its key.
        until(lambda: time.time() - self.pawl_time(run["last_heartbeat"]) > 12)
        self.assertEqual(self.row("k")["status"], "started")
        self.assertEqual(self.pawl("doctor").err.count("lost"), 0)
        holder.send_signal(signal.SIGCONT)

    def test_a_journal_without_its_store_ends_no_run(self):
        """Goal: a run that lives is not ended for want of its lease. Method: who asks names the journal alone, and has a default store."""
        journal, home = f"sqlite:{self.stores}/journal.db", self.folder / "home"
        home.mkdir()
        holder = start("--store", self.store, "--journal", journal, "exec", "k", "--ttl", "60s", "--", "sh", "-c", "echo held; exec sleep 60")
        self.addCleanup(self.end, holder)
        self.assertEqual(holder.stdout.readline(), "held\n")
        holder.send_signal(signal.SIGSTOP)

        def row():
            (one,) = pawl("--journal", journal, "runs", "ls", "--json", env=environment(HOME=str(home))).json()["runs"]
            return one
        heard = self.pawl_time(row()["last_heartbeat"])
        until(lambda: time.time() - heard > 12)
        row()
        self.assertEqual(row()["status"], "started")
        self.assertEqual(list(home.rglob("*.db")), [])
        holder.send_signal(signal.SIGCONT)

    @staticmethod
    def pawl_time(text):
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

    def test_nothing_begins_under_a_lease_that_was_lost_while_the_journal_was_waited_for(self):
        def take(store, _):
            taken = pawl("--store", store.url, "locks", "release", "k", "--reason", "taken", "--yes", "--now")
            self.assertIn(taken.status, (0, 64), taken.err)  # 64: too late, which the limit tells
        _, journal, waiting = self.waiting_and_struck(1.5, take, "--ttl", "1s")
        until(lambda: "lease expired before the command started" in waiting.stderr.readline())
        journal.thaw()
        out, err = waiting.communicate(timeout=60)
        self.assertEqual((waiting.returncode, out), (70, ""), err)

    def waiting_and_struck(self, limit, strike, *words):
        """A holder that waits for its journal, which stands still, and what befell it within `limit` of its start: its
        store, its journal and itself. On a machine that was too slow, all of it once more."""
        for _ in range(20):
            store, journal = Redis(), Redis()
            self.addCleanup(store.stop)
            self.addCleanup(journal.stop)
            journal.freeze()
            begun = time.monotonic()
            waiting = start("--store", store.url, "exec", "k", *self.FIRED, *words, "--grace", "0s", "--journal", journal.url, "--", "echo", "ran")
            self.addCleanup(self.end, waiting)
            until(lambda store=store: store.has("pawl:lock:k"))
            strike(store, waiting)
            if time.monotonic() - begun < limit:
                return store, journal, waiting
            self.end(waiting)
        self.fail(f"no holder was struck within {limit} s")

    def assert_runs_once_elsewhere(self, store, journal):
        words = ("--store", store.url, "exec", "k", *self.FIRED, "--journal", journal.url, "--", "echo", "ran")
        again = pawl(*words)
        self.assertEqual((again.status, again.out), (0, "ran\n"), again.err)
        self.assertEqual(pawl(*words).status, 76)
        (row,) = pawl("--store", store.url, "--journal", journal.url, "runs", "ls", "--json").json()["runs"]
        self.assertEqual((row["status"], row["attempt"], row["reason"]), ("completed", 1, ""))

    def test_an_occurrence_whose_command_never_started_is_given_back(self):
        # Lost when the journal has been waited for; and with its end in sight, and no renewal.
        # That one must not be renewed before: at 0.27 of its TTL at the earliest.
        # Less than half of it is left when the journal has been waited for.
        for ttl, limit in (("600ms", 1.5), ("4s", 1.0)):
            with self.subTest(ttl):
                store, journal, waiting = self.waiting_and_struck(limit, lambda store, _: store.freeze(), "--ttl", ttl)
                until(lambda waiting=waiting: "lease expired before the command started" in waiting.stderr.readline())
                store.thaw()
                journal.thaw()
                out, err = waiting.communicate(timeout=60)
                self.assertEqual((waiting.returncode, out), (70, ""), err)
                self.assert_runs_once_elsewhere(store, journal)

    def test_an_occurrence_is_given_back_when_a_signal_comes_before_the_command(self):
        store, journal, waiting = self.waiting_and_struck(1.0, lambda _, waiting: waiting.send_signal(signal.SIGTERM))
        journal.thaw()
        out, err = waiting.communicate(timeout=60)
        self.assertEqual((waiting.returncode, out), (143, ""), err)
        self.assert_runs_once_elsewhere(store, journal)

    def test_an_occurrence_whose_runner_was_killed_before_its_row_is_told_of(self):
        fired = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.FIRED = ("--occurrence", fired)
        store, journal, holder = self.waiting_and_struck(1.5, lambda _, waiting: waiting.kill(), "--ttl", "1s")
        self.assertEqual(holder.communicate(timeout=60)[0], "")
        journal.thaw()
        urls = ("--store", store.url, "--journal", journal.url)
        for _ in range(2):
            told = pawl(*urls, "exec", "k", "--wait", "30s", *self.FIRED, "--", "echo", "ran")
            self.assertEqual((told.status, told.out), (76, ""), told.err)
            self.assertIn(f"'k' may not have run for {fired}, and will not any more: no run of it is recorded", told.err)
            (row,) = pawl(*urls, "runs", "ls", "--json").json()["runs"]
            self.assertEqual(row["status"], "skipped")
            self.assertIn("its runner was lost before it recorded one", row["reason"])

    def test_an_occurrence_whose_run_was_lost_is_told_of(self):
        words = (*self.FIRED, "--ttl", "3s", "--grace", "0s")
        holder = self.start("exec", "k", *words, "--", "sh", "-c", 'echo "$PAWL_RUN_ID"; exec sleep 60')
        run = holder.stdout.readline().strip()
        self.end(holder)
        since = time.monotonic()
        until(lambda: time.monotonic() - since > SILENCE)
        self.assertEqual(self.row("k")["status"], "lost")
        told = self.pawl("exec", "k", "--wait", "30s", *words, "--", "echo", "ran")
        self.assertEqual((told.status, told.out), (76, ""), told.err)
        self.assertIn(f"and will not any more: its run {run} was lost", told.err)

    def test_a_command_runs_where_the_journal_cannot_be_reached(self):
        nowhere = f"redis://127.0.0.1:{free_port()}?timeout=300ms"
        ran = self.pawl("exec", "k", *self.FIRED, "--journal", nowhere, "--", "sh", "-c", "echo ran; exit 3")
        self.assertEqual((ran.status, ran.out), (3, "ran\n"))
        self.assertIn("journal unreachable", ran.err)
        self.assertIn("run not recorded", ran.err)
        self.assert_one_line(self.pawl("runs", "ls", "--journal", nowhere), 69, "127.0.0.1")
        # Leases remember occurrences by themselves.
        self.assertEqual(self.pawl("exec", "k", *self.FIRED, "--journal", nowhere, "--", "true").status, 76)

    def test_where_the_journal_answers_one_runs_without_a_lease(self):
        nowhere = f"redis://127.0.0.1:{free_port()}?timeout=300ms"
        words = ("--store", nowhere, "--journal", self.store, "exec", "k", *self.FIRED, "--on-store-down", "run", "--", "echo", "ran")
        for status, out in ((0, "ran\n"), (76, "")):
            told = pawl(*words)
            self.assertEqual((told.status, told.out), (status, out), told.err)
        self.assertEqual(self.row("k")["status"], "completed")
        entries = self.pawl("audit", "ls", "--json").json()["audit"]
        self.assertEqual([(one["action"], one["target"]) for one in entries], [("exec.fail_open", "k")])

    def test_the_journal_may_be_kept_apart_and_the_command_finds_it(self):
        apart = ("--journal", f"sqlite:{self.stores}/journal.db")
        saved = self.pawl("exec", "k", *apart, "--", "sh", "-c", 'cd / && "$0" checkpoint here && echo "$PAWL_JOURNAL"', PAWL)
        self.assertEqual((saved.status, saved.out), (0, f"sqlite:{self.stores}/journal.db\n"))
        (row,) = self.pawl("runs", "ls", *apart, "--json").json()["runs"]
        self.assertEqual(row["checkpoint"], "here")
        self.assertEqual(self.runs("k"), [])
        (row,) = self.pawl("runs", "ls", "--json", env=environment(PAWL_JOURNAL=apart[1])).json()["runs"]
        self.assertEqual(row["job"], "k")

    def test_a_store_and_a_journal_that_are_modules_share_a_process(self):
        """The lease is renewed by the one on the loop on which the other writes the run."""
        store, journal = Redis(), Postgres()
        self.addCleanup(store.stop)
        self.addCleanup(journal.stop)
        urls = ("--store", store.url, "--journal", journal.url)
        self.assertEqual(pawl(*urls, "exec", "other", "--", "true").status, 0)  # it makes the tables
        holder = start(*urls, "exec", "k", *self.FIRED, "--ttl", "9s", "--grace", "0s", "--", "sh", "-c", "echo held; sleep 12; exit 3")
        self.addCleanup(self.end, holder)
        self.assertEqual(holder.stdout.readline(), "held\n")
        loaded = pathlib.Path(f"/proc/{holder.pid}/maps").read_text()
        for module in ("pawl-redis.so", "pawl-postgresql.so"):
            self.assertIn(f"/{module}", loaded)
        out, err = holder.communicate(timeout=60)
        self.assertEqual((holder.returncode, out), (3, ""), err)
        (row,) = (one for one in pawl(*urls, "runs", "ls", "--json").json()["runs"] if one["key"] == "k")
        self.assertEqual((row["status"], row["reason"]), ("failed", "exit 3"))
        self.assertEqual(row["fence_token"], pawl(*urls, "locks", "show", "k", "--json").json()["fence_token"])

    def test_a_journal_that_is_none_is_one_line(self):
        for url in ("nonsense", "oracle://h", "etcd://h", "redis://u:hunter2@h:port"):
            for words in (["exec", "k", "--", "true"], ["runs", "ls"], ["jobs", "ls"], ["nodes", "ls"], ["audit", "ls"]):
                rejected = self.pawl("--journal", url, *words)
                self.assert_one_line(rejected, 64, "--journal: ")
                self.assertNotIn("hunter2", rejected.err)
            self.assert_one_line(self.pawl("runs", "ls", env=environment(PAWL_JOURNAL=url)), 78, "PAWL_JOURNAL: ")
        self.assert_one_line(pawl("--store", "etcd://127.0.0.1:1", "runs", "ls"), 78, "--journal")

    def test_lists_of_nothing_are_documents_and_a_word_for_people(self):
        for words, document in ((["runs", "ls"], {"runs": [], "next": ""}), (["jobs", "ls"], {"jobs": [], "next": ""}),
                                (["nodes", "ls"], {"nodes": [], "next": ""}), (["audit", "ls"], {"audit": [], "next": ""}),
                                (["audit", "ls", "--verify"], {"verified": 0})):
            self.assertEqual(self.pawl(*words, "--json").json(), document)
            people = self.pawl(*words)
            self.assertEqual((people.status, people.err.count("\n") + people.out.count("\n")), (0, 1))

    def test_every_command_has_help_with_an_example(self):
        for words in (["agent"], ["jobs"], ["jobs", "ls"], ["jobs", "show"], ["jobs", "run"], ["jobs", "pause"], ["jobs", "resume"],
                      ["runs"], ["runs", "ls"], ["runs", "show"], ["runs", "output"], ["runs", "cancel"], ["checkpoint"],
                      ["nodes"], ["nodes", "ls"], ["audit"], ["audit", "ls"]):
            shown = pawl(*words, "--help")
            self.assertEqual(shown.status, 0, words)
            self.assertIn("Example: ", shown.out, words)
        for words in (["checkpoint"], ["runs", "show"], ["jobs", "run"]):
            self.assert_one_line(self.pawl(*words), 64, "pawl: ")

    def test_a_forced_release_is_audited_in_a_chain(self):
        entries = self.audited()
        for one, before in zip(entries, [*entries[1:], {"hash": "0" * 64}]):
            self.assertEqual(set(one), {"sequence", "at", "actor", "action", "target", "detail", "previous", "hash"})
            self.assertRegex(one["at"], TIME)
            self.assertIn("@", one["actor"])
            self.assertTrue(one["detail"].endswith(f": no {one['target']}"), one["detail"])
            self.assertEqual(one["previous"], before["hash"])
        self.assertEqual(self.pawl("audit", "ls", "--verify", "--json").json(), {"verified": 3})
        self.assertEqual(len(self.pawl("audit", "ls", "--limit", "2", "--json").json()["audit"]), 2)
        self.assertIn("no b", self.pawl("audit", "ls").out)


class ExecUnderQuarantine(Audited):
    FIRED = ("--occurrence", "2026-01-02T03:04:05Z")

    def ask(self, *words):
        """Of a store that is new, and knows of no run."""
        def asked():
            self.told = pawl("--store", f"sqlite:{self.stores}/new.db?quarantine=1s", "--journal", self.store, "exec", "k", "--ttl", "1s",
                             *self.FIRED, *words, "--", "echo", "ran")
            return self.told.status != 75
        until(asked)
        self.assertEqual(self.told.out, "")
        return self.told

    def test_what_the_store_may_have_forgotten_is_told_as_that(self):
        told = self.ask()
        self.assertEqual(told.status, 76, told.err)
        why = "the store may have lost whether it has run (quarantine)"
        self.assertIn(f"'k' may not have run for 2026-01-02T03:04:05Z, and will not any more: {why}", told.err)
        (row,) = self.runs("k")
        self.assertEqual((row["status"], row["occurrence"], row["reason"]), ("skipped", "2026-01-02T03:04:05.000Z", why))
        self.assertEqual(self.ask("--skip-status", "0").status, 0)

    def test_what_the_journal_knows_of_has_run(self):
        self.assertEqual(self.pawl("exec", "k", *self.FIRED, "--", "true").status, 0)
        told = self.ask()
        self.assertEqual(told.status, 76, told.err)
        (row,) = self.runs("k")
        self.assertIn(f"'k' has already run for 2026-01-02T03:04:05Z: run {row['id']} completed", told.err)


class ExecWhoseRowIsChanged(AgentCase):
    """By a journal that was restored from a backup, or by who judged a run that lives."""

    def sqlite(self, statements):
        with contextlib.closing(sqlite3.connect(self.store.removeprefix("sqlite:"), timeout=30)) as rows, rows:
            rows.executescript(statements)

    def run_changed_meanwhile(self, change):
        """Runs a command, has its row changed meanwhile, and asks for the same occurrence again."""
        did, go = self.file("did"), self.file("go")
        words = ("exec", "k", "--at-least-once", "--occurrence", "2026-01-02T03:04:05Z", "--", "sh", "-c",
                 f'echo ran >>"{did}"; echo begun; until [ -e "{go}" ]; do sleep 0.02; done')
        first = self.start(*words)
        self.assertEqual(first.stdout.readline(), "begun\n")
        self.sqlite(change)
        go.touch()
        out, err = first.communicate(timeout=60)
        self.assertEqual((first.returncode, out), (0, ""), err)
        again = self.pawl(*words)
        self.assertEqual((again.status, self.lines("did")), (76, ["ran"]), again.err)

    def test_a_row_that_the_journal_has_lost_is_recorded_anew(self):
        self.run_changed_meanwhile("DELETE FROM pawl_run_event; DELETE FROM pawl_run;")
        (row,) = self.runs("k")
        self.assertEqual((row["status"], row["exit_status"], row["reason"]), ("completed", 0, ""))

    def test_what_ended_under_its_lease_is_done_whatever_its_row_says(self):
        self.run_changed_meanwhile("UPDATE pawl_run SET status = 'abandoned';")


class ExecBesideAnOrphan(AgentCase):
    def test_a_row_that_cannot_be_judged_delays_no_release(self):
        """Goal: the next holder of a key does not wait for what else its last one looks after. Method: the row of a run that was
        killed is locked in the journal, where judging it waits for a minute."""
        server = Postgres()
        self.addCleanup(server.stop)
        # The bound of the user's own holds.
        self.assertEqual(server.client("ALTER ROLE pawl SET lock_timeout = '60s'").returncode, 0)
        urls = ("--store", self.store, "--journal", f"{server.url}?timeout=90s")
        killed = start(*urls, "exec", "k", "--ttl", "3s", "--grace", "0s", "--", "sh", "-c", 'echo "$PAWL_RUN_ID"; exec sleep 60')
        self.addCleanup(self.end, killed)
        run = killed.stdout.readline().strip()
        killed.kill()
        since = time.monotonic()
        until(lambda: time.monotonic() - since > SILENCE)
        with server.transaction(f"SELECT 1 FROM pawl.job_run WHERE run_id = '{run}' FOR UPDATE"):
            begun = time.monotonic()
            ends = start(*urls, "exec", "k", "--", "echo", "ran")
            self.addCleanup(self.end, ends)
            self.assertEqual(ends.stdout.readline(), "ran\n")
            until(lambda: not self.pawl("locks", "show", "k", "--json").json()["held"])
            self.assertEqual(ends.wait(timeout=120), 0)
            self.assertLess(time.monotonic() - begun, 45)


class Tampering(Audited):
    """Who can write to the file can change the audit, and not unnoticed."""

    def sqlite(self, statement, file=None):
        return subprocess.run([*SQLITE, file or self.store.removeprefix("sqlite:"), statement], capture_output=True, text=True, timeout=60,
                              check=False)

    def test_a_change_or_a_gap_is_found(self):
        self.audited()
        for statement in ("UPDATE pawl_audit SET detail = 'nothing' WHERE sequence = 2", "DELETE FROM pawl_audit WHERE sequence = 1"):
            self.assertIn("append-only", self.sqlite(statement).stderr)
        self.assertEqual(self.pawl("audit", "ls", "--verify").status, 0)
        off = "DROP TRIGGER pawl_audit_stays; DROP TRIGGER pawl_audit_is_as_it_was; "
        for number, (statement, says) in enumerate((("UPDATE pawl_audit SET detail = 'nothing' WHERE sequence = 2", "entry 2 "),
                                                    ("UPDATE pawl_audit SET actor = 'nobody' WHERE sequence = 3", "entry 3 "),
                                                    ("DELETE FROM pawl_audit WHERE sequence = 2", "tampered"),
                                                    ("DELETE FROM pawl_audit WHERE sequence = 1", "missing"))):
            with self.subTest(statement):
                # As the engine copies it: bytes alone lack what is in the log while anybody has the file open.
                copy = f"{self.stores}/copy-{number}.db"
                self.assertEqual(self.sqlite(f"VACUUM INTO '{copy}'").stderr, "")
                self.assertEqual(pawl("--store", f"sqlite:{copy}", "audit", "ls", "--verify").status, 0)
                self.assertEqual(self.sqlite(off + statement, copy).stderr, "")
                self.assert_one_line(pawl("--store", f"sqlite:{copy}", "audit", "ls", "--verify"), 77, says)
                # To look at it is allowed.
                self.assertEqual(pawl("--store", f"sqlite:{copy}", "audit", "ls").status, 0)


class ExecOnRedis(OnRedis, Exec):
    """Every law of exec above, on a real Redis."""

    # They write to the file: a common beginning of two runs, a checkpoint that no command saves.
    test_a_run_is_found_by_the_beginning_of_its_id_where_one_run_has_it = None
    test_no_command_is_given_a_part_of_a_checkpoint = None

    def written(self, space, run):
        return self.server.ask("HGET", f"{space}:journal:run:{run}", "status"), self.server.ask("HGET", f"{space}:journal:run:{run}", "reason")

    def belongs_to_a_program(self, space, run, silent=0):
        self.server.ask("HSET", f"{space}:journal:run:{run}", "trigger", "library")
        self.server.ask("ZINCRBY", f"{space}:journal:beats", str(-silent), run)

    def test_a_key_out_of_reach_keeps_no_other_run_from_being_judged(self):
        killed = {}
        for space, damaged in (("one", "a"), ("two", "b")):
            for key in ("a", "b"):
                holder = start("--store", f"{self.store}?namespace={space}", "exec", key, "--ttl", "3s", "--grace", "0s",
                               "--", "sh", "-c", 'echo "$PAWL_RUN_ID"; exec sleep 60')
                self.addCleanup(self.end, holder)
                killed[space, key] = holder.stdout.readline().strip()
                self.end(holder)
            self.assertEqual(self.server.ask("DEL", f"{space}:lock:{damaged}"), "1")
            self.server.ask("SET", f"{space}:lock:{damaged}", "damaged")
        since = time.monotonic()
        until(lambda: time.monotonic() - since > SILENCE)
        for space, damaged, other in (("one", "a", "b"), ("two", "b", "a")):
            self.assertEqual(pawl("--store", f"{self.store}?namespace={space}", "runs", "ls").status, 0)
            self.assertEqual(self.written(space, killed[space, damaged])[0], "started")
            self.assertEqual(self.written(space, killed[space, other])[0], "lost")

    def test_a_forced_release_whose_answer_was_lost_is_audited(self):
        self.hold("k", "--ttl", "60s")
        link = NetworkLink(self.server.port, hold_from=b"17000")  # its delay, in ms
        self.addCleanup(link.close)
        told = pawl("--store", f"redis://{link.address}?timeout=2s", "--journal", self.store, "locks", "release", "k", "--reason", "stuck",
                    "--yes", "--delay", "17s")
        self.assertEqual(told.status, 69, told.err)
        self.assertTrue(link.held.is_set())
        (entry,) = self.pawl("audit", "ls", "--json").json()["audit"]
        self.assertEqual((entry["action"], entry["target"]), ("lock.release", "k"))
        self.assertTrue(entry["detail"].startswith("(whether it took effect is not known) token "), entry["detail"])

    def lose_a_claim(self, *words, before):
        """Its answer is lost, and `before` comes between it and its repetition."""
        # Now the server has the scripts, and the first word of a claim is the claim.
        self.assertEqual(self.pawl("exec", "warm", "--", "true").status, 0)
        link = NetworkLink(self.server.port, hold_from=b"invoices")
        self.addCleanup(link.close)
        store = f"redis://{link.address}?timeout=20s"
        lost = start("--store", store, "exec", "invoices", "--ttl", "1s", *self.FIRED, *words, "--", "echo", "ran")
        self.addCleanup(self.end, lost)
        self.assertTrue(link.held.wait(60))
        # It was granted; what comes then waits for the end of that.
        until(lambda: self.pawl("locks", "show", "invoices").status == 0)
        before()
        link.heal()
        out, err = lost.communicate(timeout=60)
        return lost.returncode, out, err

    def fail_open(self, *words):
        """`pawl exec` whose claim is granted and not answered: it begins without a lease, and its store is out of reach until the link is
        healed. And when it said so."""
        self.assertEqual(self.pawl("exec", "warm", "--", "true").status, 0)
        link = NetworkLink(self.server.port, hold_from=b"invoices")
        self.addCleanup(link.close)
        begun = start("--store", f"redis://{link.address}?timeout=2s", "exec", "invoices", "--ttl", "2m", *self.FIRED, *words,
                      "--on-store-down", "run", "--", "echo", "ran")
        self.addCleanup(self.end, begun)
        self.assertTrue(link.held.wait(60))
        until(lambda: self.pawl("locks", "show", "invoices").status == 0)
        said = until(lambda: "running without a lease" in (line := begun.stderr.readline()) and line)
        return link, begun, self.pawl_time(said.split()[0])

    def assert_is_given_up(self, link, begun, status):
        link.heal()
        out, err = begun.communicate(timeout=60)
        self.assertEqual((begun.returncode, out), (status, ""), err)
        self.assertFalse(self.pawl("locks", "show", "invoices", "--json").json()["held"])

    def run_elsewhere(self):
        again = self.pawl("exec", "invoices", *self.FIRED, "--no-journal", "--", "echo", "ran")
        return again.status, again.out

    def test_an_occurrence_that_has_run_without_a_lease_is_not_given_back(self):
        link, begun, _ = self.fail_open("--no-journal")
        self.assertEqual(begun.stdout.readline(), "ran\n")
        self.assert_is_given_up(link, begun, 0)
        self.assertEqual(self.run_elsewhere(), (76, ""))

    def test_an_occurrence_that_did_not_begin_without_its_lease_is_given_back(self):
        journal = Redis()
        self.addCleanup(journal.stop)
        journal.freeze()
        # It waits for its journal, for two seconds; on a machine that was too slow, once more.
        for _ in range(5):
            link, begun, since = self.fail_open("--journal", journal.url)
            begun.terminate()
            if time.time() - since < 1.5:
                break
            self.end(begun)
            link.close()
            self.server.ask("FLUSHALL")
        else:
            self.fail("no signal came in time")
        self.assert_is_given_up(link, begun, 143)
        self.assertEqual(self.run_elsewhere(), (0, "ran\n"))

    def test_an_occurrence_that_another_runs_without_a_lease_is_not_given_back(self):
        apart = ("--journal", f"sqlite:{self.stores}/journal.db")
        other = start("--store", f"redis://127.0.0.1:{free_port()}?timeout=300ms", "exec", "invoices", *self.FIRED, *apart,
                      "--on-store-down", "run", "--", "sh", "-c", "echo begun; exec sleep 60")
        self.addCleanup(self.end, other)
        self.assertEqual(other.stdout.readline(), "begun\n")
        link, begun, _ = self.fail_open(*apart)
        self.assert_is_given_up(link, begun, 76)
        self.assertEqual(self.run_elsewhere(), (76, ""))

    def test_a_signal_before_a_run_without_a_lease_leaves_nothing_of_it(self):
        """Method: its claim is asked for a second and last time, of a store that does not answer either, when the signal comes."""
        self.assertEqual(self.pawl("exec", "warm", "--no-journal", "--", "true").status, 0)
        link = NetworkLink(self.server.port, hold_from=b"invoices")
        self.addCleanup(link.close)
        apart = ("--journal", f"sqlite:{self.stores}/journal.db")
        # Long beside what a machine that stands still may take to see the second claim, and to send the signal.
        asking = start("--store", f"redis://{link.address}?timeout=12s", "exec", "invoices", *self.FIRED, *apart,
                       "--on-store-down", "run", "--", "echo", "ran")
        self.addCleanup(self.end, asking)
        self.assertTrue(link.held.wait(60))
        before = len(link.ends)
        until(lambda: len(link.ends) > before, 60)
        since = time.monotonic()
        until(lambda: time.monotonic() - since > 1)
        asking.terminate()
        out, err = asking.communicate(timeout=60)
        self.assertEqual((asking.returncode, out), (143, ""), err)
        self.assertNotIn("running without a lease", err)
        self.assertEqual(self.pawl(*apart, "runs", "ls", "--json").json()["runs"], [])
        self.assertEqual(self.pawl(*apart, "audit", "ls", "--json").json()["audit"], [])

    def test_an_occurrence_that_was_marked_without_a_run_is_told_of(self):
        between = ("exec", "invoices", "--wait", "30s", "--no-journal", "--", "true")
        status, out, err = self.lose_a_claim(before=lambda: self.assertEqual(self.pawl(*between).status, 0))
        self.assertEqual((status, out), (69, ""), err)
        self.assertIn("'invoices' may not have run for 2026-01-02T03:04:05Z, and will not any more: the store did not answer in time", err)
        row = self.row("invoices")
        self.assertEqual((row["status"], row["occurrence"]), ("skipped", "2026-01-02T03:04:05.000Z"))
        self.assertIn("granted the key to another run meanwhile", row["reason"])
