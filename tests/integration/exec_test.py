"""pawl exec, on the embedded store and on Redis."""
import os
import pathlib
import resource
import signal
import subprocess
import time

from harness import Case, OnRedis, Redis, environment, pawl, start, state_of, until


class Exec(Case):
    def test_the_commands_own_status_comes_through(self):
        self.assertEqual(self.pawl("exec", "k", "--", "true").status, 0)
        self.assertEqual(self.pawl("exec", "k", "--", "sh", "-c", "exit 7").status, 7)
        self.assertEqual(self.pawl("exec", "k", "--", "sh", "-c", "kill -9 $$").status, 137)

    def test_a_command_that_cannot_be_run_is_127_or_126_and_leaves_no_lease(self):
        missing = self.pawl("exec", "k", "--", "/nonexistent/command")
        self.assertEqual(missing.status, 127)
        self.assertIn("/nonexistent/command", missing.err)
        self.assertEqual(self.pawl("exec", "k", "--", str(self.folder)).status, 126)
        self.assertFalse(self.pawl("locks", "show", "k", "--json").json()["held"])

    def test_the_command_sees_who_it_is(self):
        shown = self.pawl("exec", "job/a", "--occurrence", "2026-01-02T03:04:05Z", "--", "sh", "-c",
                          'echo "$PAWL_KEY|$PAWL_FENCE_TOKEN|$PAWL_OWNER|$PAWL_RUN_ID|$PAWL_OCCURRENCE|$PAWL_STORE|${PAWL_CHECKPOINT-unset}"')
        key, token, owner, run, occurrence, store, checkpoint = shown.out.strip().split("|")
        self.assertEqual(key, "job/a")
        self.assertEqual(int(token), self.pawl("locks", "show", "job/a", "--json").json()["fence_token"])
        self.assertIn(":", owner)
        self.assertRegex(run, r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(occurrence, "2026-01-02T03:04:05Z")
        self.assertEqual(store, self.store)
        self.assertEqual(checkpoint, "")

    def test_a_container_with_a_clock_of_its_own_sees_the_lease(self):
        """A time namespace sets CLOCK_BOOTTIME forward or back for those in it, and the file may be theirs as well."""
        holder = self.start("exec", "k", "--ttl", "30s", "--", "sh", "-c", "echo held; exec sleep 60")
        holder.stdout.readline()
        for offset in (1000, -5):
            inside = ["unshare", "--fork", "--time", f"--boottime={offset}", *(["--map-root-user"] if os.geteuid() else [])]
            clock = subprocess.run([*inside, "cat", "/proc/self/timens_offsets"], capture_output=True, text=True, check=True)
            self.assertIn(f"boottime {offset:12} ", clock.stdout)
            other = subprocess.run([*inside, os.environ["PAWL_BINARY"], "--store", self.store, "exec", "k", "--", "true"],
                                   env=environment(), capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(other.returncode, 75, other.stderr)
        holder.terminate()
        self.assertEqual(holder.wait(timeout=30), 143)

    def test_the_store_it_sees_is_the_same_from_another_folder(self):
        done = subprocess.run([os.environ["PAWL_BINARY"], "--store", "sqlite:here.db", "exec", "k", "--", "sh", "-c",
                               'cd / && "$0" fence check r "$PAWL_FENCE_TOKEN"', os.environ["PAWL_BINARY"]],
                              cwd=self.folder, env=environment(), timeout=60, check=False)
        self.assertEqual(done.returncode, 0)

    def test_a_key_that_another_client_holds_leaves_the_command_no_grace(self):
        taken = self.start("exec", "k", "--ttl", "20s", "--grace", "15s", "--", "sh", "-c", "trap '' TERM; echo held; while :; do sleep 0.1; done")
        self.assertEqual(taken.stdout.readline(), "held\n")
        self.assertEqual(self.pawl("locks", "release", "k", "--reason", "test", "--yes", "--now").status, 0)
        self.hold("k")
        # It learns of it with its next renewal, after 0.3 of the TTL and a tenth of that; its grace would last as long as its lease.
        begun = time.monotonic()
        self.assertEqual(taken.wait(timeout=60), 70)
        self.assertLess(time.monotonic() - begun, 13)

    def test_tokens_rise_from_run_to_run(self):
        tokens = [int(self.pawl("exec", "k", "--", "sh", "-c", "echo $PAWL_FENCE_TOKEN").out) for _ in range(5)]
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_busy_is_75_or_what_was_asked_for(self):
        self.hold("k")
        busy = self.pawl("exec", "k", "--", "true")
        self.assertEqual(busy.status, 75)
        self.assertIn("'k' is held by", busy.err)
        self.assertEqual(self.pawl("exec", "k", "--skip-status", "0", "--", "true").status, 0)

    def test_slots_let_so_many_run_each_with_its_own(self):
        until_told = f'echo "$PAWL_KEY $PAWL_SLOT $PAWL_SLOT_COUNT"; while [ ! -e {self.folder}/end$PAWL_SLOT ]; do sleep 0.05; done'
        runs = [self.start("exec", "gpu", "--slots", "2", "--", "sh", "-c", until_told) for _ in range(2)]
        self.assertEqual(sorted(run.stdout.readline() for run in runs), ["gpu/0 0 2\n", "gpu/1 1 2\n"])
        third = self.pawl("exec", "gpu", "--slots", "2", "--", "true")
        self.assertEqual(third.status, 75)
        self.assertIn("all 2 slots of 'gpu' are held", third.err)
        held = self.pawl("locks", "ls", "--prefix", "gpu/", "--json").json()["locks"]
        self.assertEqual([one["key"] for one in held], ["gpu/0", "gpu/1"])
        # One that waits takes the slot that is free first.
        waiting = self.start("exec", "gpu", "--slots", "2", "--wait", "--", "sh", "-c", 'echo "$PAWL_SLOT"')
        self.assertIn("waiting for one of the 2 slots of 'gpu', without a time limit", waiting.stderr.readline())
        (self.folder / "end1").touch()
        self.assertEqual(waiting.communicate(timeout=60)[0], "1\n")
        (self.folder / "end0").touch()
        self.assertEqual([run.wait(timeout=60) for run in runs], [0, 0])
        rows = self.pawl("runs", "ls", "--job", "gpu", "--json").json()["runs"]
        self.assertEqual(sorted(row["partition"] for row in rows), [0, 1, 1])

    def test_slots_take_no_occurrence_and_have_a_bound(self):
        both = self.pawl("exec", "k", "--slots", "2", "--occurrence", "2026-01-02T03:04:05Z", "--", "true")
        self.assertEqual(both.status, 64)
        self.assertIn("goes without --occurrence", both.err)
        for count in ("0", "257", "x"):
            self.assertEqual(self.pawl("exec", "k", "--slots", count, "--", "true").status, 64)

    def test_outside_a_slot_the_variable_is_empty(self):
        shown = self.pawl("exec", "k", "--", "sh", "-c", 'echo "[${PAWL_SLOT-unset}]"')
        self.assertEqual(shown.out.strip(), "[]")

    def test_the_words_of_a_command_are_handed_on_as_they_are(self):
        words = ["[0-9]", "[]", "[a,b]", "[[x]]", "[ -f x ]", "[", "", "--", "-x"]
        shown = self.pawl("exec", "k", "--", "printf", "<%s>\n", *words)
        self.assertEqual(shown.out.splitlines(), [f"<{word}>" for word in words], shown.err)

    def test_an_occurrence_runs_once_however_early_the_lock_was_released(self):
        fired = ("--occurrence", "2026-01-02T03:04:05Z")
        self.assertEqual(self.pawl("exec", "k", *fired, "--", "true").status, 0)
        again = self.pawl("exec", "k", *fired, "--", "true")
        self.assertEqual(again.status, 76)
        self.assertIn("has already run for 2026-01-02T03:04:05Z", again.err)
        # The same instant in another zone is the same occurrence; an older one is done as well.
        self.assertEqual(self.pawl("exec", "k", "--occurrence", "2026-01-02T04:04:05+01:00", "--", "true").status, 76)
        self.assertEqual(self.pawl("exec", "k", "--occurrence", "2026-01-02T03:04:04Z", "--", "true").status, 76)
        self.assertEqual(self.pawl("exec", "k", "--occurrence", "2026-01-02T03:04:06Z", "--", "true").status, 0)

    def test_cron_names_the_current_minute_hour_or_day(self):
        ran = []
        for name, form in (("minute", "%Y-%m-%dT%H:%M:00.000Z"), ("hour", "%Y-%m-%dT%H:00:00.000Z"), ("day", "%Y-%m-%dT00:00:00.000Z")):
            before = time.strftime(form, time.gmtime())
            shown = self.pawl("exec", name, "--occurrence", name, "--", "sh", "-c", "echo $PAWL_OCCURRENCE")
            after = time.strftime(form, time.gmtime())
            self.assertEqual(shown.status, 0, shown.err)
            self.assertIn(shown.out.strip(), (before, after))
            again = self.pawl("exec", name, "--occurrence", name, "--", "sh", "-c", "echo $PAWL_OCCURRENCE")
            # Unless the next one has just begun.
            self.assertTrue(again.status == 76 or again.out.strip() > shown.out.strip(), again)
            ran.append(again.status)
        self.assertIn(76, ran)
        wrong = self.pawl("exec", "k", "--occurrence", "minuet", "--", "true")
        self.assertEqual(wrong.status, 64)
        self.assertIn("or minute, hour or day", wrong.err)

    def test_an_occurrence_under_at_least_once_may_run_again_after_a_failure(self):
        fired = ("--occurrence", "2026-01-02T03:04:05Z", "--at-least-once")
        self.assertEqual(self.pawl("exec", "k", *fired, "--", "false").status, 1)
        self.assertEqual(self.pawl("exec", "k", *fired, "--", "true").status, 0)
        self.assertEqual(self.pawl("exec", "k", *fired, "--", "true").status, 76)

    def test_an_occurrence_in_the_future_is_not_used_up(self):
        early = self.pawl("exec", "k", "--occurrence", "2999-01-01T00:00:00Z", "--", "true")
        self.assertEqual(early.status, 75)
        self.assertIn("ahead of the store's clock", early.err)

    def test_a_wait_ends_when_the_key_is_released(self):
        holder = self.start("exec", "k", "--", "sh", "-c", "echo held; exec sleep 60")
        holder.stdout.readline()
        waiter = self.start("exec", "k", "--wait", "--", "echo", "mine")
        until(lambda: self.pawl("locks", "show", "k", "--json").json()["waiters"] == 1)
        holder.terminate()
        self.assertEqual(waiter.stdout.readline(), "mine\n")
        self.assertEqual(waiter.wait(timeout=30), 0)

    def test_a_wait_with_a_bound_ends_busy(self):
        self.hold("k")
        self.assertEqual(self.pawl("exec", "k", "--wait=200ms", "--", "true").status, 75)

    def test_a_wait_leaves_the_command_and_its_options_alone(self):
        for wait in ("--wait", "--wait=1s"):
            self.assertEqual(self.pawl("exec", "k", wait, "--", "sh", "-c", "exit 3").status, 3)
            self.assertEqual(self.pawl("exec", wait, "k", "--", "sh", "-c", "exit 3").status, 3)

    def test_hold_and_at_least_keep_the_key_after_the_command(self):
        self.assertEqual(self.pawl("exec", "a", "--ttl", "60s", "--hold", "--", "true").status, 0)
        self.assertEqual(self.pawl("exec", "a", "--", "true").status, 75)
        self.assertEqual(self.pawl("exec", "b", "--ttl", "5s", "--at-least", "60s", "--", "true").status, 0)
        busy = self.pawl("exec", "b", "--", "true")
        self.assertEqual(busy.status, 75)
        self.assertIn("in cooldown, available in ", busy.err)

    def test_signals_are_passed_on_to_the_command(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = self.start("exec", "k", "--", "sh", "-c",
                                 "trap 'echo caught; exit 3' TERM INT HUP; echo ready; while :; do sleep 0.05; done")
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), "caught\n")
            self.assertEqual(process.wait(timeout=30), 3)

    def test_a_signal_ends_a_wait(self):
        self.hold("k")
        waiter = self.start("exec", "k", "--wait", "--", "true")
        until(lambda: self.pawl("locks", "show", "k", "--json").json()["waiters"] == 1)
        waiter.terminate()
        self.assertEqual(waiter.wait(timeout=30), 128 + signal.SIGTERM)

    def test_a_signal_ends_the_wait_for_a_guard(self):
        """The process that starts guards stands still; nothing has run, so the occurrence is another node's."""
        words = ("exec", "k", "--ttl", "10m", "--wait", "--occurrence", "2026-01-02T03:04:05Z", "--", "echo", "ran")
        holder = self.hold("k")
        waiter = self.start(*words)
        until(lambda: self.pawl("locks", "show", "k", "--json").json()["waiters"] == 1)
        launcher, = pathlib.Path(f"/proc/{waiter.pid}/task/{waiter.pid}/children").read_text().split()
        os.kill(int(launcher), signal.SIGSTOP)
        holder.terminate()
        holder.wait(timeout=60)
        until(lambda: "started" in [run["status"] for run in self.pawl("runs", "ls", "--json").json()["runs"]])
        begun = time.monotonic()
        waiter.terminate()
        out, err = waiter.communicate(timeout=60)
        self.assertEqual((waiter.returncode, out), (128 + signal.SIGTERM, ""), err)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertFalse(self.pawl("locks", "show", "k", "--json").json()["held"])
        again = self.pawl(*words)
        self.assertEqual((again.status, again.out), (0, "ran\n"), again.err)

    def test_a_command_that_stops_its_guard_keeps_no_key(self):
        """Alone, and with the process that starts guards."""
        for whom in ("$PPID", "$launcher $PPID"):
            done = self.pawl("exec", "k", "--ttl", "9s", "--", "sh", "-c", f"read _ _ _ launcher _ < /proc/$PPID/stat; kill -STOP {whom}; exit 3")
            self.assertEqual(done.status, 3, done.err)
            self.assertFalse(self.pawl("locks", "show", "k", "--json").json()["held"])

    def test_a_command_that_stops_its_guard_without_end_is_killed_with_it(self):
        done = self.pawl("exec", "k", "--", "sh", "-c", "while :; do kill -STOP $PPID; done")
        self.assertEqual(done.status, 137, done.err)
        self.assertIn("guard killed, and the command with it key=k", done.err)

    def test_an_occurrence_is_given_back_where_the_machine_could_start_nothing(self):
        """The process that starts guards has no descriptor left: its streams, its socket, that for signals and a spare one."""
        words = ("exec", "k", "--wait", "--occurrence", "2026-01-02T03:04:05Z", "--", "echo", "ran")
        holder = self.hold("k")
        waiter = self.start(*words)
        until(lambda: self.pawl("locks", "show", "k", "--json").json()["waiters"] == 1)
        launcher, = pathlib.Path(f"/proc/{waiter.pid}/task/{waiter.pid}/children").read_text().split()
        resource.prlimit(int(launcher), resource.RLIMIT_NOFILE, (6, 6))
        holder.terminate()
        out, err = waiter.communicate(timeout=60)
        self.assertEqual((waiter.returncode, out), (126, ""), err)
        self.assertIn("Too many open files", err)
        row = self.pawl("runs", "ls", "--json").json()["runs"][0]
        self.assertEqual(row["status"], "skipped")
        self.assertIn("Too many open files", row["reason"])
        again = self.pawl(*words)
        self.assertEqual((again.status, again.out), (0, "ran\n"), again.err)

    def test_the_lease_is_renewed_for_as_long_as_the_command_runs(self):
        process = self.start("exec", "k", "--ttl", "9s", "--grace", "0s", "--", "sh", "-c", "echo held; sleep 12; echo done")
        process.stdout.readline()
        before = self.pawl("locks", "show", "k", "--json").json()["fence_token"]
        self.assertEqual(process.stdout.readline(), "done\n")
        self.assertEqual(process.wait(timeout=30), 0)
        self.assertEqual(self.pawl("locks", "show", "k", "--json").json()["fence_token"], before)

    def test_what_the_command_reads_and_writes_is_its_own(self):
        echoed = self.pawl("exec", "k", "--", "cat", stdin="through\n")
        self.assertEqual((echoed.out, echoed.err), ("through\n", ""))

    def test_a_store_that_is_down_is_69_or_fail_open_as_asked(self):
        nowhere = ("--store", "redis://127.0.0.1:1?timeout=300ms")
        self.assert_one_line(pawl(*nowhere, "exec", "k", "--", "true"), 69, "127.0.0.1:1")
        opened = pawl(*nowhere, "exec", "k", "--on-store-down", "run", "--", "sh", "-c", 'echo "ran[$PAWL_FENCE_TOKEN]"')
        self.assertEqual((opened.status, opened.out), (0, "ran[]\n"))
        self.assertIn("without a lease", opened.err)

    def test_a_run_without_a_lease_is_recorded_and_audited_where_the_journal_answers(self):
        journal = ("--journal", f"sqlite:{self.stores}/runs.db")
        opened = pawl("--store", "redis://127.0.0.1:1?timeout=300ms", *journal, "exec", "k", "--on-store-down", "run", "--", "true")
        self.assertEqual(opened.status, 0, opened.err)
        run, = self.pawl(*journal, "runs", "ls", "--json").json()["runs"]
        self.assertEqual((run["status"], run["fence_token"]), ("completed", 0))
        entry, = self.pawl(*journal, "audit", "ls", "--json").json()["audit"]
        self.assertEqual((entry["action"], entry["target"]), ("exec.fail_open", "k"))
        self.assertIn("127.0.0.1:1", entry["detail"])

    def test_a_command_that_takes_too_long_is_stopped_and_124(self):
        begun = time.monotonic()
        late = self.pawl("exec", "k", "--timeout", "5s", "--grace", "200ms", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.05; done")
        self.assertEqual(late.status, 124, late.err)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertIn("timed out, stopped the command key=k timeout=5s", late.err)
        run, = self.pawl("runs", "ls", "--json").json()["runs"]
        self.assertEqual((run["status"], run["reason"]), ("timed_out", "it took longer than its timeout"))
        # The key is free at once, and who ends in time is not bothered.
        for longest in ("1m", "3650d"):
            self.assertEqual(self.pawl("exec", "k", "--timeout", longest, "--", "sh", "-c", "exit 7").status, 7)

    def test_a_log_whose_reader_has_gone_ends_nothing(self):
        """As that of a service whose collector died. What the command inherits stays as it was."""
        ignored = "sed -n 's/^SigIgn:\\t//p' /proc/self/status"
        alone = self.start("exec", "k", "--timeout", "6s", "--", "sh", "-c", f"{ignored}; exec sleep 60")
        self.assertFalse(int(alone.stdout.readline(), 16) & 1 << signal.SIGPIPE - 1)
        alone.stderr.close()
        # That it timed out is said to the log, and then to the journal and the store.
        self.assertEqual(alone.wait(timeout=60), 124)
        run, = self.pawl("runs", "ls", "--json").json()["runs"]
        self.assertEqual(run["status"], "timed_out")
        self.assertFalse(self.pawl("locks", "show", "k", "--json").json()["held"])

    def test_a_command_without_a_lease_has_its_time_as_well(self):
        late = pawl("--store", "redis://127.0.0.1:1?timeout=300ms", "exec", "k", "--on-store-down", "run", "--timeout", "300ms", "--", "sleep", "60")
        self.assertEqual(late.status, 124, late.err)

    def test_the_time_is_up_for_a_pawl_that_stands_still_as_well(self):
        frozen = self.start("exec", "k", "--ttl", "10m", "--timeout", "6s", "--grace", "0s", "--", "sh", "-c", "echo $$; exec sleep 600")
        command = int(frozen.stdout.readline())
        frozen.send_signal(signal.SIGSTOP)
        try:
            # Its guard reaps it when pawl goes on.
            until(lambda: state_of(f"/proc/{command}") == "Z", bound=60)
        finally:
            frozen.send_signal(signal.SIGCONT)
        self.assertEqual(frozen.wait(timeout=60), 124)


class ExecAtRest(Case):
    """A host may have hundreds of them."""
    RESIDENT_KIB_MAX = 8 * 1024

    def resident_kib(self, process):
        fields = dict(line.split(":", 1) for line in open(f"/proc/{process.pid}/status", encoding="ascii"))
        return int(fields["VmRSS"].split()[0])

    def test_what_waits_keeps_little_in_memory_and_continues(self):
        holder = self.start("exec", "k", "--ttl", "9s", "--grace", "0s", "--", "sh", "-c", "echo held; exec sleep 60")
        self.assertEqual(holder.stdout.readline(), "held\n")
        waiter = self.start("exec", "k", "--wait", "--", "echo", "mine")
        # A sanitizer keeps more than pawl does.
        for process in () if os.environ.get("PAWL_SANITIZED") else (holder, waiter):
            until(lambda: self.resident_kib(process) <= self.RESIDENT_KIB_MAX)
        # Renewed all the while, by code that had to be read again.
        token = self.pawl("locks", "show", "k", "--json").json()["fence_token"]
        ends = time.monotonic() + 12
        until(lambda: time.monotonic() > ends)
        self.assertEqual(self.pawl("locks", "show", "k", "--json").json()["fence_token"], token)
        self.assertIsNone(waiter.poll())
        holder.terminate()
        self.assertEqual(waiter.stdout.readline(), "mine\n")
        self.assertEqual(waiter.wait(timeout=30), 0)


class ExecOnRedis(OnRedis, Exec):
    """Every law above, on a real Redis."""

    def test_a_quarantine_is_told_from_slots_that_are_held(self):
        store = f"{self.store}?quarantine=1h"
        for words in (["exec", "gpu", "--slots", "2", "--", "true"], ["bench", "--for", "3s"], ["bench", "--for", "3s", "--json"]):
            told = pawl("--store", store, *words)
            self.assertEqual((told.status, told.out), (75, ""), told.err)
            self.assertIn("is in quarantine for ", told.err)

    def test_the_store_it_sees_is_the_same_from_another_folder(self):
        seen = self.pawl("exec", "k", "--", "sh", "-c", 'cd / && "$0" fence check r "$PAWL_FENCE_TOKEN"', os.environ["PAWL_BINARY"])
        self.assertEqual(seen.status, 0)

    def test_a_key_that_was_lost_after_the_command_was_told_to_stop_ends_it_at_once(self):
        """The store was away until then, and once it answers trust would go on for another twenty seconds."""
        self.server = Redis()
        self.addCleanup(self.server.stop)
        self.store = self.server.url
        taken = self.start("exec", "k", "--ttl", "24s", "--grace", "8s", "--", "sh", "-c", "trap 'echo told' TERM; echo held; while :; do sleep 0.1; done")
        self.assertEqual(taken.stdout.readline(), "held\n")
        self.server.freeze()
        self.assertEqual(taken.stdout.readline(), "told\n")
        self.server.thaw()
        self.assertEqual(self.pawl("locks", "release", "k", "--reason", "test", "--yes", "--now").status, 0)
        self.hold("k")
        begun = time.monotonic()
        self.assertEqual(taken.wait(timeout=60), 70)
        # The next renewal is eight seconds away, should the push be lost.
        self.assertLess(time.monotonic() - begun, 13)

    def test_a_missing_right_to_be_told_of_changes_is_one_warning(self):
        server = Redis()
        self.addCleanup(server.stop)
        server.ask("ACL", "SETUSER", "mute", "on", ">s3cret", "allkeys", "resetchannels", "+@all")
        go = self.folder / "go"
        holder = self.start_on(server, "exec", "k", "--ttl", "20s", "--", "sh", "-c", f'echo held; until [ -e "{go}" ]; do sleep 0.02; done')
        holder.stdout.readline()
        waiter = start("--store", f"redis://mute:s3cret@127.0.0.1:{server.port}", "exec", "k", "--wait", "2m", "--", "true")
        self.addCleanup(self.end, waiter)
        told = ""
        while "store notifications unavailable" not in told:
            line = waiter.stderr.readline()
            self.assertTrue(line, told)
            told += line
        # A few looks later it has nothing to add.
        since = time.monotonic()
        until(lambda: time.monotonic() - since > 3)
        go.touch()
        told += waiter.communicate(timeout=60)[1]
        self.assertEqual(waiter.returncode, 0, told)
        self.assertEqual(told.count("store notifications unavailable"), 1, told)
        self.assertIn("once a second", told)

    def test_a_store_that_answers_is_not_down_though_its_replicas_are(self):
        self.store = self.server.url + "?wait=1&timeout=4s"
        fail_open = ("--ttl", "10s", "--on-store-down", "run", "--", "echo", "ran")
        lonely = self.pawl("exec", "k", *fail_open)
        self.assertEqual((lonely.status, lonely.out), (74, ""), lonely.err)
        # It goes on giving the occurrence back, which the missing replica is to know of.
        lonely = self.start("exec", "k", "--occurrence", "2026-01-02T03:04:05Z", *fail_open)
        told = lonely.stderr.readline()
        self.assertIn("claim unanswered, withdrawal pending key=k", told)
        self.assertIn("0 of 1 replicas have it", told)
        lonely.terminate()
        out, _ = lonely.communicate(timeout=60)
        self.assertEqual((lonely.returncode, out), (69, ""))

    def test_a_server_that_dies_stops_the_command_before_the_lease_can_pass_on(self):
        server = Redis()
        self.addCleanup(server.stop)
        process = self.start_on(server, "exec", "k", "--ttl", "2s", "--grace", "300ms", "--", "sh", "-c", "echo held; exec sleep 60")
        process.stdout.readline()
        server.process.kill()
        self.assertEqual(process.wait(timeout=30), 70)

    def start_on(self, server, *words):
        self.store = server.url
        return self.start(*words)
