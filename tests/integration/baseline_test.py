"""What happens without a shared lock, in figures, beside what happens with one: the harm that all this is against."""
import collections

from agents import Agent, AgentCase, job
from harness import until

OCCURRENCES = 4
NODES = ("blue", "green", "grey")


class Baseline(AgentCase):
    def occurrences(self, stores):
        """How often each occurrence was worked on, once some have been, by three nodes with a store each."""
        ledger = self.folder / f"ledger-{len(set(stores))}"
        ledger.touch()
        tick = job("send-mail", f'echo "$PAWL_OCCURRENCE" >> {ledger}', schedule="@every 1s", misfire="skip")
        nodes = []
        for name, store in zip(NODES, stores):
            node = Agent(self.folder, f"{name}-{len(set(stores))}", store, [tick])
            self.addCleanup(node.kill)
            nodes.append(node.start())
        # What was due while they started is of no interest; nor is what ends in the middle.
        before = set(ledger.read_text().split())
        until(lambda: len(set(ledger.read_text().split()) - before) >= OCCURRENCES + 2, 60)
        for node in nodes:
            node.stop()
        counted = collections.Counter(ledger.read_text().split())
        return [counted[one] for one in sorted(set(counted) - before)[1:OCCURRENCES + 1]]

    def test_without_a_shared_store_each_node_does_the_same_work_again(self):
        self.assertEqual(self.occurrences([f"sqlite:{self.folder}/{name}.db" for name in NODES]), [3] * OCCURRENCES)

    def test_with_one_each_occurrence_is_worked_on_once(self):
        self.assertEqual(self.occurrences([self.store] * 3), [1] * OCCURRENCES)
