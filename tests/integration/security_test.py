"""What people who wanted to break in have made happen, made to happen again from outside: none of it may.

Each stands in docs/security.md beside who would do it, as security_test.CLASS.
"""
import http.client
import json
import re
import resource
import socket
import sqlite3
import ssl
import subprocess
import threading
import time

from agents import job
from api import Answer, ApiCase, user
from harness import pawl, until

MIB = 1024 * 1024
CONNECTIONS_MAX = 12_000  # connections_max in src/http/server.hpp


class SecurityCase(ApiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.users["carl"] = user("carl", "client")

    def ask_from(self, agent, address, method, path, **fields):
        """Without credentials of its own, from another address of this machine."""
        link = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=60, source_address=(address, 0))
        try:
            link.request(method, path, headers=fields)
            return Answer(link.getresponse())
        finally:
            link.close()

    def connect(self, agent, address="127.0.0.1"):
        link = socket.create_connection(("127.0.0.1", agent.port), timeout=30, source_address=(address, 0))
        self.links.append(link)
        return link

    def setUp(self):
        super().setUp()
        self.links = []
        self.addCleanup(lambda: [link.close() for link in self.links])

    def descriptors(self, wanted):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise AssertionError(f"this test opens {wanted} connections: raise the hard limit on open files from {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def audited(self, agent, action):
        return [one for one in self.pages(agent, "/api/v1/audit?limit=1000", "audit") if one["action"] == action]


class WithoutALogIn(SecurityCase):
    def resident(self, agent):
        with open(f"/proc/{agent.process.pid}/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * resource.getpagesize()

    def test_heads_of_many_fields_take_no_memory(self):
        """A thousand heads of four thousand fields took 252 MiB."""
        agent = self.serving("a")
        self.descriptors(1_500)
        self.assertEqual(self.ask(agent, "GET", "/healthz").status, 200)
        before = self.resident(agent)
        for fields, status in ((3_900, b"HTTP/1.1 431"), (98, b"")):
            head = b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n" + b"a:\r\n" * fields
            for _ in range(1_000):
                self.connect(agent).sendall(head + b"\r\n")
            if status:
                self.assertEqual({link.recv(12) for link in self.links}, {status})
        self.assertEqual(self.ask(agent, "GET", "/healthz").status, 200)
        self.assertLess(self.resident(agent) - before, 80 * MIB)

    def test_slow_heads_on_all_connections_keep_no_client_out(self):
        """Whoever came after them was told 503, health checks too."""
        agent = self.serving("a")
        self.descriptors(CONNECTIONS_MAX + 1_000)
        for number in range(CONNECTIONS_MAX + 200):
            self.connect(agent, f"127.0.3.{number % 4 + 1}").sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
            if number > CONNECTIONS_MAX and number % 20 == 0:
                self.assertEqual(self.ask(agent, "GET", "/healthz").status, 200)
        self.assertEqual(self.ask(agent, "GET", "/healthz").status, 200)

    def test_an_address_has_a_share_of_the_connections(self):
        agent = self.serving("a")
        self.descriptors(6_000)
        for _ in range(4_500):
            self.connect(agent, "127.0.3.9").sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        metrics = self.ask(agent, "GET", "/metrics").body.decode()
        self.assertLessEqual(float(re.search(r"^pawl_http_connections (\S+)$", metrics, re.MULTILINE).group(1)), 4_010)

    def test_guesses_without_a_name_are_throttled_wherever_they_come_from(self):
        """400 of 400 were tried, each against every user."""
        agent = self.serving("a")
        told = [self.ask_from(agent, f"127.0.2.{number + 1}", "GET", "/api/v1/locks", Authorization=f"Bearer guess-{number}").status
                for number in range(100)]
        self.assertEqual(set(told), {401, 429})
        self.assertLess(told.count(401), 20)
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks").status, 200, "whoever says his name is not held up")

    def test_a_page_of_a_foreign_name_reads_nothing(self):
        """DNS rebinding: a name that its owner lets resolve to 127.0.0.1."""
        agent = self.serving("a")
        for path in ("/metrics", "/healthz", "/readyz", "/", "/api/v1/openapi.json", "/api/v1/session"):
            for host in ("evil.example", f"evil.example:{agent.port}", "127.0.0.1.evil.example"):
                answer = self.ask_from(agent, "127.0.0.1", "GET", path, Host=host)
                self.assertEqual(answer.status, 421, path)
                self.assertNotIn(b"pawl_", answer.body)
            self.assertNotEqual(self.ask_from(agent, "127.0.0.1", "GET", path, Host=f"localhost:{agent.port}").status, 421)
        named = self.serving("b", hosts=["pawl.example.com"])
        self.assertEqual(self.ask_from(named, "127.0.0.1", "GET", "/healthz", Host="pawl.example.com").status, 200)

    def test_old_suites_of_tls_are_not_spoken(self):
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "key", "-out",
                               self.folder / "cert", "-days", "2", "-subj", "/CN=localhost"], capture_output=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        agent = self.agent("a", *(block for _, block in self.users.values()), tls={"cert": f"{self.folder}/cert", "key": f"{self.folder}/key"})
        agent.start()
        port = int(until(lambda: re.findall(r"listening on https://127\.0\.0\.1:(\d+)", agent.log()))[0])

        def speaks(suites):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(suites)
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=30) as link, context.wrap_socket(link):
                    return True
            except ssl.SSLError:
                return False
        self.assertTrue(speaks("ECDHE+AESGCM"))
        for suites in ("AES128-SHA", "AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA"):
            self.assertFalse(speaks(suites + ":@SECLEVEL=0"), suites)


