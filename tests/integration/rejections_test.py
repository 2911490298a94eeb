"""Bad input of every kind: one clear line, the right status, and no lease left behind."""
import os
import shutil
import socket
import subprocess
import threading

from harness import PAWL, Case, Outcome, Redis, copy_of_pawl, environment, nobody, pawl


class Usage(Case):
    CASES = [
        (["exec", "", "--", "true"], "the key is empty"),
        (["exec", "k" * 513, "--", "true"], "at most 512"),
        (["exec", "a\nb", "--", "true"], "control character at byte 2"),
        (["exec", "k", "--ttl", "soon", "--", "true"], "expected a duration"),
        (["exec", "k", "--ttl", "30", "--", "true"], "the unit is missing"),
        (["exec", "k", "--ttl", "0", "--", "true"], "ttl is missing"),
        (["exec", "k", "--ttl", "1ms", "--", "true"], "no time in which"),
        (["exec", "k", "--ttl", "8d", "--", "true"], "at most 7d"),
        (["exec", "k", "--grace", "-1s", "--", "true"], "negative"),
        (["exec", "k", "--at-least", "1h", "--hold", "--", "true"], "drop --hold"),
        (["exec", "k", "--wait=soon", "--", "true"], "expected a duration"),
        (["exec", "k", "--timeout", "soon", "--", "true"], "expected a duration"),
        (["exec", "k", "--timeout", "0s", "--", "true"], "gives the command no time"),
        (["exec", "k", "--occurrence", "tomorrow", "--", "true"], "at column 1"),
        (["exec", "k", "--occurrence", "2026-02-30T00:00:00Z", "--", "true"], "no such day"),
        (["exec", "k", "--at-least-once", "--", "true"], "goes with --occurrence"),
        (["exec", "k", "--skip-status", "256", "--", "true"], "--skip-status"),
        (["exec", "k", "--on-store-down", "maybe", "--", "true"], "--on-store-down"),
        (["exec", "k"], "COMMAND"),
        (["locks", "ls", "--limit", "many"], "--limit"),
        (["locks", "ls", "--limit", "0"], "--limit: Value 0 not in range 1 to 1000000"),
        (["locks", "ls", "--limit", "1000001"], "--limit"),
        (["runs", "ls", "--limit", "0"], "--limit: Value 0 not in range 1 to 1000000"),
        (["runs", "ls", "--limit", "0x10"], "--limit: Value 0x10 not in range"),
        (["bench", "--clients", "+3"], "--clients: Value +3 not in range"),
        (["cron", "next", "0 2 * * *", "--count", "0x2"], "--count: Value 0x2 not in range"),
        (["audit", "ls", "--limit", "0"], "--limit: Value 0 not in range 1 to 1000"),
    ]

    def test_each_mistake_is_one_line_that_says_what_would_be_right(self):
        for words, says in self.CASES:
            with self.subTest(words):
                self.assert_one_line(self.pawl(*words), 64, says)
        self.assertEqual(self.pawl("locks", "ls", "--json").json()["locks"], [])

    def test_a_malformed_url_names_its_column_and_its_origin(self):
        for url, says in [("redis://h:port", "column 11"), ("nonsense", "begins with its engine"), ("oracle://h", "no store engine 'oracle'"),
                          ("sqlite:", "needs the path"), ("redis://h?tiemout=1s", "did you mean 'timeout'")]:
            with self.subTest(url):
                self.assert_one_line(pawl("--store", url, "locks", "ls"), 64, says)
                self.assert_one_line(pawl("locks", "ls", env=environment(PAWL_STORE=url)), 78, "PAWL_STORE: ")

    def test_a_password_that_is_not_encoded_is_in_no_message(self):
        for url in ("redis://u:12/hunter2@h:6379", "redis://:12?hunter2=34@h", "redis://:1?wait=hunter2@h", "redis:u:hunter2@h",
                    "postgresql://u:hunter2/x@h/db", "etcd://u:1/hunter2@h", "redis://u:12?x=1&hunter2=a&hunter2=b@h"):
            for outcome, status in ((pawl("--store", url, "doctor"), 64), (pawl("locks", "ls", env=environment(PAWL_STORE=url)), 78)):
                with self.subTest(url):
                    self.assert_one_line(outcome, status, "store URL")
                    self.assertNotIn("hunter2", outcome.out + outcome.err)

    def test_fail_open_and_correctness_do_not_go_together(self):
        self.assert_one_line(pawl("--store", self.store + "?safety=correctness", "exec", "k", "--on-store-down", "run", "--", "true"), 64,
                             "safety=correctness")

    def test_what_goes_with_the_power_and_correctness_do_not_go_together(self):
        self.assert_one_line(pawl("--store", self.store + "?safety=correctness&synchronous=normal", "exec", "k", "--", "true"), 64,
                             "leave it out")


