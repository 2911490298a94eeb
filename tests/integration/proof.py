"""Judges what a fleet of agents has done, from its records alone.

Knows nothing of how pawl works: it is given rows of runs (as JSON, in the form of `pawl runs ls --json`), the lines that the
commands themselves have written down, and what should have happened.
"""
import collections
import datetime


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Evidence:
    """What the commands saw: `begin|end KEY OCCURRENCE TOKEN NODE RUN ATTEMPT`, appended by each of them."""

    def __init__(self, text):
        self.begun = collections.defaultdict(list)  # (key, occurrence) -> [(line number, token, node)]
        self.ended = collections.defaultdict(int)
        self.by_key = collections.defaultdict(list)  # key -> [(token, occurrence)] in the order of beginning
        for number, line in enumerate(text.splitlines()):
            what, key, occurrence, token, node = line.split()[:5]
            if what == "begin":
                self.begun[key, occurrence].append((number, int(token), node))
                self.by_key[key].append((int(token), occurrence))
            else:
                self.ended[key, occurrence] += 1


def faults(rows, evidence, jobs, window, hurt_nodes):
    """Everything that should not be, as lines.

    jobs: name -> "at-most-once" or "at-least-once". window: the first and the last second of which every job's occurrence has
    to be there. hurt_nodes: those that were killed or frozen, and may have lost what they ran.
    """
    found = []
    by_occurrence = collections.defaultdict(list)
    for row in rows:
        if row["occurrence"] is not None:
            by_occurrence[row["job"], row["partition"], int(seconds(row["occurrence"]))].append(row)

    for occurrence, same in by_occurrence.items():
        if len(same) > 1:
            found.append(f"{occurrence} has {len(same)} rows: {[row['id'] for row in same]}")
    began = {(key, round(seconds(occurrence))) for key, occurrence in evidence.begun}
    for job, mode in jobs.items():
        for second in range(window[0], window[1] + 1):
            same = by_occurrence.get((job, 0, second))
            if not same:
                found.append(f"{job} for {second} is missing")
                continue
            status, node = same[0]["status"], same[0]["node"]
            if status == "completed":
                continue
            lost_with_its_node = status == "lost" and (node in hurt_nodes or node == "unknown")
            if mode == "at-most-once" and hurt_nodes and lost_with_its_node:
                continue
            # One that was frozen between its grant and its work tells so itself, where nobody has told it lost before.
            never_began = status == "skipped" and same[0]["reason"] == "its lease ended before its work began"
            # One that was frozen between its claim and the answer finds the key granted to a later occurrence, which is more
            # than it may take back: at most once, the mark of its own stays.
            unanswered = (mode == "at-most-once" and status == "skipped" and
                          same[0]["reason"] == "the store did not answer in time, and granted the key to another run meanwhile")
            if node in hurt_nodes and (never_began or unanswered) and (f"job/{job}", second) not in began:
                continue
            found.append(f"{job} for {second} on {node} is {status}: {same[0]['reason']}")

    modes = {f"job/{job}": mode for job, mode in jobs.items()}
    for (key, occurrence), begun in evidence.begun.items():
        if modes[key] == "at-most-once" and len(begun) > 1:
            found.append(f"{key} for {occurrence} has begun {len(begun)} times, on {[node for _, _, node in begun]}")
        # A node that is killed between the end of a command and the row about it has an at-least-once one run again.
        may_be_again = modes[key] == "at-least-once" and any(node in hurt_nodes for _, _, node in begun)
        if evidence.ended[key, occurrence] > 1 and not may_be_again:
            found.append(f"{key} for {occurrence} has ended {evidence.ended[key, occurrence]} times")
    for key, tokens in evidence.by_key.items():
        for before, after in zip(tokens, tokens[1:]):
            if after[0] < before[0]:
                found.append(f"{key}: token {after[0]} of {after[1]} came after {before[0]} of {before[1]}")
    said = {(key, round(seconds(occurrence))) for (key, occurrence), times in evidence.ended.items() if times}
    for row in rows:
        if row["status"] == "completed" and row["occurrence"] is not None:
            occurrence = f"job/{row['job']}", round(seconds(row["occurrence"]))
            if occurrence not in said:
                found.append(f"{occurrence} is completed, but its command did not say so")
    return found
