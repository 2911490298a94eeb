"""What the alerts and the dashboard speak of is there: every metric, with its labels, on a live agent.

Two agents on a real Redis are driven down every path that is counted; then each expression of deploy/prometheus and
deploy/grafana is held against what they say of themselves, and Prometheus itself reads them.
"""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from agents import Agent, job
from harness import Redis, free_port, pawl, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/pawl.rules.yml"
DASHBOARD = ROOT / "deploy/grafana/pawl.json"
# What the contract with users names, with its labels.
CONTRACT = {
    "pawl_lock_acquire_total": {"outcome": {"granted", "busy", "already_done", "error"}}, "pawl_lock_wait_seconds": {},
    "pawl_lock_hold_seconds": {}, "pawl_lock_renew_total": {"outcome": {"renewed", "lost", "unknown"}},
    "pawl_lock_lost_total": {"reason": {"taken", "validity_ended", "lifetime_ended"}}, "pawl_lock_forced_release_total": {},
    "pawl_locks_held": {}, "pawl_store_operation_seconds": {"operation": {"acquire", "renew", "release"}}, "pawl_store_up": {},
    "pawl_fail_open_total": {"job": {"stubborn"}},
    "pawl_runs_total": {"job": {"fine"}, "status": {"completed", "failed", "cancelled", "lost", "timed_out", "abandoned", "skipped"}},
    "pawl_run_duration_seconds": {"job": {"fine"}}, "pawl_run_start_delay_seconds": {"job": {"fine"}},
    "pawl_runs_active": {"job": {"fine"}}, "pawl_stale_runs": {}, "pawl_orphans_replayed_total": {},
    "pawl_fence_token": {"job": {"fine"}}, "pawl_fence_rejected_total": {"resource": {"accounts"}},
    "pawl_node_heartbeat_timestamp_seconds": {"node": {"a", "b"}}, "pawl_schedule_next_timestamp_seconds": {"job": {"fine"}},
    "pawl_build_info": {"version": set()},
}
HISTOGRAM = re.compile(r"_(bucket|sum|count)$")
SERIES = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


def jobs():
    """Every way in which a run can end."""
    return [
        job("fine", "true", schedule="@every 1s"),
        job("idle", "true"),
        job("bad", "exit 3"),
        job("again", "exit 1", retries={"max": 2, "backoff": "100ms"}),
        job("slow", "exec sleep 60", timeout="300ms", grace="100ms"),
        # It is there to be cancelled, however long that takes.
        job("long", "exec sleep 600", ttl="60s"),
        job("lazy", "exec sleep 4", schedule="@every 1s"),
        # Deaf: it lives until trust ends, and is not released before.
        job("steady", "trap '' TERM; exec sleep 600"),
        job("stubborn", "exec sleep 0.1", schedule="@every 1s", on_store_down="run"),
    ]


class Page:
    """A page of metrics: (name, labels) with a value."""

    def __init__(self, text):
        self.text, self.series, self.read_at = text, [], time.time()
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, labels, value = SERIES.match(line).groups()
                self.series.append((name, dict(LABEL.findall(labels or "")), float(value)))

    def value(self, name, **labels):
        """The sum of all that match."""
        return sum(value for one, has, value in self.series if one == name and labels.items() <= has.items())

    def has(self, name, **labels):
        return any(one == name and labels.items() <= has.items() for one, has, _ in self.series)


class Api:
    def __init__(self, agent, token):
        agent.says("listening on http://")
        # The last one: it may have been started again.
        self.url, self.token = re.findall(r"listening on (http://\S+)", agent.log())[-1], token

    def call(self, method, path, body=None):
        """The status, and the document or text of the answer."""
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.url + path, data=data, method=method)
        asked.add_header("Authorization", f"Bearer {self.token}")
        if data is not None:
            asked.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as rejected:
            with rejected:
                status, text = rejected.code, rejected.read().decode()
        return status, json.loads(text) if text.startswith("{") else text

    def page(self):
        status, text = self.call("GET", "/metrics")
        if status != 200:
            raise AssertionError(f"/metrics answers {status}: {text}")
        return Page(text)

    def counts(self, name, least=1, bound=40.0, **labels):
        """Waits until that much has been counted."""
        until(lambda: self.page().value(name, **labels) >= least, bound)


