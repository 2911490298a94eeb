"""Occurrences that once ran again after a restart: agents are begun anew, from outside, and nothing that is past may run."""
from agents import job
from experiments import Occurrences, instant, once_at, soon
from harness import until

APART = 12  # s: a run that a busy machine holds up has ended by then


class Reconfigured(Occurrences):
    def restart_with(self, before, after):
        """A job of which two occurrences have run, whose keys belong to other runs after a restart."""
        due = soon()
        due += 60 - due % 60 if due % 60 > 47 else 0  # both in one minute
        schedule = once_at(due, due + APART)
        agent = self.agent("node-a", job("x", self.say, schedule=schedule, **before)).start()
        until(lambda: [one for one in self.runs("x") if instant(one["occurrence"]) == due + APART and one["status"] == "completed"], 120)
        agent.stop()
        ran = self.told()
        self.assertEqual([instant(occurrence) for occurrence, *_ in ran], [due, due + APART])
        agent.write(job("x", self.say, schedule=schedule, **after))
        agent.start()
        # Behind what is due, if there is anything.
        for place in range(after["partitions"]):
            self.assertEqual(self.ended(self.run_now("x", "--partition", str(place)))["status"], "completed")
        agent.stop()
        self.assertEqual([one[:2] for one in self.told()[len(ran):]], [["none", str(place)] for place in range(after["partitions"])])

    def test_more_partitions_run_nothing_again(self):
        """Goal: a partition that is new has missed nothing. Method: an agent is begun anew with three partitions in place of a whole."""
        self.restart_with({}, {"partitions": 3})

    def test_slots_that_become_partitions_run_nothing_again(self):
        """Goal: a slot whose turn it was not has missed nothing as a partition. Method: as above, with keys of the same names."""
        self.restart_with({"slots": 3}, {"partitions": 3})


class Skipped(Occurrences):
    def test_an_overlap_stays_skipped_across_a_restart(self):
        """Goal: what was skipped does not run later. Method: another client holds the key when the job is due, and ends when the
        agent has begun anew."""
        holder = self.hold("job/x", "--ttl", "60s")
        agent = self.agent("node-a", job("x", self.say, schedule=once_at(soon()))).start()
        (row,) = until(lambda: [one for one in self.runs("x") if one["status"] == "skipped"])
        agent.stop()
        agent.start()
        holder.terminate()
        self.assertEqual(holder.wait(30), 143)
        # Behind what is due, if there is anything.
        manual = self.run_now("x")
        self.assertEqual(self.ended(manual)["status"], "completed")
        agent.stop()
        self.assertEqual([(one["id"], one["status"]) for one in self.runs("x")], [(row["id"], "skipped"), (manual, "completed")])
        self.assertEqual(len(self.told()), 1)
