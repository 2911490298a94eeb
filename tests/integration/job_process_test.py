"""What surrounds a job's process: its terminal, its user's powers, and limits that its agent has."""
import os
import pty
import unittest

from agents import AgentCase, job
from harness import copy_of_pawl, environment, pawl


class JobProcess(AgentCase):
    def setUp(self):
        super().setUp()
        for folder in (self.folder, self.stores):
            os.chmod(folder, 0o777)

    def ended_now(self, name):
        (row,) = self.pawl("jobs", "run", name, "--wait", "--json").json()["runs"]
        return row

    def output_of(self, row):
        return self.pawl("runs", "output", row["id"]).out

    def test_a_job_has_no_terminal_to_read_from_or_to_type_into(self):
        """It may be another user's, and root's shell reads what is typed there (TIOCSTI)."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        agent = self.agent("node-a", job("asks", "ps -o sid= -p $$; (exec 3<>/dev/tty) || echo none"))
        agent.start(inside=["setsid", "--ctty"], stdin=theirs)
        os.close(theirs)
        # As a shell is: the terminal is its own.
        self.assertEqual(os.getsid(agent.process.pid), agent.process.pid)
        session, *answer = self.output_of(self.ended_now("asks")).splitlines()
        self.assertNotEqual(int(session), agent.process.pid)
        self.assertEqual(answer[-1], "none")
        agent.stop()

    @unittest.skipUnless(os.geteuid() == 0, "only root has capabilities to lose")
    def test_no_other_users_command_is_started_that_could_not_be_killed(self):
        agent = self.agent("node-a", job("theirs", "echo ran", user="nobody"), job("own", "echo ran"))
        agent.start(inside=["setpriv", "--bounding-set=-kill", "--inh-caps=-kill"])
        row = self.ended_now("theirs")
        self.assertEqual(row["status"], "failed")
        self.assertIn("CAP_KILL", row["reason"])
        self.assertEqual(self.output_of(row), "")
        self.assertEqual(self.ended_now("own")["status"], "completed")
        agent.stop()

    @unittest.skipUnless(os.geteuid() == 0, "only root can hand capabilities on")
    def test_a_user_has_none_of_its_agents_capabilities(self):
        agent = self.agent("node-a", job("looks", "grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status", user="nobody"))
        agent.start(inside=["setpriv", "--inh-caps=+setuid,+kill", "--ambient-caps=+setuid"])
        row = self.ended_now("looks")
        self.assertEqual(row["status"], "completed", row["reason"])
        self.assertEqual([int(line.split()[1], 16) for line in self.output_of(row).splitlines()], [0] * 4)
        agent.stop()

    @unittest.skipUnless(os.geteuid() == 0, "only root can hand capabilities on")
    def test_an_agent_that_is_not_root_switches_no_user_whatever_its_capabilities(self):
        powers = "+setuid,+setgid,+kill"
        agent = self.agent("node-a", job("theirs", "grep Cap /proc/self/status", user="daemon"))
        agent.start(binary=copy_of_pawl(self.folder / "of-all"),
                    inside=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={powers}", f"--ambient-caps={powers}"])
        row = self.ended_now("theirs")
        self.assertEqual(row["status"], "failed")
        self.assertIn("only root can run a command as another user", row["reason"])
        agent.stop()

    def test_a_limit_on_the_size_of_files_costs_no_occurrence(self):
        words = ["exec", "k", "--occurrence", "day", "--no-journal", "--", "true"]
        # What is handed to the guard is a file in memory.
        much = environment(**{f"PADDING_{i}": "x" * 100_000 for i in range(5)})
        limited = pawl("--store", self.store, *words, env=much, inside=["sh", "-c", 'ulimit -f 800; exec "$@"', "sh"])
        self.assert_one_line(limited, 126, "File too large")
        self.assertEqual(self.pawl(*words).status, 0)


if __name__ == "__main__":
    unittest.main()
