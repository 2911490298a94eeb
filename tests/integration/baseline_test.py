"""What happens without a shared lock, in figures, beside what happens with one: the harm that all this is against."""
import collections

from agents import Agent, AgentCase, job
from harness import until

OCCURRENCES = 4
NODES = ("blue", "green", "grey")
PRICE = 10

# An invoice run as they are written: it takes the next number, enqueues, charges and sends. What another run does meanwhile
# it does not see. Each line goes to a file in one write, so that none is torn.
INVOICE_RUN = """
cd {folder}
mkdir active/$$
ls active | wc -l >> downstream
number=$(($(cat invoices | wc -l) + 1))
sleep 0.3
echo "$PAWL_OCCURRENCE $number" >> invoices
echo "$PAWL_OCCURRENCE" >> queue
echo "$PAWL_OCCURRENCE {price}" >> charges
echo "$PAWL_OCCURRENCE" >> outbox
rmdir active/$$
echo "$PAWL_OCCURRENCE" >> done
"""


class Baseline(AgentCase):
    def harm(self, stores):
        """What the work of some occurrences came to, on three nodes with a store each, as counters of the harms by name."""
        folder = self.folder / f"work-{len(set(stores))}"
        (folder / "active").mkdir(parents=True)
        for name in ("downstream", "invoices", "queue", "charges", "outbox", "done"):
            (folder / name).touch()
        run = job("send-invoice", INVOICE_RUN.format(folder=folder, price=PRICE), schedule="@every 2s", misfire="skip")
        nodes = []
        for name, store in zip(NODES, stores):
            node = Agent(self.folder, f"{name}-{len(set(stores))}", store, [run])
            self.addCleanup(node.kill)
            nodes.append(node.start())

        def lines(name):
            return [line.split() for line in (folder / name).read_text().splitlines()]

        # What was due while they started is of no interest; nor is what ends in the middle, or what a node that stood still left out.
        before = {one for (one,) in lines("done")}

        def came_to_each_store():
            times = collections.Counter(one for (one,) in lines("done"))
            return sorted(one for one in times.keys() - before if times[one] >= len(set(stores)))
        until(lambda: len(came_to_each_store()) >= OCCURRENCES + 2, 120)
        for node in nodes:
            node.stop()
        counted = came_to_each_store()[1:OCCURRENCES + 1]

        def beyond_the_first(name):
            times = collections.Counter(line[0] for line in lines(name))
            return sum(times[one] - 1 for one in counted)

        numbers = {one: {number for other, number in lines("invoices") if other == one} for one in counted}
        taken = collections.Counter(number for _, number in lines("invoices"))
        return {
            "items processed again": beyond_the_first("done"),
            "items enqueued again": beyond_the_first("queue"),
            "e-mails sent again": beyond_the_first("outbox"),
            "charged too much": sum(int(price) for one, price in lines("charges") if one in counted) - PRICE * OCCURRENCES,
            "runs that were wasted": beyond_the_first("invoices"),
            "invoice numbers in doubt": sum(len(all_) > 1 or any(taken[one] > 1 for one in all_) for all_ in numbers.values()),
            "most at the resource at once": max(int(one) for (one,) in lines("downstream")),
        }

    def test_without_a_shared_store_each_node_does_the_same_work_again(self):
        harm = self.harm([f"sqlite:{self.stores}/{name}.db" for name in NODES])
        again = (len(NODES) - 1) * OCCURRENCES
        for name in ("items processed again", "items enqueued again", "e-mails sent again", "runs that were wasted"):
            self.assertEqual(harm[name], again, f"{name}: {harm}")
        self.assertEqual(harm["charged too much"], again * PRICE, harm)
        self.assertEqual(harm["invoice numbers in doubt"], OCCURRENCES, harm)
        self.assertGreater(harm["most at the resource at once"], 1, harm)

    def test_with_one_each_occurrence_is_worked_on_once(self):
        harm = self.harm([self.store] * 3)
        self.assertEqual(harm.pop("most at the resource at once"), 1, harm)
        self.assertEqual(set(harm.values()), {0}, harm)