class AViewer(SecurityCase):
    def test_a_long_word_stops_no_client(self):
        """A word of 15,000 letters beside 2,000 jobs took 12 to 26 s, and health checks failed meanwhile."""
        jobs = [job("a" * 20 + f"-{number:04}", "true", schedule="@yearly") for number in range(2_000)]
        agent = self.serving("a", *jobs)
        self.got(agent, "/api/v1/jobs?limit=1")
        words = ("a" * 15_000, "b" * 15_000, "a" * 20 + "-999", "a" * 190)
        # A machine that stands still does so once.
        slow = [len(word) for word in words if self.longest_look(agent, word) >= 3 and self.longest_look(agent, word) >= 3]
        self.assertEqual(slow, [])

    def longest_look(self, agent, word):
        """At the agent's health, while a viewer says the word wherever there is room for one."""
        took, stop = [], threading.Event()

        def look():
            while not took or not stop.is_set():
                began = time.monotonic()
                self.assertEqual(self.ask(agent, "GET", "/healthz").status, 200)
                took.append(time.monotonic() - began)
        looking = threading.Thread(target=look)
        looking.start()
        try:
            for path in (f"/api/v1/jobs/{word}", f"/api/v1/runs?job={word}", f"/api/v1/jobs?{word}=1"):
                self.assertIn(self.ask(agent, "GET", path, who="vera").status, (200, 400, 404))
        finally:
            stop.set()
            looking.join()
        return max(took)

    def test_a_viewers_sessions_end_no_other_users_and_do_not_swell_the_audit(self):
        """The 1,001st ended the admin's."""
        agent = self.serving("a")

        def log_in(who):
            answer = self.ask(agent, "POST", "/api/v1/session", {"token": self.users[who][0]})
            self.assertEqual(answer.status, 200, answer.body)
            return answer.fields["Set-Cookie"].split(";")[0]
        cookie = log_in("root")
        for _ in range(1_001):
            log_in("vera")
        self.assertEqual(self.ask_from(agent, "127.0.0.1", "GET", "/api/v1/locks", Cookie=cookie).status, 200)
        opened = [one for one in self.audited(agent, "session.open") if one["actor"] == "vera"]
        self.assertLess(len(opened), 100)


