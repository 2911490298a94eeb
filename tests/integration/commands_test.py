"""locks, fence, bench, and what every command has in common."""
import datetime
import json
import os
import pathlib
import re
import time

from harness import Case, environment, pawl, until


class Locks(Case):
    FIELDS = {"key", "owner", "fence_token", "acquired_at", "remaining_ms", "held", "last_occurrence", "waiters"}

    def test_a_held_lock_is_listed_with_every_field_of_the_contract(self):
        self.hold("job/a", "--ttl", "30s")
        document = self.pawl("locks", "ls", "--json").json()
        self.assertEqual(document["next"], "")
        (one,) = document["locks"]
        self.assertEqual(set(one), self.FIELDS)
        self.assertEqual(one["key"], "job/a")
        self.assertTrue(one["held"])
        self.assertLess(one["fence_token"], 2**53)
        self.assertGreater(one["fence_token"], 0)
        self.assertTrue(0 < one["remaining_ms"] <= 30_000)
        self.assertRegex(one["acquired_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertIsNone(one["last_occurrence"])

    def test_the_list_is_sorted_and_can_be_narrowed(self):
        for key in ("b/2", "a/1", "b/1", "c"):
            self.assertEqual(self.pawl("exec", key, "--", "true").status, 0)
        keys = [one["key"] for one in self.pawl("locks", "ls", "--json").json()["locks"]]
        self.assertEqual(keys, ["a/1", "b/1", "b/2", "c"])
        keys = [one["key"] for one in self.pawl("locks", "ls", "--prefix", "b/", "--json").json()["locks"]]
        self.assertEqual(keys, ["b/1", "b/2"])
        page = self.pawl("locks", "ls", "--limit", "2", "--json").json()
        self.assertEqual(len(page["locks"]), 2)
        rest = self.pawl("locks", "ls", "--after", page["next"], "--json").json()
        self.assertEqual([one["key"] for one in rest["locks"]], ["b/2", "c"])

    def test_a_table_is_for_people_and_keeps_control_characters_out(self):
        self.hold("job/a")
        table = self.pawl("locks", "ls").out.splitlines()
        self.assertTrue(table[0].startswith("KEY"))
        self.assertIn("held", table[1])
        shown = self.pawl("locks", "show", "job/a").out
        self.assertIn("owner", shown)

    def test_no_two_keys_look_alike(self):
        for key in ("twin", "twin\u200b", "tw\U000e0069in", "twi\ufeffn"):
            self.assertEqual(self.pawl("exec", key, "--", "true").status, 0)
        table = [line.split()[0] for line in self.pawl("locks", "ls", "--all").out.splitlines()[1:]]
        self.assertEqual(sorted(table), ["tw<U+E0069>in", "twi<U+FEFF>n", "twin", "twin<U+200B>"])
        self.assertIn("twin\u200b", [one["key"] for one in self.pawl("locks", "ls", "--json").json()["locks"]])
        self.assertIn("twin<U+200B>", self.pawl("locks", "show", "twin\u200b").out)

    def test_free_and_internal_locks_are_listed_on_request(self):
        self.assertEqual(self.pawl("exec", "free", "--", "true").status, 0)
        self.assertEqual(self.pawl("locks", "ls").out, "No locks held; --all lists free locks too.\n")
        self.hold("held")
        self.hold("pawl/internal")
        seen = lambda *words: [line.split()[0] for line in self.pawl("locks", "ls", *words).out.splitlines()[1:]]
        self.assertEqual(seen(), ["held"])
        self.assertEqual(seen("--all"), ["free", "held", "pawl/internal"])
        self.assertEqual(seen("--prefix", "pawl/"), ["pawl/internal"])
        self.assertEqual([one["key"] for one in self.pawl("locks", "ls", "--json").json()["locks"]], ["free", "held", "pawl/internal"])

    def test_a_wait_says_for_whom_and_until_when(self):
        self.hold("k", "--ttl", "30s")
        waited = self.pawl("exec", "k", "--wait=4s", "--", "true")
        self.assertEqual(waited.status, 75)
        self.assertRegex(waited.err, r"(?m)^\S+ info waiting for lock 'k', held by \S+ \(token \d+, expires in \d+s\S* unless renewed\), until 20\S+$")
        other = self.start("exec", "k", "--wait", "--", "true")
        self.assertRegex(other.stderr.readline(), "waiting for lock 'k', held by .*, without a time limit$")
        # Where it is free there is nothing to say.
        self.assertEqual(self.pawl("exec", "free", "--wait=1s", "--", "true").err, "")

    def test_a_key_without_a_record_is_said_to_be_unknown(self):
        self.assert_one_line(self.pawl("locks", "show", "nothing"), 64, "lock 'nothing' not found; see 'pawl locks ls --all'")

    def test_a_forced_release_stops_the_holder_and_then_frees_the_key(self):
        holder = self.hold("job/a", "--ttl", "15s", "--grace", "1s")
        released = self.pawl("locks", "release", "job/a", "--reason", "node is gone", "--yes", "--json")
        self.assertEqual(released.status, 0, released.err)
        self.assertIn("node is gone", released.err)
        # Nobody gets the key before the old holder has stopped.
        document = released.json()
        self.assertGreater(document["free_in_ms"], 0)
        self.assertEqual(self.pawl("exec", "job/a", "--", "true").status, 75)
        self.assertEqual(holder.wait(timeout=30), 70)
        self.assertEqual(self.pawl("exec", "job/a", "--wait=30s", "--", "true").status, 0)

    def test_a_forced_release_without_delay_says_that_two_may_run(self):
        holder = self.hold("job/a", "--ttl", "30s")
        released = self.pawl("locks", "release", "job/a", "--reason", "test", "--yes", "--now")
        self.assertEqual(released.status, 0, released.err)
        self.assertIn("two may run", released.err)
        self.assertEqual(self.pawl("exec", "job/a", "--", "true").status, 0)
        self.assertEqual(holder.wait(timeout=30), 70)

    def test_a_cooldown_ends_when_it_is_said_to(self):
        self.hold("job/a", "--ttl", "10m")
        release = ["locks", "release", "job/a", "--reason", "its node is gone", "--yes"]
        self.assertEqual(self.pawl(*release).status, 0)
        self.assert_one_line(self.pawl(*release), 64, "to free it immediately, give --now")
        self.assertEqual(self.pawl("exec", "job/a", "--", "true").status, 75)
        freed = self.pawl(*release, "--now")
        self.assertEqual(freed.status, 0, freed.err)
        self.assertIn("cooldown force-ended key=job/a", freed.err)
        self.assertEqual(self.pawl("exec", "job/a", "--", "true").status, 0)
        self.assert_one_line(self.pawl(*release, "--now"), 64, "lock 'job/a' is free; expected one that is held or in cooldown")

    def test_a_forced_release_that_is_not_audited_says_so_by_its_status(self):
        self.hold("a", "--no-journal")
        away = ("--journal", "redis://127.0.0.1:1", "locks", "release", "a", "--reason", "x", "--yes")
        released = self.pawl(*away)
        self.assertEqual(released.status, 69, released.err)
        self.assertIn("released lock 'a'", released.out)
        self.assertEqual(released.err.count("done, but not in the audit log action=lock.release target=a: "), 1, released.err)
        self.assertNotEqual(self.pawl("locks", "show", "a", "--json").json()["held"], True)

    def test_nothing_is_released_where_the_journal_is_no_url(self):
        self.hold("a", "--no-journal")
        self.assert_one_line(self.pawl("--journal", "nonsense:", "locks", "release", "a", "--reason", "x", "--yes"), 64, "--journal")
        self.assertTrue(self.pawl("locks", "show", "a", "--json").json()["held"])

    def test_a_forced_release_asks_first(self):
        self.hold("job/a")
        self.assert_one_line(self.pawl("locks", "release", "job/a", "--reason", "x"), 64, "--yes")
        self.assertEqual(self.pawl("exec", "job/a", "--", "true").status, 75)

    def test_a_forced_release_needs_a_reason(self):
        self.assert_one_line(self.pawl("locks", "release", "job/a", "--yes"), 64, "--reason")

    def test_there_is_nothing_to_release_without_a_holder(self):
        self.pawl("exec", "job/a", "--", "true")
        self.assert_one_line(self.pawl("locks", "release", "job/a", "--reason", "x", "--yes"), 64, "lock 'job/a' is free")


class Fence(Case):
    def test_an_older_token_is_stale_and_the_same_one_is_not(self):
        self.assertEqual(self.pawl("fence", "check", "ledger", "7").status, 0)
        self.assertEqual(self.pawl("fence", "check", "ledger", "7").status, 0)
        self.assert_one_line(self.pawl("fence", "check", "ledger", "6"), 77, "token 6 is older than 7")
        self.assertEqual(self.pawl("fence", "check", "other", "1").status, 0)
        # Nobody closes a resource for good with a number out of thin air.
        for invented in (2**53 - 1, (time.time_ns() // 1000) + 3_600_000_000):
            self.assert_one_line(self.pawl("fence", "check", "ledger", str(invented)), 77, "has not issued it")
        self.assertEqual(self.pawl("fence", "check", "ledger", "7").status, 0)

    def test_names_and_reasons_take_no_terminal_over(self):
        for bad in ("\x1b[2J", "\x7f", "\u009b31m", "\u202ecod.exe", "\u2066x"):
            self.assert_one_line(self.pawl("exec", f"k{bad}", "--", "true"), 64, "control character at byte 2")
            self.assert_one_line(self.pawl("locks", "release", "k", "--reason", f"r{bad}", "--yes"), 64, "control character at byte 2")
            self.assert_one_line(self.pawl("jobs", "pause", "j", "--reason", f"r{bad}"), 64, "control character at byte 2")

    def test_once_rejects_a_token_that_was_seen(self):
        self.assertEqual(self.pawl("fence", "check", "--once", "ledger", "7").status, 0)
        self.assert_one_line(self.pawl("fence", "check", "--once", "ledger", "7"), 77, "not newer than 7")

    def test_json_tells_the_newest(self):
        self.pawl("fence", "check", "ledger", "9")
        stale = self.pawl("--json", "fence", "check", "ledger", "3")
        self.assertEqual(stale.status, 77)
        self.assertEqual(stale.json(), {"resource": "ledger", "fence_token": 3, "accepted": False, "newest": 9})

    def test_what_is_no_token_is_a_usage_error(self):
        for bad in ("0", "x", "9007199254740992", "1.5", ""):
            self.assert_one_line(self.pawl("fence", "check", "ledger", bad), 64,
                                 f"invalid fencing token '{bad}'; expected an integer from 1 to 2^53 - 1")
        self.assertEqual(self.pawl("fence", "check", "ledger", "-1").status, 64)


class Everything(Case):
    def test_every_command_has_help_with_an_example(self):
        for words in (["exec"], ["locks"], ["locks", "ls"], ["locks", "show"], ["locks", "release"], ["fence"], ["fence", "check"],
                      ["demo"], ["bench"], ["completion"], []):
            shown = pawl(*words, "--help")
            self.assertEqual(shown.status, 0, words)
            self.assertIn("Example: ", shown.out, words)

    def test_a_command_line_that_is_wrong_is_one_line_and_64(self):
        for words in (["bogus"], ["--bogus"], ["locks", "bogus"], ["exec"], ["fence", "check", "x"], ["--log-level", "loud", "locks", "ls"],
                      ["bench", "--clients", "0"], ["completion", "fish"], ["demo", "--for", "1s"], ["demo", "--nodes", "1"]):
            self.assert_one_line(pawl(*words), 64, "pawl: ")

    def test_a_misspelt_command_is_answered_with_the_nearest(self):
        for words, answer in ((["exce", "k", "--", "true"], "unknown command 'exce'; did you mean 'exec'? (see 'pawl --help')"),
                              (["jobs", "lss"], "unknown command 'lss'; did you mean 'ls'? (see 'pawl jobs --help')"),
                              (["locks", "relase", "k"], "unknown command 'relase'; did you mean 'release'? (see 'pawl locks --help')"),
                              (["zzzzzzzz"], "unknown command 'zzzzzzzz'; expected a command (see 'pawl --help')"),
                              (["--bogus"], "unknown option '--bogus' (see 'pawl --help')")):
            self.assert_one_line(pawl(*words), 64, f"pawl: {answer}\n")

    def test_no_command_at_all_prints_the_help(self):
        for words in ([], ["locks"], ["jobs"]):
            told = pawl(*words)
            self.assertEqual((told.status, told.out), (64, ""), words)
            self.assertEqual(told.err.strip(), pawl(*words, "--help").out.strip(), words)
            self.assertIn("Subcommands:", told.err)

    def test_an_empty_list_says_so_on_stdout(self):
        for words, answer, document in ((["locks", "ls"], "No locks yet.", {"locks": [], "next": ""}),
                                        (["locks", "ls", "--prefix", "x"], "No matching locks.", {"locks": [], "next": ""}),
                                        (["runs", "ls"], "No runs yet.", {"runs": [], "next": ""}),
                                        (["runs", "ls", "--status", "failed"], "No matching runs.", {"runs": [], "next": ""}),
                                        (["jobs", "ls"], "No jobs yet.", {"jobs": [], "next": ""}),
                                        (["nodes", "ls"], "No nodes yet.", {"nodes": [], "next": ""}),
                                        (["audit", "ls"], "No audit entries yet.", {"audit": [], "next": ""})):
            told = self.pawl(*words, "--log-level", "error")
            self.assertEqual((told.status, told.out, told.err), (0, answer + "\n", ""), words)
            self.assertEqual(self.pawl(*words, "--json").json(), document)

    def test_times_for_people_are_local_and_those_for_programs_are_utc(self):
        self.assertEqual(self.pawl("exec", "k", "--", "true").status, 0)
        variables = environment(TZ="Asia/Kolkata")
        (row,) = self.pawl("runs", "ls", "--json", env=variables).json()["runs"]
        self.assertRegex(row["started_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        shown = re.search(r"\S+\+05:30", self.pawl("runs", "ls", env=variables).out).group()
        self.assertRegex(shown, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:30$")
        told, exact = (datetime.datetime.fromisoformat(one.replace("Z", "+00:00")) for one in (shown, row["started_at"]))
        self.assertEqual(told, exact.replace(microsecond=0))

    def test_a_warning_has_the_level_that_the_option_takes(self):
        self.hold("job/a", "--ttl", "30s")
        release = ["locks", "release", "job/a", "--reason", "test", "--yes", "--now"]
        told = self.pawl(*release, "--log-level", "warn", "--log-format", "json").err.splitlines()
        self.assertEqual({json.loads(line)["level"] for line in told}, {"warn"})
        self.hold("job/b", "--ttl", "30s")
        text = self.pawl("locks", "release", "job/b", "--reason", "test", "--yes", "--now").err
        self.assertRegex(text, r"(?m)^\S+ warn lock released without cooldown")

    def test_a_flag_beats_the_environment_which_beats_the_file(self):
        config = self.folder / "pawl.toml"
        config.write_text(f'store = "sqlite:{self.folder}/from-file.db"\n')
        variables = environment(PAWL_STORE=f"sqlite:{self.folder}/from-environment.db")
        pawl("locks", "ls", "--config", str(config), "--store", f"sqlite:{self.folder}/from-flag.db", env=variables)
        self.assertEqual([name.name for name in sorted(self.folder.glob("from-*.db"))], ["from-flag.db"])
        pawl("locks", "ls", "--config", str(config), env=variables)
        self.assertTrue((self.folder / "from-environment.db").exists())
        self.assertFalse((self.folder / "from-file.db").exists())
        pawl("locks", "ls", env=environment(PAWL_CONFIG=str(config)))
        self.assertTrue((self.folder / "from-file.db").exists())

    def test_a_broken_configuration_names_the_place(self):
        config = self.folder / "pawl.toml"
        config.write_text("store = 7\n")
        self.assert_one_line(pawl("locks", "ls", "--config", str(config)), 78, f"{config}:1:")
        config.write_text("store = \n")
        self.assert_one_line(pawl("locks", "ls", "--config", str(config)), 78, f"{config}:1:")
        self.assert_one_line(pawl("locks", "ls", "--config", str(self.folder / "nothing.toml")), 78, "nothing.toml")

    def test_the_default_store_is_in_the_state_folder(self):
        state = self.folder / "state"
        variables = environment(XDG_STATE_HOME=str(state))
        if os.geteuid() == 0:
            # For root it is /var/lib/pawl, which is no place for a test: only the choice is looked at.
            self.assertIn("/var/lib/pawl", pathlib.Path("/var/lib/pawl/pawl.db").as_posix())
            return
        self.assertEqual(pawl("exec", "k", "--", "true", env=variables).status, 0)
        self.assertTrue((state / "pawl" / "pawl.db").exists())

    def test_logs_can_be_json_and_never_mix_with_results(self):
        self.hold("k")
        rejected = self.pawl("exec", "k", "--log-format", "json", "--", "true")
        self.assertEqual(rejected.status, 75)
        self.assertEqual(rejected.out, "")
        self.assertRegex(rejected.err, r'^\{"time":"[^"]+","level":"info","message":"lock \'k\' is held by ')

    def test_bench_measures_beside_the_bare_round_trip(self):
        document = self.pawl("bench", "--for", "3s", "--clients", "2", "--json").json()
        self.assertGreater(document["pairs"], 0)
        self.assertGreater(document["pair_p50_us"], 0)
        self.assertGreater(document["round_trip_p50_us"], 0)

    def test_waiters_are_counted(self):
        self.hold("k")
        self.start("exec", "k", "--wait", "--", "true")
        until(lambda: self.pawl("locks", "show", "k", "--json").json()["waiters"] == 1)
