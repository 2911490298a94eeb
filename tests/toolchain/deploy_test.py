#!/usr/bin/env python3
"""What deploy/ says to Docker, Compose and Kubernetes fits the command, as far as that shows without them.

Configurations are checked by the command itself, commands are run against stores of the test, Redis is
started with the options that Compose gives it; the rest is held against each other and against the API's
document. Usage: deploy_test.py SOURCE PAWL
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

from machine import until

SOURCE = pathlib.Path(sys.argv[1]).resolve()
PAWL = str(pathlib.Path(sys.argv[2]).resolve())
os.environ.setdefault("PAWL_BINARY", PAWL)
sys.path.insert(0, str(SOURCE / "tests/integration"))
from harness import free_port  # noqa: E402: it is found by the line above

DEPLOY = SOURCE / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
ROUTES = json.loads((SOURCE / "src/api/openapi.json").read_text())["paths"]
# What a cluster that enforces the restricted profile asks of every pod, and every container.
RESTRICTED = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
CONFINED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
RIGHTS = "rbac.authorization.k8s.io/v1"
KINDS = {"ServiceAccount": "v1", "Role": RIGHTS, "RoleBinding": RIGHTS, "ConfigMap": "v1", "Service": "v1", "Deployment": "apps/v1", "CronJob": "batch/v1",
         "PodDisruptionBudget": "policy/v1", "NetworkPolicy": "networking.k8s.io/v1", "ServiceMonitor": "monitoring.coreos.com/v1"}


def seconds(text):
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(int(count) * units[unit] for count, unit in re.findall(r"(\d+)(ms|s|m|h)", text))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-deploy-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {"PATH": f"{self.folder}:/usr/sbin:/usr/bin:/sbin:/bin", "PAWL_STORE": f"sqlite:{self.folder}/pawl.db"}
        (self.folder / "pawl").symlink_to(PAWL)

    def call(self, *words, status=0, **variables):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60,
                              env={**self.environment, **variables})
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def check_configuration(self, text, secrets):
        """As the agent would read it where it is mounted."""
        for secret in secrets:
            (self.folder / pathlib.Path(secret).name).write_text("secret\n")
            self.assertIn(secret, text)
            text = text.replace(secret, str(self.folder / pathlib.Path(secret).name))
        file = self.folder / "checked.toml"
        file.write_text(text)
        done = subprocess.run([PAWL, "agent", "--config", file, "--check"], capture_output=True, text=True,
                              env={"PATH": self.environment["PATH"]})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("secret\n", done.stdout + done.stderr)
        file.write_text(text.replace("listen", "lisen"))
        self.assertEqual(subprocess.run([PAWL, "agent", "--config", file, "--check"], capture_output=True,
                                        env={"PATH": self.environment["PATH"]}).returncode, 78)

    def assert_drains_in_time(self, text, stop_timeout):
        grace = re.search(r'shutdown_grace = "(\w+)"', text).group(1)
        page = (SOURCE / "docs/configuration.md").read_text()
        of_a_job = re.search(r"^\| `grace` \| duration \| `\"(\w+)\"`", page, re.MULTILINE).group(1)
        self.assertGreater(stop_timeout, seconds(grace) + seconds(of_a_job))

    def assert_is_served(self, path):
        self.assertIn("get", ROUTES.get(path, {}), f"the API has no GET {path}")


class Docker(Case):
    FILE = (DEPLOY / "docker/Dockerfile").read_text()

    def instructions(self, name):
        joined = re.sub(r"\\\n", " ", "\n".join(line for line in self.FILE.splitlines() if not line.startswith("#")))
        return [line.split(None, 1)[1] for line in joined.splitlines() if line.startswith(name + " ")]

    def packages(self):
        words = " ".join(re.findall(r"apt-get install -y --no-install-recommends([^&]*)", " ".join(self.instructions("RUN")))).split()
        return [word for word in words if not word.startswith("/")]

    def test_every_package_exists(self):
        named = self.packages()
        self.assertGreater(len(named), 20)
        known = self.call("apt-cache", "show", "--no-all-versions", *named)
        self.assertEqual(set(named) - set(re.findall(r"(?m)^Package: (\S+)$", known)), set())

    def test_it_builds_with_the_libraries_that_we_build_with(self):
        of_setup = set(re.findall(r"[a-z0-9.+-]+", (SOURCE / "tools/setup").read_text()))
        libraries = {name for name in self.packages() if name.endswith("-dev")}
        self.assertEqual(libraries - of_setup, set())
        of_the_package = set(re.findall(r"[a-z0-9.+-]+-dev\b", (SOURCE / "cmake/PawlPackage.cmake").read_text())) - {"libpawl-dev"}
        self.assertEqual(of_the_package - libraries, set(), "what libpawl-dev depends on")

    def test_it_builds_with_options_that_exist(self):
        build = next(line for line in self.instructions("RUN") if line.startswith("cmake"))
        options = (SOURCE / "CMakeLists.txt").read_text() + "CMAKE_BUILD_TYPE"
        for option in re.findall(r"-D(\w+)=", build):
            self.assertIn(option, options)
        target = re.search(r"--target (\w+)", build).group(1)
        self.assertIn(f"add_custom_target({target} ", (SOURCE / "cmake/PawlPackage.cmake").read_text())

    def test_what_the_build_reads_is_not_left_outside(self):
        lines = [line for line in (SOURCE / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
        self.assertEqual(lines[0], "*")
        kept = {line[1:] for line in lines if line.startswith("!")}
        for path in kept:
            self.assertTrue((SOURCE / path).exists(), path)
        read = set(re.findall(r"\$\{PROJECT_SOURCE_DIR\}/([\w.]+(?:/\w+)?)", "".join(
            (SOURCE / name).read_text() for name in ("cmake/PawlInstall.cmake", "cmake/PawlPackage.cmake", "CMakeLists.txt"))))
        for path in read | {"CMakeLists.txt", "src", "apps/pawl", "deploy/debian", "deploy/systemd", "CHANGELOG.md"}:
            self.assertTrue(any(path == one or path.startswith(one + "/") for one in kept), f"{path} is not in the image's context")
        self.assertNotIn(".git", kept)

    def test_it_runs_as_the_user_that_the_manifests_name(self):
        (user,) = self.instructions("USER")
        number = int(user.split(":")[0])
        self.assertIn(f"--uid {number} ", self.FILE)
        for pod in pods():
            self.assertEqual(pod["securityContext"]["runAsUser"], number)

    def test_a_container_without_an_agent_is_not_unhealthy(self):
        self.assertEqual(self.instructions("HEALTHCHECK"), [])

    def test_process_number_one_is_one_that_reaps(self):
        (entry,) = self.instructions("ENTRYPOINT")
        self.assertEqual(json.loads(entry)[0], "/usr/bin/tini")
        self.assertIn("tini", self.packages())
        (command,) = self.instructions("CMD")
        self.call(PAWL, json.loads(command)[0], "--help")


class Compose(Case):
    FILE = yaml.safe_load((DEPLOY / "compose/compose.yml").read_text())
    TEXT = (DEPLOY / "compose/pawl.toml").read_text()

    def agents(self):
        return {name: one for name, one in self.FILE["services"].items() if one["image"] == "pawl"}

    def test_the_agents_take_their_configuration(self):
        self.assertEqual(len(self.agents()), 3)
        self.check_configuration(self.TEXT, ["/run/secrets/redis_password", "/run/secrets/postgres_password"])
        for name, agent in self.agents().items():
            self.assertEqual(agent["hostname"], name)
            self.assertEqual(agent["configs"], [{"source": "pawl", "target": "/etc/pawl/pawl.toml"}])
            self.assert_drains_in_time(self.TEXT, seconds(agent["stop_grace_period"]))
            self.assertTrue((DEPLOY / "compose" / agent["build"]["context"] / agent["build"]["dockerfile"]).exists())

    def test_the_agents_say_whether_they_are_healthy(self):
        (check,) = {json.dumps(one["healthcheck"]["test"]) for one in self.agents().values()}
        kind, *words = json.loads(check)
        self.assertEqual(kind, "CMD")
        self.assert_is_served("/healthz")
        self.assertIn("GET /healthz ", words[-1])
        port = free_port()
        words[-1] = words[-1].replace("/7295", f"/{port}")
        self.call(*words, status=1)
        config = self.folder / "agent.toml"
        config.write_text(f'store = "sqlite:{self.folder}/pawl.db"\n[agent]\nname = "one"\nlisten = "127.0.0.1:{port}"\n')
        agent = subprocess.Popen([PAWL, "agent", "--config", config], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 env={"PATH": self.environment["PATH"]})
        try:
            until(lambda: agent.poll() is not None or subprocess.run(words, capture_output=True).returncode == 0)
            self.assertIsNone(agent.poll())
            words[-1] = words[-1].replace("/healthz", "/healthy")
            self.call(*words, status=1)
        finally:
            agent.terminate()
            self.assertEqual(agent.wait(60), 0)

    def test_what_is_named_is_there(self):
        services = self.FILE["services"]
        for name, service in services.items():
            for other, wait in service.get("depends_on", {}).items():
                self.assertIn("healthcheck" if wait["condition"] == "service_healthy" else "image", services[other])
            self.assertLessEqual(set(service.get("secrets", [])), set(self.FILE["secrets"]), name)
            for volume in service.get("volumes", []):
                self.assertIn(volume.split(":")[0], self.FILE["volumes"])
        for host in re.findall(r"@(\w+)/|redis://(\w+):", self.TEXT):
            self.assertIn(next(filter(None, host)), services)
        for secret in self.FILE["secrets"].values():
            ignored = subprocess.run(["git", "check-ignore", "-q", DEPLOY / "compose" / secret["file"]], cwd=SOURCE)
            self.assertEqual(ignored.returncode, 0, f"{secret['file']} might be committed")

    def test_no_secret_is_for_all_to_read(self):
        text = (DEPLOY / "compose/compose.yml").read_text()
        self.assertNotRegex(text, r"chmod [0-7]*[4-7]\b")
        group = re.search(r"sudo chgrp (\d+) ", text).group(1)
        self.assertIn(f"--gid {group}", (DEPLOY / "docker/Dockerfile").read_text())
        for name, service in self.FILE["services"].items():
            if service.get("secrets") and service["image"] != "pawl":
                self.assertEqual((service["group_add"], "user" in service), ([group], True), name)

    def test_ports_are_this_machines_alone_and_lead_to_the_agent(self):
        port = re.search(r'listen = "[\d.]+:(\d+)"', self.TEXT).group(1)
        outside = [agent["ports"][0].split(":") for agent in self.agents().values()]
        self.assertEqual({(host, inside) for host, _, inside in outside}, {("127.0.0.1", port)})
        self.assertEqual(len({published for _, published, _ in outside}), 3)

    def test_the_doctor_finds_nothing_to_say_about_redis_as_it_is_started(self):
        service = self.FILE["services"]["redis"]
        password = self.folder / "redis_password"
        password.write_text("a-secret")
        port = free_port()
        script = service["command"][-1].replace("$$", "$").replace("/run/secrets/redis_password", str(password))
        script = script.replace("redis-server -", f"redis-server - --port {port} --bind 127.0.0.1 --dir {self.folder}", 1)
        server = subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL)
        try:
            health = service["healthcheck"]["test"][-1].replace("$$", "$").replace("/run/secrets/redis_password", str(password))
            health = health.replace("redis-cli", f"redis-cli -p {port}")
            until(lambda: subprocess.run(["sh", "-c", health], capture_output=True).returncode == 0)
            arguments = pathlib.Path(f"/proc/{server.pid}/cmdline").read_bytes()
            self.assertIn(b"redis-server", arguments)
            self.assertNotIn(b"a-secret", arguments)
            url = f"redis://127.0.0.1:{port}/0?password_file={password}"
            found = json.loads(subprocess.run([PAWL, "doctor", "--store", url, "--json", "--for", "100ms"], capture_output=True,
                                              text=True).stdout)
            levels = {one["check"]: one["level"] for one in found["checks"]}
            for check in ("reachability", "persistence", "eviction"):
                self.assertEqual(levels[check], "OK", found)
            password.write_text("another")
            self.assertNotEqual(subprocess.run(["sh", "-c", health], capture_output=True).returncode, 0)
        finally:
            server.kill()
            server.wait()


def documents():
    return [one for file in MANIFESTS for one in yaml.safe_load_all(file.read_text())]


def template(document):
    spec = document["spec"]
    return spec["jobTemplate"]["spec"]["template"] if document["kind"] == "CronJob" else spec["template"]


def workloads():
    return [one for one in documents() if one["kind"] in ("Deployment", "CronJob")]


def pods():
    return [template(one)["spec"] for one in workloads()]


class Kubernetes(Case):
    def one(self, kind, name="pawl"):
        (found,) = [one for one in documents() if one["kind"] == kind and one["metadata"]["name"] == name]
        return found

    def test_every_document_is_of_a_kind_and_a_version_that_exists(self):
        self.assertGreater(len(documents()), 7)
        for one in documents():
            self.assertEqual(one["apiVersion"], KINDS[one["kind"]])
            self.assertRegex(one["metadata"]["name"], r"^[a-z0-9][a-z0-9-]*$")
            self.assertEqual(one["metadata"]["labels"]["app.kubernetes.io/name"], one["metadata"]["name"])

    def test_the_agents_take_their_configuration(self):
        text = self.one("ConfigMap")["data"]["pawl.toml"]
        self.check_configuration(text, ["/run/secrets/pawl/redis-password", "/run/secrets/pawl/postgres-password"])
        pod = template(self.one("Deployment"))["spec"]
        self.assert_drains_in_time(text, pod["terminationGracePeriodSeconds"])
        self.assertNotIn("lifecycle", pod["containers"][0])

    def test_labels_meet_their_selectors(self):
        labels = template(self.one("Deployment"))["metadata"]["labels"]
        for one in workloads():
            if one["kind"] == "Deployment":
                self.assertEqual(one["spec"]["selector"]["matchLabels"], template(one)["metadata"]["labels"])
        self.assertEqual(self.one("Service")["spec"]["selector"], labels)
        self.assertEqual(self.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"], labels)
        self.assertEqual(self.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"], labels)
        self.assertEqual(self.one("ServiceMonitor")["spec"]["selector"]["matchLabels"], self.one("Service")["metadata"]["labels"])

    def test_probes_ports_and_scrapes_lead_to_what_the_agent_serves(self):
        container = template(self.one("Deployment"))["spec"]["containers"][0]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        listen = re.search(r'listen = "0\.0\.0\.0:(\d+)"', self.one("ConfigMap")["data"]["pawl.toml"]).group(1)
        self.assertEqual(ports, {"http": int(listen)})
        for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            self.assertEqual(container[probe]["httpGet"], {"path": path, "port": "http"})
            self.assert_is_served(path)
        (port,) = self.one("Service")["spec"]["ports"]
        self.assertEqual((port["targetPort"], port["port"]), ("http", int(listen)))
        (scrape,) = self.one("ServiceMonitor")["spec"]["endpoints"]
        self.assertEqual((scrape["port"], scrape["honorLabels"]), (port["name"], True))
        self.assert_is_served(scrape["path"])
        annotations = template(self.one("Deployment"))["metadata"]["annotations"]
        self.assertEqual((annotations["prometheus.io/port"], annotations["prometheus.io/path"]), (listen, scrape["path"]))
        (rule,) = self.one("NetworkPolicy")["spec"]["ingress"]
        self.assertEqual(rule["ports"], [{"protocol": "TCP", "port": "http"}])

    def test_the_operator_takes_the_rules_as_the_manifest_says(self):
        head = (DEPLOY / "kubernetes/monitoring.yaml").read_text().split("apiVersion: monitoring.coreos.com/v1\nkind: Serv")[0]
        script = "\n".join(line[4:] for line in head.splitlines() if line.startswith("#   "))
        self.assertTrue(script.endswith("| kubectl apply -f -"), script)
        done = subprocess.run(["sh", "-c", script.replace("kubectl apply -f -", "cat")], cwd=SOURCE, capture_output=True, text=True)
        made = yaml.safe_load(done.stdout)
        self.assertEqual((made["apiVersion"], made["kind"], made["metadata"]), (KINDS["ServiceMonitor"], "PrometheusRule", {"name": "pawl"}))
        self.assertEqual(made["spec"], yaml.safe_load((DEPLOY / "prometheus/pawl.rules.yml").read_text()))

    def test_a_rollout_and_a_drained_node_leave_agents_at_work(self):
        spec = self.one("Deployment")["spec"]
        least = self.one("PodDisruptionBudget")["spec"]["minAvailable"]
        self.assertLess(least, spec["replicas"])
        self.assertLess(spec["strategy"]["rollingUpdate"]["maxUnavailable"], spec["replicas"])
        self.assertGreaterEqual(least, 1)

    def test_pods_keep_to_the_restricted_profile_and_say_what_they_need(self):
        for pod in pods():
            self.assertEqual(RESTRICTED, {name: pod["securityContext"].get(name) for name in RESTRICTED})
            # Those alone whose store is the cluster itself.
            self.assertIs(pod["automountServiceAccountToken"], "kubernetes:" in json.dumps(pod))
            for container in pod["containers"]:
                self.assertEqual(container["securityContext"], CONFINED)
                self.assertEqual(set(container["resources"]["requests"]), {"cpu", "memory"})
                self.assertIn("memory", container["resources"]["limits"])

    def test_no_account_of_one_manifest_gets_the_rights_of_another(self):
        objects = [(one["kind"], one["metadata"]["name"]) for one in documents()]
        self.assertEqual(sorted(set(objects)), sorted(objects))
        bound = {one["name"] for document in documents() if document["kind"] == "RoleBinding" for one in document["subjects"]}
        for pod in pods():
            self.assertIs(pod.get("serviceAccountName") in bound, pod["automountServiceAccountToken"])

    def test_the_image_has_the_version_of_this_tree(self):
        version = re.search(r'view version = "(.+)"', (SOURCE / "include/pawl/version.hpp").read_text()).group(1)
        for pod in pods():
            self.assertEqual([container["image"] for container in pod["containers"]], [f"pawl:{version}"])

    def test_what_is_mounted_is_there(self):
        maps = {one["metadata"]["name"] for one in documents() if one["kind"] == "ConfigMap"}
        how_to = (DEPLOY / "kubernetes/agent.yaml").read_text()
        for pod in pods():
            volumes = {volume["name"]: volume for volume in pod["volumes"]}
            for container in pod["containers"]:
                self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, set(volumes))
            for volume in volumes.values():
                if "configMap" in volume:
                    self.assertIn(volume["configMap"]["name"], maps)
                if "secret" in volume:
                    self.assertIn(f"create secret generic {volume['secret']['secretName']} ", how_to)

    def test_the_singleton_leads_one_at_a_time(self):
        container = template(self.one("Deployment", "importer"))["spec"]["containers"][0]
        words = [word.replace("$$", "$") for word in container["args"]]
        first = subprocess.Popen([PAWL, *words], stdout=subprocess.PIPE, env=self.environment)
        try:
            self.assertRegex(first.stdout.readline().decode(), r"^leading under token \d+\n$")
            self.call(PAWL, *[word for word in words if word != "--wait"], status=75)
        finally:
            first.terminate()
            first.communicate(timeout=60)
        self.assertEqual(first.returncode, 128 + 15)

    def test_a_cronjob_that_is_started_twice_runs_once(self):
        container = template(self.one("CronJob", "nightly-report"))["spec"]["containers"][0]
        self.assertEqual(container["command"], ["/usr/bin/tini", "--", "/bin/sh", "-c"])
        (script,) = container["args"]
        minutes = int(time.time()) // 60
        for job, printed in ((minutes - 1, 1), (minutes - 1, 0), (minutes, 1)):
            said = self.call("/bin/sh", "-c", script, JOB_NAME=f"nightly-report-{job}")
            self.assertEqual(said.count("the report, under token "), printed, job)

    def test_the_next_pod_runs_what_a_dead_one_had_begun(self):
        """Goal: no occurrence is lost. Method: a pod is killed at its work, and the next starts while the lease still runs."""
        for name in ("nightly-report", "nightly-export"):
            with self.subTest(name):
                (script,) = template(self.one("CronJob", name))["spec"]["containers"][0]["args"]
                script = script.replace("--ttl=1m", "--ttl=6s")
                self.assertIn("--ttl=6s", script)
                job = f"{name}-{int(time.time()) // 60}"
                begun = re.sub(r"'echo .*'", "'echo begun; exec sleep 60'", script)
                first = subprocess.Popen(["/bin/sh", "-c", begun], stdout=subprocess.PIPE, text=True, env={**self.environment, "JOB_NAME": job})
                try:
                    self.assertEqual(first.stdout.readline(), "begun\n")
                finally:
                    first.kill()
                    first.communicate(timeout=60)
                self.assertIn(", under token ", self.call("/bin/sh", "-c", script, JOB_NAME=job))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