class AProgram(SecurityCase):
    """Whoever holds a token that takes leases."""

    def test_a_lease_belongs_to_the_user_who_took_it(self):
        one, two = self.serving("a"), self.serving("b")
        made = self.ask(one, "POST", "/api/v1/leases", {"key": "ledger", "ttl_ms": 60_000, "owner": "alice@here"}, who="carl")
        self.assertEqual(made.status, 201, made.body)
        self.assertEqual(made.json()["owner"], "carl@alice@here")
        place = f"/api/v1/leases/ledger/{made.json()['fence_token']}"
        for agent in (one, two):
            for who in ("alice", "root"):
                self.assert_problem(agent, self.ask(agent, "DELETE", place, who=who), 403, "belongs to the user")
                self.assert_problem(agent, self.ask(agent, "PUT", place, {"ttl_ms": 600_000}, who=who), 403, "belongs to the user")
            self.assertEqual(self.ask(agent, "DELETE", place, who="vera").status, 403)
        self.assertLessEqual(self.got(one, "/api/v1/locks/ledger")["remaining_ms"], 60_000)
        self.assertEqual(self.ask(two, "PUT", place, {"ttl_ms": 60_000}, who="carl").status, 200)
        # By force it is an admin's act, with a delay for the holder to stop.
        body = {"key": "ledger", "fence_token": made.json()["fence_token"], "reason": "a test"}
        self.assertEqual(self.ask(one, "POST", "/api/v1/locks/release", body, who="alice").status, 403)
        ended = self.ask(one, "POST", "/api/v1/locks/release", body, who="root")
        self.assertEqual(ended.status, 200, ended.body)
        self.assertGreater(ended.json()["free_in_ms"], 30_000)
        until(lambda: [entry["target"] for entry in self.audited(one, "lease.acquire") if entry["actor"] == "carl"] == ["ledger"])

    def test_only_an_admin_holds_the_keys_of_jobs_and_of_recovery(self):
        """pawl/reconciler for seven days stopped the recovery of lost runs."""
        agent = self.serving("a", job("report", "true"))
        for key in ("job/report", "pawl/reconciler"):
            for who in ("carl", "alice"):
                made = self.ask(agent, "POST", "/api/v1/leases", {"key": key, "ttl_ms": 604_800_000}, who=who)
                self.assert_problem(agent, made, 403, "reserved")
                self.assertEqual(self.ask(agent, "POST", f"/api/v1/fences/{key}", {"fence_token": 1}, who=who).status, 403)
        self.assertEqual(self.ask(agent, "POST", "/api/v1/leases", {"key": "job/report", "ttl_ms": 1_000}, who="root").status, 201)

    def test_a_client_runs_cancels_and_pauses_nothing(self):
        agent = self.serving("a", job("report", "true"))
        for path, body in (("jobs/report/runs", {}), ("jobs/report/pause", {"reason": "x"}), ("jobs/report/resume", {}),
                           ("runs/nothing/cancel", {})):
            self.assert_problem(agent, self.ask(agent, "POST", f"/api/v1/{path}", body, who="carl"), 403, "role operator")

    def test_a_token_that_was_never_issued_closes_no_resource(self):
        """9007199254740991 closed one for good."""
        agent = self.serving("a")
        made = self.ask(agent, "POST", "/api/v1/leases", {"key": "k", "ttl_ms": 60_000}, who="carl").json()
        for invented in (9007199254740991, made["fence_token"] + 3_600_000_000):
            told = self.ask(agent, "POST", "/api/v1/fences/ledger", {"fence_token": invented}, who="carl")
            self.assert_problem(agent, told, 400, "cannot have been issued")
            self.assertNotEqual(self.pawl("fence", "check", "ledger", str(invented)).status, 0)
        self.assertEqual(self.ask(agent, "POST", "/api/v1/fences/ledger", {"fence_token": made["fence_token"]}, who="carl").status, 204)

    def test_leases_all_day_do_not_swell_the_audit(self):
        agent = self.serving("a")
        for number in range(300):
            made = self.ask(agent, "POST", "/api/v1/leases", {"key": f"k{number}", "ttl_ms": 1_000}, who="carl")
            self.assertEqual(made.status, 201, made.body)
        until(lambda: self.audited(agent, "lease.acquire"))
        self.assertLess(len(self.audited(agent, "lease.acquire")), 60)


class AnyoneWithTheStoresPassword(SecurityCase):
    def test_entries_that_were_cut_off_the_audit_are_found_by_its_head(self):
        agent = self.serving("a", job("report", "true"))
        for number in range(3):
            self.assertEqual(self.ask(agent, "POST", "/api/v1/jobs/report/pause", {"reason": f"{number}"}).status, 200)
            self.assertEqual(self.ask(agent, "POST", "/api/v1/jobs/report/resume", {}).status, 200)
        newest = self.pawl("audit", "ls", "--json", "--limit", "1").json()["audit"][0]
        # As it is exported, a moment later at most.
        until(lambda: f'pawl_audit_head{{hash="{newest["hash"]}"}} {newest["sequence"]}' in self.ask(agent, "GET", "/metrics").body.decode())
        self.assertEqual(self.pawl("audit", "ls", "--verify", "--head", newest["hash"]).status, 0)
        whole = self.got(agent, f"/api/v1/audit/verification?head={newest['hash']}")
        self.assertIsNone(whole["broken_at"])
        agent.stop()
        again = self.serving("a", job("report", "true"))
        until(lambda: f"audit head noted sequence={newest['sequence']} hash={newest['hash']}" in again.log())

        with sqlite3.connect(self.store.removeprefix("sqlite:")) as store:
            # Triggers keep out accidents, and not who owns the tables.
            for (trigger,) in store.execute("select name from sqlite_master where type = 'trigger' and tbl_name = 'pawl_audit'").fetchall():
                store.execute(f"drop trigger {trigger}")
            self.assertEqual(store.execute("delete from pawl_audit where sequence = ?", (newest["sequence"],)).rowcount, 1)
        self.assertEqual(self.pawl("audit", "ls", "--verify").status, 0, "a chain does not show it by itself")
        self.assert_one_line(self.pawl("audit", "ls", "--verify", "--head", newest["hash"]), 77, "the newest were cut off")
        told = self.got(again, f"/api/v1/audit/verification?head={newest['hash']}")
        self.assertEqual(told["broken_at"], newest["sequence"])
        self.assert_fits(again, told, "AuditVerification")
        self.assert_problem(again, self.ask(again, "GET", "/api/v1/audit/verification?head=x"), 400, "64 hexadecimal digits")
        self.assert_one_line(self.pawl("audit", "ls", "--verify", "--head", "x"), 64, "64 hexadecimal digits")