class Named(Case):
    """A store that was named and is not there is never another one: the command would run on every host."""

    def rejected(self, says, *words, status=78, **variables):
        ran = self.folder / "ran"
        default = self.folder / "state"
        variables = {"XDG_STATE_HOME": str(default), "HOME": str(self.folder), **variables}
        self.assert_one_line(pawl(*words, "exec", "k", "--", "touch", str(ran), env=environment(**variables)), status, says)
        self.assertFalse(ran.exists())
        self.assertFalse(default.exists())

    def test_an_occurrence_of_a_variable_that_is_not_set_runs_nothing(self):
        for words in (["--occurrence", ""], ["--occurrence="]):
            with self.subTest(words):
                self.assert_one_line(self.pawl("exec", "k", *words, "--", "touch", str(self.folder / "ran")), 64, "--occurrence is empty")
                self.assertFalse((self.folder / "ran").exists())
        self.assertEqual(self.pawl("locks", "ls", "--json").json()["locks"], [])

    def test_a_folder_as_the_configuration_is_no_empty_file(self):
        for says, path in (("is not a regular file", self.folder), ("is not a regular file", "/dev/null"), ("cannot be read", self.folder / "none")):
            with self.subTest(path):
                self.rejected(f"{path}: {says}", "--config", str(path))
                self.rejected(f"{path}: {says}", PAWL_CONFIG=str(path))

    def test_a_store_that_is_misspelt_or_misplaced_is_found(self):
        config = self.folder / "pawl.toml"
        for text, says in ((f'stor = "{self.store}"\n', "did you mean 'store'?"),
                           (f'[agent]\nstore = "{self.store}"\n', "above its first [table]")):
            with self.subTest(text):
                config.write_text(text)
                self.rejected(f"{config}:{text.count(chr(10))}:1: unknown key", "--config", str(config))

    def test_a_file_that_names_no_store_says_which_one_is_used(self):
        config = self.folder / "pawl.toml"
        config.write_text("[agent]\nmax_concurrent_runs = 1\n")
        # It opens no store.
        told = pawl("agent", "--config", str(config), "--check", env=environment(XDG_STATE_HOME=str(self.folder)))
        self.assertIn(f"{config} names no store: using the default, sqlite:", told.err)
        self.assertEqual((told.status, told.err.count("names no store")), (0, 1))

    def test_an_agent_that_is_named_is_not_this_machines_own_store(self):
        agent = {"PAWL_URL": "http://127.0.0.1:1"}
        self.rejected("PAWL_URL is set, but 'pawl exec' works on the store itself", **agent)
        for words in (["bench", "--for", "1s"], ["drill", "pause"]):
            with self.subTest(words):
                self.assert_one_line(pawl(*words, env=environment(XDG_STATE_HOME=str(self.folder), **agent)), 78, "PAWL_URL is set")
        self.assertEqual(pawl("exec", "k", "--", "true", env=environment(PAWL_STORE=self.store, **agent)).status, 0)
        self.assertEqual(pawl("--store", self.store, "exec", "k", "--", "true", env=environment(**agent)).status, 0)

    def test_a_reason_says_something_at_the_store_as_well(self):
        for words in (["jobs", "pause", "j"], ["locks", "release", "k", "--yes"], ["runs", "cancel", "r"]):
            for reason in ("", " ", "\t"):
                with self.subTest((words, reason)):
                    self.assert_one_line(self.pawl(*words, "--reason", reason), 64, "reason is empty; say why, for the audit")


class Apart(Case):
    """bin/pawl without lib/pawl/pawl, as where somebody copied one file of two."""

    def test_what_it_cannot_do_alone_is_one_line_and_the_rest_works(self):
        alone = self.folder / "bin/pawl"
        alone.parent.mkdir()
        shutil.copy(PAWL, alone)

        def run(*words, **variables):
            return Outcome(subprocess.run([alone, *words], env=environment(**variables), capture_output=True, text=True, timeout=60))
        self.assertEqual(run("--store", self.store, "exec", "k", "--", "true").status, 0)
        self.assertEqual(run("exec", "k", "--", "true", PAWL_STORE=self.store).status, 0)
        self.assertEqual(run("--version").status, 0)
        for words in (["locks", "ls"], ["exec", "k", "--help"], ["exec", "k", "--store", "redis://127.0.0.1:1", "--", "true"]):
            with self.subTest(words):
                self.assert_one_line(run(*words, PAWL_STORE=self.store), 74, f"cannot start {self.folder}/lib/pawl/pawl")


