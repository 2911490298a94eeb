"""What a command is handed of the store: nothing, or an address without a secret; and what it does through its socket."""
import os
import pathlib
import subprocess
import unittest

from agents import AgentCase, job
from harness import PAWL, Case, Redis, copy_of_pawl, environment, pawl, start, until

SECRET = "hunter2-of-the-store"
TOKEN = "pawl-token-of-an-operator"

# Everything that this command could read of its own and of its parents' arguments and environments.
LOOK = """
env
pid=$$
while [ "$pid" -gt 1 ]; do
  tr '\\0' '\\n' < "/proc/$pid/cmdline"
  tr '\\0' '\\n' < "/proc/$pid/environ"
  pid=$(sed 's/.*) . //; s/ .*//' "/proc/$pid/stat")
done 2>/dev/null
"""

# Says something to the run's socket as a program without pawl would: the request on stdin, the answer on stdout.
SPEAK = """
import os, socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(20)
peer.connect(os.environ["PAWL_RUN_SOCKET"])
try:
    peer.sendall(sys.stdin.buffer.read())
    answer = peer.recv(65536)
except ConnectionError:
    answer = b""
print(answer.decode().strip() or "closed")
"""


class WithPassword(Case):
    """A store that needs a password, given inline in every way that there is."""

    def setUp(self):
        super().setUp()
        self.redis = Redis(f"requirepass {SECRET}")
        self.addCleanup(self.redis.stop)
        self.url = f"redis://:{SECRET}@127.0.0.1:{self.redis.port}"

    def test_exec_hands_over_no_secret_and_shows_none_in_proc(self):
        ways = {"option": ["--store", self.url], "joined": [f"--store={self.url}"],
                "query": ["--store", f"redis://127.0.0.1:{self.redis.port}?password={SECRET}"], "variable": []}
        for name, words in ways.items():
            ran = pawl(*words, "exec", f"k-{name}", "--", "sh", "-c", LOOK, env=environment(PAWL_STORE=self.url))
            self.assertEqual(ran.status, 0, ran.err)
            self.assertIn(f"PAWL_KEY=k-{name}", ran.out)
            self.assertIn("PAWL_STORE=redis://127.0.0.1:", ran.out)
            # The test's own environment, of which the command's parents were made, has no part in it.
            shown = [line for line in ran.out.splitlines() if SECRET in line]
            self.assertEqual(shown, [], name)

    def test_exec_hands_over_no_token_of_an_agent(self):
        ran = pawl("--store", self.url, "exec", "k", "--", "sh", "-c", LOOK, env=environment(PAWL_TOKEN=TOKEN, OTHER_TOKEN="kept"))
        self.assertEqual(ran.status, 0, ran.err)
        self.assertIn("OTHER_TOKEN=kept", ran.out)
        self.assertEqual([line for line in ran.out.splitlines() if TOKEN in line or line.startswith("PAWL_TOKEN=p")], [])

    def test_inside_exec_the_socket_saves_and_checks(self):
        ran = pawl("--store", self.url, "exec", "k", "--", "sh", "-c",
                   '"$0" checkpoint "page 3" && "$0" fence check ledger "$PAWL_FENCE_TOKEN" && echo "$PAWL_FENCE_TOKEN"', PAWL)
        self.assertEqual(ran.status, 0, ran.err)
        (row,) = pawl("--store", self.url, "runs", "ls", "--json").json()["runs"]
        self.assertEqual((row["checkpoint"], row["fence_token"]), ("page 3", int(ran.out)))
        stale = pawl("--store", self.url, "fence", "check", "ledger", str(int(ran.out) - 1))
        self.assertEqual(stale.status, 77, stale.err)

    def test_a_drill_shows_no_secret_of_its_workers(self):
        drill = start("--store", self.url, "drill", "pause", "--ttl", "4s")
        self.addCleanup(self.end, drill)
        seen = []

        def workers():
            children = pathlib.Path(f"/proc/{drill.pid}/task/{drill.pid}/children").read_text().split()
            seen[:] = [pathlib.Path(f"/proc/{one}/{what}").read_bytes() for one in children for what in ("cmdline", "environ")]
            return len(seen) >= 4
        until(workers)
        self.assertTrue(any(b"drill-worker" in one for one in seen))
        self.assertFalse(any(SECRET.encode() in one for one in seen))
        self.assertEqual(drill.wait(timeout=60), 0)


