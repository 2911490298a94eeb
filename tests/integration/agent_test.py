"""pawl agent: what it is given, how it begins, reloads and ends, and what becomes of its jobs without it."""
import datetime
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import proof
from agents import AgentCase, job
from harness import PAWL, Case, OnRedis, Redis, environment, pawl, until

# Seconds after an occurrence until misfire = "skip" lets it go, and one more.
FORGOTTEN = 11

# The first attempt saves how far it came, tells who it is, and stays.
FIRST_STAYS = """
if [ "$PAWL_ATTEMPT" = 1 ] && mkdir "{0}/{1}.first" 2>/dev/null; then
  "$PAWL_BINARY" checkpoint half-way
  echo "$$ $PAWL_RUN_ID $PAWL_OCCURRENCE $PAWL_FENCE_TOKEN $PAWL_IDEMPOTENCY_KEY" > "{0}/{1}.begun"
  exec sleep 600
fi
echo "$PAWL_RUN_ID $PAWL_OCCURRENCE $PAWL_FENCE_TOKEN $PAWL_IDEMPOTENCY_KEY $PAWL_ATTEMPT $PAWL_CHECKPOINT" >> "{0}/{1}.again"
"""


def is_gone(process):
    """Not there, or dead and not yet waited for by whoever inherited it."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class Check(Case):
    def setUp(self):
        super().setUp()
        self.store = f"sqlite:{self.folder}/pawl.db"

    def check(self, text, *words):
        self.config = self.folder / "pawl.toml"
        self.config.write_text(text)
        return pawl("agent", "--config", str(self.config), *words)

    def test_a_right_file_is_0_and_nothing_is_touched(self):
        checked = self.check(f'store = "{self.store}"\n' + job("a", "true", schedule="@daily"), "--check")
        self.assertEqual((checked.status, checked.out, checked.err), (0, f"{self.config}: ok, 1 job\n", ""))
        self.assertEqual([one.name for one in self.folder.iterdir()], ["pawl.toml"])

    def test_a_file_that_sets_nothing_is_said_to(self):
        for text in ("", "\n", "# store = \"memory:\"\n"):
            with self.subTest(text):
                checked = self.check(text, "--store", self.store, "--check")
                self.assertEqual((checked.status, checked.out, checked.err),
                                 (0, f"{self.config}: sets nothing; an agent with it has no job and no user\n", ""))

    def test_every_fault_is_told_with_its_line_and_column(self):
        text = ('store = "sqlite:x.db"\n\n[[job]]\nname = "a"\ncommand = ["true"]\nschedul = "@daily"\n'
                'zone = "Europe/Pariss"\nttl = "soon"\n\n[[job]]\nname = "a"\ncommand = ["true"]\nschedule = "61 * * * *"\n')
        for words in (["--check"], []):
            checked = self.check(text, *words)
            self.assertEqual((checked.status, checked.out), (78, ""))
            told = checked.err.splitlines()
            for line, column, says in [(6, 1, "did you mean 'schedule'"), (7, 9, "did you mean 'Europe/Paris'"), (8, 8, "duration"),
                                       (11, 1, "'a'"), (13, 13, "61")]:
                found = [one for one in told if one.startswith(f"pawl: {self.config}:{line}:{column}: ")]
                self.assertEqual(len(found), 1, (line, column, told))
                self.assertIn(says, found[0])
            self.assertEqual(len(told), 5)

    def test_of_200_faults_the_first_20_are_shown_and_all_are_counted(self):
        text = 'store = "sqlite:x.db"\n' + "".join(f'[[job]]\nname = "j{i}"\ncommand = ["true"]\nwrong = 1\n' for i in range(200))
        checked = self.check(text, "--check")
        told = checked.err.splitlines()
        self.assertEqual((checked.status, len(told)), (78, 21))
        self.assertTrue(told[0].startswith(f"pawl: {self.config}:5:1: "), told[0])
        self.assertTrue(told[19].startswith(f"pawl: {self.config}:81:1: "), told[19])
        self.assertIn("200 faults", told[20])

    def test_what_is_no_toml_is_told_with_its_place(self):
        self.assert_one_line(self.check("store = \n", "--check"), 78, f"{self.config}:1:")

    def test_a_url_that_is_none_is_one_line_and_its_secret_is_not_shown(self):
        for text, place in [('store = "nonsense"\n', ":1:10: "), ('store = "redis://u:hunter2@h:port"\n', ":1:30: "),
                            ('store = "sqlite:x.db"\njournal = "etcd://h"\n', "etcd")]:
            for words in (["--check"], []):
                checked = self.check(text + job("a", "true"), *words)
                self.assert_one_line(checked, 78, place)
                self.assertIn(str(self.config), checked.err)
                self.assertNotIn("hunter2", checked.err)

    def test_a_store_without_a_journal_needs_one_beside_it(self):
        for words in (["--check"], []):
            self.assert_one_line(self.check('store = "etcd://127.0.0.1:1"\n' + job("a", "true"), *words), 78, "journal")
        beside = 'store = "etcd://127.0.0.1:1"\n' + f'journal = "{self.store}"\n' + job("a", "true")
        self.assertEqual(self.check(beside, "--check").status, 0)

    def test_a_certificate_that_cannot_be_used_is_found_before_the_agent_starts(self):
        for name in ("one", "other"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a",
                            "-days", "2", "-keyout", self.folder / f"{name}.key", "-out", self.folder / f"{name}.pem"],
                           check=True, capture_output=True)
        for cert, key, says in (("one.pem", "one.key", None), ("none.pem", "one.key", "none.pem: the TLS certificate cannot be used"),
                                ("one.pem", "none.key", "none.key: the TLS key cannot be used"),
                                ("one.pem", "other.key", "other.key: the TLS key cannot be used: key values mismatch")):
            text = (f'store = "{self.store}"\n[agent]\ntls = {{ cert = "{self.folder}/{cert}", key = "{self.folder}/{key}" }}\n'
                    + job("a", "true"))
            checked = self.check(text, "--check")
            if says is None:
                self.assertEqual((checked.status, checked.err), (0, ""))
            else:
                self.assert_one_line(checked, 78, says)
                self.assertIn(f"pawl: {self.config}: ", checked.err)

    def test_the_store_of_the_file_is_checked_where_a_variable_takes_its_place(self):
        elsewhere = environment(PAWL_STORE=self.store)
        once = job("a", "true", schedule="@daily", on_store_down="run")
        for text, says in (('store = "foo:x"\n' + job("a", "true"), "foo"),
                           ('store = "etcd://127.0.0.1:1"\n' + job("a", "true"), "keeps no journal"),
                           ('store = "sqlite:x.db?safety=correctness"\n' + once, "on_store_down"),
                           (f'store = "{self.store}"\njournal = "etcd://h"\n' + job("a", "true"), "etcd")):
            self.config = self.folder / "pawl.toml"
            self.config.write_text(text)
            checked = pawl("agent", "--check", "--config", str(self.config), env=elsewhere)
            self.assert_one_line(checked, 78, says)
            self.assertIn(f"pawl: {self.config}:", checked.err)
        # An agent that uses another store does not care.
        self.assertEqual(self.check(f'store = "{self.store}"\n' + once, "--check").status, 0)

    def test_the_command_line_is_wrong_without_a_file_or_with_a_bad_url(self):
        self.assert_one_line(pawl("agent"), 64, "--config")
        self.assert_one_line(pawl("agent", "--config", str(self.folder / "nothing.toml")), 78, "nothing.toml")
        right = job("a", "true")
        self.assert_one_line(self.check(right, "--store", "nonsense:"), 64, "--store")
        self.assert_one_line(self.check(right, "--store", self.store, "--journal", "nonsense:"), 64, "--journal")
        self.assert_one_line(self.check(right, "--store", self.store, "--journal", "etcd://h"), 64, "--journal")


class Launcher(AgentCase):
    def test_an_agent_that_can_start_no_command_ends_and_gives_back_what_it_won(self):
        agent = self.agent("node-a", job("tick", f"echo run >> {self.folder}/tick", schedule="@every 1s")).start()
        until(lambda: self.lines("tick"))
        launcher, = pathlib.Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read_text().split()
        os.kill(int(launcher), signal.SIGKILL)
        self.assertEqual(agent.process.wait(timeout=60), 69)
        self.assertIn("error the process that starts commands was killed, so this agent ends: start it again", agent.log())
        statuses = {one["status"] for one in self.pawl("--json", "runs", "ls", "--job", "tick").json()["runs"]}
        self.assertLessEqual(statuses, {"completed", "skipped"})

    def test_a_guard_is_as_small_however_many_jobs_the_file_has(self):
        """Each command's guard is a copy of the launcher, and locks its memory."""
        many = [job(f"job-{number}", "true", schedule="0 0 1 1 *") for number in range(5_000)]
        agent = self.agent("node-a", *many).start()
        launcher, = pathlib.Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read_text().split()
        self.assertLess(self.own_memory_of(launcher) * 4, self.own_memory_of(agent.process.pid))

    @staticmethod
    def own_memory_of(process):
        return int(re.search(r"RssAnon:\s+(\d+) kB", pathlib.Path(f"/proc/{process}/status").read_text())[1])


