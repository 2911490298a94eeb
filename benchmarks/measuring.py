"""What the measurements of agents share."""
import os
import pathlib
import time

from harness import until


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def let_pass(seconds):
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end, seconds + 30)


def processor_seconds(pid):
    """What a process has used so far; nothing where it is no more."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
