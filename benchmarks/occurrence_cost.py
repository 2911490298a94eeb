#!/usr/bin/env python3
"""Measures from outside what an occurrence costs by the number of agents: requests to the server, lateness, processor time.

    benchmarks/occurrence_cost.py build/bin/pawl [--agents 3,10,30] [--seconds 20] [redis] [postgresql]

Prints rows for docs/performance.md. Every agent is a process of its own, every job a real command, twenty of them due each second. The
server holds leases and journal. Agents that know each other have the same jobs; `strangers` have one more each, which never fires, so
that they do not leave occurrences to each other: what every agent did before they were ranked.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

JOBS = 20
# What a client of Redis sends; what its scripts do is counted beside it.
SENT = ("evalsha", "eval", "ping", "subscribe", "unsubscribe", "pubsub|numsub")


def arguments():
    parser = argparse.ArgumentParser(description="What an occurrence costs, by the number of agents.")
    parser.add_argument("pawl", type=pathlib.Path)
    parser.add_argument("servers", nargs="*", metavar="redis|postgresql")
    parser.add_argument("--agents", default="3,10,30")
    parser.add_argument("--seconds", type=int, default=20)
    asked = parser.parse_intermixed_args()
    asked.servers = asked.servers or ["redis", "postgresql"]
    if strange := set(asked.servers) - {"redis", "postgresql"}:
        parser.error(f"unknown server '{strange.pop()}'; expected redis or postgresql")
    return asked


ASKED = arguments()
os.environ["PAWL_BINARY"] = str(ASKED.pawl.resolve())
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "integration"))

import proof  # noqa: E402
from fleet import Fleet  # noqa: E402
from harness import Postgres, Redis  # noqa: E402
from measuring import let_pass, percentile, processor_seconds  # noqa: E402


class CountedRedis(Redis):
    def requests(self):
        told = dict(re.findall(r"cmdstat_([^:]+):calls=(\d+)", self.ask("INFO", "commandstats")))
        return sum(int(told.get(one, 0)) for one in SENT)

    def used(self):
        return processor_seconds(self.process.pid)


class CountedPostgres(Postgres):
    def __init__(self):
        # Each agent has a few.
        super().__init__("max_connections=1000")

    def requests(self):
        """Each statement is a transaction of its own."""
        asked = ["/usr/bin/psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "pawl", "-d", "postgres", "-Atc",
                 "SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database"]
        return int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())

    def used(self):
        return sum(processor_seconds(one) for one in [self.process.pid, *self.children()])


class Agents(Fleet):
    """With a job of its own each, where they are to be strangers."""
    strangers = False

    def configuration(self, name, version):
        path = super().configuration(name, version)
        if self.strangers:
            with open(path, "a", encoding="utf-8") as file:
                file.write(f'[[job]]\nname = "only-{name}"\nschedule = "0 0 1 1 *"\ncommand = ["/bin/true"]\n')
        return path


def measure(server, name, folder, count, strangers):
    fleet = Agents(folder, f"{server.url}?namespace={name}", {f"job-{i:02}": "at-most-once" for i in range(JOBS)})
    fleet.strangers = strangers
    fleet.script = "exit 0"
    try:
        for i in range(count):
            fleet.start(f"n{i:02}")
        let_pass(8)
        agents = list(fleet.agents.values())
        first = int(time.time()) + 1
        let_pass(first + 0.6 - time.time())
        before = server.requests(), server.used(), sum(processor_seconds(one.pid) for one in agents)
        let_pass(ASKED.seconds)
        after = server.requests(), server.used(), sum(processor_seconds(one.pid) for one in agents)
        runs = ASKED.seconds * JOBS
        rows = [row for row in fleet.runs() if first < int(proof.seconds(row["occurrence"])) <= first + ASKED.seconds]
        late = [(proof.seconds(row["started_at"]) - proof.seconds(row["occurrence"])) * 1000 for row in rows]
        sent, server_used, used = (b - a for a, b in zip(before, after))
        print(f"| {name.rstrip('0123456789')} | {count} | {'no' if strangers else 'yes'} | {len(rows)} of {runs} | {sent / runs:.1f} | "
              f"{percentile(late, 0.5):.0f} ms | {percentile(late, 0.99):.0f} ms | {max(late):.0f} ms | "
              f"{server_used / ASKED.seconds * 100:.1f} % | {used / count / ASKED.seconds * 100:.1f} % |", flush=True)
    finally:
        fleet.end()


def main():
    print("| store | agents | know each other | runs | requests an occurrence | late, p50 | p99 | max | processor, server | each agent |\n"
          "|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="pawl-cost-") as folder:
        for name in ASKED.servers:
            server = CountedRedis() if name == "redis" else CountedPostgres()
            try:
                for count in map(int, ASKED.agents.split(",")):
                    for strangers in (True, False):
                        place = pathlib.Path(folder) / f"{name}{count}{strangers}"
                        place.mkdir()
                        measure(server, f"{name}{count}{int(strangers)}", place, count, strangers)
            finally:
                server.stop()


if __name__ == "__main__":
    main()
