"""Every command of docs/runbook.md and docs/adoption.md does what its page says, against a real store and real agents.

A section has its scenario, which brings about what the section is for; then its commands are run in order. Their exit
status is the one that the page states, and what the page shows of their answer has the shape of the answer.
"""
import json
import pathlib
import re
import secrets
import shlex
import subprocess

from agents import Agent, AgentCase, job
from harness import PAWL, Postgres, Redis, environment, pawl, until

DOCS = pathlib.Path(__file__).parents[2] / "docs"
STORE = "redis://127.0.0.1:6379"
COMMAND_MAX = 120


class Command:
    def __init__(self, text, shown):
        text, _, status = text.partition("  # ")
        self.text, self.status, self.shown = text, int(status or 0), shown


def anchor_of(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def sections_of(text):
    """Anchor to the section that it leads to: that of its heading, and a former one that stands before it."""
    found, parts = {}, re.split(r"(?m)^## ", text)
    for before, part in zip(parts, parts[1:]):
        former = re.search(r'^<a id="([\w-]+)"></a>\s*\Z', before, re.MULTILINE)
        for anchor in (anchor_of(part.splitlines()[0]), *(former.groups() if former else ())):
            if anchor in found:
                raise ValueError(f"two sections have the anchor {anchor}")
            found[anchor] = part
    return found


def commands_of(page):
    """Section (as its anchor) to the commands of its blocks, in order."""
    found, section = {}, ""
    for heading, block in re.findall(r"^## ([^\n]+)$|^```console\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL):
        if heading:
            section = anchor_of(heading)
            continue
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *shown = command.splitlines()
            found.setdefault(section, []).append(Command(first, shown))
    return found


def shape(line):
    """What does not depend on the day, the host or the chance: a table's head, a property's name, a message's beginning."""
    if re.match(r"[A-Z]{2,}\s+[A-Z]", line) and not re.match(r"(OK|WARN|FAIL) ", line):
        return re.split(r"\s{2,}", line.strip())
    line = re.sub(r"redis://\S+", "STORE", line)
    line = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", line)
    line = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "TIME", line)
    words = re.sub(r"\d+", "N", line).split()
    if words[:2] in (["TIME", "info"], ["TIME", "warn"], ["TIME", "error"]):
        return words[:5]
    return words[:2 if re.match(r"(OK|WARN|FAIL|pawl:) ", line) else 1]


class Pages(AgentCase):
    PAGE = ""

    @classmethod
    def setUpClass(cls):
        """A store as the doctor wants it."""
        super().setUpClass()
        cls.redis = Redis(*Redis.SYNCED, "maxmemory-policy noeviction")
        cls.addClassCleanup(cls.redis.stop)
        cls.wait_until_it_grants()

    @classmethod
    def wait_until_it_grants(cls):
        """A quarantine holds up every new namespace until the server has been up for so long, be it for the next test."""
        store = f"{cls.redis.url}?namespace={secrets.token_hex(8)}&quarantine=30s"
        until(lambda: pawl("--store", store, "exec", "first", "--", "true").status == 0, 60)

    def setUp(self):
        super().setUp()
        self.sections = commands_of(self.PAGE)
        self.store = f"{self.redis.url}?namespace={self.folder.name}&quarantine=30s"
        # The doctor judges round trips beside the timeout, and a busy machine takes a second for one now and then.
        self.patient = f"{self.store}&timeout=5s"
        self.journal = ""
        self.config = self.folder / "pawl.toml"
        self.placeholders = {STORE: shlex.quote(self.patient)}
        self.use_journal("")
        (self.folder / "bin").mkdir()
        (self.folder / "bin/pawl").symlink_to(PAWL)

    def use_journal(self, url):
        self.journal = url
        self.config.write_text(f'store = "{self.patient}"\n' + (f'journal = "{url}"\n' if url else ""))

    def node(self, name, *jobs, **keys):
        one = Agent(self.folder, name, self.store, jobs, journal=self.journal, listen="127.0.0.1:0", **keys)
        self.addCleanup(one.kill)
        return one.start()

    def known(self):
        known = environment(PAWL_CONFIG=str(self.config))
        known["PATH"] = f"{self.folder}/bin:{known['PATH']}"
        return known

    def shell(self, text):
        return subprocess.run(["bash", "-c", text], env=self.known(), capture_output=True, text=True, timeout=COMMAND_MAX, stdin=subprocess.DEVNULL)

    def follow(self, section, count=None, **placeholders):
        """Runs the next commands of a section, or all that are left; their answers."""
        self.placeholders.update(placeholders)
        answers = []
        for command in self.sections[section][:count]:
            text = command.text
            for name, value in self.placeholders.items():
                text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", lambda _, value=value: str(value), text)
            self.assertNotRegex(text, r"\b(RUN|TOKEN|KEY)\b", "a placeholder that the scenario does not know")
            done = self.shell(text)
            said = done.stdout + done.stderr
            self.assertEqual(done.returncode, command.status, f"$ {text}\n{said}")
            shapes = [shape(line) for line in said.splitlines() if line.strip()]
            for line in command.shown:
                if line.strip() and shape(line) not in shapes and not self.is_row(line, said):
                    self.fail(f"$ {text}\nThe page shows\n  {line}\nbut it said\n{said}")
            answers.append(said)
        self.sections[section] = self.sections[section][len(answers):]
        return answers

    @staticmethod
    def is_row(line, said):
        """A row of a table: there are as many columns, if there is a row at all that day."""
        return bool(re.match(r"([0-9a-f]{8}-|job/|adoption/|node-|invoices |ledger |TIME|\d{4}-)", line)) and bool(
            re.search(r"^(ID|KEY|NAME|JOB|TIME|\d{4}-).*$", said, re.MULTILINE))

    def assert_followed(self, section):
        self.assertEqual([one.text for one in self.sections[section]], [], "not run by the scenario")

    def started(self, name):
        return until(lambda: next((one for one in self.runs(name) if one["status"] == "started"), None))

    def over(self, name, status):
        return until(lambda: next((one for one in self.runs(name) if one["status"] == status), None), 60)


HANGS = job("invoices", "echo sending 1 of 1200; exec sleep 300", schedule="0 2 1 1 *", zone="Europe/Paris", occurrence="at-least-once",
            ttl="30s", grace="1s", overlap="skip")
SENDS = job("invoices", "echo sent; \"$PAWL_BINARY\" fence check ledger \"$PAWL_FENCE_TOKEN\"", schedule="@every 1s")
FAILS = job("report", "echo no space left on /srv/reports; exit 3", schedule="0 0 1 1 *")


class Runbook(Pages):
    PAGE = "runbook.md"

    def test_every_section_with_commands_has_its_scenario(self):
        tests = {name[len("test_section_"):].replace("_", "-") for name in dir(self) if name.startswith("test_section_")}
        self.assertEqual(tests, set(self.sections))
        for commands in self.sections.values():
            for command in commands:
                self.assertTrue(command.text.startswith("pawl "), command.text)

    def test_every_alert_leads_to_the_section_that_names_it(self):
        rules = (DOCS.parent / "deploy/prometheus/pawl.rules.yml").read_text()
        alerts = re.findall(r"- alert: (\w+).*?runbook_url: docs/runbook\.md#([\w-]+)", rules, re.DOTALL)
        self.assertEqual(len(alerts), rules.count("- alert:"))
        sections = sections_of((DOCS / "runbook.md").read_text())
        for alert, anchor in alerts:
            self.assertIn(anchor, sections, alert)
            self.assertIn(f"`{alert}`", sections[anchor], anchor)
            self.assertIn(f"`{alert}`", sections["first-steps"])

    def test_every_check_of_the_doctor_leads_to_its_section(self):
        """The word of a finding is its anchor in the page. What needs attention, on the overview, has anchors of its own."""
        sections = sections_of((DOCS / "runbook.md").read_text())
        words = {}
        for file in sorted((DOCS.parent / "src").rglob("*.cpp")):
            if not file.name.endswith("_test.cpp") and file.name != "attention.cpp":
                for word in re.findall(r'(?:severity::\w+\s*,|\bunread\()\s*"([^"]*)"', file.read_text()):
                    words.setdefault(word, file.name)
        self.assertLessEqual({"persistence", "quorum", "tls", "versioning"}, set(words))
        for word, file in words.items():
            self.assertIn(word, sections, file)

    def test_section_first_steps(self):
        self.node("node-a", HANGS)
        self.run_now("invoices")
        self.started("invoices")
        self.follow("first-steps")
        self.assert_followed("first-steps")

    def test_section_stuck_key(self):
        self.node("node-a", HANGS)
        run = self.run_now("invoices")
        self.started("invoices")
        until(lambda: "sending" in self.pawl("runs", "output", run).out)
        shown = self.follow("stuck-key", RUN=run)
        self.assertIn("sending 1 of 1200", shown[2])
        self.assertEqual(self.ended(run)["status"], "cancelled")
        until(lambda: not self.pawl("locks", "show", "job/invoices", "--json").json()["held"])
        self.assert_followed("stuck-key")

    def test_section_lost_leases(self):
        self.lose_a_run()
        asked = self.follow("lost-leases", RUN=self.over("ledger", "lost")["id"])[-1]
        self.assertTrue(asked.strip())
        self.assert_followed("lost-leases")

    def lose_a_run(self):
        """A node is killed in the middle of a run that is at most once, and another judges it."""
        ledger = job("ledger", "test \"$PAWL_NODE\" != node-b || exec sleep 300", ttl="8s", occurrence="at-most-once")
        doomed = self.node("node-b", ledger)
        self.run_now("ledger")
        self.started("ledger")
        doomed.kill()
        self.node("node-a", ledger)
        self.over("ledger", "lost")

    def test_section_duplicate_dispatch(self):
        self.node("node-a", SENDS)
        run = self.over("invoices", "completed")
        until(lambda: self.pawl("locks", "show", "pawl/reconciler").status == 0)
        self.follow("duplicate-dispatch", RUN=run["id"])
        self.assert_followed("duplicate-dispatch")
        self.assertFalse(next(one for one in self.pawl("jobs", "ls", "--json").json()["jobs"])["paused"])

    def test_section_stale_writes_rejected(self):
        self.node("node-a", SENDS)
        early = self.over("invoices", "completed")
        until(lambda: len([one for one in self.runs("invoices") if one["status"] == "completed"]) >= 2)
        rejected, listed = self.follow("stale-writes-rejected", TOKEN=early["fence_token"])
        self.assertIn(str(early["fence_token"]), rejected)
        newest = re.search(r"is older than (\d+)", rejected).group(1)
        self.assertIn(newest, " ".join([listed, *(str(one["fence_token"]) for one in self.runs("invoices"))]))
        self.assert_followed("stale-writes-rejected")

    def test_section_store_down(self):
        self.node("node-a", SENDS)
        self.over("invoices", "completed")
        self.redis.process.terminate()
        self.redis.process.wait()
        self.follow("store-down", 2)
        self.redis.begin()
        self.follow("store-down")
        self.assert_followed("store-down")
        self.wait_until_it_grants()

    def test_section_clock_skew(self):
        self.node("node-a", SENDS)
        self.follow("clock-skew")
        self.assert_followed("clock-skew")

    def test_section_failing_runs(self):
        self.node("node-a", FAILS)
        run = self.run_now("report")
        self.assertEqual(self.ended(run)["status"], "failed")
        answers = self.follow("failing-runs", RUN=run)
        self.assertIn("no space left", answers[1])
        self.assert_followed("failing-runs")

    def test_section_late_runs(self):
        self.node("node-a", FAILS)
        self.ended(self.run_now("report"))
        self.follow("late-runs")
        self.assert_followed("late-runs")

    def test_section_unresponsive_nodes(self):
        self.node("node-b", FAILS).kill()
        until(lambda: self.nodes()["node-b"]["state"] == "unresponsive")
        (listed,) = self.follow("unresponsive-nodes")
        self.assertRegex(listed, r"(?m)^node-b +unresponsive ")
        self.assert_followed("unresponsive-nodes")

    def test_section_orphan_growth(self):
        self.lose_a_run()
        answers = self.follow("orphan-growth")
        self.assertIn("node-b", answers[1])
        self.assert_followed("orphan-growth")

    def test_section_snapshot_leadership(self):
        """The operators' writer leads, and the check of its age agrees with what the page says to look at."""
        examples, database = DOCS.parent / "examples/snapshot", self.folder / "snapshot.db"
        words = (PAWL, "exec", "--wait", "--ttl", "30s", "--no-journal", "snapshot/writer", "--", examples / "writer.sh",
                 database, self.folder / "snapshot.txt", "5", "pawl", "locks", "ls")
        writer = subprocess.Popen([str(one) for one in words], env=self.known(), stdin=subprocess.DEVNULL)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.terminate)
        age = until(lambda: (said := self.shell(f"{examples}/age.sh {database} 60")).returncode == 0 and said.stdout, 60)
        (shown,) = self.follow("snapshot-leadership")
        token = re.search(r"(?m)^token +(\d+)", shown)
        self.assertTrue(token, shown)
        self.assertIn(f"token {token[1]})", age)
        self.assertIsNone(writer.poll())
        self.assert_followed("snapshot-leadership")

    def test_section_fail_open(self):
        database = Postgres()
        self.addCleanup(database.stop)
        self.use_journal(database.url)
        cleanup = job("cleanup", "echo cleaned", schedule="@every 1s", ttl="3s", on_store_down="run")
        self.node("node-a", cleanup)
        until(lambda: self.shell("pawl runs ls --job cleanup --status completed --json").stdout.count("cleanup") > 0, 60)
        self.redis.process.terminate()
        self.redis.process.wait()
        audited = until(lambda: (said := self.shell("pawl audit ls --json").stdout) and "job.fail_open" in said and said)
        self.assertIn("cleanup", audited)
        until(lambda: any(one["fence_token"] == 0 and one["status"] == "completed" for one in json.loads(
            self.shell("pawl runs ls --job cleanup --json").stdout)["runs"]))
        answers = self.follow("fail-open")
        self.assertIn("job.fail_open", answers[0])
        self.assertRegex(answers[1], r"node-a +– +1")
        self.redis.begin()
        self.assert_followed("fail-open")
        self.wait_until_it_grants()

    def test_section_force_release_policy(self):
        self.node("node-a", HANGS)
        self.run_now("invoices")
        self.started("invoices")
        answers = self.follow("force-release-policy")
        token = re.search(r"(?m)^token +(\d+)$", answers[0]).group(1)
        self.assertIn(token, answers[1])
        self.assertRegex(answers[2], rf"lock\.release +job/invoices +token {token} .*INC-42")
        self.assert_followed("force-release-policy")

    def test_section_doctor_checks(self):
        self.follow("doctor-checks")
        self.assert_followed("doctor-checks")

    def test_section_lock_debt(self):
        self.node("node-a", HANGS)
        self.run_now("invoices")
        self.started("invoices")
        answers = self.follow("lock-debt")
        self.assertIn("'job/invoices'", answers[0])
        self.assert_followed("lock-debt")

    def test_section_a_drill(self):
        self.follow("a-drill")
        self.assert_followed("a-drill")


class Adoption(Pages):
    PAGE = "adoption.md"

    def test_the_whole_sprint(self):
        self.node("node-a", SENDS)
        self.over("invoices", "completed")
        for section in list(self.sections):
            self.follow(section)
            self.assert_followed(section)
        for commands in commands_of(self.PAGE).values():
            for command in commands:
                self.assertTrue(command.text.startswith("pawl "), command.text)


del Pages  # is no test by itself
