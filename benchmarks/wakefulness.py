"""Keeps the processors awake while something is measured; see wakefulness.hpp."""
import contextlib
import subprocess


@contextlib.contextmanager
def awake(build):
    with subprocess.Popen([f"{build}/benchmarks/keep_awake"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as spinner:
        spinner.stdout.readline()
        try:
            yield
        finally:
            spinner.stdin.close()
