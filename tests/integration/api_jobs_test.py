"""Jobs, runs, nodes, the audit and the overview over HTTP, against real agents with real jobs."""
import json
import re
import sqlite3

import proof
from agents import OVER, job
from api import ApiCase
from harness import Redis, until

EACH_SECOND = "* * * * * *"
LATE = 90.0  # an occurrence is late after ten seconds; a busy machine takes longer to say so


class Jobs(ApiCase):
    def test_jobs_are_shown_as_the_contract_says(self):
        agent = self.serving("node-a", job("asked", "true", partitions=3), job("daily", "true", schedule="0 6 1 1 *", zone="Europe/Paris"),
                             job("off", "true", schedule="@daily", enabled=False), job("ticks", "echo tick", schedule=EACH_SECOND))
        until(lambda: len(self.got(agent, "/api/v1/runs?job=ticks&status=completed")["runs"]) >= 3)
        page = self.got(agent, "/api/v1/jobs?runs=2")
        self.assert_fits(agent, page, "JobPage")
        jobs = {one["name"]: one for one in page["jobs"]}
        self.assertEqual(list(jobs), ["asked", "daily", "off", "ticks"])
        self.assertEqual([len(jobs[name]["recent"]) for name in jobs], [0, 0, 0, 2])
        self.assertEqual((jobs["off"]["state"], jobs["daily"]["state"]), ("disabled", "idle"))
        self.assertEqual([one["name"] for one in self.pages(agent, "/api/v1/jobs?limit=1", "jobs")], list(jobs))
        for name in jobs:
            shown = self.got(agent, f"/api/v1/jobs/{name}")
            self.assert_fits(agent, shown, "JobDetail")
            self.assertEqual(len(shown["next_occurrences"]), {"asked": 0, "off": 0}.get(name, 10))
        self.assertEqual([one["key"] for one in self.got(agent, "/api/v1/jobs/asked")["partition_states"]], [f"job/asked/{i}" for i in range(3)])
        self.assertGreater(self.got(agent, "/api/v1/jobs/ticks")["fence_token"], 0)
        self.assert_problem(agent, self.ask(agent, "GET", "/api/v1/jobs/dayly"), 404, "did you mean 'daily'?")

    def test_what_is_wrong_is_said(self):
        agent = self.serving("node-a", job("asked", "true"), job("off", "true", enabled=False))
        run, pause = "/api/v1/jobs/asked/runs", "/api/v1/jobs/asked/pause"
        for path, says in (("/api/v1/jobs?limit=x", "limit is 'x'"), ("/api/v1/jobs?runs=31", "runs is '31'"),
                           ("/api/v1/runs?status=done", "none of started"), ("/api/v1/runs?after=x", "after"),
                           ("/api/v1/runs?job=%ff", "UTF-8"), ("/api/v1/nodes?limit=1", "takes none"),
                           ("/api/v1/audit?after=x", "after is 'x'"), ("/api/v1/overview?x=1", "takes none")):
            with self.subTest(path):
                self.assert_problem(agent, self.ask(agent, "GET", path), 400, says)
        for path, raw, says in ((run, "{", "not JSON"), (run, "[]", "not a JSON object"), (run, '{"dryrun":true}', "did you mean 'dry_run'?"),
                                (run, '{"args":"x"}', "args is not an array"), (run, '{"partition":1}', "has partitions 0 to 0"),
                                (run, '{"partition":-1}', "partition"), (pause, "{}", "reason is missing"), (pause, '{"reason":""}', "reason is empty")):
            with self.subTest(raw):
                self.assert_problem(agent, self.ask(agent, "POST", path, raw=raw), 400, says)
        self.assert_problem(agent, self.ask(agent, "POST", run, raw="{}", Content_Type="text/plain"), 415, "application/json")
        self.assert_problem(agent, self.ask(agent, "POST", "/api/v1/jobs/off/runs"), 409, "not enabled")
        self.assert_problem(agent, self.ask(agent, "POST", "/api/v1/jobs/nobody/resume"), 404, "nobody")
        self.assert_problem(agent, self.ask(agent, "GET", "/api/v1/runs/x"), 404, "run 'x' not found")
        self.assert_problem(agent, self.ask(agent, "POST", "/api/v1/runs/x/cancel"), 404, "run 'x' not found")
        self.assert_problem(agent, self.ask(agent, "POST", run, who="vera"), 403, "operator")
        self.assertEqual(self.got(agent, "/api/v1/audit")["audit"], [])
        self.assertEqual(self.got(agent, "/api/v1/runs")["runs"], [])

    def test_a_pause_is_seen_by_every_agent_and_ends_with_a_resume(self):
        jobs = [job(name, "true", schedule=EACH_SECOND) for name in ("ticks", "metronome")]
        one, other = self.serving("node-a", *jobs), self.serving("node-b", *jobs)
        answer = self.ask(one, "POST", "/api/v1/jobs/ticks/pause", {"reason": "the warehouse moves"})
        self.assertEqual(answer.status, 200, answer.body)
        self.assert_fits(one, answer.json(), "Paused")
        other.says("job paused job=ticks by=alice: the warehouse moves")
        shown = self.got(other, "/api/v1/jobs/ticks")
        self.assertEqual((shown["state"], shown["paused"]["reason"], shown["next_occurrences"]), ("paused", "the warehouse moves", []))
        self.assertIn("paused by alice since", shown["why"])
        # What had begun has ended, what was in a claim has its row, and nothing begins.
        occurrences = len(self.runs("metronome"))
        until(lambda: len(self.runs("metronome")) > occurrences + 2)
        until(lambda: self.got(one, "/api/v1/runs?job=ticks&status=started")["runs"] == [])
        before = len(self.runs("ticks"))
        self.assertFalse(self.ask(one, "POST", "/api/v1/jobs/ticks/pause", {"reason": "again"}).json()["changed"])
        self.assertEqual(len(self.runs("ticks")), before)
        self.assertEqual(self.ask(other, "POST", "/api/v1/jobs/ticks/resume").json(), {"name": "ticks", "paused": False, "changed": True})
        until(lambda: len(self.runs("ticks")) > before)
        audit = self.got(one, "/api/v1/audit")["audit"]
        self.assertEqual([(row["actor"], row["action"], row["detail"]) for row in audit],
                         [("alice", "job.resume", ""), ("alice", "job.pause", "the warehouse moves")])


