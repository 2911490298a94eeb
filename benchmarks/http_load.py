#!/usr/bin/env python3
"""Measures what a busy API does to the runs of its agent: how late they begin without load, and with it.

    benchmarks/http_load.py build/bin/pawl build/benchmarks/http_load [STORE…]      stores: sqlite redis

One agent with twenty jobs that fire every second; 200 viewers of the live page and 2,000 requests a second (half of them leases, half of
them what pages read); then 10,000 connections that say nothing. Prints rows for docs/performance.md. The load shares the two cores.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

os.environ["PAWL_BINARY"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "integration"))

import proof  # noqa: E402
from agents import Agent, job  # noqa: E402
from harness import Redis, pawl  # noqa: E402
from measuring import let_pass, percentile  # noqa: E402

LOAD = str(pathlib.Path(sys.argv[2]).resolve())
SECONDS = 20
JOBS = 20


def load(port, token, viewers, rate, idle):
    """Runs the generator beside the agent; what it saw."""
    done = subprocess.run(["nice", "-n", "5", LOAD, "127.0.0.1", str(port), token, str(viewers), str(rate), str(SECONDS), str(idle)],
                          capture_output=True, text=True, timeout=SECONDS + 120, check=True)
    return json.loads(done.stdout)


def lateness(store, begin, end):
    listed = pawl("--store", store, "runs", "ls", "--json", "--limit", "200000", timeout=120)
    rows = [row for row in listed.json()["runs"]
            if row["occurrence"] and row["job"].startswith("job-") and begin + 1 <= proof.seconds(row["occurrence"]) <= end - 1]
    return [(proof.seconds(row["started_at"]) - proof.seconds(row["occurrence"])) * 1000 for row in rows]


def measure(name, store, folder):
    token = pawl("token", "new", "--name", "load", "--role", "operator", "--json").json()
    user = f'[[user]]\nname = "load"\nrole = "operator"\ntoken_hash = "{token["token_hash"]}"\n'
    jobs = [job(f"job-{i:02}", "exit 0", schedule="@every 1s", ttl="5s") for i in range(JOBS)]
    node = Agent(folder, "node", store, [user, *jobs], listen="127.0.0.1:0", max_concurrent_runs=40).start()
    try:
        port = int(re.search(r"listening on http://127\.0\.0\.1:(\d+)", node.log())[1])
        let_pass(3)
        for what, viewers, rate, idle in (("no load", 0, 0, 0), ("200 viewers, 2,000 requests a second", 200, 2000, 0),
                                          ("10,000 idle connections", 0, 0, 10_000)):
            begin = time.time()
            if viewers or idle:
                seen = load(port, token["token"], viewers, rate, idle)
            else:
                let_pass(SECONDS)
                seen = {"per_second": 0, "p50_ms": 0, "p99_ms": 0, "rejected": 0, "broken": 0, "events": 0}
            end = time.time()
            late = lateness(store, begin, end)
            print(f"| {name}: {what} | {len(late)} | {percentile(late, 0.5):.0f} ms | {percentile(late, 0.99):.0f} ms | {max(late):.0f} ms | "
                  f"{seen['per_second']:.0f}/s, {seen['p50_ms']:.1f} ms, p99 {seen['p99_ms']:.1f} ms | "
                  f"{seen['rejected']} rejected, {seen['broken']} broken, {seen['events']} events |", flush=True)
    finally:
        node.kill()


def main():
    servers = []
    try:
        for name in sys.argv[3:] or ["sqlite", "redis"]:
            with tempfile.TemporaryDirectory() as folder:
                if name == "redis":
                    servers.append(Redis())
                    store = servers[-1].url
                else:
                    store = f"sqlite:{folder}/pawl.db"
                measure(name, store, folder)
    finally:
        for server in servers:
            server.stop()


main()
