"""What an outage around a claim, or of the journal alone, once cost: occurrences that were lost, or ran twice. It is made to happen
again, from outside."""
import time

from agents import OVER, job
from experiments import Occurrences, instant, once_at, soon
from harness import until


class OutageAroundAClaim(Occurrences):
    def test_it_costs_no_occurrence(self):
        """Goal: an occurrence whose claim was granted and not answered runs once, and no ghost of it holds the key. Method: the store
        answers nothing for 8.6 s from the claims on; the lease of one job has ended by then, and that of the other has not."""
        server = self.redis()
        self.store = server.url
        # It has the scripts from now on, so that the first word of an occurrence is a claim.
        self.assertEqual(self.pawl("exec", "warm", "--", "true").status, 0)
        due = soon()
        link = self.link(server, hold_from=f"{due}000".encode())
        self.store = f"{server.url_at(link.address)}?timeout=1s"
        agent = self.agent("node-a", *(job(name, self.say, schedule=once_at(due), ttl=ttl) for name, ttl in (("brief", "5s"), ("long", "1m"))))
        agent.start()
        self.store = server.url
        self.assertTrue(link.held.wait(60))
        until(lambda: len(self.pawl("locks", "ls", "--prefix", "job/", "--json").json()["locks"]) == 2)
        self.pass_time(8.6)
        self.assertEqual(self.told(), [])
        link.heal()
        for name in ("brief", "long"):
            (row,) = until(lambda name=name: [one for one in self.runs(name) if one["status"] in OVER])
            # Its turn comes when the key is free.
            manual = self.ended(self.run_now(name))
            self.assertEqual([(one["id"], one["status"], one["attempt"], one["reason"]) for one in self.runs(name)],
                             [(one, "completed", 1, "") for one in (row["id"], manual["id"])])
        agent.stop()
        self.assertEqual(len(self.told()), 4)
        self.assert_none_is_held()


class JournalAway(Occurrences):
    def test_what_was_done_without_it_is_not_done_again(self):
        """Goal: an at-least-once run that is done is not resumed, however late its journal is told. Method: its node reaches the store
        and not the journal, for longer than a run may be without a heartbeat; another node runs later occurrences meanwhile."""
        server, journal = self.redis(), self.redis()
        self.store = server.url
        link = self.link(journal)
        script = f'{self.say}; until [ -e "{self.file("go")}" ]; do sleep 0.05; done'
        report = job("x", script, schedule="@every 2s", delivery="at-least-once", ttl="15s")
        cut_off = self.agent("cut-off", report, journal=f"{journal.url_at(link.address)}?timeout=300ms").start()
        until(self.told)
        own = ("--journal", journal.url)
        (row,) = until(lambda: [one for one in self.runs("x", *own) if one["status"] == "started"])
        link.open.clear()
        self.file("go").touch()
        other = self.agent("other", report, journal=journal.url).start()
        until(lambda: time.time() - instant(self.shown(row["id"], *own)["last_heartbeat"]) > 14)
        until(lambda: len(self.told()) > 1)
        # It has looked at what is without a heartbeat.
        until(lambda: f":{other.process.pid}:" in self.pawl("locks", "show", "pawl/reconciler", "--json").json()["owner"])
        link.heal()
        link.open.set()
        ended = self.ended(row["id"], 60, *own)
        self.assertEqual((ended["status"], ended["attempt"], ended["fence_token"]), ("completed", 1, row["fence_token"]))
        for one in (cut_off, other):
            one.stop()
        ran = [occurrence for occurrence, *_ in self.told()]
        self.assertEqual(len(ran), len(set(ran)))
        tokens = [int(token) for *_, token in self.told()]
        self.assertEqual(tokens, sorted(set(tokens)))