class Runs(ApiCase):
    def ask_for(self, agent, name, **body):
        answer = self.ask(agent, "POST", f"/api/v1/jobs/{name}/runs", body)
        self.assertEqual(answer.status, 202, answer.body)
        self.assert_fits(agent, answer.json(), "RunsAsked")
        return answer.json()["ids"]

    def test_output_is_followed_while_the_command_writes(self):
        go = self.folder / "go"
        agent = self.serving("node-a", job("talks", f'echo "one $1"; while [ ! -e {go} ]; do sleep 0.05; done; printf "tw\\303\\266\\n"; exit 3', arguments=["more"]))
        (run,) = self.ask_for(agent, "talks", args=["more"])
        # Before it has begun, or after: both are followed.
        followed = self.stream(agent, f"/api/v1/runs/{run}/output")
        until(lambda: followed.text() == "one more\n")
        self.assertFalse(followed.ended.is_set())
        part = self.ask(agent, "GET", f"/api/v1/runs/{run}/output?offset=4")
        self.assertEqual((part.body, part.fields["X-Pawl-Output-Offset"], part.fields["X-Pawl-Output-Size"]), (b"more\n", "4", "9"))
        go.touch()
        until(followed.ended.is_set)
        self.assertEqual(followed.text(), "one more\ntwö\n")
        self.assertEqual(followed.events[-1][0], "end")
        self.assertEqual(followed.events[-1][1]["status"], "failed")
        again = self.stream(agent, f"/api/v1/runs/{run}/output", **{"Last-Event-ID": "9"})
        until(again.ended.is_set)
        self.assertEqual(again.text(), "twö\n")
        shown = self.got(agent, f"/api/v1/runs/{run}")
        self.assert_fits(agent, shown, "RunDetail")
        self.assertEqual((shown["trigger"], shown["status"], shown["exit_status"], shown["output_size"]), ("manual", "failed", 3, 14))

    def test_runs_are_listed_by_pages_and_filters(self):
        agent = self.serving("node-a", job("good", "true"), job("bad", "exit 1"))
        ids = [self.ask_for(agent, name)[0] for name in ("good", "bad", "good", "bad", "good")]
        until(lambda: [one["status"] in OVER for one in self.got(agent, "/api/v1/runs")["runs"]] == [True] * 5)
        self.assert_fits(agent, self.got(agent, "/api/v1/runs"), "RunPage")
        for limit in (1, 2, 5, 1000):
            self.assertEqual(sorted(one["id"] for one in self.pages(agent, f"/api/v1/runs?limit={limit}", "runs")), sorted(ids))
        self.assertEqual({one["job"] for one in self.pages(agent, "/api/v1/runs?limit=1&status=failed", "runs")}, {"bad"})
        self.assertEqual(len(self.pages(agent, "/api/v1/runs?limit=2&job=good&node=node-a", "runs")), 3)
        first = self.ask(agent, "GET", "/api/v1/runs")
        self.assertEqual(self.ask(agent, "GET", "/api/v1/runs", If_None_Match=first.fields["ETag"]).status, 304)

    def test_a_dry_run_tells_all_and_runs_nothing(self):
        agent = self.serving("node-a", job("saves", 'test "$PAWL_CHECKPOINT" && exit 0; "$PAWL_BINARY" checkpoint "page 3"; exit 1',
                                           env={"MODE": "full"}, arguments=["--x"]))
        (run,) = self.ask_for(agent, "saves")
        self.ended(run)
        # Its lease ends behind its row.
        until(lambda: not self.pawl("locks", "show", "job/saves", "--json").json()["held"])
        answer = self.ask(agent, "POST", "/api/v1/jobs/saves/runs", {"dry_run": True, "resume": True, "args": ["--x"]})
        self.assertEqual(answer.status, 200, answer.body)
        self.assert_fits(agent, answer.json(), "DryRun")
        self.assertEqual(answer.json(), self.pawl("jobs", "run", "saves", "--dry-run", "--resume", "--json", "--", "--x").json())
        self.assertEqual(answer.json()["command"][-1], "--x")
        (resumed,) = self.ask_for(agent, "saves", resume=True)
        self.assertEqual(self.ended(resumed)["status"], "completed")
        self.assertEqual(len(self.runs("saves")), 2)

    def test_an_active_run_is_cancelled_and_a_queued_one_is_withdrawn(self):
        agent = self.serving("node-a", job("sleeps", "echo up; exec sleep 600"), job("waits", "true"))
        (running,) = self.ask_for(agent, "sleeps")
        until(lambda: (row := self.shown(running)) and row["output_size"] > 0)
        answer = self.ask(agent, "POST", f"/api/v1/runs/{running}/cancel")
        self.assertEqual(answer.status, 202, answer.body)
        self.assert_fits(agent, answer.json(), "Cancelled")
        self.assertFalse(answer.json()["withdrawn"])
        self.assertEqual(self.ended(running)["status"], "cancelled")
        self.assert_problem(agent, self.ask(agent, "POST", f"/api/v1/runs/{running}/cancel"), 409, "is over already: cancelled")

        self.hold("job/waits")
        (waiting,) = self.ask_for(agent, "waits")
        shown = until(lambda: (one := self.got(agent, "/api/v1/jobs/waits"))["state"] == "blocked" and one)
        self.assertRegex(shown["why"], r"^lock job/waits is held by \S+ since \S+ \(token \d+\), expires in \d+s unless renewed; "
                                       r"no run of waits has this token; a run that alice queued at \S+ waits for it$")
        self.assert_problem(agent, self.ask(agent, "GET", f"/api/v1/runs/{waiting}"), 404, "is queued")
        self.assertTrue(self.ask(agent, "POST", f"/api/v1/runs/{waiting}/cancel").json()["withdrawn"])
        self.assert_problem(agent, self.ask(agent, "GET", f"/api/v1/runs/{waiting}"), 404, "not found")
        self.assertEqual([row["action"] for row in self.got(agent, "/api/v1/audit")["audit"]], ["run.cancel", "job.run", "run.cancel", "job.run"])


