"""An agent's API, asked as a program asks it, and what its own document says of the answers."""
import http.client
import json
import re
import threading

from agents import Agent, AgentCase
from harness import pawl, until

OPENAPI = "/api/v1/openapi.json"


def user(name, role):
    """A token, and its [[user]] for a configuration."""
    made = pawl("token", "new", "--name", name, "--role", role)
    return re.search(r"^pawl\.\S+$", made.out, re.MULTILINE).group(), made.out[made.out.index("[[user]]"):]


class Answer:
    def __init__(self, response):
        self.status, self.fields, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class Stream:
    """Server-sent events, read by a thread of their own as they come."""

    def __init__(self, port, path, fields):
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.link.request("GET", path, headers={**fields, "Accept": "text/event-stream"})
        self.response = self.link.getresponse()
        self.events = []
        self.ended = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        name, data = "", ""
        try:
            for line in self.response:
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    name = text[7:]
                elif text.startswith("data: "):
                    data = text[6:]
                elif not text and name:
                    self.events.append((name, json.loads(data)))
                    name, data = "", ""
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass  # it was closed
        self.ended.set()

    def text(self):
        return "".join(data["text"] for name, data in list(self.events) if name == "output")

    def close(self):
        self.link.close()


def resolved(schema, document):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def members_of(schema, document):
    """Everything that an object may have, and what it must have; None where it may have anything."""
    schema = resolved(schema, document)
    if schema.get("additionalProperties") is True or (schema.get("type") == "object" and "properties" not in schema and "allOf" not in schema):
        return None
    properties, required = dict(schema.get("properties", {})), set(schema.get("required", []))
    for part in schema.get("allOf", []):
        more = members_of(part, document)
        if more is None:
            return None
        properties.update(more[0])
        required |= more[1]
    return properties, required


TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict, "null": type(None)}


def faults(value, schema, document, where=""):
    """What of a value is not as its schema says; every member has to be described."""
    schema = resolved(schema, document)
    if "oneOf" in schema:
        found = [list(faults(value, one, document, where)) for one in schema["oneOf"]]
        if all(found):
            yield from min(found, key=len)
        return
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[kind]) and not (kind in ("integer", "number") and isinstance(value, bool)) for kind in kinds):
        yield f"{where} is {value!r}, and not {kinds}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, and not one of {schema['enum']}"
    if schema.get("format") == "date-time" and isinstance(value, str) and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value):
        yield f"{where} is {value!r}, and no time"
    if isinstance(value, (int, float)) and value < schema.get("minimum", value):
        yield f"{where} is {value}, which is too low"
    if isinstance(value, list):
        for i, one in enumerate(value):
            yield from faults(one, schema.get("items", {}), document, f"{where}[{i}]")
    if isinstance(value, dict) and ("properties" in schema or "allOf" in schema):
        members = members_of(schema, document)
        if members is None:
            return
        properties, required = members
        for name in required - set(value):
            yield f"{where}.{name} is missing"
        for name, one in value.items():
            if name not in properties:
                yield f"{where}.{name} is not described"
            else:
                yield from faults(one, properties[name], document, f"{where}.{name}")


class ApiCase(AgentCase):
    """Agents that can be asked, by an operator called alice unless somebody else asks."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.users = {name: user(name, role) for name, role in (("alice", "operator"), ("vera", "viewer"), ("root", "admin"))}

    def serving(self, name, *jobs, **keys):
        """One that has started, with its port."""
        journal = keys.pop("journal", "")
        agent = Agent(self.folder, name, self.store, [*(block for _, block in self.users.values()), *jobs], journal=journal, **keys)
        self.addCleanup(agent.kill)
        agent.start()
        found = until(lambda: re.findall(r"listening on http://127\.0\.0\.1:(\d+)", agent.log()))
        agent.port = int(found[-1])
        return agent

    def ask(self, agent, method, path, body=None, who="alice", raw=None, **fields):
        link = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=60)
        try:
            sent = {"Authorization": f"Bearer {self.users[who][0]}", **{name.replace("_", "-"): value for name, value in fields.items()}}
            if body is not None or raw is not None:
                sent.setdefault("Content-Type", "application/json")
            link.request(method, path, body=raw if raw is not None else None if body is None else json.dumps(body), headers=sent)
            return Answer(link.getresponse())
        finally:
            link.close()

    def got(self, agent, path, **how):
        answer = self.ask(agent, "GET", path, **how)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def pages(self, agent, path, what):
        """All members of a list, read page by page to its end."""
        after, all_of_them = "", []
        while True:
            page = self.got(agent, f"{path}{'&' if '?' in path else '?'}after={after}")
            all_of_them += page[what]
            after = page["next"]
            if not after:
                return all_of_them

    def stream(self, agent, path, **fields):
        one = Stream(agent.port, path, {"Authorization": f"Bearer {self.users['vera'][0]}", **fields})
        self.addCleanup(one.close)
        return one

    def assert_fits(self, agent, value, schema):
        document = self.got(agent, OPENAPI)
        self.assertEqual(list(faults(value, {"$ref": f"#/components/schemas/{schema}"}, document, schema)), [])

    def assert_problem(self, agent, answer, status, says):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.fields["Content-Type"], "application/problem+json")
        self.assertNotIn("\n", answer.json()["detail"])
        self.assertIn(says, answer.json()["detail"])
        self.assert_fits(agent, answer.json(), "Problem")
