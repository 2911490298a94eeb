"""Who may do what: every route of the API's own document, for everybody who may ask."""
import fcntl
import http.client
import json
import re
import signal
import socket

from agents import Agent, job
from harness import Case, free_port, pawl, until

ROLES = ["viewer", "client", "operator", "admin"]
READING = {"GET", "HEAD"}


class Answer:
    def __init__(self, response, body):
        self.status, self.fields, self.body = response.status, response.headers, body

    def json(self):
        return json.loads(self.body)

    def cookie(self):
        return self.fields["Set-Cookie"].split(";")[0]


def user(name, role):
    """A token, and its [[user]] for a configuration."""
    made = pawl("token", "new", "--name", name, "--role", role)
    block = made.out[made.out.index("[[user]]"):]
    return re.search(r"^pawl\.\S+$", made.out, re.MULTILINE).group(), block


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class AccessCase(Case):
    def agent(self, *blocks, port=None, name="node-a"):
        port = port or free_port()
        agent = Agent(self.folder, name, self.store, blocks, listen=f"127.0.0.1:{port}")
        agent.port = port
        self.addCleanup(agent.kill)
        return agent.start()

    def ask(self, agent, method, path, fields=None, body=None):
        """The status and the fields; of a stream, not its body."""
        link = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=30)
        try:
            sent = dict(fields or {})
            if body is not None:
                sent["Content-Type"] = "application/json"
            link.request(method, path, body=None if body is None else json.dumps(body), headers=sent)
            response = link.getresponse()
            streams = response.headers.get("Content-Type", "").startswith("text/event-stream")
            return Answer(response, b"" if streams else response.read())
        finally:
            link.close()

    def log_in(self, agent, token):
        answer = self.ask(agent, "POST", "/api/v1/session", body={"token": token})
        self.assertEqual(answer.status, 200, answer.body)
        return answer

    def routes(self, agent):
        """(method, a path that names nothing, the role it needs) of each operation."""
        document = self.ask(agent, "GET", "/api/v1/openapi.json").json()
        for pattern, operations in document["paths"].items():
            for method, operation in operations.items():
                if method in {"get", "put", "post", "delete", "patch"}:
                    path = re.sub(r"\{fence_token\}", "1", pattern)
                    yield method.upper(), re.sub(r"\{\w+\}", "nothing", path), operation["x-pawl-access"]


class Matrix(AccessCase):
    def test_every_route_for_everybody(self):
        users = {role: user(f"the-{role}", role) for role in ROLES}
        agent = self.agent(*(block for _, block in users.values()))
        tokens = {role: token for role, (token, _) in users.items()}
        session = self.log_in(agent, tokens["admin"])
        wrong, _ = user("the-admin", "admin")
        csrf = session.json()["csrf"]
        other_end = "BBB" if session.cookie().endswith("AAA") else "AAA"
        callers = {
            "nobody": ({}, None),
            "wrong token": (bearer(wrong), None),
            "wrong cookie": ({"Cookie": session.cookie()[:-3] + other_end}, None),
            "cookie without csrf": ({"Cookie": session.cookie()}, "admin"),
            "cookie from another site": ({"Cookie": session.cookie(), "X-Pawl-Session": csrf, "Sec-Fetch-Site": "cross-site"},
                                         "admin"),
            "cookie": ({"Cookie": session.cookie(), "X-Pawl-Session": csrf}, "admin"),
            **{role: (bearer(tokens[role]), role) for role in ROLES},
        }
        routes = list(self.routes(agent))
        self.assertGreater(len(routes), 25)
        for method, path, needs in routes:
            if (method, path) == ("DELETE", "/api/v1/session"):
                continue  # ends the session that the others use; tested below
            for who, (fields, role) in callers.items():
                with self.subTest(f"{method} {path} by {who}"):
                    answer = self.ask(agent, method, path, fields, None if method in READING else {})
                    status = self.rejection(method, needs, who, role)
                    if status is None:
                        self.assertNotIn(answer.status, (401, 403, 429, 500), answer.body)
                        continue
                    self.assertEqual(answer.status, status, answer.body)
                    self.assertEqual(answer.fields["Content-Type"], "application/problem+json")
                    self.assertEqual(answer.json()["status"], status)
                    if status == 401:
                        self.assertIn('Bearer realm="pawl"', answer.fields["WWW-Authenticate"])
                    elif role in ROLES and not who.startswith("cookie"):
                        self.assertIn(f"role {needs}", answer.json()["detail"])

    @staticmethod
    def rejection(method, needs, who, role):
        """The status that rejects; None where they are let in."""
        if needs == "open":
            return None
        if role is None:
            return 401
        if who in ("cookie without csrf", "cookie from another site") and method not in READING:
            return 403
        return None if ROLES.index(role) >= ROLES.index(needs) else 403


