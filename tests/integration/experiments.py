"""What the tests share that make old accidents happen again, from outside."""
import datetime
import time

from agents import AgentCase
from network_link import NetworkLink
from harness import Case, Redis, until

BRIEF = ("--ttl", "5s", "--no-journal")


class OnOneServer(Case):
    """A test with a server of its own."""

    def serve(self, server, parameters=""):
        self.addCleanup(server.stop)
        self.store = server.url + parameters
        return server

    def token(self, key="k"):
        """Of a run that has ended."""
        ran = self.pawl("exec", key, "--wait", "60s", *BRIEF, "--", "sh", "-c", 'echo "$PAWL_FENCE_TOKEN"')
        self.assertEqual(ran.status, 0, ran.err)
        return int(ran.out)

    def shown(self, key="k"):
        told = self.pawl("locks", "show", key, "--json")
        self.assertEqual(told.status, 0, told.err)
        return told.json()

    def assert_quarantined(self, key):
        told = self.pawl("exec", key, *BRIEF, "--", "echo", "ran")
        self.assert_one_line(told, 75, "is in quarantine for ")
        self.assertEqual(told.out, "")


def soon():
    """When an agent that is about to start has begun."""
    return int(time.time()) + 9


def once_at(*due):
    """A schedule that fires at these seconds of one minute, and then not before tomorrow."""
    when = time.gmtime(due[0])
    return f"{','.join(str(one % 60) for one in due)} {when.tm_min} {when.tm_hour} * * *"


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Occurrences(AgentCase):
    def setUp(self):
        super().setUp()
        self.say = f'echo "${{PAWL_OCCURRENCE:-none}} ${{PAWL_PARTITION-${{PAWL_SLOT-whole}}}} $PAWL_FENCE_TOKEN" >>"{self.file("told")}"'

    def told(self):
        """Of each run in its order: occurrence, partition or slot, token."""
        return [line.split() for line in self.lines("told")]

    def pass_time(self, how_long):
        """What an outage does depends on how long it is: a rhythm, not a wait for something."""
        since = time.monotonic()
        until(lambda: time.monotonic() - since > how_long)

    def redis(self):
        server = Redis(*Redis.SYNCED)
        self.addCleanup(server.stop)
        return server

    def link(self, server, **how):
        link = NetworkLink(server.port, **how)
        self.addCleanup(link.close)
        return link
