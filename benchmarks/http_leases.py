#!/usr/bin/env python3
"""Measures what a lease costs over HTTP beside the same through the library, in turns and in the same run.

    benchmarks/http_leases.py build/bin/pawl build/benchmarks/http_leases [STORE…]      stores: memory sqlite redis

One client acquires and releases over one connection that is kept, beside `pawl bench` with one client, which is the library, and
the empty answer of the same server. Then 64 connections at once, and a page of 1,000 of the 2,000 jobs. Prints medians of the turns, as rows for
docs/performance.md. The agent has two cores with its client; `memory` is within the agent, so the library's column is empty there.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

os.environ["PAWL_BINARY"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "integration"))

from access_test import user  # noqa: E402
from agents import Agent, job  # noqa: E402
from api_leases_test import port_in  # noqa: E402
from harness import Redis, pawl, until  # noqa: E402
from wakefulness import awake  # noqa: E402

CLIENT = pathlib.Path(sys.argv[2]).resolve()
TURNS, SECONDS, CROWD, JOBS = 5, 3, 64, 2_000


def ask(port, token, connections, *path):
    done = subprocess.run([CLIENT, str(port), token, str(connections), str(SECONDS), *path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def pairs_through_the_library(store):
    done = pawl("--store", store, "bench", "--clients", "1", "--for", f"{SECONDS}s", "--json")
    if done.status != 0:
        raise SystemExit(done.err)
    return done.json()["pairs_per_second"]


def rare_job(number):
    return job(f"job-{number:04}", "true", schedule="0 0 1 1 *")


def row(name, library, http, crowd, empty, jobs):
    beside = f"{library:,.0f} | {http:,.0f} | {http / library:.2f} | {1e6 / http - 1e6 / library:,.0f} µs" if library else f"– | {http:,.0f} | – | –"
    print(f"| {name} | {beside} | {1e6 / empty:,.0f} µs | {crowd:,.0f} | {jobs / 1000:.1f} ms |", flush=True)


def measure(name, store, folder):
    token, block = user("bench", "operator")
    agent = Agent(folder, f"bench-{name}", store, [block, *(rare_job(number) for number in range(JOBS))]).start()
    try:
        port = int(until(lambda: port_in(agent.log())))
        library, http, crowd, empty, jobs = [], [], [], [], []
        for _ in range(TURNS):
            if name != "memory":
                library.append(pairs_through_the_library(store))
            http.append(ask(port, token, 1)["rounds_per_second"])
            empty.append(ask(port, token, 1, "GET", "/healthz")["rounds_per_second"])
            crowd.append(ask(port, token, CROWD)["rounds_per_second"])
            jobs.append(ask(port, token, 1, "GET", f"/api/v1/jobs?limit=1000")["p50_us"])
    finally:
        agent.kill()
    row(name, *(statistics.median(one) if one else None for one in (library, http, crowd, empty, jobs)))


def main():
    print(f"| store | library, pairs/s | HTTP, pairs/s | ratio | HTTP adds to a pair | an empty answer | HTTP, {CROWD} connections, pairs/s | 1,000 of {JOBS:,} jobs |")
    print("|---|---|---|---|---|---|---|---|")
    with awake(CLIENT.parent.parent), tempfile.TemporaryDirectory(prefix="pawl-bench-") as folder:
        for name in sys.argv[3:] or ["memory", "sqlite", "redis"]:
            if name == "redis":
                server = Redis()
                try:
                    measure(name, server.url, folder)
                finally:
                    server.stop()
            else:
                measure(name, "memory:" if name == "memory" else f"sqlite:{folder}/pawl.db", folder)


if __name__ == "__main__":
    main()