class InheritedSocket(AccessCase):
    """What a socket unit opens stands for `listen` in all that follows from it."""

    def begin(self, host, *blocks):
        agent = Agent(self.folder, "node-a", self.store, blocks, listen="127.0.0.1:7295")
        self.addCleanup(agent.kill)
        listener = socket.create_server((host, 0))
        self.addCleanup(listener.close)
        agent.port = listener.getsockname()[1]
        agent.start(listener)
        return agent

    def test_the_login_link_and_the_list_of_nodes_name_its_address(self):
        agent = self.begin("127.0.0.1")
        self.assertTrue(until(agent.login_link).startswith(f"http://127.0.0.1:{agent.port}/login?once="))
        self.assertIn(f"listening on http://127.0.0.1:{agent.port}", agent.log())
        found = pawl("nodes", "ls", "--json", "--store", self.store).json()["nodes"]
        self.assertEqual([one["address"] for one in found], [f"http://127.0.0.1:{agent.port}"])

    def test_one_that_is_open_to_other_machines_takes_a_user(self):
        with self.assertRaisesRegex(AssertionError, r"the socket unit opens '0\.0\.0\.0' to other machines, but there is no \[\[user\]\]"):
            self.begin("0.0.0.0")
        token, block = user("alice", "admin")
        agent = self.begin("0.0.0.0", block)
        self.assertIn("the socket unit opens '0.0.0.0' to other machines without tls", agent.log())
        self.assertEqual(self.ask(agent, "GET", "/api/v1/session", bearer(token)).status, 200)
        # A file that is right as it is takes them away, while the agent listens as before.
        agent.write()
        agent.says("reload rejected, keeping current configuration")
        self.assertIn("has no [[user]], although this agent serves '0.0.0.0' to other machines", agent.log())
        self.assertEqual(self.ask(agent, "GET", "/api/v1/session", bearer(token)).status, 200)


class Sessions(AccessCase):
    def test_a_session_from_its_log_in_to_its_log_out(self):
        token, block = user("alice", "operator")
        agent = self.agent(block)
        self.assertEqual(self.ask(agent, "GET", "/api/v1/session").status, 401)
        begun = self.log_in(agent, token)
        self.assertRegex(begun.fields["Set-Cookie"],
                         r"^pawl_session[\w-]*=[\w-]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$")
        self.assertEqual({**begun.json(), "csrf": "", "expires_at": ""},
                         {"name": "alice", "role": "operator", "csrf": "", "expires_at": ""})
        cookie = {"Cookie": begun.cookie()}
        told = self.ask(agent, "GET", "/api/v1/session", cookie)
        self.assertEqual((told.status, told.json()["name"], told.json()["csrf"]), (200, "alice", ""))
        csrf = begun.json()["csrf"]
        self.assertEqual(self.ask(agent, "GET", "/api/v1/session", {**cookie, "X-Pawl-Session": csrf}).json()["csrf"], csrf)
        self.assertEqual(self.ask(agent, "DELETE", "/api/v1/session", cookie).status, 403)
        ended = self.ask(agent, "DELETE", "/api/v1/session", {**cookie, "X-Pawl-Session": csrf})
        self.assertEqual(ended.status, 204)
        self.assertIn("Max-Age=0", ended.fields["Set-Cookie"])
        self.assertEqual(self.ask(agent, "GET", "/api/v1/session", cookie).status, 401)

        def actions():
            entries = self.pawl("audit", "ls", "--json").json()["audit"]
            return {one["action"] for one in entries if one["actor"] == "alice"}
        until(lambda: actions() == {"session.open", "session.close"})
        for secret in (token, begun.cookie().split("=")[1], csrf):
            self.assertNotIn(secret, self.pawl("audit", "ls", "--json").out + agent.log())

    def test_a_token_that_is_replaced_opens_nothing_any_more(self):
        old, block = user("alice", "admin")
        agent = self.agent(block)
        session = {"Cookie": self.log_in(agent, old).cookie()}
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", bearer(old)).status, 200)
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", session).status, 200)
        fresh, block = user("alice", "admin")
        agent.write(block)
        agent.signal(signal.SIGHUP)
        until(lambda: self.ask(agent, "GET", "/api/v1/locks", bearer(fresh)).status == 200)
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", bearer(old)).status, 401)
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", session).status, 401)

    def test_guesses_are_throttled_and_work_is_not(self):
        token, block = user("alice", "viewer")
        agent = self.agent(block)
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", bearer(token)).status, 200)
        guesses = [self.ask(agent, "GET", "/api/v1/locks", bearer(f"guess-{number}")) for number in range(14)]
        self.assertEqual([one.status for one in guesses[:11]], [401] * 11)
        rejected = [one for one in guesses if one.status == 429]
        self.assertTrue(rejected)
        self.assertGreaterEqual(int(rejected[0].fields["Retry-After"]), 1)
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", bearer(token)).status, 200)