class ControlState(ApiCase):
    def test_nodes_and_the_overview_are_as_the_contract_says(self):
        agent = self.serving("node-a", job("fails", "exit 4", schedule=EACH_SECOND), job("stays", "exec sleep 600", schedule=EACH_SECOND))
        until(lambda: self.got(agent, "/api/v1/runs?status=failed")["runs"] and self.got(agent, "/api/v1/runs?status=started")["runs"])
        nodes = self.got(agent, "/api/v1/nodes")
        self.assert_fits(agent, nodes, "NodePage")
        self.assertEqual([(one["name"], one["state"]) for one in nodes["nodes"]], [("node-a", "live")])

        def seen_both():
            one = self.got(agent, "/api/v1/overview")
            return ("stays" in [run["job"] for run in one["active"]] and "job_failing" in [it["kind"] for it in one["attention"]] and
                    one["next_occurrences"] and one)

        seen = until(seen_both)
        self.assert_fits(agent, seen, "Overview")
        self.assertEqual((seen["node"], seen["counts"]["jobs"], seen["counts"]["nodes_live"]), ("node-a", 2, 1))
        failing = [one for one in seen["attention"] if one["kind"] == "job_failing"]
        self.assertIn("failed on node-a at", failing[0]["text"])
        self.assertIn(": exit 4. Read its output", failing[0]["text"])
        self.assertEqual(self.got(agent, f"/api/v1{failing[0]['link']}")["job"], "fails")

    def test_what_was_changed_in_the_audit_is_found(self):
        agent = self.serving("node-a", job("asked", "true"))
        for i in range(4):
            self.ask(agent, "POST", "/api/v1/jobs/asked/pause", {"reason": f"reason {i}"})
            self.ask(agent, "POST", "/api/v1/jobs/asked/resume", {"reason": f"over {i}"})
        self.assert_fits(agent, self.got(agent, "/api/v1/audit"), "AuditPage")
        self.assertEqual([one["sequence"] for one in self.pages(agent, "/api/v1/audit?limit=3", "audit")], [8, 7, 6, 5, 4, 3, 2, 1])
        whole = self.got(agent, "/api/v1/audit/verification")
        self.assert_fits(agent, whole, "AuditVerification")
        self.assertEqual((whole["verified"], whole["broken_at"]), (8, None))
        with sqlite3.connect(self.store.removeprefix("sqlite:"), timeout=30) as database:
            database.execute("DROP TRIGGER pawl_audit_is_as_it_was")
            database.execute("UPDATE pawl_audit SET actor = 'nobody' WHERE sequence = 5")
        found = until(lambda: (one := self.got(agent, "/api/v1/audit/verification"))["broken_at"] and one)
        self.assertEqual((found["broken_at"], found["verified"]), (5, 3))
        self.assertEqual(found["detail"], "the audit has been tampered with: entry 5 does not fit the chain")
        self.assertEqual(self.pawl("audit", "ls", "--verify").status, 77)


