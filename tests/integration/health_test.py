"""doctor and drill, on the embedded store and on a real Redis."""
import pathlib
import subprocess
import time

from harness import PAWL, Case, Redis, environment, free_port, pawl

RUNBOOK = pathlib.Path(__file__).parents[2] / "docs" / "runbook.md"


class Doctor(Case):
    def setUp(self):
        super().setUp()
        # Round trips are judged beside the timeout, and a busy machine takes a second for one now and then.
        self.store += "?timeout=20s"

    def test_a_healthy_store_is_ok_line_by_line(self):
        seen = self.pawl("doctor", "--for", "100ms")
        self.assertEqual(seen.status, 0, seen.out + seen.err)
        lines = seen.out.splitlines()
        self.assertEqual(lines[0].split(" ")[0], self.store)
        for line in lines[1:]:
            self.assertEqual(line.split()[0], "OK", line)
        self.assertIn("reachability", seen.out)

    def test_a_lease_that_is_held_for_long_is_debt(self):
        self.hold("job/slow", "--ttl", "30s")
        seen = self.pawl("doctor", "--for", "10ms", "--held", "0s", "--json")
        document = seen.json()
        self.assertEqual(seen.status, 1, seen.out)
        self.assertEqual(document["level"], "WARN")
        (debt,) = [one for one in document["checks"] if one["level"] == "WARN"]
        self.assertEqual(set(debt), {"check", "level", "text", "runbook"})
        self.assertIn("'job/slow'", debt["text"])
        self.assertEqual(debt["runbook"], "docs/runbook.md#lock-debt")

    def test_a_store_that_cannot_be_reached_is_a_failure_in_one_line(self):
        url = f"redis://127.0.0.1:{free_port()}?timeout=500ms"
        seen = pawl("doctor", "--store", url)
        self.assertEqual(seen.status, 2)
        (line,) = [line for line in seen.out.splitlines() if line.startswith("FAIL")]
        self.assertIn("reachability", line)
        self.assertIn("docs/runbook.md#reachability", line)

    def test_a_secret_is_shown_nowhere(self):
        url = f"redis://user:s3cret@127.0.0.1:{free_port()}?timeout=200ms"
        seen = pawl("doctor", "--store", url, "--json")
        self.assertNotIn("s3cret", seen.out + seen.err)

    def test_bad_options_are_usage(self):
        self.assert_one_line(self.pawl("doctor", "--for", "soon"), 64, "--for")
        self.assert_one_line(self.pawl("doctor", "--waiters", "0"), 64, "--waiters")
        self.assert_one_line(pawl("doctor", "--store", "redis:"), 64, "--store")

    def test_every_check_has_a_section_in_the_runbook(self):
        runbook = {line[3:].strip().lower() for line in RUNBOOK.read_text().splitlines() if line.startswith("## ")}
        for one in self.pawl("doctor", "--for", "10ms", "--json").json()["checks"]:
            self.assertIn(one["check"], runbook)


class Drill(Case):
    def assert_passed(self, seen, scenarios):
        self.assertEqual(seen.status, 0, seen.out + seen.err)
        document = seen.json()
        self.assertTrue(document["passed"])
        self.assertEqual([one["name"] for one in document["scenarios"]], scenarios)
        for one in document["scenarios"]:
            self.assertGreater(one["successor_token"], one["holder_token"])
            self.assertTrue(one["rejected_by"])
            # The successor cannot be granted the key before the lease has ended, nor a TTL later.
            self.assertTrue(0 < one["takeover_ms"] < 3 * document["ttl_ms"], one)
            self.assertTrue(all(check["passed"] for check in one["checks"]))
            told = [event["what"] for event in one["events"]]
            self.assertTrue(any("rejected" in what for what in told), told)
        return document

    def test_a_frozen_and_a_killed_holder_are_taken_over_and_their_late_writes_rejected(self):
        self.assert_passed(self.pawl("drill", "all", "--ttl", "5s", "--json"), ["pause", "crash"])

    def test_the_same_on_redis(self):
        redis = Redis()
        self.addCleanup(redis.stop)
        document = self.assert_passed(pawl("drill", "pause", "--ttl", "5s", "--json", "--store", redis.url), ["pause"])
        self.assertEqual(document["store"], redis.url)

    def test_the_report_for_people_says_the_same(self):
        seen = self.pawl("drill", "crash", "--ttl", "5s")
        self.assertEqual(seen.status, 0, seen.out + seen.err)
        self.assertIn("PASSED", seen.out)
        self.assertNotIn("FAIL", seen.out)

    def test_it_can_be_run_again_and_leaves_its_own_keys_only(self):
        for _ in range(2):
            self.assertEqual(self.pawl("drill", "crash", "--ttl", "5s").status, 0)
        keys = [one["key"] for one in self.pawl("locks", "ls", "--json").json()["locks"]]
        self.assertEqual(keys, ["pawl-drill/crash"])

    def test_a_write_is_announced_before_it_begins(self):
        """What the referee counts on: while its server stands still, a worker says that it writes, and not that it wrote."""
        redis = Redis()
        self.addCleanup(redis.stop)
        worker = subprocess.Popen([PAWL, "drill-worker", "--name", "holder", "--key", "k", "--resource", "k", "--ttl", "40000", "--timeout", "1000"],
                                  env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, worker)
        with worker.stdin as told:
            told.write(f"{redis.url}?timeout=20s\n")
        worker.stdin = None
        lines = (words for words in map(str.split, worker.stdout) if words[0] in ("writing", "wrote"))
        self.assertIn("wrote", (words[0] for words in lines))
        redis.freeze()
        frozen = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self.assertEqual(next(words[0] for words in lines if int(words[2]) > frozen), "writing")
        redis.thaw()
        self.assertEqual(next(lines)[0], "wrote")

    def test_a_second_drill_is_told_that_the_first_runs(self):
        self.hold("pawl-drill/pause", "--ttl", "60s")
        self.assert_one_line(self.pawl("drill", "pause", "--ttl", "2s", timeout=90), 75, "another drill")

    def test_bad_options_are_usage(self):
        self.assert_one_line(self.pawl("drill", "pause", "--ttl", "1ms"), 64, "500ms to 1m")
        self.assert_one_line(pawl("drill", "pause", "--store", "memory:"), 64, "two processes")
        self.assertEqual(self.pawl("drill").status, 64)


class Version(Case):
    def test_verbose_names_libraries_and_options(self):
        brief, full = pawl("--version"), pawl("--version", "--verbose")
        self.assertEqual((brief.status, full.status), (0, 0))
        self.assertIn("stores:", brief.out)
        if (RUNBOOK.parents[1] / ".git").exists():
            self.assertRegex(full.out, r"\nrevision: [0-9a-f]{12,40}\n")
        self.assertRegex(full.out, r"sqlite +PAWL_STORE_SQLITE=ON \(SQLite \d")
        self.assertNotRegex(full.out, r"\(\s*\)|\s\)")
        self.assertEqual(full.out, pawl("--verbose", "--version").out)