class LoginLink(AccessCase):
    def link(self, agent):
        return until(agent.login_link).removeprefix(f"http://127.0.0.1:{agent.port}")

    def test_without_users_nothing_is_open_but_by_the_link(self):
        agent = self.agent()
        for method, path, needs in self.routes(agent):
            with self.subTest(f"{method} {path}"):
                answer = self.ask(agent, method, path, body=None if method in READING else {})
                if needs == "open":
                    self.assertNotEqual(answer.status, 500)
                else:
                    self.assertEqual(answer.status, 401, answer.body)
        link = self.link(agent)
        begun = self.ask(agent, "GET", link)
        self.assertEqual(begun.status, 303)
        page, csrf = begun.fields["Location"].split("#session=")
        self.assertEqual(page, "/")
        told = self.ask(agent, "GET", "/api/v1/session", {"Cookie": begun.cookie(), "X-Pawl-Session": csrf}).json()
        self.assertEqual((told["name"], told["role"], told["csrf"]), ("local", "admin", csrf))
        again = self.ask(agent, "GET", link)
        self.assertEqual(again.status, 403)
        self.assertIn("works once", again.body.decode())
        self.assertEqual(self.ask(agent, "GET", self.link(agent)).status, 303)

    def test_the_link_is_in_no_log_and_its_key_for_its_owner_alone(self):
        agent = self.agent()
        file = self.folder / "login-node-a"
        agent.says(f"pawl agent login-link --file {file}")
        self.assertEqual(file.stat().st_mode & 0o7777, 0o600)
        first, second = self.link(agent), self.link(agent)
        self.assertNotEqual(first, second)
        for link in (second, first):
            self.assertEqual(self.ask(agent, "GET", link).status, 303)
        self.assertEqual(pawl("agent", "login-link", "--json", "--file", str(file)).json()["url"].split("?")[0],
                         f"http://127.0.0.1:{agent.port}/login")
        # Another key makes links that look like it.
        secret = file.read_text().split("\n")[1]
        with open(self.folder / "other", "w", encoding="ascii") as other:
            fcntl.flock(other, fcntl.LOCK_EX)  # as by an agent that lives
            other.write(file.read_text().replace(secret, secret[::-1]))
            other.flush()
            forged = pawl("agent", "login-link", "--file", str(self.folder / "other")).out.strip()
        self.assertEqual(self.ask(agent, "GET", forged.removeprefix(f"http://127.0.0.1:{agent.port}")).status, 403)
        self.assertNotIn("once=", agent.log())
        self.assertNotIn(secret, agent.log())
        agent.stop()
        self.assertFalse(file.exists())
        self.assert_one_line(pawl("agent", "login-link", "--file", str(file)), 69, "no login link is offered")

    def test_the_first_user_ends_what_the_link_opened(self):
        agent = self.agent()
        unused = self.link(agent)
        begun = self.ask(agent, "GET", self.link(agent))
        session = {"Cookie": begun.cookie()}
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", session).status, 200)
        token, block = user("alice", "viewer")
        agent.write(block, job("a", "true"))
        agent.signal(signal.SIGHUP)
        until(lambda: self.ask(agent, "GET", "/api/v1/locks", bearer(token)).status == 200)
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", session).status, 401)
        self.assertEqual(self.ask(agent, "GET", unused).status, 404)
        self.assertIsNone(agent.login_link())

    def has_the_port_after_a_reload(self, before, after):
        """An agent whose port is somebody else's while its users change."""
        first = self.agent()
        agent = self.agent(job("a", "true"), *before, port=first.port, name="node-b")
        agent.says("running jobs without the API")
        agent.write(job("a", "true"), *after)
        agent.signal(signal.SIGHUP)
        agent.says("configuration reloaded")
        first.kill()
        agent.says(f"listening on http://127.0.0.1:{agent.port}")
        return agent

    def test_a_link_is_shown_for_users_that_have_gone_before_the_port_was_had(self):
        _, block = user("alice", "viewer")
        agent = self.has_the_port_after_a_reload([block], [])
        self.assertEqual(self.ask(agent, "GET", self.link(agent)).status, 303)

    def test_no_link_is_shown_for_users_that_have_come_before_the_port_was_had(self):
        token, block = user("alice", "viewer")
        agent = self.has_the_port_after_a_reload([], [block])
        self.assertEqual(self.ask(agent, "GET", "/api/v1/locks", bearer(token)).status, 200)
        self.assertIsNone(agent.login_link())
