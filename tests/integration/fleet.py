"""Agents by the handful, on one store, and what they leave behind."""
import os
import pathlib
import signal
import subprocess

from harness import PAWL, environment, pawl, until

SCRIPT = """\
echo "begin $PAWL_KEY $PAWL_OCCURRENCE $PAWL_FENCE_TOKEN $PAWL_NODE $PAWL_RUN_ID $PAWL_ATTEMPT" >> "$EVIDENCE"
read -r pause < /proc/uptime
echo "end $PAWL_KEY $PAWL_OCCURRENCE $PAWL_FENCE_TOKEN $PAWL_NODE $PAWL_RUN_ID $PAWL_ATTEMPT" >> "$EVIDENCE"
"""
# The faked clock is the node's wall clock alone: leases are counted on one that no clock setting moves.
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


class Fleet:
    def __init__(self, folder, store, jobs, ttl="6s", extra=""):
        self.folder, self.store = pathlib.Path(folder), store
        self.jobs, self.ttl, self.extra = jobs, ttl, extra
        self.script = SCRIPT
        self.evidence = self.folder / "evidence"
        self.evidence.touch()
        self.agents = {}
        self.hurt = set()

    def configuration(self, name, version):
        lines = [f'store = "{self.store}"', "[agent]", f'name = "{name}"', 'listen = "127.0.0.1:0"', "max_concurrent_runs = 100",
                 'shutdown_grace = "10s"', "[defaults]", f'ttl = "{self.ttl}"', 'overlap = "queue"', 'grace = "1s"',
                 f'env = {{ EVIDENCE = "{self.evidence}", VERSION = "{version}" }}', self.extra]
        for job, mode in self.jobs.items():
            lines += ["[[job]]", f'name = "{job}"', 'schedule = "@every 1s"', f'occurrence = "{mode}"',
                      f"command = [\"/bin/sh\", \"-c\", '''{self.script}''']"]
        path = self.folder / f"{name}.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def start(self, name, version="1.0", ahead=None):
        variables = {}
        if ahead is not None:
            variables = {"LD_PRELOAD": FAKETIME, "FAKETIME": f"{ahead:+d}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        log = open(self.folder / f"{name}.log", "w+")
        process = subprocess.Popen([PAWL, "agent", "--config", str(self.configuration(name, version))],
                                   env=environment(**variables), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        self.agents[name] = process
        until(lambda: "node ready" in self.log(name) or process.poll() is not None, 60)
        if process.poll() is not None:
            raise AssertionError(f"agent {name} did not start: {self.log(name)}")
        return process

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def stop(self, name):
        """In order: it has to end by itself, with status 0."""
        process = self.agents.pop(name)
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=60)
        if status != 0:
            raise AssertionError(f"agent {name} ended with {status}: {self.log(name)[-2000:]}")

    def kill(self, name):
        self.hurt.add(name)
        process = self.agents.pop(name)
        process.kill()
        process.wait()

    def freeze(self, name):
        self.hurt.add(name)
        os.kill(self.agents[name].pid, signal.SIGSTOP)

    def thaw(self, name):
        os.kill(self.agents[name].pid, signal.SIGCONT)

    def end(self):
        for process in self.agents.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self.agents.clear()

    def runs(self):
        # Thousands of rows, of a store that all of them use.
        joint = "&" if "?" in self.store else "?"
        outcome = pawl("--store", f"{self.store}{joint}timeout=20s", "runs", "ls", "--json", "--limit", "200000", timeout=120)
        if outcome.status != 0:
            raise AssertionError(outcome.err)
        return outcome.json()["runs"]
