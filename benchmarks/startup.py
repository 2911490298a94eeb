#!/usr/bin/env python3
"""Measures what a wrapper costs around a command that does nothing, and while it waits, beside flock(1).

    benchmarks/startup.py build/bin/pawl [ROUNDS]

Prints rows for docs/performance.md. Programs take turns, so that what else the machine does meets all alike.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PAWL = str(pathlib.Path(sys.argv[1]).resolve())
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 300


def milliseconds(words, environment):
    began = time.perf_counter()
    process = os.posix_spawnp(words[0], words, environment, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status = os.waitpid(process, 0)
    if status:
        sys.exit(f"{words}: status {status}")
    return (time.perf_counter() - began) * 1000


def resident_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ValueError(pid)


def waiting(hold, wait, environment):
    """Of the one that waits, three seconds after it has begun to."""
    holder = subprocess.Popen(hold, env=environment, stdout=subprocess.PIPE)
    holder.stdout.readline()
    waiter = subprocess.Popen(wait, env=environment, stdout=subprocess.DEVNULL)
    time.sleep(3)
    size = resident_mib(waiter.pid)
    for one in (waiter, holder):
        one.terminate()
        one.wait()
    return size


def main():
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "PAWL_STORE": f"sqlite:{folder}/pawl.db"}
        lock = f"{folder}/lock"
        programs = {
            "`/bin/true` alone": ["/bin/true"],
            "`flock FILE /bin/true`": ["flock", lock, "/bin/true"],
            "`pawl --version`": [PAWL, "--version"],
            "`pawl exec key -- /bin/true`, SQLite": [PAWL, "exec", "key", "--", "/bin/true"],
        }
        took = {name: [] for name in programs}
        for _ in range(ROUNDS):
            for name, words in programs.items():
                took[name].append(milliseconds(words, environment))
        bare = statistics.median(took["`flock FILE /bin/true`"])
        print("| command | median | p95 | beside flock |\n|---|---|---|---|")
        for name, all_of_it in took.items():
            middle = statistics.median(all_of_it)
            print(f"| {name} | {middle:.1f} ms | {statistics.quantiles(all_of_it, n=20)[-1]:.1f} ms | {middle / bare:.1f} |")
        held = "echo held; exec sleep 60"
        flock = waiting(["flock", lock, "sh", "-c", held], ["flock", lock, "true"], environment)
        pawl = waiting([PAWL, "exec", "key", "--", "sh", "-c", held], [PAWL, "exec", "key", "--wait", "--", "true"], environment)
        print(f"\n| waiting for the lock | resident |\n|---|---|\n| `flock` | {flock:.1f} MiB |\n| `pawl exec --wait` | {pawl:.1f} MiB |")


main()
