"""jobs, runs, checkpoint, nodes and audit: what people ask of agents, and what they are told."""
import contextlib
import os
import pathlib
import pty
import re
import shutil
import subprocess
import tempfile

from agents import TIME, Agent, AgentCase, job
from harness import PAWL, environment, server_folder, until

SEQUENCE = 200_000  # numbers; more bytes than any journal keeps of a run that may keep 1 KiB


class Shared(AgentCase):
    """Two agents for all tests of a class, which each have jobs of their own."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="pawl-test-"))
        folder = server_folder("store")
        for one in (cls.shared, folder):
            cls.addClassCleanup(shutil.rmtree, one, ignore_errors=True)
        cls.shared_store = f"sqlite:{folder}/pawl.db"
        cls.agents = []
        for name in ("node-a", "node-b"):
            one = Agent(cls.shared, name, cls.shared_store, cls.jobs(cls.shared), max_concurrent_runs=50, shutdown_grace="1s")
            cls.addClassCleanup(one.kill)
            cls.agents.append(one.start())

    def setUp(self):
        self.folder, self.store = self.shared, self.shared_store

    def assert_mistake(self, words, says):
        self.assert_one_line(self.pawl(*words), 64, says)


class Jobs(Shared):
    @staticmethod
    def jobs(folder):
        return [
            job("echo", 'for word in "$@"; do echo "[$word]"; done; exit 7', env={"SECRET": "hunter2"}, arguments=True),
            job("nobody-asks", f"touch {folder}/nobody-asks", arguments=["more"]),
            job("resumed", 'echo "<$PAWL_CHECKPOINT>"; [ $# -eq 0 ] || "$PAWL_BINARY" checkpoint "$1"', arguments=["invoice [0-9]*"]),
            job("parts", 'echo "$PAWL_PARTITION of $PAWL_PARTITION_COUNT"', partitions=3),
            job("disabled", f"touch {folder}/disabled", schedule="@every 1s", enabled=False),
            job("paused", "true", schedule="@every 1s"),
            job("metronome", "true", schedule="@every 1s"),
            job("held", f"touch {folder}/held"),
            job("withdrawn", f"touch {folder}/withdrawn"),
            job("paints", "printf 'a\\033[2J\\tb\\302\\23331m\\342\\200\\256c\\n'"),
        ]

    def test_ls_tells_what_agents_have_published(self):
        document = self.pawl("jobs", "ls", "--json").json()
        self.assertEqual(document["next"], "")
        seen = {one["name"]: one for one in document["jobs"]}
        self.assertEqual(sorted(seen), ["disabled", "echo", "held", "metronome", "nobody-asks", "paints", "parts", "paused", "resumed", "withdrawn"])
        for one in seen.values():
            self.assertEqual(set(one), {"name", "schedule", "zone", "partitions", "slots", "paused", "next", "last_run", "arguments", "published_by",
                                        "published_at", "definition", "state", "why", "since", "running", "consecutive_failures", "blocked_by"})
            self.assertRegex(one["published_at"], TIME)
            self.assertIn(one["published_by"], ("node-a", "node-b"))
        self.assertEqual((seen["parts"]["partitions"], seen["parts"]["schedule"], seen["parts"]["next"]), (3, "", None))
        self.assertEqual((seen["metronome"]["schedule"], seen["metronome"]["zone"]), ("@every 1s", "UTC"))
        self.assertRegex(seen["metronome"]["next"], TIME)
        table = self.pawl("jobs", "ls").out.splitlines()
        self.assertTrue(table[0].startswith("JOB"))
        self.assertEqual(len(table), 1 + len(seen))

    def test_show_tells_all_of_one_but_no_value_of_a_variable(self):
        until(lambda: self.runs("metronome"))
        document = self.pawl("jobs", "show", "metronome", "--json").json()
        self.assertEqual(document["definition"]["command"], ["/bin/sh", "-c", "true", "sh"])
        # By the names that the configuration has for them.
        self.assertEqual({name: document["definition"].get(name) for name in
                          ("min_hold", "hold_until_expiry", "delivery", "at_least", "hold", "occurrence")},
                         {"min_hold": "0s", "hold_until_expiry": False, "delivery": "at-most-once",
                          "at_least": None, "hold": None, "occurrence": None})
        self.assertEqual(document["last_run"]["job"], "metronome")
        for one in document["runs"]:
            self.assert_is_run(one)
        self.assertIn('"factor":2,', self.pawl("jobs", "show", "metronome").out)
        for words in (("--json",), ()):
            shown = self.pawl("jobs", "show", "echo", *words)
            self.assertIn("SECRET", shown.out)
            self.assertNotIn("hunter2", shown.out)

    def test_a_name_that_no_agent_knows_is_told_with_the_nearest(self):
        for words in (["show"], ["run"], ["resume"], ["run", "--dry-run"]):
            self.assert_mistake(["jobs", *words, "metronom"], "'metronome'")
        self.assert_mistake(["jobs", "pause", "metronom", "--reason", "x"], "'metronome'")
        self.assert_mistake(["jobs", "pause", "metronome"], "--reason")
        self.assert_mistake(["jobs", "show", "nothing-like-any"], "jobs ls")

    def test_a_run_by_hand_gets_its_arguments_and_gives_its_status(self):
        arguments = ["two words", "", "--wait", "*", "'\"$HOME", "[0-9]", "[a,b]"]
        ran = self.pawl("jobs", "run", "echo", "--wait", "--json", "--", *arguments)
        self.assertEqual(ran.status, 7, ran.err)
        (row,) = ran.json()["runs"]
        self.assert_is_run(row)
        self.assertEqual((row["trigger"], row["status"], row["reason"], row["exit_status"], row["occurrence"], row["attempt"]),
                         ("manual", "failed", "exit 7", 7, None, 1))
        self.assertEqual(self.pawl("runs", "output", row["id"]).out, "".join(f"[{word}]\n" for word in arguments))
        told = self.pawl("jobs", "run", "echo", "--wait")
        self.assertEqual(told.status, 7)
        self.assertRegex(told.out, r"^queued run (\S{36}) of job 'echo'\nrun \1 failed: exit 7\n$")

    def test_arguments_that_a_job_does_not_allow_are_rejected_and_those_that_it_does_are_on_record(self):
        for words in (["metronome", "--", "x"], ["resumed", "--", "invoice 1", "--checkpoint-action=exec=sh"], ["resumed", "--dry-run", "--", "x"]):
            rejected = self.pawl("jobs", "run", *words)
            self.assert_one_line(rejected, 77, f"allowed for job '{words[0]}'")
        (row,) = self.pawl("jobs", "run", "resumed", "--wait", "--json", "--", "invoice 42").json()["runs"]
        with_words = "arguments 'invoice 42'"
        history = self.pawl("runs", "show", row["id"], "--json").json()["history"]
        self.assertIn(("note", with_words), [(one["kind"], one["text"]) for one in history])
        audit = self.pawl("audit", "ls", "--json").json()["audit"]
        self.assertIn(("job.run", "resumed", with_words), [(one["action"], one["target"], one["detail"]) for one in audit])
        self.assertTrue(any("arguments='invoice 42'" in one.log() for one in self.agents))

    def test_output_takes_no_terminal_over_unless_that_is_asked_for(self):
        (row,) = self.pawl("jobs", "run", "paints", "--wait", "--json").json()["runs"]

        def parts(terminal):
            """Until the last of those who write to it has closed it."""
            with contextlib.suppress(OSError):
                while part := os.read(terminal, 4096):
                    yield part

        def seen(*words):
            ours, theirs = pty.openpty()
            try:
                subprocess.run([PAWL, "--store", self.store, "runs", "output", row["id"], *words], stdout=theirs, env=environment(), check=True,
                               timeout=60)
                os.close(theirs)
                return b"".join(parts(ours)).decode().replace("\r\n", "\n")
            finally:
                os.close(ours)
        written = "a\x1b[2J\tb\u009b31m\u202ec\n"
        self.assertEqual(seen(), "a^[[2J\tb<U+009B>31m<U+202E>c\n")
        self.assertEqual(seen("--raw"), written)
        self.assertEqual(self.pawl("runs", "output", row["id"]).out, written)

    def test_a_dry_run_tells_all_and_runs_nothing(self):
        with self.subTest("free"):
            document = self.pawl("jobs", "run", "nobody-asks", "--dry-run", "--json", "--", "more").json()
            self.assertEqual(set(document), {"dry_run", "job", "command", "definition", "live_nodes", "runs"})
            self.assertEqual((document["dry_run"], document["live_nodes"]), (True, 2))
            self.assertEqual(document["command"][-2:], ["sh", "more"])
            self.assertEqual(document["runs"], [{"key": "job/nobody-asks", "partition": 0, "lease": None, "checkpoint": ""}])
        with self.subTest("held"):
            holder = self.hold("job/nobody-asks")
            owner = self.pawl("locks", "show", "job/nobody-asks", "--json").json()["owner"]
            told = self.pawl("jobs", "run", "nobody-asks", "--dry-run").out
            self.assertIn(f"held by {owner}", told)
            self.assertIn("nothing was started", told)
            holder.terminate()
        # Somebody who asks later is served, so the dry runs would have been by now.
        self.assertEqual(self.pawl("jobs", "run", "resumed", "--wait").status, 0)
        self.assertFalse(self.file("nobody-asks").exists())
        self.assertEqual(self.runs("nobody-asks"), [])

    def test_a_run_resumes_from_the_last_checkpoint_only_where_it_is_asked_to(self):
        def ran(*words):
            (row,) = self.pawl("jobs", "run", "resumed", "--wait", "--json", *words).json()["runs"]
            self.assertEqual(row["status"], "completed")
            return self.pawl("runs", "output", row["id"]).out
        self.assertEqual(ran("--", "invoice 4711"), "<>\n")
        self.assertEqual(ran(), "<>\n")
        self.assertEqual(self.pawl("jobs", "run", "resumed", "--resume", "--dry-run", "--json").json()["runs"][0]["checkpoint"],
                         "invoice 4711")
        self.assertEqual(ran("--resume"), "<invoice 4711>\n")

    def test_each_partition_runs_or_the_one_that_is_named(self):
        ran = self.pawl("jobs", "run", "parts", "--wait", "--json")
        self.assertEqual(ran.status, 0, ran.err)
        rows = ran.json()["runs"]
        self.assertEqual([(one["partition"], one["key"]) for one in rows], [(i, f"job/parts/{i}") for i in range(3)])
        self.assertEqual([self.pawl("runs", "output", one["id"]).out for one in rows], [f"{i} of 3\n" for i in range(3)])
        (one,) = self.pawl("jobs", "run", "parts", "--partition", "2", "--wait", "--json").json()["runs"]
        self.assertEqual(one["partition"], 2)
        for bad in ("3", "-1", "x"):
            self.assert_mistake(["jobs", "run", "parts", "--partition", bad], "--partition")

    def test_a_run_by_hand_waits_for_its_key(self):
        holder = self.hold("job/held")
        run = self.run_now("held")
        occurrences = len(self.runs("metronome"))
        until(lambda: len(self.runs("metronome")) > occurrences + 2)  # the agents have looked at the control state meanwhile
        self.assert_mistake(["runs", "show", run], "is queued: it waits for an agent, or its lock")
        self.assertFalse(self.file("held").exists())
        holder.terminate()
        row = self.ended(run)
        self.assertEqual((row["status"], row["trigger"]), ("completed", "manual"))

    def test_a_run_that_waits_can_be_cancelled(self):
        holder = self.hold("job/withdrawn")
        waiting = self.start("jobs", "run", "withdrawn", "--wait")
        run = waiting.stdout.readline().split()[2]
        cancelled = self.pawl("runs", "cancel", run, "--json")
        self.assertEqual(cancelled.json(), {"id": run, "job": "withdrawn", "cancel_requested": True})
        self.assertEqual(waiting.wait(timeout=30), 1)
        holder.terminate()
        # It is asked for behind that one, and so runs behind it.
        (row,) = self.pawl("jobs", "run", "withdrawn", "--wait", "--json").json()["runs"]
        self.assertEqual([one["id"] for one in self.runs("withdrawn")], [row["id"]])
        self.assert_mistake(["runs", "cancel", run], "not found")

    def test_a_paused_job_fires_on_no_node_and_still_runs_by_hand(self):
        until(lambda: self.runs("paused"))
        reason = "the warehouse is being moved"
        self.assertEqual(self.pawl("jobs", "pause", "paused", "--reason", reason, "--json").json(),
                         {"job": "paused", "paused": True, "changed": True})
        self.assertIn("already paused", self.pawl("jobs", "pause", "paused", "--reason", "again").out)
        for one in self.agents:
            one.says(f"job paused job=paused by=root@{os.uname().nodename}: {reason}" if os.geteuid() == 0 else f": {reason}")
        shown = self.pawl("jobs", "show", "paused", "--json").json()
        self.assertEqual((shown["paused"]["reason"], shown["next"]), (reason, None))
        self.assertRegex(shown["paused"]["at"], TIME)
        # An occurrence that was due before may have been in a claim.
        occurrences = len(self.runs("metronome"))
        until(lambda: len(self.runs("metronome")) > occurrences + 1)
        count = len(self.runs("paused"))
        occurrences = len(self.runs("metronome"))
        until(lambda: len(self.runs("metronome")) > occurrences + 2)
        self.assertEqual(len(self.runs("paused")), count)
        self.assertEqual(self.pawl("jobs", "run", "paused", "--wait").status, 0)
        self.assertEqual(self.runs("paused")[-1]["trigger"], "manual")
        paused_until = self.runs("paused")[-1]["completed_at"]

        self.assertEqual(self.pawl("jobs", "resume", "paused", "--json").json(), {"job": "paused", "paused": False, "changed": True})
        self.assertIn("not paused", self.pawl("jobs", "resume", "paused").out)
        until(lambda: len(self.runs("paused")) > count + 2)
        # What was due meanwhile was not to run.
        again = self.runs("paused")[count + 1:]
        self.assertEqual([one["occurrence"] for one in again if one["occurrence"] < paused_until], [])
        told = [(one["action"], one["detail"]) for one in self.pawl("audit", "ls", "--json").json()["audit"] if one["target"] == "paused"]
        self.assertEqual(told, [("job.resume", ""), ("job.run", ""), ("job.pause", reason)])

    def test_a_disabled_job_is_known_and_never_runs(self):
        self.assertIsNone(self.pawl("jobs", "show", "disabled", "--json").json()["next"])
        self.assert_mistake(["jobs", "run", "disabled"], "job 'disabled' is disabled; set enabled = true")
        until(lambda: len(self.runs("metronome")) > 2)
        self.assertEqual(self.runs("disabled"), [])
        self.assertFalse(self.file("disabled").exists())


class Runs(Shared):
    @staticmethod
    def jobs(folder):
        follow = f'echo one; until [ -e {folder}/go-on ]; do sleep 0.05; done; echo two'
        retried = f'echo "$PAWL_ATTEMPT $PAWL_IDEMPOTENCY_KEY <$PAWL_CHECKPOINT>"; "$PAWL_BINARY" checkpoint "try $PAWL_ATTEMPT"; [ "$PAWL_ATTEMPT" -ge 3 ]'
        return [
            job("tick", "true", schedule="@every 1s"),
            job("fails", "exit 9"),
            job("followed", follow),
            job("tail", f"seq 1 {SEQUENCE}", output_limit="1KiB"),
            job("binary", r"awk 'BEGIN { for (i = 0; i < 256; i++) printf \"%c\", i }' | LC_ALL=C cat; printf '\0\377\376'"),
            job("cancelled", f"echo run > {folder}/cancelled; trap 'exit 5' TERM; while :; do sleep 0.05; done",
                retries={"max": 3, "backoff": "10ms"}),
            job("retried", retried, retries={"max": 4, "backoff": "50ms", "max_backoff": "100ms"}),
            job("given-up", 'exit "$PAWL_ATTEMPT"', retries={"max": 1, "backoff": "50ms"}),
            job("slow", "exec sleep 600", timeout="6s", soft_timeout="1s", grace="1s"),
            job("overlapping", f"until [ -e {folder}/overlapped ]; do sleep 0.05; done", schedule="@every 1s"),
            job("spread", "true", schedule="@every 1s", partitions=6, ttl="3s"),
        ]

    def ran(self, name, status):
        done = self.pawl("jobs", "run", name, "--wait", "--json")
        self.assertEqual(done.status, status, done.err)
        (row,) = done.json()["runs"]
        return row

    def test_ls_is_narrowed_by_job_status_and_node(self):
        failed = self.ran("fails", 9)
        until(lambda: self.runs("tick"))
        listed = self.pawl("runs", "ls", "--status", "failed", "--job", "fails", "--json").json()
        self.assertEqual([one["id"] for one in listed["runs"]], [failed["id"]])
        self.assert_is_run(listed["runs"][0])
        lost = self.pawl("runs", "ls", "--status", "lost", "--json").json()["runs"]
        self.assertLessEqual({one["status"] for one in lost}, {"lost"})  # none, unless the machine is slow
        for node in ("node-a", "node-b"):
            rows = self.pawl("runs", "ls", "--node", node, "--json").json()["runs"]
            self.assertLessEqual({one["node"] for one in rows}, {node})
        self.assertEqual(self.pawl("runs", "ls", "--node", failed["node"], "--job", "fails", "--json").json()["runs"], listed["runs"])
        table = self.pawl("runs", "ls", "--job", "fails").out.splitlines()
        self.assertTrue(table[0].startswith("ID"))
        self.assertIn("exit 9", table[1])
        self.assert_mistake(["runs", "ls", "--status", "broken"], "timed_out")
        self.assert_mistake(["runs", "ls", "--limit", "0"], "--limit")
        self.assert_mistake(["runs", "ls", "--after", "nonsense"], "--after")

    def test_pages_hold_every_run_once_the_newest_first(self):
        until(lambda: len(self.runs("tick")) >= 5)
        listed = [one["id"] for one in reversed(self.runs("tick"))]
        first = self.pawl("runs", "ls", "--job", "tick", "--limit", "2", "--json").json()
        self.assertEqual(len(first["runs"]), 2)
        seen, after = first["runs"], first["next"]
        while after:
            page = self.pawl("runs", "ls", "--job", "tick", "--limit", "2", "--after", after, "--json").json()
            seen, after = seen + page["runs"], page["next"]
        names = [one["id"] for one in seen]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(names[-len(listed):], listed)
        # Of one that was tried again it is when that attempt began.
        begun = [one["started_at"] for one in seen if one["attempt"] == 1]
        self.assertEqual(begun, sorted(begun, reverse=True))

    def test_show_tells_the_history(self):
        row = self.ran("retried", 0)
        shown = self.shown(row["id"])
        history = shown.pop("history")
        self.assertEqual([shown.pop(name) for name in ("cancelled_by", "cancel_reason")], ["", ""])
        self.assertRegex(shown.pop("triggered_by"), r"^\S+@\S+$")
        self.assert_is_run(shown)
        self.assertEqual((shown["status"], shown["attempt"], shown["checkpoint"], shown["exit_status"]), ("completed", 3, "try 3", 0))
        for one in history:
            self.assertEqual(set(one), {"at", "kind", "text", "node", "fence_token", "attempt"})
            self.assertEqual((one["node"], one["fence_token"]), (shown["node"], shown["fence_token"]))
            self.assertRegex(one["at"], TIME)
        self.assertEqual([(one["kind"], one["attempt"]) for one in history],
                         [("begun", 1), ("asked", 1), ("checkpoint", 1), ("note", 1), ("attempt", 2), ("checkpoint", 2), ("note", 2),
                          ("attempt", 3), ("checkpoint", 3), ("completed", 3)])
        self.assertRegex(history[3]["text"], "^attempt 1 failed: exit 1; the next begins in ")
        self.assertIn("exit 1", history[4]["text"])
        # Each attempt knows which it is, goes by one idempotency key, and finds what the last has saved.
        key = row["id"]
        self.assertEqual(self.pawl("runs", "output", row["id"]).out, f"1 {key} <>\n2 {key} <try 1>\n3 {key} <try 2>\n")
        people = self.pawl("runs", "show", row["id"]).out
        self.assertIn("try 3", people)
        self.assert_mistake(["runs", "show", "00000000-0000-4000-8000-000000000000"], "runs ls")

    def test_retries_come_to_an_end_and_the_status_is_the_last_one(self):
        row = self.ran("given-up", 2)
        self.assertEqual((row["status"], row["attempt"], row["exit_status"], row["reason"]), ("failed", 2, 2, "exit 2"))

    def test_output_can_be_followed_to_its_end(self):
        run = self.run_now("followed")
        following = self.start("runs", "output", run, "--follow")
        self.assertEqual(following.stdout.readline(), "one\n")
        self.assertIsNone(following.poll())
        until(lambda: self.pawl("runs", "output", run).out == "one\n")
        self.file("go-on").touch()
        self.assertEqual(following.stdout.readline(), "two\n")
        self.assertEqual(following.wait(timeout=30), 0)
        self.assertEqual(following.stdout.read(), "")
        self.assert_mistake(["runs", "output", "nothing", "--follow"], "runs ls")

    def test_of_too_much_output_the_end_is_kept(self):
        row = self.ran("tail", 0)
        self.assertEqual(row["output_size"], sum(len(str(i)) + 1 for i in range(1, SEQUENCE + 1)))
        kept = self.pawl("runs", "output", row["id"])
        self.assertTrue(1024 <= len(kept.out) <= 1024 + 256 * 1024, len(kept.out))
        self.assertTrue("".join(f"{i}\n" for i in range(1, SEQUENCE + 1)).endswith(kept.out))
        self.assertIn(f"{row['output_size'] - len(kept.out)} bytes of output were not kept", kept.err)

    def test_output_is_bytes(self):
        row = self.ran("binary", 0)
        done = subprocess.run([PAWL, "--store", self.store, "runs", "output", row["id"]], env=environment(), capture_output=True, timeout=60,
                              check=True)
        self.assertTrue(done.stdout.endswith(b"\x00\xff\xfe"), done.stdout[-10:])
        self.assertEqual(len(done.stdout), row["output_size"])

    def test_a_run_is_cancelled_from_anywhere_and_not_tried_again(self):
        run = self.run_now("cancelled")
        until(lambda: self.lines("cancelled"))
        self.assertIn("cancelling run ", self.pawl("runs", "cancel", run, "--reason", "wrong input").out)
        row = self.ended(run)
        self.assertEqual((row["status"], row["exit_status"], row["attempt"], row["cancel_requested"]), ("cancelled", 5, 1, True))
        self.assertIn("cancel_requested", [one["kind"] for one in row["history"]])
        me = row["triggered_by"]
        self.assertRegex(me, r"^\S+@\S+$")
        self.assertEqual((row["cancelled_by"], row["cancel_reason"]), (me, "wrong input"))
        self.assertEqual(row["reason"], f"cancelled by {me}: wrong input")
        self.assertRegex(self.pawl("runs", "show", run).out, rf"(?m)^triggered by +{me}\ncancelled by +{me}\ncancel reason +wrong input$")
        self.assert_mistake(["runs", "cancel", run], "already finished: cancelled")
        self.assert_mistake(["runs", "cancel", "nothing"], "run 'nothing' not found")
        self.assertIn(("run.cancel", run), [(one["action"], one["target"]) for one in self.pawl("audit", "ls", "--json").json()["audit"]])

    def test_what_takes_long_is_noted_and_what_takes_too_long_is_stopped(self):
        row = self.shown(self.ran("slow", 143)["id"])
        self.assertEqual((row["status"], row["attempt"]), ("timed_out", 1))
        self.assertIn("timeout", row["reason"])
        self.assertEqual([one["text"] for one in row["history"] if one["kind"] == "note"], ["it has taken longer than its soft timeout"])

    def test_an_occurrence_whose_predecessor_runs_is_written_down_as_skipped(self):
        skipped = until(lambda: [one for one in self.runs("overlapping") if one["status"] == "skipped"])[0]
        self.assert_is_run(skipped)
        self.assertEqual((skipped["trigger"], skipped["exit_status"]), ("schedule", None))
        self.assertIn("still", skipped["reason"])
        table = [re.split(r"  +", line) for line in self.pawl("runs", "ls", "--job", "overlapping", "--status", "skipped").out.splitlines()]
        self.assertEqual(table[0], ["ID", "JOB", "STATUS", "STARTED", "DURATION", "NODE", "TOKEN", "ATTEMPT", "REASON"])
        for row in table[1:]:
            self.assertEqual((row[2], row[4], row[6]), ("skipped", "–", "–"), row)
        self.assertRegex(self.pawl("runs", "show", skipped["id"]).out, r"(?m)^token +–$")
        going = until(lambda: [one for one in self.runs("overlapping") if one["status"] == "started"])[0]
        for word in ("running", "started"):
            self.assertIn(going["id"], [one["id"] for one in self.pawl("runs", "ls", "--status", word, "--json").json()["runs"]])
        self.assertRegex(self.pawl("runs", "ls", "--status", "running").out, r"(?m)^\S{36}  overlapping +running ")
        self.assert_mistake(["runs", "ls", "--status", "done"], "invalid status 'done'; expected started (or running), completed, failed")
        running = [one for one in self.runs("overlapping") if one["status"] == "started"]
        self.assertEqual(len(running), 1)
        self.assertLess(running[0]["occurrence"], skipped["occurrence"])
        self.file("overlapped").touch()
        self.assertEqual(self.ended(running[0]["id"])["status"], "completed")
        until(lambda: [one for one in self.runs("overlapping") if one["status"] == "completed" and
                       one["occurrence"] > skipped["occurrence"]])

    def test_partitions_are_spread_over_the_agents(self):
        def on(node):
            return {one["partition"] for one in self.runs("spread", "--node", node) if one["status"] == "completed"}
        until(lambda: on("node-a") and on("node-b") and on("node-a") | on("node-b") == set(range(6)), 60)
        occurrences = [(one["partition"], one["occurrence"]) for one in self.runs("spread")]
        self.assertEqual(len(occurrences), len(set(occurrences)))


class Nodes(Shared):
    """Who is alive; and once more what holds for every list: one document, whatever is in it."""

    @staticmethod
    def jobs(folder):
        return [job("tick", "true", schedule="@every 1s")]

    def test_agents_are_listed_with_what_they_do(self):
        document = self.pawl("nodes", "ls", "--json").json()
        self.assertEqual(document["next"], "")
        self.assertEqual([one["name"] for one in document["nodes"]], ["node-a", "node-b"])
        for one in document["nodes"]:
            self.assertEqual(set(one), {"name", "id", "state", "version", "tzdata", "address", "started_at", "last_seen", "running",
                                        "running_max", "jobs"})
            self.assertEqual((one["state"], one["running_max"], one["jobs"]), ("live", 50, 1))
            self.assertRegex(one["last_seen"], TIME)
        self.assertTrue(self.pawl("nodes", "ls").out.startswith("NAME"))
