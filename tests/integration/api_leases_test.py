"""Leases over HTTP, through two agents on one real store, as programs in other languages take them."""
import http.client
import json
import re
import socket
import threading
import time
import urllib.parse

from access_test import bearer, user
from agents import AgentCase
from harness import Postgres, Redis, until


class Client:
    """A connection that is kept, as a program's would be."""

    def __init__(self, agent, token):
        self.agent, self.fields = agent, {**bearer(token), "Content-Type": "application/json"}
        self.link = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=120)

    def ask(self, method, path, body=None):
        self.link.request(method, path, json.dumps(body) if body is not None else None, self.fields)
        answer = self.link.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else {}, answer.headers

    def text(self, path):
        self.link.request("GET", path, headers=self.fields)
        return self.link.getresponse().read().decode()

    def acquire(self, key, ttl_ms=60000, **more):
        return self.ask("POST", "/api/v1/leases", {"key": key, "ttl_ms": ttl_ms, **more})

    def renew(self, key, token, ttl_ms=60000):
        return self.ask("PUT", f"/api/v1/leases/{key}/{token}", {"ttl_ms": ttl_ms})

    def release(self, key, token, query=""):
        return self.ask("DELETE", f"/api/v1/leases/{key}/{token}{query}")

    def lock(self, key):
        return self.ask("GET", "/api/v1/locks/" + urllib.parse.quote(key, safe=""))[1]

    def begin(self, method, path, body):
        """Sends a request on a connection of its own, and leaves the answer where it is."""
        text = json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.agent.port}", f"Content-Length: {len(text)}",
                *(f"{name}: {value}" for name, value in self.fields.items()), "", ""]
        link = socket.create_connection(("127.0.0.1", self.agent.port), timeout=60)
        link.sendall("\r\n".join(head).encode() + text)
        return link


