"""What is printed arrives, or the exit status says that it did not."""
import os
import signal
import subprocess

from harness import PAWL, Case, environment, until


class Output(Case):
    def write_to(self, sink, *words, env=None):
        """Runs pawl with `sink`, as a shell writes it, behind it; nothing of it is read here."""
        line = '"$0" "$@" ' + sink
        return subprocess.run(["bash", "-c", line, PAWL, *words], env=env or environment(PAWL_STORE=self.store),
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)

    def configuration(self):
        path = self.folder / "pawl.toml"
        path.write_text(f'store = "{self.store}"\n[[job]]\nname = "tick"\ncommand = ["true"]\nschedule = "@daily"\n')
        return path

    def commands(self):
        return (["token", "new", "--name", "a", "--role", "viewer"], ["locks", "ls"], ["--json", "runs", "ls"],
                ["--json", "audit", "ls"], ["cron", "next", "0 2 * * *"], ["bench", "--for", "100ms"],
                ["agent", "--check", "--config", str(self.configuration())], ["--version"], ["--help"],
                ["--version", "--verbose"], ["completion", "bash"])

    def assert_lost(self, done, words, why):
        self.assertEqual(done.returncode, 74, f"{words}: {done.stderr}")
        lines = [line for line in done.stderr.splitlines() if line.startswith("pawl: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(f"cannot write to standard output: {why}", lines[0])

    def test_a_full_disk_is_a_failure_of_every_command(self):
        for words in self.commands():
            self.assert_lost(self.write_to("> /dev/full", *words), words, "No space left on device")

    def test_so_is_an_output_that_is_closed(self):
        for words in self.commands():
            self.assert_lost(self.write_to(">&-", *words), words, "Bad file descriptor")

    def test_no_file_of_pawl_takes_the_number_of_an_output_that_is_closed(self):
        """A connection whose descriptor is 1 would get the results."""
        busy = subprocess.Popen(["bash", "-c", 'exec "$0" "$@" >&- 2>&- <&-', PAWL, "bench", "--for", "60s"],
                                env=environment(PAWL_STORE="memory:"))
        self.addCleanup(self.end, busy)
        files = f"/proc/{busy.pid}/fd"

        def is_busy():
            try:
                return any("eventpoll" in os.readlink(f"{files}/{one}") for one in os.listdir(files))
            except FileNotFoundError:  # one that was closed meanwhile
                return False

        until(is_busy)
        self.assertEqual([os.readlink(f"{files}/{one}") for one in range(3)], ["/dev/null"] * 3)

    def test_so_is_it_where_there_is_something_to_tell(self):
        self.assertEqual(self.write_to("> /dev/null", "exec", "a", "--", "true").returncode, 0)
        run = self.pawl("--json", "runs", "ls").json()["runs"][0]["id"]
        for words in (["runs", "show", run], ["runs", "ls"]):
            self.assert_lost(self.write_to("> /dev/full", *words), words, "No space left on device")

    def test_a_reader_that_goes_away_is_no_failure(self):
        """As `head` does, also where SIGPIPE is ignored."""
        for line in ('"$0" "$@" | true', 'trap "" PIPE; "$0" "$@" | true'):
            done = subprocess.run(["bash", "-c", line + '; echo "${PIPESTATUS[0]}" >&2', PAWL, "completion", "bash"],
                                  env=environment(), stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertNotIn("standard output", done.stderr)
            self.assertNotIn("74", done.stderr.splitlines())

    def test_the_status_of_a_command_that_exec_runs_is_its_own(self):
        for status in (0, 3):
            done = self.write_to("> /dev/full", "exec", "a", "--", "sh", "-c", f"echo lost; exit {status}")
            self.assertEqual(done.returncode, status)

    def test_a_reader_that_stands_still_is_waited_for_and_a_signal_ends_that(self):
        """Nothing is held by then. What the reader reads in the end is why the command did not run."""
        for key, reads in (("unread", False), ("read", True)):
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            with self.assertRaises(BlockingIOError):
                while True:
                    os.write(writer, b"x" * 4096)
            os.set_blocking(writer, True)
            process = subprocess.Popen([PAWL, "--store", self.store, "exec", key, "--", "/nonexistent"], env=environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writer)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            os.close(writer)
            until(lambda: any(one["key"] == key and not one["held"] for one in self.pawl("--json", "locks", "ls").json()["locks"]))
            if reads:
                with os.fdopen(reader, "rb") as log:
                    self.assertIn(b"cannot run '/nonexistent': not found", log.read())
                self.assertEqual(process.wait(timeout=20), 127)
            else:
                process.terminate()
                self.assertEqual(process.wait(timeout=20), -signal.SIGTERM)
                os.close(reader)


class FollowedToItsDeath(Case):
    def test_who_follows_a_run_that_is_killed_hears_its_end(self):
        """Where no agent runs, nobody else says that it is over."""
        killed = self.start("exec", "k", "--ttl", "2s", "--grace", "0s", "--", "sh", "-c", 'echo "$PAWL_RUN_ID"; exec sleep 60')
        run = killed.stdout.readline().strip()
        follows = self.start("runs", "output", run, "--follow")
        killed.kill()
        self.assertEqual(follows.wait(timeout=120), 0)
        self.assertEqual(self.pawl("runs", "ls", "--json").json()["runs"][0]["status"], "lost")
