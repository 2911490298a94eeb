"""Jobs with slots: over two agents at most so many runs at a time, and each occurrence once."""
from agents import AgentCase, job
from harness import until


class Slots(AgentCase):
    def setUp(self):
        super().setUp()
        # Each command says when it begins and ends, by lines that are appended whole. The first ones end when they are let go.
        say = f'"$PAWL_SLOT $PAWL_SLOT_COUNT $PAWL_KEY ${{PAWL_PARTITION-unset}} $PAWL_OCCURRENCE $PAWL_NODE" >>{self.file("told")}'
        script = f'echo begin {say}; while [ ! -e {self.file("go")} ]; do sleep 0.05; done; echo end {say}'
        self.jobs = [job("busy", script, schedule="@every 1s", slots=2, ttl="20s"), job("asked", script, slots=2, ttl="20s")]
        self.agents = [self.agent(name, *self.jobs).start() for name in ("node-a", "node-b")]

    def told(self, key):
        return [line.split() for line in self.lines("told") if f" job/{key}/" in line]

    def test_at_most_two_run_at_a_time_over_two_agents_and_each_occurrence_once(self):
        until(lambda: len(self.told("busy")) >= 2)
        # Both slots are taken: the next turn of each is skipped.
        until(lambda: {row["partition"] for row in self.runs("busy") if row["status"] == "skipped"} == {0, 1})
        self.assertEqual([(what, slot, count, key, partition) for what, slot, count, key, partition, _, _ in sorted(self.told("busy"))],
                         [("begin", str(slot), "2", f"job/busy/{slot}", "unset") for slot in range(2)])
        document = self.pawl("jobs", "show", "busy", "--json").json()
        shown = document.get("job", document)
        self.assertEqual((shown["slots"], shown["partitions"], shown["state"], shown["running"]), (2, 1, "running", 2))
        self.assertIn("2 of 2 running", self.pawl("jobs", "ls").out)
        self.file("go").touch()
        until(lambda: len([1 for what, *_ in self.told("busy") if what == "end"]) >= 8)
        for one in self.agents:
            one.stop()
        going, most = 0, 0
        for what, *_ in self.told("busy"):
            going += 1 if what == "begin" else -1
            most = max(most, going)
        self.assertEqual((going, most), (0, 2))
        begun = [occurrence for what, _, _, _, _, occurrence, _ in self.told("busy") if what == "begin"]
        self.assertEqual(len(begun), len(set(begun)))
        # Run or skipped, each has one row in one slot, and consecutive ones stand in different slots.
        rows = sorted((row["occurrence"], row["partition"]) for row in self.runs("busy"))
        self.assertEqual(len(rows), len({occurrence for occurrence, _ in rows}))
        seconds = {int(occurrence[17:19]) % 2 ^ slot for occurrence, slot in rows}
        self.assertEqual(len(seconds), 1, rows)

    def test_manual_runs_take_a_free_slot_each_and_a_restart_runs_nothing_again(self):
        runs = [self.run_now("asked") for _ in range(2)]
        until(lambda: len(self.told("asked")) == 2)
        self.assertEqual(sorted(slot for _, slot, *_ in self.told("asked")), ["0", "1"])
        third = self.run_now("asked")
        self.file("go").touch()
        for run in (*runs, third):
            self.assertEqual(self.ended(run)["status"], "completed")
        until(lambda: [row for row in self.runs("busy") if row["status"] == "completed"])
        for one in self.agents:
            one.stop()
            one.start()
        before = len(self.told("busy"))
        until(lambda: len(self.told("busy")) >= before + 4)
        begun = [occurrence for what, _, _, _, _, occurrence, _ in self.told("busy") if what == "begin"]
        self.assertEqual(len(begun), len(set(begun)))
        self.assertEqual(len([1 for what, *_ in self.told("asked") if what == "begin"]), 3)