class Leases:
    """The laws, for whatever store a class below has."""

    def setUp(self):
        super().setUp()
        self.token, block = user("carol", "admin")
        self.agents = [self.agent(name, block) for name in ("a", "b")]
        for agent in self.agents:
            agent.start()
            agent.port = int(until(lambda log=agent.log: port_in(log())))

    def client(self, agent=0):
        one = Client(self.agents[agent], self.token)
        self.addCleanup(one.link.close)
        return one

    def busy(self, agent):
        """How many claims this agent has been rejected so far."""
        text = self.client(agent).text("/metrics")
        found = re.search(r'^pawl_lock_acquire_total\{outcome="busy"\} (\d+)', text, re.MULTILINE)
        return int(found.group(1)) if found else 0

    def asked(self, agent):
        """How many claims this agent has sent to the store."""
        text = self.client(agent).text("/metrics")
        return int(re.search(r'^pawl_store_operation_seconds_count\{[^}]*operation="acquire"[^}]*\} (\d+)', text, re.MULTILINE).group(1))

    def granted(self, answer):
        status, told, fields = answer
        self.assertEqual(status, 201, told)
        self.assertTrue(0 < told["fence_token"] < 2**53)
        self.assertTrue(fields["Location"].endswith(f"/{told['fence_token']}"))
        return told

    def test_eight_clients_increment_one_counter(self):
        """Goal: no update is lost, and tokens order them. Method: 200 increments of a file, read, computed and written."""
        counter, tokens, faults = self.file("counter"), [], []
        counter.write_text("0")

        def work(number):
            client = self.client(number % 2)
            for _ in range(25):
                told = self.granted(client.acquire("counter", wait_ms=60000))
                token = told["fence_token"]
                if client.ask("POST", "/api/v1/fences/counter", {"fence_token": token})[0] != 204:
                    faults.append(f"{token} was stale")
                value = int(counter.read_text())
                tokens.append(token)
                counter.write_text(str(value + 1))
                if client.release("counter", token)[0] != 204:
                    faults.append(f"{token} was lost")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(faults, [])
        self.assertEqual(counter.read_text(), "200")
        self.assertEqual(tokens, sorted(set(tokens)))
        # Whoever comes late is rejected.
        status, told, _ = self.client().ask("POST", "/api/v1/fences/counter", {"fence_token": tokens[-2]})
        self.assertEqual((status, told["newest"]), (409, tokens[-1]))

    def test_a_busy_key_says_who_holds_it(self):
        one, two = self.client(0), self.client(1)
        held = self.granted(one.acquire("reports/daily ü", owner="the first"))
        status, told, fields = two.acquire("reports/daily ü")
        self.assertEqual(status, 409)
        self.assertEqual((told["owner"], told["fence_token"], told["reason"]), ("carol@the first", held["fence_token"], "held"))
        self.assertTrue(0 < told["remaining_ms"] <= 60000)
        self.assertGreaterEqual(int(fields["Retry-After"]) * 1000, told["remaining_ms"])
        # The key in the path, with its slash and without.
        for path in ("reports/daily%20%C3%BC", "reports%2Fdaily%20%C3%BC"):
            self.assertEqual(two.renew(path, held["fence_token"])[0], 200)
        self.assertEqual(two.lock("reports/daily ü")["fence_token"], held["fence_token"])

    def test_a_waiter_on_another_agent_is_woken(self):
        one, two = self.client(0), self.client(1)
        held, got = self.granted(one.acquire("k")), []
        waiter = threading.Thread(target=lambda: got.append(two.acquire("k", wait_ms=60000)))
        busy_before, began = self.busy(1), time.monotonic()
        waiter.start()
        until(lambda: self.busy(1) > busy_before and time.monotonic() > began + 0.5)
        self.assertEqual(one.release("k", held["fence_token"])[0], 204)
        waiter.join()
        took = time.monotonic() - began
        told = self.granted(got[0])
        self.assertLess(took, 30)  # far below the lease that was released
        self.assertTrue(0 < told["waited_ms"] <= took * 1000, told)

    def test_a_client_that_hangs_up_while_it_waits_gets_nothing(self):
        one, two = self.client(0), self.client(1)
        held = self.granted(one.acquire("k", ttl_ms=3600000))
        waiting = one.begin("POST", "/api/v1/leases", {"key": "k", "ttl_ms": 3600000, "wait_ms": 60000})
        behind = []
        thread = threading.Thread(target=lambda: behind.append(two.acquire("k", wait_ms=60000)))
        thread.start()
        waiting.close()
        self.assertEqual(one.release("k", held["fence_token"])[0], 204)
        thread.join()
        self.granted(behind[0])

    def test_a_lost_answer_is_asked_for_again_through_another_agent(self):
        one, two = self.client(0), self.client(1)
        claim = {"key": "k", "ttl_ms": 3600000, "claim_id": "a-random-id"}
        lost = one.begin("POST", "/api/v1/leases", claim)
        until(lambda: two.lock("k").get("held"))
        lost.close()
        told = self.granted(two.ask("POST", "/api/v1/leases", claim))
        self.assertEqual(told["fence_token"], two.lock("k")["fence_token"])
        self.assertEqual(told["claim_id"], "a-random-id")
        self.assertEqual(two.acquire("k", claim_id="another")[0], 409)

    def test_an_occurrence_runs_once(self):
        one, two = self.client(0), self.client(1)
        occurrence = {"occurrence": "2026-01-02T02:00:00Z"}
        held = self.granted(one.acquire("job-1", **occurrence))
        self.assertEqual(one.release("job-1", held["fence_token"])[0], 204)
        status, told, _ = two.acquire("job-1", **occurrence)
        self.assertEqual((status, told["last_occurrence"]), (410, "2026-01-02T02:00:00.000Z"))
        # At least once: done when it is released as done.
        again = {**occurrence, "at_least_once": True}
        held = self.granted(one.acquire("job-2", **again))
        self.assertEqual(one.release("job-2", held["fence_token"])[0], 204)
        held = self.granted(two.acquire("job-2", **again))
        self.assertEqual(two.release("job-2", held["fence_token"], "?done=2026-01-02T02:00:00Z")[0], 204)
        self.assertEqual(one.acquire("job-2", **again)[0], 410)

    def test_a_semaphore_counts_over_agents_and_commands(self):
        one, two = self.client(0), self.client(1)
        command = self.hold("gpu", "--slots", "3", "--ttl", "10m")
        held = [self.granted(client.acquire("gpu", slots=3)) for client in (one, two)]
        keys = {told["key"] for told in held}
        self.assertEqual(keys, {f"gpu/{told['slot']}" for told in held})
        self.assertEqual(len(keys), 2)
        status, told, _ = two.acquire("gpu", slots=3)
        self.assertEqual((status, told["detail"]), (409, "all 3 slots of 'gpu' are held"))
        got, asked_before = [], self.asked(1)
        waiter = threading.Thread(target=lambda: got.append(two.acquire("gpu", slots=3, wait_ms=60000)))
        waiter.start()
        # A look at each slot, and then each is waited for.
        until(lambda: self.asked(1) >= asked_before + 6)
        command.terminate()
        waiter.join()
        # Long before the lease of the command would have ended.
        won = self.granted(got[0])
        self.assertNotIn(won["key"], keys)
        for lease in (*held, won):
            self.assertEqual(one.release(lease["key"], lease["fence_token"])[0], 204)
        self.assertEqual(self.pawl("exec", "gpu", "--slots", "3", "--ttl", "60s", "--", "true").status, 0)

    def test_a_lease_lives_by_its_renewals(self):
        one, two = self.client(0), self.client(1)
        held = self.granted(one.acquire("k", ttl_ms=9000))
        ends = time.monotonic() + 12
        while time.monotonic() < ends:
            # Through either agent: the lease is the store's.
            self.assertEqual(one.renew("k", held["fence_token"], 9000)[0], 200)
            self.assertEqual(two.acquire("k")[0], 409)
            self.assertEqual(two.renew("k", held["fence_token"], 9000)[0], 200)
        taken = self.granted(two.acquire("k", wait_ms=60000))
        self.assertGreater(taken["fence_token"], held["fence_token"])
        self.assertEqual(one.renew("k", held["fence_token"], 2000)[0], 409)
        self.assertEqual(one.release("k", held["fence_token"])[0], 409)
        self.assertEqual(two.renew("k", taken["fence_token"])[0], 200)

    def test_leases_outlive_the_agent_that_took_them(self):
        one, two = self.client(0), self.client(1)
        held = self.granted(one.acquire("k"))
        self.agents[0].kill()
        self.assertEqual(two.acquire("k")[0], 409)
        self.assertEqual(two.renew("k", held["fence_token"])[0], 200)
        self.assertEqual(two.release("k", held["fence_token"])[0], 204)
        self.granted(two.acquire("k"))

    def test_a_forced_release_is_told_to_the_holder(self):
        one, two = self.client(0), self.client(1)
        held = self.granted(one.acquire("k"))
        wanted = {"key": "k", "fence_token": held["fence_token"], "reason": "the holder is gone"}
        status, told, _ = two.ask("POST", "/api/v1/locks/release", wanted)
        self.assertEqual(status, 200, told)
        self.assertTrue(30000 < told["free_in_ms"] <= 60000, told)
        self.assertEqual(one.renew("k", held["fence_token"])[0], 409)
        status, told, _ = one.acquire("k")
        self.assertEqual((status, told["reason"]), (409, "cooldown"))
        # What was shown has passed on.
        self.assertEqual(two.ask("POST", "/api/v1/locks/release", wanted)[0], 409)
        entries = two.ask("GET", "/api/v1/audit")[1]["audit"]
        (entry,) = [one for one in entries if one["action"] == "lock.release"]
        self.assertEqual((entry["actor"], entry["target"]), ("carol", "k"))
        self.assertIn(f"token {held['fence_token']} of carol@127.0.0.1: the holder is gone", entry["detail"])
        # Without delay, by the route of seed 004 and by the current one.
        held = self.granted(one.acquire("l"))
        active = two.ask("GET", "/api/locks/active")[1]["locks"]
        # The agents' own lock, pawl/reconciler, comes when it comes.
        self.assertEqual([lock["key"] for lock in active if not lock["key"].startswith("pawl/")], ["l"])
        self.assertEqual(two.ask("POST", "/api/v1/locks/release", {**wanted, **held_as(held), "now": True})[0], 200)
        self.granted(one.acquire("l"))
        self.assertEqual(two.ask("POST", "/api/locks/release", {"key": "l"})[0], 200)


def held_as(lease):
    return {"key": lease["key"], "fence_token": lease["fence_token"]}


def port_in(log):
    begin = log.find("listening on http://127.0.0.1:")
    return log[begin:].split()[2].rsplit(":", 1)[1] if begin >= 0 and "\n" in log[begin:] else None


# What is asked all the time is asked in a moment, too, in which the machine stands still for longer than a store is waited for.
class OnSqlite(Leases, AgentCase):
    def agent(self, name, *jobs, **keys):
        self.store = f"sqlite:{self.stores}/pawl.db?timeout=20s"
        return super().agent(name, *jobs, **keys)


class OnRedis(Leases, AgentCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Redis()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.server.ask("FLUSHALL")
        super().setUp()

    def agent(self, name, *jobs, **keys):
        self.store = f"{self.server.url}?timeout=20s"
        return super().agent(name, *jobs, **keys)


class OnPostgres(Leases, AgentCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Postgres()
        cls.addClassCleanup(cls.server.stop)

    def agent(self, name, *jobs, **keys):
        # A namespace for each test.
        self.store = f"{self.server.url}?timeout=20s&namespace={self._testMethodName[5:60]}"
        return super().agent(name, *jobs, **keys)


