#!/usr/bin/env python3
"""Measures what a lease costs over HTTP beside the same through the library: acquire and release, one client after another.

    benchmarks/http_leases.py build/bin/pawl [STORE…]      stores: sqlite redis

For each store, in turns and in the same run: `pawl bench` with one client, which is the library; one connection that is kept, over which
the same is asked of an agent; and the empty answer of the same server. Prints the median of the turns, as rows for docs/performance.md.
"""
import os
import pathlib
import re
import socket
import statistics
import sys
import tempfile
import time

os.environ["PAWL_BINARY"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "integration"))

from access_test import user  # noqa: E402
from agents import Agent  # noqa: E402
from api_leases_test import port_in  # noqa: E402
from harness import Redis, pawl, until  # noqa: E402

TURNS, SECONDS = 5, 3
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.IGNORECASE)


class Connection:
    """As little of a client as does it, so that the server is measured."""

    def __init__(self, port, token):
        self.link = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fields = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"

    def request(self, method, path, body=""):
        return f"{method} {path} HTTP/1.1\r\n{self.fields}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    def ask(self, request, status):
        self.link.sendall(request)
        answer = self.link.recv(65536)
        while b"\r\n\r\n" not in answer:
            answer += self.link.recv(65536)
        length = LENGTH.search(answer)
        missing = answer.index(b"\r\n\r\n") + 4 + (int(length.group(1)) if length else 0) - len(answer)
        while missing > 0:
            answer += (more := self.link.recv(65536))
            missing -= len(more)
        if int(answer[9:12]) != status:
            raise SystemExit(f"expected {status}: {answer.decode()}")
        return answer


def pairs_over_http(port, token):
    """Acquires and releases for some seconds; pairs in a second."""
    one = Connection(port, token)
    acquire = one.request("POST", "/api/v1/leases", '{"key": "bench", "ttl_ms": 30000}')
    begin = time.monotonic()
    count = 0
    while time.monotonic() < begin + SECONDS:
        answer = one.ask(acquire, 201)
        place = re.search(rb"\r\nLocation: (\S+)\r\n", answer).group(1).decode()
        one.ask(one.request("DELETE", place), 204)
        count += 1
    return count / (time.monotonic() - begin)


def empty_answers(port, token):
    one = Connection(port, token)
    ask = one.request("GET", "/healthz")
    begin = time.monotonic()
    count = 0
    while time.monotonic() < begin + SECONDS:
        one.ask(ask, 200)
        count += 1
    return count / (time.monotonic() - begin)


def pairs_through_the_library(store):
    done = pawl("--store", store, "bench", "--clients", "1", "--for", f"{SECONDS}s", "--json")
    if done.status != 0:
        raise SystemExit(done.err)
    return done.json()


def measure(name, store, folder):
    token, block = user("bench", "operator")
    agent = Agent(folder, f"bench-{name}", store, [block]).start()
    try:
        port = int(until(lambda: port_in(agent.log())))
        library, http, empty = [], [], []
        for _ in range(TURNS):
            library.append(pairs_through_the_library(store)["pairs_per_second"])
            http.append(pairs_over_http(port, token))
            empty.append(empty_answers(port, token))
    finally:
        agent.kill()
    ours, theirs, bare = statistics.median(http), statistics.median(library), statistics.median(empty)
    print(f"| {name} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} | {1e6 / ours - 1e6 / theirs:,.0f} µs | {1e6 / bare:,.0f} µs |",
          flush=True)


def main():
    print("| store | library, pairs/s | HTTP, pairs/s | ratio | HTTP adds to a pair | an empty answer |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="pawl-bench-") as folder:
        for name in sys.argv[2:] or ["sqlite", "redis"]:
            if name == "sqlite":
                measure(name, f"sqlite:{folder}/pawl.db", folder)
                continue
            server = Redis()
            try:
                measure(name, server.url, folder)
            finally:
                server.stop()


if __name__ == "__main__":
    main()