class World:
    """Two agents, and all that happens to them."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-metrics-"))
        self.redis = Redis()
        # Short enough for several renewals without an answer before trust ends.
        self.store = f"{self.redis.url}?timeout=500ms"
        self.patient = f"{self.redis.url}?timeout=20s"  # of those who ask, who need not find it down
        self.agents = []
        self.user = pawl("token", "new", "--name", "alice", "--role", "admin", "--json").json()

    def agent(self, name, *its_jobs):
        who = "\n".join(["[[user]]", *(f'{key} = "{self.user[key]}"' for key in ("name", "role", "token_hash"))])
        defaults = '[defaults]\nttl = "3s"\ngrace = "500ms"'
        one = Agent(self.folder, name, self.store, [defaults, who, *its_jobs], listen="127.0.0.1:0", max_concurrent_runs=50)
        self.agents.append(one)
        one.start()
        return one, Api(one, self.user["token"])

    def ask(self, *words):
        done = pawl("--store", self.patient, *words, "--json")
        if done.status != 0:
            raise AssertionError(f"{words}: {done.status} {done.err}")
        return done.json() if done.out else None

    def run(self, name):
        (run,) = self.ask("jobs", "run", name)["ids"]
        return run

    def drive(self):
        self.freeze_a_node()
        self.end_runs_in_every_way()
        self.use_leases_over_http()
        self.stop_the_store()

    def freeze_a_node(self):
        """Of its runs one is taken up by another node and one is lost, and so are their leases when it goes on."""
        # Neither ends before its node stands still; the orphan does once it is taken up.
        orphan = job("orphan", 'test "$PAWL_ATTEMPT" != 1 || exec sleep 600', schedule="@every 1s", occurrence="at-least-once", ttl="7s")
        self.second, self.api_b = self.agent("b", orphan, job("doomed", "exec sleep 600", ttl="7s"))
        self.run("doomed")
        for name in ("orphan", "doomed"):
            # Once the journal has the run: what has no row is no orphan.
            self.api_b.counts("pawl_runs_active", job=name)
            until(lambda which=name: self.ask("runs", "ls", "--job", which, "--status", "started")["runs"])
        self.second.signal(signal.SIGSTOP)
        self.first, self.api = self.agent("a", *jobs(), orphan)
        self.api.counts("pawl_orphans_replayed_total")
        self.api.counts("pawl_runs_resolved_total", job="doomed", status="lost")
        self.second.signal(signal.SIGCONT)
        self.api_b.counts("pawl_lock_lost_total", least=2)
        self.api_b.counts("pawl_runs_total", job="doomed", status="lost")

    def end_runs_in_every_way(self):
        for name in ("bad", "again", "slow"):
            self.run(name)
        held = self.run("long")
        self.api.counts("pawl_runs_active", job="long")
        self.ask("runs", "cancel", held)
        self.api.counts("pawl_runs_total", job="fine", status="completed", least=2)
        self.api.counts("pawl_runs_total", job="bad", status="failed")
        self.api.counts("pawl_run_retries_total", job="again", least=2)
        self.api.counts("pawl_runs_total", job="again", status="failed")
        self.api.counts("pawl_runs_total", job="slow", status="timed_out")
        self.api.counts("pawl_runs_total", job="long", status="cancelled")
        self.api.counts("pawl_runs_total", job="lazy", status="skipped")

    def expect(self, status, method, path, body=None):
        """Of a store that was in time: what 503 is the answer to is asked again."""
        got, answer = until(lambda: (said := self.api.call(method, path, body))[0] != 503 and said)
        if got != status:
            raise AssertionError(f"{method} {path} answers {got} instead of {status}: {answer}")
        return answer

    def use_leases_over_http(self):
        wanted = {"key": "imports/eu", "owner": "importer", "ttl_ms": 20_000}
        token = self.expect(201, "POST", "/api/v1/leases", {**wanted, "claim_id": "one"})["fence_token"]
        self.expect(409, "POST", "/api/v1/leases", {**wanted, "owner": "another"})
        self.expect(200, "PUT", f"/api/v1/leases/imports%2Feu/{token}", {"ttl_ms": 20_000})
        self.expect(204, "POST", "/api/v1/fences/accounts", {"fence_token": token})
        self.expect(409, "POST", "/api/v1/fences/accounts", {"fence_token": token - 1})
        self.expect(200, "POST", "/api/v1/locks/release", {"key": "imports/eu", "fence_token": token, "reason": "a test"})
        occurrence = {"key": "imports/once", "owner": "importer", "ttl_ms": 20_000, "occurrence": int(time.time() * 1000) - 1000}
        token = self.expect(201, "POST", "/api/v1/leases", {**occurrence, "claim_id": "two"})["fence_token"]
        # 409: the one before had no answer in time.
        until(lambda: self.api.call("DELETE", f"/api/v1/leases/imports%2Fonce/{token}")[0] in (204, 409))
        self.expect(410, "POST", "/api/v1/leases", occurrence)

    def stop_the_store(self):
        self.run("steady")
        self.api.counts("pawl_runs_active", job="steady")
        self.api.counts("pawl_lock_renew_total", outcome="renewed")
        self.redis.process.terminate()
        self.redis.process.wait()
        until(lambda: self.api.page().value("pawl_store_up") == 0)
        self.api.counts("pawl_fail_open_total", job="stubborn")
        self.api.counts("pawl_lock_renew_total", outcome="unknown")
        self.api.counts("pawl_lock_lost_total", reason="validity_ended")
        until(lambda: self.api.page().value("pawl_journal_up") == 0)
        self.down = self.api.page()
        self.redis.begin()
        until(lambda: self.api.page().value("pawl_store_up") == 1)
        until(lambda: self.api.page().value("pawl_journal_up") == 1)
        self.api.counts("pawl_runs_total", job="steady", status="lost")
        before = self.api.page().value("pawl_runs_total", job="fine", status="completed")
        self.api.counts("pawl_runs_total", job="fine", status="completed", least=before + 2)
        # What the store has forgotten each node tells it again.
        until(lambda: self.api.page().has("pawl_node_heartbeat_timestamp_seconds", node="b"))

    def end(self):
        for one in self.agents:
            one.kill()
        self.redis.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def promtool(*words, text=None):
    done = subprocess.run(["promtool", *words], input=text, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def rule_expressions():
    """As Prometheus reads them: it parses the file, and says what is in it."""
    found = re.findall(r"^ {6}- alert: (\w+)\n {8}expr: (?:>-\n)?((?:.*\n)+?) {8}(?:for|labels):", RULES.read_text(), re.MULTILINE)
    return {name: " ".join(expression.split()) for name, expression in found}


def panels():
    return [one for one in json.loads(DASHBOARD.read_text())["panels"] if one["type"] != "row"]


def dashboard_expressions():
    dashboard = json.loads(DASHBOARD.read_text())
    found = {f"{one['title']}/{target['refId']}": target["expr"] for one in panels() for target in one["targets"]}
    found.update({f"annotation {one['name']}": one["expr"] for one in dashboard["annotations"]["list"]})
    return found


def spoken_out(expression):
    """With a value for each variable of the dashboard."""
    for name, value in (("$__rate_interval", "5m"), ("$__range", "1h"), ("$node", ".*"), ("$job", ".*")):
        expression = expression.replace(name, value)
    return expression


SELECTOR = re.compile(r"\b((?:pawl|process)_[a-z_]+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'([a-zA-Z_]+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left)\s*\(([^)]*)\)")
TESTS = {"=": lambda has, wanted: has == wanted, "!=": lambda has, wanted: has != wanted,
         "=~": lambda has, wanted: re.fullmatch(wanted, has) is not None,
         "!~": lambda has, wanted: re.fullmatch(wanted, has) is None}


def faults_of(expression, series):
    """What it names that no series has. `instance` and `job` are also what Prometheus adds."""
    selectors = SELECTOR.findall(expression)
    if not selectors:
        yield "it names no metric"
    labels = {"instance", "job", "le"}
    for name, matchers in selectors:
        alike = [has for one, has in series if one == name]
        if not alike:
            yield f"there is no {name}"
        for label, how, wanted in MATCHER.findall(matchers):
            if label != "instance":
                alike = [has for has in alike if label in has and TESTS[how](has[label], wanted)]
        if not alike:
            yield f"there is no {name}{{{matchers}}}"
        labels.update(*alike)
    for group in GROUPING.findall(expression):
        for label in filter(None, (one.strip() for one in group.split(","))):
            if label not in labels:
                yield f"no metric in it has the label {label}"


class MetricsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.end)
        cls.world.drive()
        cls.page, cls.page_b = cls.world.api.page(), cls.world.api_b.page()
        cls.series = [(name, labels) for name, labels, _ in cls.page.series + cls.page_b.series]

    def test_every_name_and_label_of_the_contract_is_there(self):
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.page.text, re.MULTILINE))
        for name, labels in CONTRACT.items():
            with self.subTest(name):
                histogram = name.endswith("_seconds") and "timestamp" not in name
                self.assertEqual(types[name], "histogram" if histogram else "counter" if name.endswith("_total") else "gauge")
                shown = name + "_count" if histogram else name
                for label, values in labels.items():
                    for value in values:
                        self.assertTrue(self.page.has(shown, **{label: value}), f"{label}={value}")
                self.assertTrue(self.page.has(shown))

    def test_what_happened_was_counted(self):
        value = self.page.value
        for outcome in ("granted", "busy", "already_done", "error"):
            self.assertGreater(value("pawl_lock_acquire_total", outcome=outcome), 0, outcome)
        self.assertEqual(value("pawl_fence_rejected_total", resource="accounts"), 1)
        self.assertEqual(value("pawl_lock_forced_release_total"), 1)
        self.assertGreater(value("pawl_lock_hold_seconds_count"), 5)
        self.assertGreater(value("pawl_store_failures_total"), 0)
        self.assertGreater(value("pawl_http_requests_total", code="409"), 1)
        # Tokens rise, and are told to the last digit.
        token = value("pawl_fence_token", job="fine")
        self.assertLess(token, 2**53)
        self.assertGreater(token, 1.6e15)
        # Nothing that ended is active, and what fired is due again soon.
        self.assertEqual(value("pawl_runs_active", job="bad"), 0)
        self.assertLess(abs(value("pawl_schedule_next_timestamp_seconds", job="fine") - self.page.read_at), 30)
        self.assertLess(abs(value("pawl_node_heartbeat_timestamp_seconds", node="a") - self.page.read_at), 30)
        self.assertEqual(self.world.down.value("pawl_store_up"), 0)

    def test_a_job_that_has_never_run_is_counted_from_zero(self):
        for status in CONTRACT["pawl_runs_total"]["status"]:
            self.assertTrue(self.page.has("pawl_runs_total", job="idle", status=status), status)
        self.assertEqual(self.page.value("pawl_runs_total", job="idle"), 0)

    def test_promtool_accepts_the_page(self):
        self.assertEqual(promtool("check", "metrics", text=self.page.text), (0, ""))

    def test_promtool_accepts_rules_their_tests_and_the_configuration(self):
        for words in (("check", "rules", str(RULES)), ("test", "rules", str(RULES.with_name("pawl.rules.test.yml"))),
                      ("check", "config", str(RULES.with_name("prometheus.yml")))):
            status, said = promtool(*words)
            self.assertEqual(status, 0, said)

    def test_every_alert_says_how_bad_it_is_and_where_to_read_on(self):
        text, tests = RULES.read_text(), RULES.with_name("pawl.rules.test.yml").read_text()
        names = re.findall(r"- alert: (\w+)", text)
        self.assertEqual(set(rule_expressions()), set(names))
        for name, rule in zip(names, re.split(r"- alert: \w+", text)[1:]):
            with self.subTest(name):
                self.assertRegex(rule, r"labels: \{severity: (critical|warning|info)\}")
                self.assertRegex(rule, r"summary: .+\n +description: .+\n +runbook_url: docs/runbook\.md#[a-z-]+\n")
                # One test in which it fires, and one at least in which it does not.
                self.assertEqual(len(re.findall(rf"alertname: {name}\n", tests)), 1)
                self.assertGreaterEqual(len(re.findall(rf"alertname: {name}, eval_time: \w+, exp_alerts: \[\]", tests)), 2)

    def test_every_alert_leads_to_a_section_of_the_runbook(self):
        text = (ROOT / "docs/runbook.md").read_text()
        sections = {re.sub(r"[^a-z0-9 -]", "", one.lower()).replace(" ", "-") for one in re.findall(r"^##+ (.+)$", text, re.MULTILINE)}
        sections.update(re.findall(r'^<a id="([\w-]+)"></a>$', text, re.MULTILINE))
        named = set(re.findall(r"runbook_url: docs/runbook\.md#(\S+)", RULES.read_text()))
        self.assertTrue(named)
        self.assertEqual(named - sections, set())

    def test_the_page_of_the_documentation_names_what_is_there_and_no_more(self):
        told = set(re.findall(r"^# TYPE (\S+)", self.page.text, re.MULTILINE))
        text = (ROOT / "docs/metrics.md").read_text()
        self.assertEqual(set(re.findall(r"`((?:pawl|process)_[a-z_]+)`", text)), told)
        named = set(re.findall(r"`(Pawl[A-Za-z]+)`", text))
        self.assertEqual(named, set(rule_expressions()))

    def test_the_page_of_the_documentation_names_each_operation_of_the_store(self):
        row = next(line for line in (ROOT / "docs/metrics.md").read_text().splitlines() if line.startswith("| `pawl_store_operation_seconds`"))
        told = set(re.findall(r"`(\w+)`", row.split("|")[3])) - {"operation"}
        self.assertEqual(told, {has["operation"] for name, has, _ in self.page.series if name == "pawl_store_operation_seconds_count"})

    def test_rules_and_dashboard_name_only_what_is_there(self):
        for what, expression in {**rule_expressions(), **dashboard_expressions()}.items():
            with self.subTest(what):
                self.assertEqual(list(faults_of(spoken_out(expression), self.series)), [], expression)

    def test_a_name_or_a_label_that_is_not_there_is_found(self):
        for wrong in ("rate(pawl_lock_aquire_total[5m])", 'pawl_lock_acquire_total{outcome="won"}', 'pawl_runs_total{jobs=~".*"}',
                      "sum by (nodes) (pawl_locks_held)", "vector(0)", 'pawl_lock_lost_total{reason!~"taken|validity_ended|lifetime_ended|closed"}'):
            self.assertNotEqual(list(faults_of(wrong, self.series)), [], wrong)

    def test_the_legends_and_texts_name_labels_that_are_there(self):
        labels = {"instance"}.union(*(has for _, has in self.series))
        for text in (DASHBOARD.read_text(), RULES.read_text()):
            named = set(re.findall(r"\{\{ ?(?:\$labels\.)?([a-z_]+) ?\}\}", text))
            self.assertEqual(named - labels, set())

    def test_the_dashboard_is_whole(self):
        dashboard = json.loads(DASHBOARD.read_text())
        self.assertGreaterEqual(dashboard["schemaVersion"], 38)
        variables = {one["name"]: one for one in dashboard["templating"]["list"]}
        self.assertEqual(list(variables), ["datasource", "node", "job"])
        self.assertEqual(variables["datasource"]["type"], "datasource")
        everything = dashboard["panels"]
        self.assertEqual(len({one["id"] for one in everything}), len(everything))
        taken = set()
        for one in everything:
            place = one["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, one["title"])
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, one["title"])
            taken |= cells
            if one["type"] != "row":
                sources = {one["datasource"]["uid"], *(target["datasource"]["uid"] for target in one["targets"])}
                self.assertEqual(sources, {"${datasource}"}, one["title"])
        rows = [one["title"] for one in everything if one["type"] == "row"]
        for row in ("Overview", "Contention", "Renewals and losses", "Runs", "Schedules", "Store", "Fencing"):
            self.assertIn(row, rows)

    def test_prometheus_reads_the_agents_and_its_rules(self):
        """The example of a configuration, with our agents for its targets and a second for a quarter of a minute."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-prometheus-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        shutil.copy(RULES, folder)
        targets = ", ".join(f'"{api.url.removeprefix("http://")}"' for api in (self.world.api, self.world.api_b))
        text = RULES.with_name("prometheus.yml").read_text().replace("15s", "1s")
        text = re.sub(r"targets: \[.*\]", f"targets: [{targets}]", text)
        (folder / "prometheus.yml").write_text(text)
        port = free_port()
        server = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

        def ask(path, **query):
            url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
            try:
                with urllib.request.urlopen(url, timeout=10) as answer:
                    return json.load(answer)["data"]
            except urllib.error.HTTPError as rejected:
                with rejected:
                    # 503: it is still starting.
                    self.assertEqual(rejected.code, 503, f"{query}: {rejected.read().decode()}")
            except OSError:
                return None

        def found(expression):
            seen = ask("query", query=expression)
            return seen and seen["result"]

        def healthy():
            seen = ask("rules")
            rules = [rule for group in seen["groups"] for rule in group["rules"]] if seen else []
            self.assertNotIn("err", {rule["health"] for rule in rules})
            return rules if rules and all(rule["health"] == "ok" for rule in rules) else None

        # Under pawl's own label `job`, from both.
        until(lambda: found('count(up{job="pawl"} == 1) == 2'), 60)
        until(lambda: found('pawl_runs_total{job="fine", status="completed"} > 0'), 60)
        rules = until(healthy, 60)
        self.assertEqual({rule["name"] for rule in rules}, set(rule_expressions()))
        for what, expression in dashboard_expressions().items():
            with self.subTest(what):
                self.assertIsNotNone(found(spoken_out(expression)))


if __name__ == "__main__":
    unittest.main()