class Reload(AgentCase):
    def test_a_changed_file_and_a_hangup_bring_what_is_new_and_a_broken_file_changes_nothing(self):
        secrets = self.file("secrets.env")
        secrets.write_text("WORD=first\n")
        keep = job("keep", f'echo "$WORD" >> {self.folder}/keep', schedule="@every 1s", env_file=str(secrets))
        old = job("change", f"echo old >> {self.folder}/change", schedule="@every 1s")
        gone = job("gone", f"echo run >> {self.folder}/gone", schedule="@every 1s")
        busy = job("busy", f"echo run > {self.folder}/busy; until [ -e {self.folder}/go-on ]; do sleep 0.05; done; exit 6")
        agent = self.agent("node-a", keep, old, gone, busy).start()
        running = self.run_now("busy")
        until(lambda: all(self.lines(name) for name in ("keep", "change", "gone", "busy")))

        # Changed, added and removed, by the file alone.
        new = job("change", f"echo new >> {self.folder}/change", schedule="@every 1s")
        added = job("added", f"echo run >> {self.folder}/added", schedule="@every 1s")
        agent.write(keep, new, added)
        agent.says("has changed: configuration reloaded, 3 jobs")
        before = self.lines("gone")
        until(lambda: self.lines("added") and "new" in self.lines("change"))
        until(lambda: [one["name"] for one in self.pawl("jobs", "ls", "--json").json()["jobs"]] == ["added", "change", "keep"])
        self.assertEqual(self.pawl("jobs", "show", "gone").status, 64)
        # What ran already may have come to its end.
        self.assertLessEqual(len(self.lines("gone")), len(before) + 1)
        changed = self.lines("change")
        self.assertEqual(changed, sorted(changed, key="new".__eq__))
        # What runs goes on, though its job is no more.
        self.assertEqual(self.shown(running)["status"], "started")
        self.file("go-on").touch()
        self.assertEqual(self.ended(running)["reason"], "exit 6")

        # A fault: told with its place, and all goes on as before.
        agent.write(keep, new, added, '[[job]]\nname = "broken"\ncommand = ["true"]\ntll = "1s"\n')
        agent.says("reload rejected, keeping current configuration")
        self.assertRegex(agent.log(), rf"error {agent.file}:\d+:1: unknown key 'tll'.*did you mean 'ttl'")
        count = len(self.lines("added"))
        until(lambda: len(self.lines("added")) > count)
        self.assertEqual(self.pawl("jobs", "show", "broken").status, 64)

        # A hang-up reads also what no look at the file shows; the log does not give it away.
        agent.write(keep, new, added)
        agent.says("has changed: configuration reloaded, 3 jobs", 2)
        secrets.write_text("WORD=hunter2\n")
        self.assertNotIn("hunter2", self.lines("keep"))
        agent.signal(signal.SIGHUP)
        agent.says("SIGHUP: configuration reloaded")
        until(lambda: "hunter2" in self.lines("keep"))
        self.assertNotIn("hunter2", agent.log())
        self.assertNotIn("hunter2", self.pawl("jobs", "show", "keep", "--json").out)
        agent.stop()

    def test_what_takes_a_restart_is_told_until_then_and_jobs_are_held_to_the_store_in_use(self):
        tick = job("tick", f"echo run >> {self.folder}/tick", schedule="@every 1s")
        agent = self.agent("node-a", tick).start()
        whole, restart = agent.file.read_text(), "store has changed, which takes a restart of the agent"
        # The next store would remember for longer. The one in use does not, and its jobs would run again.
        elsewhere = whole.replace(self.store, self.store + "?retention=30d")
        agent.replace(elsewhere + 'misfire_window = "20d"\n')
        agent.says("reload rejected, keeping current configuration")
        self.assertIn("misfire_window is 20d, but the store forgets", agent.log())
        for times in (1, 2):
            agent.replace(elsewhere + f"# {times}\n")
            agent.says("configuration reloaded", times)
            self.assertEqual(agent.log().count(restart), times)
        agent.replace(whole)
        agent.says("configuration reloaded", 3)
        self.assertEqual(agent.log().count(restart), 2)
        agent.stop()

    def test_a_reload_tells_no_supervisor_that_an_agent_is_ready_which_is_not(self):
        agent = self.agent("node-a", job("tick", "true", schedule="@every 1s"))
        agent.store = "redis://127.0.0.1:1"
        agent.write(job("tick", "true", schedule="@every 1s"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.bind(str(self.folder / "notify"))
            supervisor.setblocking(False)
            with open(agent.log_file, "a", encoding="utf-8") as log:
                agent.process = subprocess.Popen([PAWL, "agent", "--config", str(agent.file)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 env=environment(NOTIFY_SOCKET=str(self.folder / "notify"), RUNTIME_DIRECTORY=str(self.folder)))
            agent.says("node starting")
            agent.signal(signal.SIGHUP)
            agent.says("configuration reloaded")
            agent.stop()
            told = []
            with self.assertRaises(BlockingIOError):
                while True:
                    told.append(supervisor.recv(4096).decode())
        self.assertIn("STOPPING=1", "\n".join(told))
        self.assertNotIn("READY=1", "\n".join(told))

    def test_an_agent_that_drains_takes_no_other_configuration(self):
        slow = job("slow", f"echo run > {self.folder}/slow; until [ -e {self.folder}/go-on ]; do sleep 0.05; done")
        agent = self.agent("node-a", slow, shutdown_grace="60s").start()
        self.run_now("slow")
        until(lambda: self.lines("slow"))
        agent.signal(signal.SIGTERM)
        agent.says("draining")
        agent.write(slow, job("added", "true"))
        agent.signal(signal.SIGHUP)
        self.file("go-on").touch()
        self.assertEqual(agent.process.wait(timeout=60), 0)
        self.assertNotIn("configuration reloaded", agent.log())
        self.assertEqual(self.pawl("jobs", "show", "added").status, 64)

    def test_a_file_that_was_emptied_takes_no_job_away(self):
        tick = job("tick", f"echo run >> {self.folder}/tick", schedule="@every 1s")
        agent = self.agent("node-a", tick).start()
        whole = agent.file.read_text()
        for times, (text, says) in enumerate((("", "sets nothing"), ("# nothing yet\n", "sets nothing"),
                                              (whole[:whole.index("[[job]]")], r"has no \[\[job\]\]")), 1):
            agent.replace(text)
            agent.says("reload rejected, keeping current configuration", times)
            self.assertRegex(agent.log(), f"error {agent.file}: {says}, although this agent has 1 job; restart the agent to run it without")
        count = len(self.lines("tick"))
        until(lambda: len(self.lines("tick")) > count)
        # Who means it starts the agent again.
        agent.stop()
        agent.write()
        agent.start()
        agent.stop()

    def test_a_hangup_reads_time_zones_again(self):
        zones = self.folder / "zones"
        (zones / "Test").mkdir(parents=True)
        shutil.copy("/usr/share/zoneinfo/Asia/Tokyo", zones / "Test/Place")
        os.environ["TZDIR"] = str(zones)
        self.addCleanup(os.environ.pop, "TZDIR")
        agent = self.agent("node-a", job("noon", "true", schedule="0 12 * * *", zone="Test/Place")).start()

        def hour():
            when = re.search(r'(?m)^pawl_schedule_next_timestamp_seconds\{job="noon"\} (\S+)$', agent.get("/metrics")[1])
            return when and datetime.datetime.fromtimestamp(float(when.group(1)), datetime.timezone.utc).hour

        until(lambda: hour() == 3)
        shutil.copy("/usr/share/zoneinfo/Asia/Kolkata", zones / "Test/Place")
        agent.signal(signal.SIGHUP)
        until(lambda: hour() == 6)
        agent.stop()

    def test_a_log_whose_reader_has_gone_ends_no_run(self):
        busy = job("busy", f"echo run > {self.folder}/busy; until [ -e {self.folder}/go-on ]; do sleep 0.05; done")
        agent = self.agent("node-a", busy).start_unread()
        run = self.run_now("busy")
        until(lambda: self.lines("busy"))
        # Each of them is told to the log, and the reload is seen by what comes of it.
        agent.write(busy, job("added", "true"))
        agent.signal(signal.SIGHUP)
        until(lambda: [one["name"] for one in self.pawl("jobs", "ls", "--json").json()["jobs"]] == ["added", "busy"])
        self.file("go-on").touch()
        self.assertEqual(self.ended(run)["status"], "completed")
        agent.stop()

    def test_what_takes_a_restart_is_said_to(self):
        agent = self.agent("node-a", job("a", "true")).start()
        agent.keys["max_concurrent_runs"] = 3
        agent.write(job("a", "true"))
        agent.says("restart")
        self.assertEqual(self.nodes()["node-a"]["running_max"], 8)
        agent.stop()


class End(AgentCase):
    def test_what_runs_may_finish_within_the_grace_and_is_stopped_beyond_it(self):
        short = job("short", f"echo run > {self.folder}/short; until [ -e {self.folder}/go ]; do sleep 0.05; done")
        stubborn = job("stubborn", f"trap '' TERM; echo run > {self.folder}/stubborn; while :; do sleep 0.05; done", grace="500ms")
        tick = job("tick", "true", schedule="@every 1s")
        agent = self.agent("node-a", short, stubborn, tick, shutdown_grace="15s").start()
        first, second = self.run_now("short"), self.run_now("stubborn")
        until(lambda: self.lines("short") and self.lines("stubborn") and self.runs("tick"))
        self.assertEqual(self.nodes()["node-a"]["state"], "live")
        agent.signal(signal.SIGTERM)
        agent.says("SIGTERM: draining, ")
        until(lambda: self.nodes()["node-a"]["state"] == "draining")
        self.assertEqual(self.shown(first)["status"], "started")
        self.file("go").touch()
        self.assertEqual(self.ended(first)["status"], "completed")
        self.assertIsNone(agent.process.poll())
        self.assertEqual(agent.process.wait(timeout=60), 0)
        stopped = self.shown(second)
        self.assertEqual((stopped["status"], stopped["exit_status"]), ("cancelled", 137))
        self.assertIn("shut down", stopped["reason"])
        self.assertIn("run started job=", agent.log())
        # One whose key was won before the signal may be told of behind it, and no other.
        self.assertIn(re.findall(r"run started job=(\S+)", agent.log().partition("SIGTERM: draining")[2]), ([], ["tick"]))
        self.assert_none_is_held()
        self.assertEqual(self.nodes(), {})
        self.assertEqual([one for one in self.runs("tick") if one["status"] == "started"], [])

    def test_a_second_signal_does_not_wait(self):
        agent = self.agent("node-a", job("long", f"echo run > {self.folder}/long; exec sleep 600"), shutdown_grace="10m").start()
        run = self.run_now("long")
        until(lambda: self.lines("long"))
        agent.signal(signal.SIGTERM)
        agent.says("SIGTERM: draining, 1 active run")
        self.assertIsNone(agent.process.poll())
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.process.wait(timeout=30), 0)
        stopped = self.shown(run)
        self.assertEqual((stopped["status"], stopped["exit_status"]), ("cancelled", 143))
        self.assert_none_is_held()

    def test_what_is_stopped_resumes_elsewhere_if_its_job_says_so(self):
        jobs = [job("at-least-once", FIRST_STAYS.format(self.folder, "at-least-once"), schedule="@every 1s", ttl="30s",
                    occurrence="at-least-once")]
        ended = self.agent("node-a", *jobs, shutdown_grace="0s").start()
        process, run, *_ = until(lambda: self.lines("at-least-once.begun"))[0].split()
        other = self.agent("node-b", *jobs).start()
        at = time.monotonic()
        ended.stop()
        self.assertTrue(is_gone(process))
        row = self.ended(run)
        # Released, so that nobody has to wait until the lease ends.
        self.assertLess(time.monotonic() - at, 25)
        self.assertEqual((row["status"], row["attempt"], row["node"], row["checkpoint"]), ("completed", 2, "node-b", "half-way"))
        other.stop()

    def test_a_frozen_agent_whose_guard_kept_the_deadline_takes_its_run_up_again(self):
        """It wakes while its lease is still trusted, and has seen no deadline pass itself."""
        names = ("at-least-once", "at-most-once")
        agent = self.agent("node-a", *(job(name, FIRST_STAYS.format(self.folder, name), schedule="@every 1s", ttl="6s", grace="2s",
                                           occurrence=name) for name in names)).start()
        begun = {name: until(lambda n=name: self.lines(f"{n}.begun"))[0].split() for name in names}
        agent.signal(signal.SIGSTOP)
        until(lambda: all(is_gone(one[0]) for one in begun.values()), 20)
        agent.signal(signal.SIGCONT)
        row = self.ended(begun["at-least-once"][1], 40)
        self.assertEqual((row["status"], row["attempt"], row["checkpoint"]), ("completed", 2, "half-way"))
        self.assertEqual(self.ended(begun["at-most-once"][1], 40)["status"], "lost")
        agent.stop()

    def test_a_killed_agent_leaves_no_command_and_each_run_to_what_its_job_says(self):
        jobs = [job(name, FIRST_STAYS.format(self.folder, name), schedule="@every 1s", ttl="12s", grace="1s", occurrence=name)
                for name in ("at-least-once", "at-most-once")]
        killed = self.agent("node-a", *jobs).start()
        begun = {name: until(lambda n=name: self.lines(f"{n}.begun"))[0].split() for name in ("at-least-once", "at-most-once")}
        other = self.agent("node-b", *jobs).start()
        killed.process.kill()
        killed.process.wait()
        at = time.monotonic()
        until(lambda: all(is_gone(one[0]) for one in begun.values()), 20)

        # Taken up again by the other: same run, same occurrence, next attempt, newer token, from its checkpoint.
        process, run, occurrence, token, idempotency = begun["at-least-once"]
        again = until(lambda: [one for one in self.lines("at-least-once.again") if one.startswith(run)], 60)[0].split()
        self.assertLess(time.monotonic() - at, 45)
        self.assertEqual((again[1], again[3], again[4], again[5]), (occurrence, idempotency, "2", "half-way"))
        self.assertGreater(int(again[2]), int(token))
        row = self.ended(run)
        self.assertEqual((row["status"], row["attempt"], row["node"]), ("completed", 2, "node-b"))
        self.assertEqual([(one["kind"], one["node"]) for one in row["history"] if one["kind"] in ("begun", "resumed")],
                         [("begun", "node-a"), ("resumed", "node-b")])

        # Lost for good, and the next occurrences go on.
        process, run, occurrence, token, idempotency = begun["at-most-once"]
        row = self.ended(run)
        self.assertEqual((row["status"], row["attempt"], row["node"]), ("lost", 1, "node-a"))
        self.assertEqual([one for one in self.lines("at-most-once.again") if one.startswith(run) or occurrence in one], [])
        until(lambda: self.lines("at-most-once.again"))

        until(lambda: self.nodes()["node-a"]["state"] == "unresponsive")
        self.assertEqual(self.nodes()["node-b"]["state"], "live")
        other.stop()
        for name in ("at-least-once", "at-most-once"):
            occurrences = [one["occurrence"] for one in self.runs(name)]
            self.assertEqual(len(occurrences), len(set(occurrences)), name)


class EachNode(AgentCase):
    """lease = false: a job runs on each node, once for each occurrence, and one beside it is shared as ever."""

    def test_a_job_without_a_shared_lease_runs_on_every_node(self):
        jobs = [job("clean", f"echo $PAWL_NODE $PAWL_OCCURRENCE $PAWL_KEY >> {self.folder}/clean", schedule="@every 1s", lease=False),
                job("shared", f"echo $PAWL_OCCURRENCE >> {self.folder}/shared", schedule="@every 1s")]
        agents = [self.agent(name, *jobs).start() for name in ("node-a", "node-b")]
        until(lambda: all(sum(line.startswith(name) for line in self.lines("clean")) > 10 for name in ("node-a", "node-b")))
        # Long enough for occurrences that one node would leave to the other.
        until(lambda: len(self.lines("shared")) > 4)
        for one in agents:
            one.stop()
        lines = self.lines("clean")
        self.assertEqual(len(lines), len(set(lines)))
        self.assertEqual({tuple(line.split()[::2]) for line in lines},
                         {("node-a", "job/clean@node-a"), ("node-b", "job/clean@node-b")})
        shared = self.lines("shared")
        self.assertEqual(len(shared), len(set(shared)))
        for name in ("node-a", "node-b"):
            rows = self.runs(f"clean@{name}")
            self.assertEqual({row["node"] for row in rows}, {name})
            # On a busy machine one may last until the next is due, which is skipped.
            self.assertIn("completed", {row["status"] for row in rows})
            self.assertLessEqual({row["status"] for row in rows}, {"completed", "skipped"})
            # Nobody is before it in line, so it does not wait for anybody: a second for a busy machine, two where a sanitizer looks on.
            late = sorted(proof.seconds(row["started_at"]) - proof.seconds(row["occurrence"])
                          for row in rows if row["status"] == "completed")
            self.assertLess(late[len(late) // 2], 2 if os.environ.get("PAWL_SANITIZED") else 1)

    def test_a_reload_renames_no_job_of_a_node(self):
        """Its name takes a restart; a job under another name would run beside the one that goes on."""
        one = self.agent("node-a", job("clean", "true", schedule="@every 1s", lease=False)).start()
        until(lambda: self.runs("clean@node-a"))
        one.replace(one.file.read_text().replace('name = "node-a"', 'name = "node-z"'))
        one.signal(signal.SIGHUP)
        one.says("agent.name has changed, which takes a restart")
        self.assertEqual([each["name"] for each in self.pawl("jobs", "ls", "--json").json()["jobs"]], ["clean@node-a"])
        ran = len(self.runs("clean@node-a"))
        until(lambda: len(self.runs("clean@node-a")) > ran)
        one.stop()


class StoreThatRefuses(OnRedis, AgentCase):
    def test_a_store_that_answers_and_grants_nothing_is_told(self):
        """Goal: an outage in which the store is there does not stay hidden. Method: it wants a replica before it writes."""
        self.addCleanup(self.server.ask, "CONFIG", "SET", "min-replicas-to-write", "0")
        one = self.agent("node-a", job("often", "true", schedule="@every 1s"), journal=f"sqlite:{self.stores}/journal.db").start()
        until(lambda: one.get("/readyz")[0] == 200)
        self.server.ask("CONFIG", "SET", "min-replicas-to-write", "3")
        told = until(lambda: (answer := one.get("/readyz"))[0] == 503 and answer[1], 60)
        self.assertIn("rejects claims", told)
        self.assertRegex(one.get("/metrics")[1], r'pawl_store_failures_total\{operation="acquire",reason="rejected"\} [1-9]')
        self.server.ask("CONFIG", "SET", "min-replicas-to-write", "0")
        until(lambda: one.get("/readyz")[0] == 200, 60)
        one.stop()


class Misfire(AgentCase):
    def test_what_was_missed_runs_once_or_not_at_all(self):
        occurrence = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(seconds=12)
        minutely = f"{occurrence.second} * * * * *"
        agent = self.agent("node-a", job("often", "true", schedule="@every 1s"),
                           job("run-once", "true", schedule=minutely, misfire="run-once"),
                           job("skip", "true", schedule=minutely, misfire="skip"),
                           job("too-late", "true", schedule=minutely, misfire_window="5s")).start()
        until(lambda: self.runs("often"))
        agent.stop()
        stopped = self.runs("often")[-1]["occurrence"]
        # The first that no agent has seen, also on a slow machine.
        while occurrence <= datetime.datetime.now(datetime.timezone.utc):
            occurrence += datetime.timedelta(minutes=1)
        missed = occurrence.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        # The schedules go by real time, so it has to pass.
        until(lambda: datetime.datetime.now(datetime.timezone.utc) > occurrence + datetime.timedelta(seconds=FORGOTTEN), 120)
        # The newest occurrence before the agent came back is run, and the one before that is not.
        back = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)
        agent.start()

        def since_missed(name):
            return [one for one in self.runs(name) if one["occurrence"] >= missed]

        def made_up_for():
            rows = [one for one in self.runs("often") if one["occurrence"] > stopped][:1] + since_missed("run-once")
            return len(rows) > 1 and all(one["status"] != "started" for one in rows) and rows

        first, *late = until(made_up_for)
        self.assertGreater(first["occurrence"], back.strftime("%Y-%m-%dT%H:%M:%S.%f"))
        self.assertEqual(first["status"], "completed")
        self.assertRegex(agent.log(), r"missed occurrences not executed job=often count=[1-9]\d")
        (late,) = late
        self.assertEqual((late["occurrence"], late["status"], late["trigger"]),
                         (missed, "completed", "schedule"))
        for name in ("skip", "too-late"):
            self.assertEqual([one for one in since_missed(name) if one["status"] != "skipped"], [], name)
        agent.stop()


class StoreDown(AgentCase):
    def redis(self):
        server = Redis()
        self.addCleanup(server.stop)
        return server

    def test_an_agent_that_starts_before_its_store_begins_when_that_comes(self):
        server = self.redis()
        server.process.kill()
        server.process.wait()
        self.store = f"{server.url}?timeout=300ms"
        agent = self.agent("node-a", job("tick", "true", schedule="@every 1s"), job("hand", "exit 3")).start()
        agent.says("store unreachable")
        self.store = f"{server.url}?timeout=20s"  # who asks may wait longer
        server.begin()
        until(lambda: [one for one in self.runs("tick") if one["status"] == "completed"])
        until(lambda: self.pawl("jobs", "show", "hand").status == 0)
        self.assertEqual(self.pawl("jobs", "run", "hand", "--wait").status, 3)
        self.assertEqual(self.nodes()["node-a"]["state"], "live")
        agent.stop()

    def test_without_its_store_a_job_runs_unlocked_if_it_says_so_and_that_is_audited(self):
        server = self.redis()
        journal = self.store
        # One that is slow for a few seconds is not down.
        self.store = f"{server.url}?timeout=8s"
        tick = f'echo "[$PAWL_FENCE_TOKEN]" >> {self.folder}/'
        agent = self.agent("node-a", job("open", tick + "open", schedule="@every 1s", ttl="10s", on_store_down="run"),
                           job("shut", tick + "shut", schedule="@every 1s", ttl="10s"), journal=journal).start()
        until(lambda: self.lines("open") and self.lines("shut"))
        self.assertNotIn("[]", self.lines("open"))
        server.process.kill()
        server.process.wait()
        until(lambda: "[]" in self.lines("open"), 60)
        self.assertNotIn("[]", self.lines("shut"))
        self.store = journal
        (one, *_) = until(lambda: [one for one in self.runs("open") if one["fence_token"] == 0], 60)
        self.assertEqual(one["trigger"], "schedule")
        entry = until(lambda: self.pawl("audit", "ls", "--json").json()["audit"])[0]
        self.assertEqual((entry["actor"], entry["action"], entry["target"]), ("node-a", "job.fail_open", "open"))
        agent.says("running without a lease (on_store_down) job=")
        # The store is back: so are the leases.
        server.begin()
        count = len(self.lines("shut"))
        until(lambda: len(self.lines("shut")) > count, 60)
        agent.stop()

    def test_without_its_journal_a_job_keeps_its_pace_and_is_written_down_later(self):
        server = self.redis()
        agent = self.agent("node-a", job("tick", f'echo "$PAWL_OCCURRENCE" >> {self.folder}/tick', schedule="@every 2s"),
                           journal=f"{server.url}?timeout=300ms").start()
        until(lambda: self.lines("tick"))
        server.process.kill()
        server.process.wait()
        agent.says("journal unreachable")
        begun = len(self.lines("tick"))

        def gaps():
            ran = [datetime.datetime.fromisoformat(one.replace("Z", "+00:00")) for one in self.lines("tick")]
            return [(after - before).seconds for before, after in zip(ran, ran[1:])]

        # The first run may wait for it, until it is known to be down.
        until(lambda: len(self.lines("tick")) > begun + 3 and gaps()[-2:] == [2, 2], 60)
        server.begin()
        self.store = server.url
        until(lambda: {one["occurrence"] for one in self.runs("tick") if one["status"] == "completed"} >= set(self.lines("tick")[begun + 1:begun + 3]))
        agent.stop()

    def test_nothing_fires_before_it_is_known_what_is_paused(self):
        server = self.redis()
        journal = f"{server.url}?timeout=300ms"
        jobs = [job(name, f"echo run >> {self.folder}/{name}", schedule="@every 1s") for name in ("paused", "free")]
        agent = self.agent("node-a", *jobs, journal=journal).start()
        until(lambda: self.lines("paused") and self.lines("free"))
        store, self.store = self.store, server.url
        self.assertEqual(self.pawl("jobs", "pause", "paused", "--reason", "by hand").status, 0)
        agent.stop()
        # There, and silent: what it has written is kept.
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(server.process.send_signal, signal.SIGCONT)
        before = {name: len(self.lines(name)) for name in ("paused", "free")}
        agent.start()
        agent.says("no scheduled run starts before it is known what is paused")
        status, why = agent.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("which jobs are paused", why)
        time.sleep(3)  # three occurrences of each
        self.assertEqual({name: len(self.lines(name)) for name in before}, before)
        server.process.send_signal(signal.SIGCONT)
        agent.says("starting the occurrences that waited for it")
        until(lambda: len(self.lines("free")) > before["free"] + 2)
        self.assertEqual(len(self.lines("paused")), before["paused"])
        until(lambda: agent.get("/readyz")[0] == 200)
        self.store = store
        agent.stop()
