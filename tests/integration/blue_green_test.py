"""Two versions of a configuration on several agents, replaced one by one while sixty jobs fire every second.

R1, R14 and the demand of issue 4: each occurrence has one run, none is lost but those whose node was hurt in the middle of it,
and every at-least-once one is completed. PAWL_FLEET_SECONDS makes it longer.
"""
import os
import time
import unittest

import proof
from fleet import Fleet
from harness import Case, Postgres, Redis, until

SECONDS = int(os.environ.get("PAWL_FLEET_SECONDS", "12"))
JOBS = {f"job-{i:02}": "at-least-once" if i % 3 == 0 else "at-most-once" for i in range(60)}


def holds_the_file(pid, store):
    """Whether the process has the lock under which SQLite writes: byte 120 of the file of its shared memory."""
    if not store.startswith("sqlite:"):
        return False
    inode = os.stat(f"{store.removeprefix('sqlite:')}-shm").st_ino
    with open("/proc/locks", encoding="ascii") as locks:
        return any(line.split()[3:] == ["WRITE", str(pid), line.split()[5], "120", "120"] and line.split()[5].endswith(f":{inode}")
                   for line in locks)


class BlueGreen(Case):
    def fleet(self, store, **how):
        fleet = Fleet(self.folder, store, how.pop("jobs", JOBS), **how)
        self.addCleanup(fleet.end)
        return fleet

    def pass_time(self, how_long):
        """The schedules go by real time, so it has to pass: a rhythm, not a wait for something."""
        end = time.monotonic() + how_long
        until(lambda: time.monotonic() > end, how_long + 30)

    def judge(self, fleet, first, last):
        # First the rows: what they say is completed, the commands have said before.
        rows = fleet.runs()
        evidence = proof.Evidence(fleet.evidence.read_text())
        found = proof.faults(rows, evidence, fleet.jobs, (first, last), fleet.hurt)
        if found:
            warnings = [f"{log.stem}: {line}" for log in sorted(self.folder.glob("*.log"))
                        for line in log.read_text().splitlines() if " info " not in line]
            self.fail("\n".join([f"{len(found)} faults, the first of them:", *found[:10], *warnings[:20]]))
        return evidence

    def is_settled(self, fleet, first, last):
        """Every occurrence has a row that is over. What a node left behind that was killed before its first row, others tell
        when it has been silent for long enough, and ask again some seconds later whether it has."""
        rows = fleet.runs()
        over = {(row["job"], int(proof.seconds(row["occurrence"]))) for row in rows
                if row["occurrence"] and row["status"] not in ("started", "abandoned")}
        return all((job, second) in over for job in fleet.jobs for second in range(first, last + 1)) and not any(
            row["status"] in ("started", "abandoned") and proof.seconds(row["occurrence"]) <= last for row in rows)

    def settle(self, fleet, first, last, bound):
        """Or the bound comes; then it is told which are missing."""
        try:
            until(lambda: self.is_settled(fleet, first, last), bound)
        except AssertionError:
            pass

    def roll(self, store):
        fleet = self.fleet(store, ttl="20s")
        for name in ("blue-1", "blue-2", "blue-3"):
            fleet.start(name, "1.0")
        first = int(time.time()) + 1
        for i in (1, 2, 3):
            self.pass_time(SECONDS / 4)
            fleet.start(f"green-{i}", "1.1")
            fleet.stop(f"blue-{i}")
        self.pass_time(SECONDS / 4)
        # Whose claim is first is chance, and habit where all wake in the same millisecond; the newest has to have its turn.
        until(lambda: " green-3 " in fleet.evidence.read_text(), 60)
        last = int(time.time()) - 1
        self.settle(fleet, first, last, 60)
        self.judge(fleet, first, last)
        for i in (1, 2, 3):
            fleet.stop(f"green-{i}")

    def test_rolling_deploys_on_sqlite(self):
        self.roll(self.store)

    def test_rolling_deploys_on_redis(self):
        redis = Redis()
        self.addCleanup(redis.stop)
        self.roll(redis.url)

    def test_rolling_deploys_on_postgresql(self):
        postgres = Postgres()
        self.addCleanup(postgres.stop)
        self.roll(postgres.url)

    def hurt(self, store, interrupt):
        """One node killed, one frozen past its lease and thawed, two whose clocks are ten minutes off, the store interrupted."""
        fleet = self.fleet(store, ttl="12s")
        fleet.start("right")
        fleet.start("ahead", ahead=600)
        fleet.start("behind", ahead=-600)
        fleet.start("killed")
        fleet.start("frozen")
        first = int(time.time()) + 1
        self.pass_time(SECONDS / 4)
        fleet.kill("killed")
        self.pass_time(SECONDS / 6)
        fleet.freeze("frozen")
        # In the midst of a transaction it keeps the file from everybody, until all their leases have ended.
        if holds_the_file(fleet.agents["frozen"].pid, store):
            fleet.hurt.update(("right", "ahead", "behind"))
        self.pass_time(14)  # its lease of 12 s has passed to others
        fleet.thaw("frozen")
        interrupt()
        self.pass_time(SECONDS / 4)
        last = int(time.time()) - 1
        self.settle(fleet, first, last, 120)
        self.judge(fleet, first, last)
        for name in ("right", "ahead", "behind", "frozen"):
            fleet.stop(name)

    def test_nodes_that_are_hurt_on_sqlite(self):
        self.hurt(self.store, lambda: None)

    def test_nodes_that_are_hurt_on_redis(self):
        redis = Redis(*Redis.SYNCED)
        self.addCleanup(redis.stop)
        self.hurt(redis.url, redis.restart)

    def test_nodes_that_are_hurt_on_postgresql(self):
        postgres = Postgres()
        self.addCleanup(postgres.stop)
        self.hurt(postgres.url, postgres.restart)


if __name__ == "__main__":
    unittest.main()
