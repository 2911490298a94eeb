"""Two holders of a key, writes of an old holder, and a key that no run holds: what once made that happen on Redis is done again, from
outside."""
import subprocess

from network_link import NetworkLink
from experiments import BRIEF, OnOneServer
from harness import PAWL, Outcome, Redis, environment, until

# Longer than the leases here, and than a server takes to start and to be asked, on a machine that stands still meanwhile.
QUARANTINE = "quarantine=20s"


class Forgetting(OnOneServer):
    def fence(self, token):
        return self.pawl("fence", "check", "ledger", str(token))

    def test_a_fence_of_redis_that_has_forgotten_rejects_tokens_from_before(self):
        """Goal: the fence lets no old holder write after a loss of data. Method: it has seen a newer token when the server, which
        keeps nothing, is begun again."""
        server = self.serve(Redis(), f"?{QUARANTINE}")
        old, new = self.token(), self.token()
        for token, status in ((old, 0), (new, 0), (old, 77)):
            self.assertEqual(self.fence(token).status, status)
        server.restart()
        for token in (old, new):
            self.assert_one_line(self.fence(token), 77, str(token))
        newest = self.token()
        self.assertGreater(newest, new)
        self.assertEqual(self.fence(newest).status, 0)

    def test_a_fence_of_redis_that_was_flushed_rejects_the_old_holder(self):
        """Goal: as above, where no restart tells of the loss. Method: the old holder was connected before, as the one that would
        still write is, and checks its token after everything was flushed."""
        server = self.serve(Redis(), "?quarantine=30s")
        self.token("warm")
        check = f'echo held; until [ -e "{self.folder}/go" ]; do sleep 0.05; done; "$0" fence check ledger "$PAWL_FENCE_TOKEN"; echo "$?"'
        # A renewal would tell it of its loss before it checks; no lease may be longer than the quarantine.
        old = self.start("exec", "k", "--ttl", "30s", "--no-journal", "--", "sh", "-c", check, PAWL)
        self.assertEqual(old.stdout.readline(), "held\n")
        self.assertEqual(self.fence(self.token("other")).status, 0)
        server.ask("FLUSHALL")
        (self.folder / "go").touch()
        self.assertEqual(old.stdout.readline(), "77\n")

    def test_a_crash_of_redis_that_may_have_lost_what_a_rewrite_left_unsynced_is_quarantined(self):
        """Goal: `appendfsync always` is not enough where a rewrite suspends it. Method: a key is held, and the server is killed and
        begun again; one that syncs during rewrites, too, is trusted after it."""
        for setting, is_trusted in (("no-appendfsync-on-rewrite no", True), ("no-appendfsync-on-rewrite yes", False)):
            with self.subTest(setting):
                server = self.serve(Redis(*Redis.SYNCED, setting), f"?{QUARANTINE}")
                self.token("warm")
                holder = self.hold("k", *BRIEF)
                server.crash()
                server.begin()
                if is_trusted:
                    self.assertEqual(self.pawl("exec", "other", *BRIEF, "--", "echo", "ran").out, "ran\n")
                else:
                    self.assert_quarantined("k")
                    self.assert_quarantined("other")
                self.end(holder)

    def test_a_failover_of_redis_there_and_back_is_quarantined(self):
        """Goal: a master that was a replica in between may lack grants, though it was never restarted. Method: two servers replace
        each other twice."""
        server = self.serve(Redis(*Redis.SYNCED), f"?{QUARANTINE}")
        other = Redis(*Redis.SYNCED, "repl-diskless-sync-delay 0")
        self.addCleanup(other.stop)
        self.token()
        for old, new in ((server, other), (other, server)):
            new.ask("REPLICAOF", "127.0.0.1", str(old.port))
            until(lambda new=new: "master_link_status:up" in new.ask("INFO", "replication"))
            new.ask("REPLICAOF", "NO", "ONE")
        self.assert_quarantined("k")

    def test_a_claim_that_arrives_after_its_release_holds_the_key_for_no_one(self):
        """Goal: a claim that was sent twice leaves nothing behind. Method: its first copy is held back on its way until the run of
        the second has ended."""
        server = self.serve(Redis(*Redis.SYNCED))
        # The server has the scripts from now on, so that the first copy is a claim.
        self.token("warm")
        link = NetworkLink(server.port, late_from=b"lock:k")
        self.addCleanup(link.close)
        ran = Outcome(subprocess.run([PAWL, "--store", f"{server.url_at(link.address)}?timeout=20s", "exec", "k", "--ttl", "60s",
                                      "--no-journal", "--", "echo", "ran"], env=environment(), capture_output=True, text=True, timeout=60))
        self.assertEqual((ran.status, ran.out), (0, "ran\n"), ran.err)
        self.assertTrue(link.is_late.is_set())
        link.deliver()
        self.assertFalse(self.shown()["held"])
        self.assertGreater(self.token(), 0)
