"""pawl demo: its proof is the product's main promise, and its page the first thing that people try."""
import contextlib
import http.cookiejar
import json
import os
import pathlib
import signal
import urllib.error
import urllib.request

from harness import Case, environment, pawl, start, state_of, until


def in_memory():
    """Its nodes share a store there, so that none waits for a disk that all tests write to."""
    return environment(TMPDIR="/dev/shm") if os.access("/dev/shm", os.W_OK) else environment()


class Demo(Case):
    def test_the_demonstration_proves_that_nothing_ran_twice(self):
        done = pawl("demo", "--for", "10s", "--json", env=in_memory(), timeout=90)
        self.assertEqual(done.status, 0, done.out + done.err)
        proof = done.json()
        self.assertTrue(proof["proven"])
        self.assertEqual(proof["occurrences"], 10)
        self.assertEqual(proof["runs"], 10)
        self.assertEqual(proof["duplicates"], 0)
        self.assertGreaterEqual(proof["stale_writes_rejected"], 1)
        # The lease of the node that was struck has 2 s left at most; the rest is a busy machine's.
        self.assertTrue(0 < proof["takeover_after_kill_ms"] < 10_000, proof)

    def test_people_get_a_table_and_a_last_word(self):
        done = pawl("demo", "--for", "8s", "--nodes", "2", env=in_memory(), timeout=90)
        self.assertEqual(done.status, 0, done.out + done.err)
        self.assertIn("SIGSTOP", done.out)
        self.assertIn("SIGKILL", done.out)
        self.assertTrue(done.out.rstrip().endswith("Proven: each occurrence ran once, and no late write got through."))

    def test_a_run_that_is_killed_leaves_nothing_to_wait_for(self):
        """As a guard kills the command of a machine that stood still for longer than its lease."""
        folder = self.stores / "a folder"
        folder.mkdir()
        demo = start("demo", "--for", "12s", env=environment(TMPDIR=str(folder)))
        self.addCleanup(self.end, demo)
        told = []
        while sum("took over" in line for line in told) < 2:
            told.append(demo.stdout.readline())
            self.assertTrue(told[-1], told)

        def work():
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    words = (process / "cmdline").read_bytes()
                    if b"demo-work" in words and bytes(self.stores) in words and state_of(process) != "T":
                        return int(process.name)
            return None
        os.kill(until(work), signal.SIGKILL)
        told += demo.stdout.readlines()
        self.assertEqual(demo.wait(timeout=60), 0, "".join(told))
        self.assertIn("Proven", told[-1])


class Browser:
    """What a page does: a login link, a cookie, and the session's token on whatever it changes."""

    def __init__(self, link):
        self.origin = link.split("/login")[0]
        self.open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())).open
        with self.open(link, timeout=10) as page:
            self.csrf = page.geturl().split("#session=")[1]

    def get(self, path):
        with self.open(self.origin + path, timeout=10) as answer:
            return json.load(answer)

    def post(self, path, body):
        asked = urllib.request.Request(self.origin + path, json.dumps(body).encode(),
                                       {"Content-Type": "application/json", "X-Pawl-Session": self.csrf})
        with self.open(asked, timeout=10) as answer:
            return json.load(answer)


class Serve(Case):
    def test_three_agents_and_a_stuck_key_that_can_be_freed_over_the_page(self):
        demo = start("demo", "--serve", "--for", "8s", "--json", env=in_memory())
        self.addCleanup(self.end, demo)
        shown = json.loads(demo.stdout.readline())
        self.assertTrue(shown["proven"])
        self.assertEqual([one["node"] for one in shown["agents"]], ["node-a", "node-b", "node-c"])

        page = Browser(shown["agents"][0]["login"])
        lock = page.get("/api/v1/locks/job/export")
        self.assertTrue(lock["held"], lock)
        blocked = until(lambda: (job := page.get("/api/v1/jobs/export"))["state"] == "blocked" and job, 60)
        self.assertIn(lock["owner"], blocked["why"])

        lock = page.get("/api/v1/locks/job/export")
        released = page.post("/api/v1/locks/release",
                             {"key": "job/export", "fence_token": lock["fence_token"], "reason": "its host is gone", "now": True})
        self.assertEqual(released["owner"], lock["owner"])
        until(lambda: page.get("/api/v1/runs?job=export&status=completed")["runs"], 60)
        self.assertIn("lock.release", [one["action"] for one in page.get("/api/v1/audit")["audit"]])

        with self.assertRaises(urllib.error.HTTPError) as again:
            Browser(shown["agents"][0]["login"])
        self.assertEqual(again.exception.code, 403)
        again.exception.close()

        demo.send_signal(signal.SIGINT)
        self.assertEqual(demo.wait(timeout=60), 0)
