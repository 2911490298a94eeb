"""pawl demo: its proof is the product's main promise."""
from harness import Case, pawl


class Demo(Case):
    def test_the_demonstration_proves_that_nothing_ran_twice(self):
        done = pawl("demo", "--for", "10s", "--json", timeout=90)
        self.assertEqual(done.status, 0, done.out + done.err)
        proof = done.json()
        self.assertTrue(proof["proven"])
        self.assertEqual(proof["firings"], 10)
        self.assertEqual(proof["runs"], 10)
        self.assertEqual(proof["duplicates"], 0)
        self.assertGreaterEqual(proof["stale_writes_refused"], 1)
        # The lease of the node that was struck has 2 s left at most; the rest is a busy machine's.
        self.assertTrue(0 < proof["takeover_after_kill_ms"] < 10_000, proof)

    def test_people_get_a_table_and_a_last_word(self):
        done = pawl("demo", "--for", "8s", "--nodes", "2", timeout=90)
        self.assertEqual(done.status, 0, done.out + done.err)
        self.assertIn("SIGSTOP", done.out)
        self.assertIn("SIGKILL", done.out)
        self.assertTrue(done.out.rstrip().endswith("Proven: each firing ran once, and no late write got through."))
