"""Leases that were granted to two, or ended early: what once made that happen is done again, from outside, to databases that crash or
whose rows are locked."""
import os
import signal
import time

from agents import AgentCase, job
from experiments import BRIEF, OnOneServer
from harness import Mariadb, Postgres, until


class Crashed(OnOneServer):
    def test_a_crash_that_may_have_lost_the_binary_log_is_quarantined(self):
        """Goal: MariaDB without `sync_binlog` rolls back after a crash what that log does not know: no second holder for a
        quarantine. Method: a key is held, and the server is killed and begun again."""
        # From the start of a server that takes seconds to start.
        server = self.serve(Mariadb("log-bin", "sync-binlog=0", "server-id=3"), "?quarantine=30s")
        self.token("warm")
        self.hold("k", *BRIEF)
        server.crash()
        server.begin()
        self.assert_quarantined("k")
        self.assert_quarantined("other")

    def test_a_session_of_postgresql_that_crashes_takes_no_lease_with_it(self):
        """Goal: a holder outlives the crash of its server's session where commits wait for nothing. Method: the log is written
        as late as can be, and the session is killed right after the grant; the server begins anew by itself."""
        server = self.serve(Postgres("synchronous_commit=off", "wal_writer_delay=10s"))
        self.token("warm")
        checkpointer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
        before = server.ask(checkpointer)
        # Wakes the process that writes the log, which then sleeps for its ten seconds.
        server.ask("CREATE TABLE public.anything ()")
        holder = self.hold("k", "--ttl", "60s", "--no-journal")
        session = server.ask("SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'pawl'")
        token = server.ask("SELECT holder FROM pawl.lease WHERE key = 'k'")
        os.kill(int(session), signal.SIGKILL)
        until(lambda: (now := server.client(checkpointer)).returncode == 0 and now.stdout.strip() not in ("", before))
        shown = self.shown()
        self.assertEqual((shown["held"], str(shown["fence_token"])), (True, token))
        self.assert_one_line(self.pawl("exec", "k", "--no-journal", "--", "echo", "ran"), 75, "held by")
        self.assertIsNone(holder.poll())


class LockedRow(AgentCase):
    def test_a_locked_row_ends_no_other_run(self):
        """Goal: leases that are renewed together do not end together. Method: another session locks the row of one for longer than
        its TTL, while two jobs of one agent run."""
        server = Postgres()
        self.addCleanup(server.stop)
        self.store = server.url
        script = f'echo "$PAWL_JOB begun" >>{self.file("told")}; while [ ! -e {self.file("go")} ]; do sleep 0.05; done; echo "$PAWL_JOB done" >>{self.file("told")}'
        agent = self.agent("node-a", *(job(name, script, schedule="0 0 1 1 *", ttl="12s", grace="500ms") for name in ("locked", "free"))).start()
        runs = {name: self.run_now(name) for name in ("locked", "free")}
        until(lambda: len(self.lines("told")) == 2)
        with server.transaction("SELECT 1 FROM pawl.lease WHERE key = 'job/locked' FOR UPDATE"):
            self.assertEqual(self.ended(runs["locked"])["status"], "lost")
            since = time.monotonic()
            until(lambda: time.monotonic() - since > 5)
            self.assertEqual(self.shown(runs["free"])["status"], "started")
        self.file("go").touch()
        row = self.ended(runs["free"])
        self.assertEqual((row["status"], row["attempt"]), ("completed", 1))
        self.assertEqual(self.lines("told")[2:], ["free done"])
        agent.stop()