class InsideARun(Case):
    def speak(self, request):
        """The words of the request know `$PAWL_RUN_ID` and `$PAWL_FENCE_TOKEN`."""
        ran = self.pawl("exec", "k", "--", "sh", "-c", f'printf "{request}" | python3 -c "$0"', SPEAK)
        self.assertEqual(ran.status, 0, ran.err)
        return ran.out.strip()

    def test_a_fence_is_never_raised_above_the_runs_own_token(self):
        ran = self.pawl("exec", "k", "--", "sh", "-c", '"$0" fence check ledger "$((PAWL_FENCE_TOKEN + 1))"', PAWL)
        self.assert_one_line(ran, 77, "newer than the run's own")

    def test_another_run_or_token_is_not_heard(self):
        for name, value in (("PAWL_RUN_ID", "another"), ("PAWL_FENCE_TOKEN", "1")):
            for words in ("checkpoint x", "fence check ledger 1"):
                ran = self.pawl("exec", "k", "--", "sh", "-c", f'{name}={value} "$0" {words}', PAWL)
                self.assert_one_line(ran, 77, "this socket belongs to run")

    def test_nonsense_and_what_is_too_long_is_hung_up_on(self):
        mine = r'\"run\": \"$PAWL_RUN_ID\", \"fence_token\": $PAWL_FENCE_TOKEN'
        for request in ("hello\\n", "{}{}\\n", "[1]\\n", "x%09000d\\n" % 0, f"{{{mine}, \\\"bytes\\\": 65537}}\\n",
                        f"{{{mine}, \\\"bytes\\\": 1}}\\nabc"):
            self.assertEqual(self.speak(request), "closed", request)
        self.assertIn("no such verb", self.speak(f"{{{mine}, \\\"verb\\\": \\\"release\\\"}}\\n"))

    def test_the_socket_and_its_folder_go_with_the_run_also_when_pawl_is_killed(self):
        ran = self.pawl("exec", "k", "--", "sh", "-c", 'echo "$PAWL_RUN_SOCKET"; test -S "$PAWL_RUN_SOCKET"')
        self.assertEqual(ran.status, 0, ran.err)
        self.assertFalse(pathlib.Path(ran.out.strip()).parent.exists())
        held = self.start("exec", "k", "--grace", "1s", "--", "sh", "-c", 'echo "$PAWL_RUN_SOCKET"; exec sleep 60')
        folder = pathlib.Path(held.stdout.readline().strip()).parent
        self.assertTrue(folder.exists())
        held.kill()
        until(lambda: not folder.exists())

    def test_a_run_without_its_store_does_not_fall_back_to_the_default_one(self):
        home = environment(HOME=str(self.folder), PAWL_RUN_ID="7", PAWL_FENCE_TOKEN="7")
        for words in (["fence", "check", "ledger", "7"], ["exec", "k", "--", "true"], ["locks", "ls"]):
            self.assert_one_line(pawl(*words, env=home), 78, "store_access")


class Job(AgentCase):
    def setUp(self):
        super().setUp()
        self.redis = Redis(f"requirepass {SECRET}")
        self.addCleanup(self.redis.stop)
        self.store = f"redis://:{SECRET}@127.0.0.1:{self.redis.port}"
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        os.chmod(self.folder, 0o755)
        os.chmod(self.shared, 0o777)

    def run_job(self, script, **keys):
        name = f"j{len(list(self.shared.iterdir()))}"
        out = self.shared / name
        agent = self.agent("node-a", job(name, f"{{ {script}\n}} > {out}.part 2>&1; mv {out}.part {out}", **keys))
        agent.start()
        asked = self.pawl("jobs", "run", name, "--wait")
        self.assertEqual(asked.status, 0, asked.err + agent.log())
        agent.stop()
        return out.read_text()

    @unittest.skipUnless(os.geteuid() == 0, "only root can run a command as another user")
    def test_a_job_of_another_user_gets_no_address_and_works_through_its_socket(self):
        # The binary has to be readable for that user as well.
        pawl_of_all = copy_of_pawl(self.shared / "of-all")
        out = self.run_job(f'env; cat /proc/$PPID/cmdline /proc/$PPID/environ; {pawl_of_all} checkpoint here && '
                           f'{pawl_of_all} fence check ledger "$PAWL_FENCE_TOKEN" && echo checked; {pawl_of_all} locks ls', user="nobody")
        self.assertIn("PAWL_RUN_SOCKET=/", out)
        self.assertIn("\nchecked\n", out)
        self.assertIn("store_access", out)
        for word in ("PAWL_STORE=", "PAWL_JOURNAL=", SECRET):
            self.assertNotIn(word, out)
        self.assertEqual(self.pawl("runs", "ls", "--json").json()["runs"][0]["checkpoint"], "here")

    @unittest.skipUnless(os.geteuid() == 0, "only root can run a command as another user")
    def test_other_users_do_not_reach_the_socket_of_a_run(self):
        speak = f"""exec python3 -c '{SPEAK}' < /dev/null"""
        out = self.run_job(f'chmod 777 "$PAWL_RUN_SOCKET"; cat > {self.shared}/speak <<"END"\n{speak}\nEND\n'
                           f'setpriv --reuid=65534 --clear-groups sh {self.shared}/speak; '
                           f'setpriv --reuid=1 --clear-groups sh {self.shared}/speak')
        # Neither is the run's user, who is root here; both got as far as the socket.
        self.assertEqual(out, "closed\nclosed\n")

    def test_what_may_use_the_store_is_told_where_it_is_without_the_secret(self):
        out = self.run_job('echo "$PAWL_STORE $PAWL_JOURNAL"', store_access=True)
        self.assertEqual(out, f"redis://127.0.0.1:{self.redis.port} redis://127.0.0.1:{self.redis.port}\n")