class Why(ApiCase):
    """What a stranger reads to learn why a job does not run."""

    def why(self, agent, name, pattern, state="late"):
        seen = []

        def late():
            seen.append(self.got(agent, f"/api/v1/jobs/{name}"))
            return seen[-1]["state"] == state and re.search(pattern, seen[-1]["why"])

        try:
            until(late, LATE)
        except AssertionError:
            self.fail(f"{name} is {seen[-1]['state']}: {seen[-1]['why']}")
        return seen[-1]

    def test_the_key_is_held_or_in_cooldown_or_the_previous_occurrence_still_runs(self):
        holder = self.hold("job/held")
        keys = {"schedule": EACH_SECOND, "overlap": "queue"}
        agent = self.serving("node-a", job("held", "true", **keys), job("long", "exec sleep 600", **keys), job("cooling", "true", at_least="10m", **keys))
        held = self.why(agent, "held", rf"^lock job/held is held by \S+:{holder.pid}:\S+ since \S+ \(token \d+\), expires in \d+s unless renewed; "
                                       r"no run of held has this token$", "blocked")
        self.assertEqual((held["blocked_by"]["key"], held["blocked_by"]["partition"]), ("job/held", 0))
        late = self.why(agent, "long", r"^its previous run of \S+ still runs on node-a since \S+ \(run [-0-9a-f]{36}\)$")
        self.assertEqual(late["running"], 1)
        self.why(agent, "cooling", r"^its lock job/cooling is in cooldown until \S+ \(min_hold = 10m\)$")
        seen = until(lambda: (one := self.got(agent, "/api/v1/overview"))["counts"]["jobs_late"] == 2 and one)
        late = {one["subject"]: one for one in seen["attention"] if one["kind"] == "job_late"}
        self.assertEqual(set(late), {"long", "cooling"})
        self.assertEqual(seen["counts"]["jobs_blocked"], 1)
        (blocked,) = [one for one in seen["attention"] if one["kind"] == "job_blocked"]
        self.assertEqual((blocked["link"], blocked["level"]), ("/jobs/held", "fail"))
        self.assertEqual([one["link"] for one in blocked["steps"]], ["/locks/job%2Fheld", "/locks/job%2Fheld?action=force-release"])
        holder.kill()
        until(lambda: self.got(agent, "/api/v1/jobs/held")["state"] not in ("late", "blocked"), LATE)

    def test_every_slot_is_taken(self):
        agent = self.serving("node-a", job("long", "exec sleep 600"), job("starves", "true", schedule="@every 5s"), max_concurrent_runs=1)
        self.ask(agent, "POST", "/api/v1/jobs/long/runs")
        until(lambda: self.got(agent, "/api/v1/nodes")["nodes"][0]["running"] == 1)
        self.why(agent, "starves", r"^every slot of every live agent is taken: 1 of 1 on node-a; it starts when a run finishes")

    def test_the_agent_that_has_it_is_unresponsive(self):
        gone = self.serving("node-b", job("alone", "true", schedule=EACH_SECOND))
        agent = self.serving("node-a", job("other", "true"))
        until(lambda: self.got(agent, "/api/v1/runs?job=alone&status=completed")["runs"])
        gone.kill()
        # It may have died in the middle of a run; then that one's lease is what it waits for at first.
        self.why(agent, "alone", r"^the agent that has it, node-b, has been unresponsive since \S+, and no other has published it since then$")
        until(lambda: "node_unresponsive" in [one["kind"] for one in self.got(agent, "/api/v1/overview")["attention"]])

    def test_the_store_does_not_answer(self):
        redis = Redis()
        self.addCleanup(redis.stop)
        self.store = redis.url
        agent = self.serving("node-a", job("ticks", "true", schedule="@every 30s"), job("often", "true", schedule=EACH_SECOND),
                             journal=f"sqlite:{self.stores}/journal.db")
        until(lambda: self.got(agent, "/api/v1/runs?job=often&status=completed")["runs"])
        redis.process.kill()
        redis.process.wait()
        for name in ("ticks", "often"):
            self.why(agent, name, r"^the store does not answer: ")
        kinds = [one["kind"] for one in self.got(agent, "/api/v1/overview")["attention"]]
        self.assertEqual(kinds[0], "store_down", json.dumps(kinds))
        redis.begin()
        for name in ("ticks", "often"):
            until(lambda: self.got(agent, f"/api/v1/jobs/{name}")["state"] != "late", LATE)

    def test_who_follows_hears_soon_that_the_store_is_back(self):
        redis = Redis()
        self.addCleanup(redis.stop)
        self.store = redis.url
        agent = self.serving("node-a", job("asked", "true"))
        followed = self.stream(agent, "/api/v1/events?topics=overview")

        def told(up):
            return [data["as_of"] for name, data in list(followed.events) if name == "overview" and data["store"]["up"] is up]

        until(lambda: told(True))
        redis.process.kill()
        redis.process.wait()
        until(lambda: told(False))
        down, before = told(False)[-1], len(told(True))
        redis.begin()
        until(lambda: len(told(True)) > before, LATE)
        # Looks are five seconds apart, and one that meets a server that is down waits for it for some more. By how long it took, it
        # would be the next one only after forty.
        apart = proof.seconds(told(True)[before]) - proof.seconds(down)
        self.assertLess(apart, 35, f"it said that the store is down, and {apart} s later that it is up")

    def test_what_was_due_while_it_was_paused_is_not_late(self):
        agent = self.serving("node-a", job("ticks", "true", schedule="@every 20s"))
        self.ask(agent, "POST", "/api/v1/jobs/ticks/pause", {"reason": "r"})
        due = self.got(agent, "/api/v1/jobs/ticks")["as_of"]
        # An occurrence passes while it is paused, and more than ten seconds after it.
        until(lambda: proof.seconds(self.got(agent, "/api/v1/overview")["as_of"]) - proof.seconds(due) > 32, 120)
        self.ask(agent, "POST", "/api/v1/jobs/ticks/resume")
        self.assertNotEqual(self.got(agent, "/api/v1/jobs/ticks")["state"], "late")