class BadFiles(Case):
    def setUp(self):
        super().setUp()
        self.store = f"sqlite:{self.folder}/pawl.db"

    def test_a_file_that_is_no_database_is_a_configuration_error(self):
        (self.folder / "pawl.db").write_text("hello, I am a letter, and long enough to have a header of a hundred bytes " * 20)
        self.assert_one_line(self.pawl("exec", "k", "--", "true"), 78, "pawl.db")

    def test_a_folder_in_the_place_of_the_file_is_rejected(self):
        (self.folder / "pawl.db").mkdir()
        rejected = self.pawl("exec", "k", "--", "true")
        self.assertIn(rejected.status, (74, 77, 78))
        self.assertEqual(rejected.err.count("\n"), 1)

    def test_a_folder_that_does_not_exist_is_named(self):
        rejected = pawl("--store", f"sqlite:{self.folder}/no/such/folder/pawl.db", "exec", "k", "--", "true")
        self.assert_one_line(rejected, 69, "no/such/folder")

    def test_a_file_that_we_may_not_write_is_77(self):
        self.assertEqual(self.pawl("exec", "k", "--", "true").status, 0)
        identity = nobody("nobody")
        if not identity:
            for name in self.folder.glob("*"):
                name.chmod(0o400)
            self.folder.chmod(0o500)
        else:
            self.folder.chmod(0o755)
        done = subprocess.run([str(copy_of_pawl(self.folder / "of-all")), "--store", self.store, "exec", "k", "--", "true"], env=environment(),
                              capture_output=True, text=True, timeout=60, **identity)
        self.folder.chmod(0o700)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_full_disk_is_74_and_loses_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        script = ('mount -t tmpfs -o size=256k tmpfs "$1" && "$2" --store "sqlite:$1/pawl.db" exec k -- true; first=$?; '
                  'dd if=/dev/zero of="$1/filler" bs=1k 2>/dev/null; '
                  'i=0; while [ $i -lt 40 ]; do "$2" --store "sqlite:$1/pawl.db" exec "other/$i" -- true 2>"$3"; full=$?; '
                  '[ $full -ne 0 ] && break; i=$((i + 1)); done; rm "$1/filler"; '
                  '"$2" --store "sqlite:$1/pawl.db" exec k -- true; after=$?; echo "$first $full $after"')
        done = subprocess.run(["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c", script, "sh", str(disk),
                               os.environ["PAWL_BINARY"], str(self.folder / "message")],
                              env=environment(), capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.stdout.strip(), "0 74 0", done.stderr)
        self.assertEqual((self.folder / "message").read_text().count("\n"), 1)

    def test_a_file_that_is_mounted_by_itself_is_78_and_holds_nothing(self):
        """Its log would lie beside the mount, as in a container that is given the file and not its folder."""
        elsewhere = self.folder / "elsewhere.db"
        elsewhere.touch()
        self.assertEqual(pawl("--store", self.store, "exec", "k", "--", "true").status, 0)
        script = 'mount --bind "$1" "$2" && exec "$3" --store "sqlite:$2" exec k -- true'
        done = subprocess.run(["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c", script, "sh",
                               self.store.removeprefix("sqlite:"), str(elsewhere), os.environ["PAWL_BINARY"]],
                              env=environment(), capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("mount its folder", done.stderr)


class BadServers(Case):
    def redis(self, *settings):
        server = Redis(*settings)
        self.addCleanup(server.stop)
        return server

    def test_a_wrong_password_is_77_and_never_shown(self):
        server = self.redis("requirepass right")
        rejected = pawl("--store", f"redis://:hunter2@127.0.0.1:{server.port}", "exec", "k", "--", "true")
        self.assert_one_line(rejected, 77, "WRONGPASS")
        self.assertNotIn("hunter2", rejected.err)
        self.assert_one_line(pawl("--store", server.url, "exec", "k", "--", "true"), 77, "NOAUTH")
        secret = self.folder / "secret"
        secret.write_text("right\n")
        self.assertEqual(pawl("--store", f"{server.url}?password_file={secret}", "exec", "k", "--", "true").status, 0)

    def test_another_server_on_the_port_is_78(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(30)

            def answer():
                link, _ = listener.accept()
                with link:
                    link.recv(4096)
                    link.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            thread = threading.Thread(target=answer)
            thread.start()
            rejected = pawl("--store", f"redis://127.0.0.1:{listener.getsockname()[1]}?timeout=20s", "exec", "k", "--", "true")
            thread.join()
        self.assert_one_line(rejected, 78, "does not speak")

    def test_a_read_only_replica_is_rejected(self):
        primary = self.redis()
        replica = self.redis(f"replicaof 127.0.0.1 {primary.port}")
        self.assert_one_line(pawl("--store", replica.url, "exec", "k", "--", "true"), 74, "READONLY")

    def test_a_redis_that_is_out_of_memory_is_rejected(self):
        server = self.redis("maxmemory 1", "maxmemory-policy noeviction")
        self.assert_one_line(pawl("--store", server.url, "exec", "k", "--", "true"), 74, "OOM")

    def test_a_closed_port_is_69(self):
        self.assert_one_line(pawl("--store", "redis://127.0.0.1:1?timeout=300ms", "exec", "k", "--", "true"), 69, "127.0.0.1:1")

    def test_a_frozen_server_is_69_within_its_timeout(self):
        server = self.redis()
        server.process.send_signal(19)
        try:
            self.assert_one_line(pawl("--store", f"{server.url}?timeout=300ms", "exec", "k", "--", "true", timeout=20), 69, "127.0.0.1")
        finally:
            server.process.send_signal(18)
