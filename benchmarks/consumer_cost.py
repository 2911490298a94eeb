#!/usr/bin/env python3
"""Measures what a small program costs its author with pawl, and with what it would be written with instead.

    tools/build && cmake --install build --prefix /tmp/pawl && benchmarks/consumer_cost.py /tmp/pawl [ROUNDS]

Prints a table for docs/performance.md. Each program is compiled, linked and started in turns with the others, without
ccache, so that what else the machine does meets all alike. To start is to load the program and to end at once: none of them
opens a connection.
"""
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PREFIX = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 9
STARTS = 20  # in each round
PEAK = pathlib.Path(__file__).resolve().parent.parent / "tests/consumer/peak.cpp"
COMPILER = os.environ.get("CXX", "g++")

NOTHING = """
int main() {}
"""
HIREDIS = """
#include <hiredis/hiredis.h>
#include <cstdio>
int main(int count, char** words) {
    if (count < 2) return 0;
    redisContext* server = redisConnect(words[1], 6379);
    auto* answer = static_cast<redisReply*>(redisCommand(server, "SET invoices me NX PX 30000"));
    if (answer != nullptr && answer->type == REDIS_REPLY_STATUS) std::puts("held");
    freeReplyObject(answer);
    redisFree(server);
}
"""
ASIO = """
#include <hiredis/hiredis.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
boost::asio::awaitable<void> renew(redisContext* server) {
    boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor, std::chrono::seconds{10}};
    co_await timer.async_wait(boost::asio::use_awaitable);
    freeReplyObject(redisCommand(server, "PEXPIRE invoices 30000"));
}
int main(int count, char** words) {
    if (count < 2) return 0;
    boost::asio::io_context context;
    redisContext* server = redisConnect(words[1], 6379);
    freeReplyObject(redisCommand(server, "SET invoices me NX PX 30000"));
    co_spawn(context, renew(server), boost::asio::detached);
    context.run();
    redisFree(server);
}
"""
PAWL = """
#include <pawl/pawl.hpp>
#include <cstdio>
using namespace std::chrono_literals;
int main(int count, char** words) {
    if (count < 2) return 0;
    auto locks = pawl::locks::open(words[1]);
    if (auto lease = locks.try_acquire("invoices", {.ttl = 30s})) std::puts("held");
}
"""


def packaged(name):
    """What pkg-config says about an installed pawl."""
    folders = {str(file.parent) for file in PREFIX.rglob("pawl.pc")}
    environment = dict(os.environ, PKG_CONFIG_PATH=":".join(sorted(folders)))
    words = {kind: subprocess.run(["pkg-config", f"--{kind}", name], env=environment, capture_output=True, text=True, check=True).stdout.split()
             for kind in ("cflags", "libs")}
    return words["cflags"], words["libs"]


def seconds(words, environment):
    began = time.perf_counter()
    subprocess.run(words, env=environment, check=True)
    return time.perf_counter() - began


class Program:
    def __init__(self, name, text, flags, libraries, folder):
        self.name = name
        self.base = pathlib.Path(folder, re.sub(r"\W+", "_", name))
        self.source = self.base.with_suffix(".cpp")
        self.source.write_text(text)
        self.compiling = [COMPILER, "-std=c++20", "-O2", *flags, "-c", str(self.source), "-o", str(self.base.with_suffix(".o"))]
        self.linking = [COMPILER, str(self.base.with_suffix(".o")), "-o", str(self.base), *libraries]
        self.took = {"compile": [], "link": [], "start": []}

    def measure(self, environment):
        self.took["compile"].append(seconds(self.compiling, environment))
        self.took["link"].append(seconds(self.linking, environment))
        self.took["start"] += [seconds([str(self.base)], environment) for _ in range(STARTS)]

    def row(self, peak):
        middle = {what: statistics.median(all_of_it) for what, all_of_it in self.took.items()}
        loaded = subprocess.run(["ldd", str(self.base)], capture_output=True, text=True, check=True).stdout.count("\n")
        stripped = self.base.with_suffix(".stripped")
        subprocess.run(["strip", "-o", str(stripped), str(self.base)], check=True)
        resident = int(subprocess.run([peak, str(self.base)], capture_output=True, text=True, check=True).stdout)
        return (f"| {self.name} | {middle['compile']:.2f} s | {middle['link']:.2f} s | {middle['start'] * 1000:.1f} ms "
                f"| {stripped.stat().st_size / 1024:,.0f} KiB | {loaded} | {resident / 1024:.1f} MiB |")


def main():
    for tool in (COMPILER, "pkg-config", "ldd", "strip"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is not here")
    environment = dict(os.environ, CCACHE_DISABLE="1")
    with tempfile.TemporaryDirectory() as folder:
        programs = [Program("an empty `main()`", NOTHING, [], [], folder),
                    Program("hiredis", HIREDIS, [], ["-lhiredis"], folder),
                    Program("Boost.Asio and hiredis", ASIO, [], ["-lhiredis", "-pthread"], folder),
                    Program("pawl, memory and SQLite", PAWL, *packaged("pawl"), folder),
                    Program("pawl, Redis as well", PAWL, *packaged("pawl-redis"), folder)]
        peak = f"{folder}/peak"
        subprocess.run([COMPILER, str(PEAK), "-o", peak], check=True)
        for _ in range(ROUNDS):
            for one in programs:
                one.measure(environment)
        print("| program | compile | link | start | size, stripped | shared libraries | peak resident |\n|---|---|---|---|---|---|---|")
        for one in programs:
            print(one.row(peak))
        print(f"\nload {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


main()
