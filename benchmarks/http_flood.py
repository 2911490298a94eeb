#!/usr/bin/env python3
"""Measures what a viewer's flood of long lists does to everybody else who asks the agent.

    benchmarks/http_flood.py build/bin/pawl [OTHER_PAWL…]

One agent with 1,000 jobs; a viewer asks for all of them over 200 connections, again as soon as each has its answer. Beside it, over one
connection each and fifty times a second: /healthz, the renewal of a lease, another user's list of 100 jobs. Prints rows for
docs/performance.md; several binaries are measured in turns. The flood shares the two cores.
"""
import http.client
import json
import multiprocessing
import os
import pathlib
import re
import selectors
import socket
import sys
import tempfile
import time

BINARIES = [str(pathlib.Path(one).resolve()) for one in sys.argv[1:]]
os.environ["PAWL_BINARY"] = BINARIES[0]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "integration"))

import agents  # noqa: E402
from agents import Agent, job  # noqa: E402
from harness import pawl  # noqa: E402
from measuring import percentile  # noqa: E402

JOBS, CONNECTIONS, SECONDS, ROUNDS = 1_000, 200, 8, 3
HEAD_END = b"\r\n\r\n"


def request(method, path, token="", body=b""):
    fields = f"Authorization: Bearer {token}\r\n" if token else ""
    fields += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode() + body


def length_of(head):
    return int(re.search(rb"(?i)content-length: (\d+)", head)[1])


def flood(port, text, end, told):
    chooser, left, counts, buffer = selectors.DefaultSelector(), {}, {}, bytearray(1 << 18)
    for _ in range(CONNECTIONS):
        link = socket.create_connection(("127.0.0.1", port))
        link.sendall(text)
        left[link] = 0
        chooser.register(link, selectors.EVENT_READ)
    while time.time() < end:
        for key, _ in chooser.select(0.1):
            link = key.fileobj
            got = link.recv_into(buffer)
            if left[link] == 0:
                head, body = bytes(buffer[:got]).split(HEAD_END, 1)
                status = int(head[9:12])
                counts[status] = counts.get(status, 0) + 1
                left[link] = length_of(head)
                got = len(body)
            left[link] -= got
            if left[link] == 0:
                link.sendall(text)
    told.put(counts)


def probe(port, text, end, told):
    took = []
    with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
        while time.time() < end:
            begin = time.perf_counter()
            link.sendall(text)
            got = b""
            while HEAD_END not in got:
                got += link.recv(1 << 16)
            head, body = got.split(HEAD_END, 1)
            missing = length_of(head) - len(body)
            while missing > 0:
                missing -= len(link.recv(1 << 18))
            if head[9:12] != b"200":
                raise AssertionError(head)
            took.append((time.perf_counter() - begin) * 1000)
            time.sleep(0.02)
    told.put(took)


def memory_of(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def measure(binary, folder):
    agents.PAWL = binary
    tokens, blocks = {}, []
    for name, role in (("vera", "viewer"), ("carl", "client")):
        made = pawl("token", "new", "--name", name, "--role", role, "--json").json()
        tokens[name] = made["token"]
        blocks.append(f'[[user]]\nname = "{name}"\nrole = "{role}"\ntoken_hash = "{made["token_hash"]}"\n')
    jobs = [job(f"job-{i:04}", "exit 0", schedule="0 6 * * *", zone="Europe/Paris") for i in range(JOBS)]
    node = Agent(folder, "node", f"sqlite:{folder}/pawl.db", [*blocks, *jobs]).start()
    try:
        port = int(re.search(r"listening on http://127\.0\.0\.1:(\d+)", node.log())[1])
        link = http.client.HTTPConnection("127.0.0.1", port)
        link.request("POST", "/api/v1/leases", body='{"key": "k", "ttl_ms": 60000}',
                     headers={"Authorization": f"Bearer {tokens['carl']}", "Content-Type": "application/json"})
        token = json.loads(link.getresponse().read())["fence_token"]
        end = time.time() + SECONDS
        asked = [(flood, request("GET", f"/api/v1/jobs?limit={JOBS}", tokens["vera"])), (probe, request("GET", "/healthz")),
                 (probe, request("PUT", f"/api/v1/leases/k/{token}", tokens["carl"], b'{"ttl_ms": 60000}')),
                 (probe, request("GET", "/api/v1/jobs?limit=100", tokens["carl"]))]
        helpers = []
        for work, text in asked:
            told = multiprocessing.Queue()
            helpers.append((multiprocessing.Process(target=work, args=(port, text, end, told), daemon=True), told))
            helpers[-1][0].start()
        most = 0
        while time.time() < end:
            most = max(most, memory_of(node.process.pid))
            time.sleep(0.05)
        counts, *took = [told.get(timeout=120) for _, told in helpers]
        shown = " | ".join(f"{percentile(one, 0.5):.0f} ms, {max(one):.0f} ms" for one in took)
        print(f"| {binary} | {shown} | {counts.get(200, 0)} and {counts.get(429, 0)} | {most:.0f} MiB |", flush=True)
    finally:
        node.kill()


for _ in range(ROUNDS):
    for one in BINARIES:
        with tempfile.TemporaryDirectory() as place:
            measure(one, place)
