"""cron next: the occurrences as the clock on the wall shows them, and what is wrong with an expression."""
import datetime
import json
import pathlib

from harness import Case, environment, pawl

CASES = pathlib.Path(__file__).resolve().parents[2] / "test_support" / "cron"


class Next(Case):
    NEW_YORK = ("--zone", "America/New_York")

    def occurrences(self, *words):
        outcome = pawl("cron", "next", *words)
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual(outcome.err, "")
        return outcome.out.splitlines()

    def test_one_occurrence_a_line_with_the_offset_of_the_zone(self):
        self.assertEqual(self.occurrences("30 1 * * *", *self.NEW_YORK, "--from", "2024-11-02T00:00:00Z", "--count", "3"),
                         ["2024-11-02T01:30:00-04:00", "2024-11-03T01:30:00-04:00", "2024-11-04T01:30:00-05:00"])

    def test_a_gap_and_a_repeated_hour_follow_the_policies(self):
        spring = ("30 2 * * *", *self.NEW_YORK, "--from", "2024-03-09T12:00:00Z", "--count", "1")
        self.assertEqual(self.occurrences(*spring), ["2024-03-10T03:00:00-04:00"])
        self.assertEqual(self.occurrences(*spring, "--gap", "skip"), ["2024-03-11T02:30:00-04:00"])
        autumn = ("30 1 * * *", *self.NEW_YORK, "--from", "2024-11-03T00:00:00Z", "--count", "2")
        self.assertEqual(self.occurrences(*autumn, "--repeat", "twice"),
                         ["2024-11-03T01:30:00-04:00", "2024-11-03T01:30:00-05:00"])

    def test_without_options_five_occurrences_in_utc_from_now_on(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        lines = self.occurrences("* * * * *")
        self.assertEqual(len(lines), 5)
        times = [datetime.datetime.fromisoformat(line.replace("Z", "+00:00")) for line in lines]
        self.assertGreater(times[0], before)
        self.assertLess(times[0] - before, datetime.timedelta(minutes=2))
        self.assertEqual({later - one for one, later in zip(times, times[1:])}, {datetime.timedelta(minutes=1)})

    def test_json_is_one_document(self):
        document = pawl("cron", "next", "@daily", "--zone", "Europe/Paris", "--from", "2026-11-20T12:00:00Z",
                        "--count", "2", "--json").json()
        self.assertEqual(document, {
            "expression": "@daily", "description": "at 00:00 every day", "zone": "Europe/Paris", "gap": "end",
            "repeat": "once", "from": "2026-11-20T13:00:00+01:00",
            "next": ["2026-11-21T00:00:00+01:00", "2026-11-22T00:00:00+01:00"]})

    def test_cases_of_other_schedulers_hold_on_the_command_line(self):
        exceptions = {one["id"] for one in json.loads((CASES / "exceptions.json").read_text())}
        for case in json.loads((CASES / "cases.json").read_text())[::20]:
            if case["id"] in exceptions:
                continue
            with self.subTest(case["id"]):
                self.assertEqual(self.occurrences(case["expr"], "--zone", case["zone"], "--from", case["from"],
                                              "--gap", case["gap"], "--repeat", case["repeat"],
                                              "--count", str(len(case["next"]))), case["next"])


class Rejections(Case):
    def test_an_expression_that_is_wrong_is_rejected_with_the_column(self):
        for words, says in [(["61 * * * *"], "column 1: minute: expected 0 to 59, not 61"),
                            (["* * * * SUT"], "column 9: day of the week: expected 0 to 7, SUN to SAT"),
                            (["-1 * * * *"], "column 1: minute"),
                            (["* * *"], "column 6: expected 5 fields"),
                            (["0 0 30 2 *"], "column 5: this never fires"),
                            (["@dayly"], "did you mean '@daily'?"),
                            (["@every 5x"], "column 9"),
                            ([""], "expected 5 fields"),
                            (["\x1b[31m"], "found 1"),
                            (["* * * * *", "--zone", "Europe/Pariss"], "did you mean 'Europe/Paris'?"),
                            (["* * * * *", "--from", "tomorrow"], "--from 'tomorrow' at column 1"),
                            (["* * * * *", "--count", "0"], "--count"),
                            (["* * * * *", "--gap", "maybe"], "--gap"),
                            (["* * * * *", "--repeat", "thrice"], "--repeat"),
                            ([], "EXPR")]:
            with self.subTest(words):
                outcome = pawl("cron", "next", *words)
                self.assert_one_line(outcome, 64, says)
                self.assertEqual(outcome.out, "")
                self.assertNotIn("\x1b", outcome.err)

    def test_every_invalid_expression_of_other_schedulers_is_rejected(self):
        for case in json.loads((CASES / "invalid.json").read_text())[::5]:
            with self.subTest(case["expr"]):
                self.assert_one_line(pawl("cron", "next", case["expr"]), 64, "column ")

    def test_it_needs_neither_a_store_nor_its_folder(self):
        outcome = pawl("cron", "next", "@hourly", env=environment(PAWL_STORE="nonsense", HOME="/nowhere"))
        self.assertEqual(outcome.status, 0, outcome.err)
