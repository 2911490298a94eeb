"""The commands of somebody's desk through an agent's API: the same answers, and what is rejected."""
import http.server
import json
import re
import subprocess
import threading

from agents import Agent, job
from api import ApiCase
from harness import environment, free_port, pawl, start, until


def shown(text):
    """Without what moves on between two looks: ages, and the agent's own role, which it takes again every few seconds."""
    text = re.sub(r',?\{"key":"pawl/reconciler"[^}]*\}', "", text)
    text = re.sub(r'"remaining_ms":\d+', '"remaining_ms":…', text)
    return re.sub(r"\d+(ms|s)( ago)?\b", "…", re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", re.sub(r" +", " ", text)))


class RemoteCase(ApiCase):
    def by(self, who, *words, agent=None, **variables):
        """What somebody is told by the agent, who may have no store of his own."""
        told = environment(PAWL_URL=f"http://127.0.0.1:{(agent or self.one).port}", PAWL_TOKEN=self.users[who][0])
        told.update(variables)
        return pawl(*words, env=told)

    def assert_same(self, *words, who="vera"):
        """As from the store itself, but for what moves on."""
        for more in ((), ("--json",)):
            here, there = self.pawl(*words, *more), self.by(who, *words, *more)
            self.assertEqual((there.status, shown(there.out)), (here.status, shown(here.out)), there.err)
            self.assertNotEqual(there.out, "")


class Answers(RemoteCase):
    def setUp(self):
        super().setUp()
        self.one = self.serving("node-a", job("echo", 'echo "[$1]"; exit 7', arguments=["a b"]), job("parts", "true", partitions=3),
                                job("slow", "echo begun; exec sleep 60"))

    def test_what_is_read_is_what_the_store_says(self):
        run = self.run_now("echo", "--", "a b")
        self.assertEqual(self.ended(run)["exit_status"], 7)
        self.assertEqual(self.pawl("jobs", "pause", "parts", "--reason", "on holiday").status, 0)
        for words in (["jobs", "ls"], ["jobs", "show", "parts"], ["jobs", "show", "echo"], ["runs", "ls"], ["runs", "ls", "--status", "failed"],
                      ["runs", "show", run], ["locks", "ls"], ["locks", "ls", "--prefix", "job/e"], ["locks", "show", "job/echo"],
                      ["audit", "ls"], ["audit", "ls", "--verify"], ["jobs", "run", "echo", "--dry-run", "--resume"]):
            with self.subTest(words):
                # The store can say that it does not know how many wait, and JSON cannot.
                if words[0] == "locks":
                    self.assertEqual(shown(self.by("vera", *words, "--json").out), shown(self.pawl(*words, "--json").out))
                else:
                    self.assert_same(*words, who="alice" if "run" in words else "vera")
        self.assertEqual(self.by("vera", "nodes", "ls", "--json").json()["nodes"][0]["name"], "node-a")
        self.assertRegex(self.by("vera", "nodes", "ls").out, r"node-a +live")
        for more in ((), ("--follow",)):
            self.assertEqual(self.by("vera", "runs", "output", run, *more).out, "[a b]\n")
        self.assertEqual({one["check"] for one in self.by("vera", "doctor", "--json").json()["checks"]},
                         {one["check"] for one in self.pawl("doctor", "--for", "100ms", "--json").json()["checks"]})

    def test_what_is_done_is_done(self):
        self.assertEqual(self.by("alice", "jobs", "run", "echo", "--wait").status, 7)
        run = self.by("alice", "jobs", "run", "slow", "--json").json()["ids"][0]
        until(lambda: (row := self.shown(run)) and row["status"] == "started")
        self.assertIn("cancelling run ", self.by("alice", "runs", "cancel", run).out)
        self.assertEqual(self.ended(run)["status"], "cancelled")
        again = self.by("alice", "runs", "cancel", run)
        self.assert_one_line(again, 64, "is over already: cancelled")
        for changed in (True, False):
            paused = self.by("alice", "jobs", "pause", "echo", "--reason", "quiet", "--json")
            self.assertEqual(paused.json(), {"job": "echo", "paused": True, "changed": changed})
        self.assertIn("resumed", self.by("alice", "jobs", "resume", "echo").out)
        self.assertEqual({one["actor"] for one in self.pawl("audit", "ls", "--json").json()["audit"]}, {"alice"})

    def test_a_lock_is_released_with_its_token_and_a_fence_remembers(self):
        holder = self.hold("by-hand", "--ttl", "60s")
        rejected = self.by("alice", "locks", "release", "by-hand", "--reason", "stuck", "--yes")
        self.assertEqual((rejected.status, rejected.out), (77, ""), rejected.err)
        self.assertTrue(self.pawl("locks", "show", "by-hand", "--json").json()["held"])
        delayed = self.by("root", "locks", "release", "by-hand", "--reason", "stuck", "--yes", "--delay", "1s")
        self.assert_one_line(delayed, 64, "--delay needs the store itself")
        freed = self.by("root", "locks", "release", "by-hand", "--reason", "stuck", "--yes", "--json")
        self.assertEqual((freed.status, freed.json()["reason"]), (0, "stuck"), freed.err)
        self.assertEqual(holder.wait(timeout=60), 70)
        self.assertFalse(self.pawl("locks", "show", "by-hand", "--json").json()["held"])
        for token, once, status in ((7, (), 0), (7, (), 0), (7, ("--once",), 77), (6, (), 77), (8, ("--once",), 0)):
            self.assertEqual(self.by("alice", "fence", "check", "ledger", str(token), *once).status, status)
        self.assertEqual(self.pawl("fence", "check", "ledger", "7").status, 77)
        # One that no store has issued yet, as by the store itself.
        never = ("fence", "check", "ledger", "9007199254740990")
        for told in (self.by("alice", *never, "--json"), self.pawl(*never, "--json")):
            self.assertEqual(told.status, 77, told.err)
            self.assertEqual((told.json()["accepted"], told.json()["newest"]), (False, 8))
        self.assert_one_line(self.by("alice", *never), 77, "the store has not issued it")

    def test_a_user_without_the_right_is_rejected_with_77(self):
        for words in (["jobs", "run", "echo"], ["jobs", "pause", "echo", "--reason", "x"], ["jobs", "resume", "echo"], ["runs", "cancel", "00000000-0000-4000-8000-000000000000"],
                      ["fence", "check", "ledger", "1"]):
            self.assert_one_line(self.by("vera", *words), 77, "client" if words[0] == "fence" else "operator")
        for words in (["locks", "ls"], ["jobs", "ls"], ["runs", "ls"], ["nodes", "ls"], ["audit", "ls"], ["doctor"]):
            self.assert_one_line(self.by("vera", *words, PAWL_TOKEN=""), 77, "PAWL_TOKEN is not set")
        wrong = self.by("vera", "locks", "ls", PAWL_TOKEN="pawl.vera.wrong")
        self.assertEqual(wrong.status, 77, wrong.err)
        self.assertNotIn("pawl.vera", wrong.err)
        self.assert_one_line(self.by("vera", "locks", "ls", PAWL_TOKEN="two words"), 78, "PAWL_TOKEN")

    def test_what_is_not_there_is_said_as_the_store_says_it(self):
        self.assert_one_line(self.by("vera", "locks", "show", "nothing"), 64, "lock 'nothing' not found")
        self.assert_one_line(self.by("vera", "jobs", "show", "ecko"), 64, "did you mean 'echo'?")
        self.assert_one_line(self.by("vera", "runs", "show", "nothing"), 64, "run 'nothing' not found; see 'pawl runs ls'")
        for words in (["jobs", "show", "ecko"], ["jobs", "pause", "ecko", "--reason", "x"], ["runs", "show", "nothing"], ["runs", "cancel", "nothing"]):
            told = self.by("alice", *words).err
            self.assertEqual(told, self.pawl(*words).err)
            self.assertTrue(told.startswith("pawl: "), told)
        self.assert_one_line(self.by("alice", "jobs", "run", "parts", "--partition", "3"), 64, "partitions 0 to 2")

    def test_a_store_named_by_hand_and_a_run_know_no_agent(self):
        elsewhere = f"sqlite:{self.stores}/other.db"
        self.assertEqual(self.by("vera", "--store", elsewhere, "locks", "ls", "--json").json()["locks"], [])
        own = self.by("vera", "fence", "check", "ledger", "5", PAWL_FENCE_TOKEN="5", PAWL_STORE=elsewhere)
        self.assertEqual(own.status, 0, own.err)
        url = f"http://127.0.0.1:{self.one.port}"
        self.assert_one_line(self.by("vera", "--store", elsewhere, "--url", url, "locks", "ls"), 64, "give one of them")
        for words in (["cron", "next", "* * * * *"], ["exec", "k", "--", "true"], ["agent", "--check"], ["demo"], ["bench"]):
            self.assert_one_line(self.by("vera", "--url", url, *words), 64, "leave out --url")
        self.assertEqual(self.by("vera", "--store", elsewhere, "exec", "k", "--", "true").status, 0)



class States(RemoteCase):
    """How each job stands: what the web UI shows of it, from the store and from an agent."""

    def setUp(self):
        super().setUp()
        yearly = {"schedule": "0 0 1 1 *"}
        self.one = self.serving("node-a", job("blocked", "true", **yearly), job("by-hand", "true"), job("disabled", "true", enabled=False, **yearly),
                                job("failing", "exit 3", **yearly), job("paused", "true", **yearly), job("scheduled", "true", **yearly),
                                job("split", "exec sleep 600", partitions=3, **yearly), job("works", "exec sleep 600", **yearly))

    def sources(self):
        return (lambda *words: self.pawl(*words)), (lambda *words: self.by("vera", *words))

    def test_a_list_and_a_job_say_the_state_and_the_reason(self):
        self.hold("job/blocked")
        for _ in range(2):
            self.ended(self.run_now("failing"))
        self.assertEqual(self.pawl("jobs", "pause", "paused", "--reason", "on holiday").status, 0)
        for run in (self.run_now("works"), self.run_now("split", "--partition", "1")):
            until(lambda: (row := self.shown(run)) and row["status"] == "started")
        wanted = {
            "blocked": ("blocked", "lock job/blocked is held by "), "by-hand": ("manual only", "–"), "disabled": ("disabled", "it is not enabled"),
            "failing": ("failing", "its last 2 runs failed, the newest on node-a"), "paused": ("paused", "paused by "), "scheduled": ("scheduled", "–"),
            "split": ("1 of 3 running", "runs on node-a"), "works": ("running", "runs on node-a"),
        }
        for ask in self.sources():
            head, *rows = [re.split(r"  +", line) for line in ask("jobs", "ls").out.splitlines()]
            self.assertEqual(head, ["JOB", "STATE", "SCHEDULE", "ZONE", "NEXT", "LAST RUN", "LAST STATUS", "REASON"])
            self.assertEqual({row[0]: row[1] for row in rows}, {name: state for name, (state, _) in wanted.items()})
            for row in rows:
                self.assertTrue(row[7].startswith(wanted[row[0]][1]), row)
            document = {one["name"]: one for one in ask("jobs", "ls", "--json").json()["jobs"]}
            self.assertEqual({name: one["state"] for name, one in document.items()},
                             {name: "idle" if name in ("by-hand", "scheduled") else "running" if name == "split" else state
                              for name, (state, _) in wanted.items()})
            self.assertEqual((document["failing"]["consecutive_failures"], document["split"]["running"]), (2, 1))
            self.assertEqual(document["blocked"]["blocked_by"]["key"], "job/blocked")
            for one in document.values():
                self.assert_fits(self.one, {**one, "recent": []}, "Job")
            for name in ("blocked", "failing"):
                shown = dict(re.split(r"  +", line, maxsplit=1) for line in ask("jobs", "show", name).out.splitlines() if "  " in line)
                self.assertEqual(shown["state"], wanted[name][0])
                self.assertTrue(shown["reason"].startswith(wanted[name][1]), shown)

    def test_a_store_that_is_away_leaves_what_the_journal_knows(self):
        away = pawl("--store", f"redis://127.0.0.1:{free_port()}?timeout=300ms", "--journal", self.store, "jobs", "ls", "--json")
        self.assertEqual(away.status, 0, away.err)
        seen = {one["name"]: one for one in away.json()["jobs"]}
        self.assertIn("the store does not answer", seen["scheduled"]["why"])

class Somebody(http.server.BaseHTTPRequestHandler):
    """A server that is no agent: what it says depends on its path."""

    def do_GET(self):
        said = {"/elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n",
                "/page": b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
                "/text": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                "/other": b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"locks": 7}',
                "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{",
                "/noise": b"\x00\x01\x02 no protocol at all\r\n\r\n",
                "/huge": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
                "/drip": b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n"}
        self.wfile.write(said.get(self.path[:self.path.index("/api")], b""))
        if self.path.startswith("/mute"):
            self.server.leaving.wait(30)
        if self.path.startswith("/drip"):
            for _ in range(300):
                self.wfile.write(b" ")
                if self.server.leaving.wait(0.1):
                    return

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/noise"):
            return self.do_GET()
        if self.path.startswith("/hostile"):
            body = json.dumps({"ids": ["\x1b]0;mine\x07\x1b[2J"]})
            self.wfile.write(f"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            return
        body = json.dumps({"title": "Service Unavailable", "status": 503, "detail": "only some partitions were asked for", "ids": ["run-1", "run-2"]})
        self.wfile.write(f"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    def log_message(self, *_):
        pass


class Trouble(RemoteCase):
    def somebody(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Somebody)
        server.leaving = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.leaving.set)
        return f"http://127.0.0.1:{server.server_port}"

    def test_runs_that_were_queued_before_a_failure_are_named(self):
        told = pawl("jobs", "run", "parts", env=environment(PAWL_URL=f"{self.somebody()}/partly"))
        self.assertEqual(told.status, 69, told.err)
        self.assertIn("run-1 run-2", told.err)
        # What was sent may have been done, whatever came back.
        self.assert_one_line(pawl("jobs", "run", "parts", env=environment(PAWL_URL=f"{self.somebody()}/noise")), 69, "not an answer of an agent")

    def test_ids_of_an_unknown_server_do_not_take_the_terminal_over(self):
        told = pawl("jobs", "run", "parts", env=environment(PAWL_URL=f"{self.somebody()}/hostile"))
        self.assertEqual(told.status, 0, told.err)
        self.assertEqual(told.out, "queued run ?]0;mine??[2J of job 'parts'\n")

    def test_a_wait_outlasts_a_restart_of_the_agent_that_is_asked(self):
        self.one = self.serving("node-a", listen=f"127.0.0.1:{free_port()}")
        self.serving("node-b", job("two", f"until [ -e {self.folder}/go ]; do sleep 0.05; done"))
        told = environment(PAWL_URL=f"http://127.0.0.1:{self.one.port}", PAWL_TOKEN=self.users["alice"][0])
        waiter = start("jobs", "run", "two", "--wait", "--json", env=told)
        self.addCleanup(self.end, waiter)
        run = re.search(r"waiting for run (\S+) of job 'two'", waiter.stderr.readline()).group(1)
        self.one.stop()
        self.assertIn("the wait continues", waiter.stderr.readline())
        self.one.start()
        self.file("go").touch()
        out, err = waiter.communicate(timeout=60)
        self.assertEqual(waiter.returncode, 0, err)
        self.assertEqual([(one["id"], one["status"]) for one in json.loads(out)["runs"]], [(run, "completed")])

    def test_another_server_that_answers_is_told_from_an_agent(self):
        url = self.somebody()
        for path, status, says in (("elsewhere", 78, "is not followed"), ("page", 78, "not one of an agent's API"), ("text", 78, "not JSON"),
                                   ("other", 78, "'locks' of the list of locks must be a list"), ("cut", 69, "closed within an answer"),
                                   ("noise", 78, "not an answer of an agent"), ("huge", 78, "not an answer of an agent"), ("nothing", 69, "without an answer"),
                                   ("mute?timeout=200ms", 69, "no answer within 200ms"),
                                   ("drip?timeout=500ms", 69, "no answer within 500ms")):
            self.assert_one_line(pawl("locks", "ls", env=environment(PAWL_URL=f"{url}/{path}")), status, says)

    def test_output_is_followed_as_it_is_written(self):
        self.one = self.serving("node-a", job("two", f"echo first; until [ -e {self.folder}/go ]; do sleep 0.05; done; echo second"))
        run = self.by("alice", "jobs", "run", "two", "--json").json()["ids"][0]
        told = environment(PAWL_URL=f"http://127.0.0.1:{self.one.port}", PAWL_TOKEN=self.users["vera"][0])
        follower = start("runs", "output", run, "--follow", env=told)
        self.addCleanup(self.end, follower)
        self.assertEqual(follower.stdout.readline(), "first\n")
        self.file("go").touch()
        self.assertEqual(follower.communicate(timeout=60)[0], "second\n")
        self.assertEqual(follower.returncode, 0)

    def test_an_agent_that_is_down_is_69(self):
        asked = environment(PAWL_URL=f"http://127.0.0.1:{free_port()}")
        for words in (["locks", "ls"], ["jobs", "ls"], ["runs", "output", "xxxx", "--follow"], ["jobs", "resume", "x"]):
            self.assert_one_line(pawl(*words, env=asked), 69, "http://127.0.0.1:")

    def test_a_wrong_url_says_what_would_be_right(self):
        for url, says in (("127.0.0.1:7295", "begins with http://"), ("http://", "the host is empty"), ("http://a,b", "only one host"),
                          ("http://u:secret@a", "PAWL_TOKEN"), ("https://a?cb=x", "did you mean 'ca'?"), ("http://a?ca=x", "https:// only"),
                          ("http://a:0", "port")):
            told = pawl("locks", "ls", env=environment(PAWL_URL=url))
            self.assert_one_line(told, 78, says)
            self.assertNotIn("secret", told.err)
            self.assert_one_line(pawl("--url", url, "locks", "ls"), 64, says)

    def test_tls_is_verified_by_the_authority_that_is_named(self):
        certificate, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "30",
                        "-subj", "/CN=node-a", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        port = free_port()
        agent = Agent(self.folder, "node-a", self.store, [block for _, block in self.users.values()], listen=f"127.0.0.1:{port}",
                      tls={"cert": str(certificate), "key": str(key)})
        self.addCleanup(agent.kill)
        agent.start()
        url, token = f"https://127.0.0.1:{port}", self.users["vera"][0]
        asked = [("--url", f"{url}?ca={certificate}", "locks", "ls", "--json")]
        for words in asked:
            done = pawl(*words, env=environment(PAWL_TOKEN=token))
            self.assertEqual(done.status, 0, done.err)
        self.assertEqual(pawl("nodes", "ls", env=environment(PAWL_URL=url, PAWL_TOKEN=token, PAWL_CA=str(certificate))).status, 0)
        self.assert_one_line(pawl("locks", "ls", env=environment(PAWL_URL=url, PAWL_TOKEN=token)), 77, "certificate")
        self.assert_one_line(pawl("--url", f"{url}?ca={self.folder}/none.pem", "locks", "ls"), 77, "none.pem")


