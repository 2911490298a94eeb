#!/usr/bin/env python3
"""Measures agents from outside: how late occurrences begin, and how soon a run is taken up whose agent was killed.

    benchmarks/agents.py build/bin/pawl [STORE…]      stores: sqlite redis postgresql

Prints rows for docs/performance.md. Every agent is a process of its own, every job a real command.
"""
import os
import pathlib
import sys
import tempfile
import time

os.environ["PAWL_BINARY"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "integration"))

import proof  # noqa: E402
from fleet import Fleet  # noqa: E402
from harness import Postgres, Redis, until  # noqa: E402
from measuring import let_pass, percentile, processor_seconds  # noqa: E402

SECONDS = 20
TTLS = ("2s", "5s", "10s")
REPEATS = 3


def lateness(name, store, folder):
    """Sixty jobs a second on three agents: from the second for which an occurrence was due to the row's beginning."""
    fleet = Fleet(folder, store, {f"job-{i:02}": "at-most-once" for i in range(60)})
    try:
        for node in ("a", "b", "c"):
            fleet.start(node)
        first = int(time.time()) + 2
        let_pass(2)
        before = sum(processor_seconds(one.pid) for one in fleet.agents.values())
        let_pass(SECONDS)
        used = sum(processor_seconds(one.pid) for one in fleet.agents.values()) - before
        last = int(time.time()) - 2
        rows = [row for row in fleet.runs() if first <= int(proof.seconds(row["occurrence"])) <= last]
        late = [(proof.seconds(row["started_at"]) - proof.seconds(row["occurrence"])) * 1000 for row in rows]
        print(f"| {name} | {len(rows)} | {percentile(late, 0.5):.0f} ms | {percentile(late, 0.99):.0f} ms | {max(late):.0f} ms | "
              f"{used / 3 / SECONDS * 100:.0f} % |", flush=True)
        for node in ("a", "b", "c"):
            fleet.stop(node)
    finally:
        fleet.end()


def takeover(name, store, folder, ttl):
    """An at-least-once run whose agent is killed: from SIGKILL to the beginning of the next attempt elsewhere."""
    gaps = []
    for i in range(REPEATS):
        place = pathlib.Path(folder) / f"{ttl}-{i}"
        place.mkdir()
        extra = ""
        fleet = Fleet(place, store.replace("NAMESPACE", f"t{ttl}{i}"), {"long": "at-least-once"}, ttl=ttl, extra=extra)
        fleet.script = 'echo "begin $PAWL_KEY $PAWL_OCCURRENCE $PAWL_FENCE_TOKEN $PAWL_NODE" >> "$EVIDENCE"; exec sleep 60'
        try:
            fleet.start("a")
            until(lambda: fleet.evidence.read_text())
            fleet.start("b")
            let_pass(float(ttl[:-1]) * 0.5)
            begun = time.monotonic()
            fleet.kill("a")
            until(lambda: len(fleet.evidence.read_text().splitlines()) > 1, 60)
            gaps.append(time.monotonic() - begun)
        finally:
            fleet.end()
    print(f"| {name}, ttl {ttl} | {percentile(gaps, 0.5):.2f} s | {max(gaps):.2f} s |", flush=True)


def main():
    wanted = sys.argv[2:] or ["sqlite", "redis", "postgresql"]
    servers = {}
    with tempfile.TemporaryDirectory(prefix="pawl-agents-") as folder:
        urls = {"sqlite": f"sqlite:{folder}/pawl.db?namespace=NAMESPACE"}
        if "redis" in wanted:
            servers["redis"] = Redis("appendonly yes")
            urls["redis"] = servers["redis"].url + "?namespace=NAMESPACE"
        if "postgresql" in wanted:
            servers["postgresql"] = Postgres()
            urls["postgresql"] = servers["postgresql"].url + "?namespace=NAMESPACE"
        try:
            print("| an agent is killed | taken up after, median | worst |\n|---|---|---|")
            for name in wanted:
                place = pathlib.Path(folder) / name
                place.mkdir()
                for ttl in TTLS:
                    takeover(name, urls[name], place, ttl)
            print("\n| store | runs | late, median | p99 | worst | processor, each of 3 agents |\n|---|---|---|---|---|---|")
            for name in wanted:
                lateness(name, urls[name].replace("NAMESPACE", "late"), pathlib.Path(folder) / name)
        finally:
            for server in servers.values():
                server.stop()


if __name__ == "__main__":
    main()
