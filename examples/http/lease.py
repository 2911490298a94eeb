#!/usr/bin/env python3
"""Adds 1 to a counter in SQLite, one process at a time, under a lease taken over HTTP. Standard library only.

    PAWL_URL=http://127.0.0.1:7295 PAWL_TOKEN=pawl.… lease.py KEY DATABASE

Ends with 0, with 75 when another client has the key for longer than it waits, with 70 when the lease was lost and nothing was written.
What matters is time: a lease is trusted from before the request left that won or renewed it, never from the answer.
"""
import http.client
import json
import os
import secrets
import sqlite3
import sys
import threading
import time
import urllib.parse

TTL_MS, WAIT_MS = int(os.environ.get("TTL_MS", "30000")), 30000
ASKED_AGAIN = {429, 502, 503}  # it may have been done, or may be in a moment


def now():
    """Seconds on a clock that is never set, and that continues while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def valid_until(sent, ttl_ms):
    """A little before the store may give the key to another client, whatever the two clocks do."""
    ttl = ttl_ms / 1000
    return sent + ttl * 0.999 - max(ttl / 50, 0.005)


def ask(method, path, body=None, timeout=10.0):
    """The status, the document and the fields; status 0 without an answer, which may have been done all the same."""
    where = urllib.parse.urlsplit(os.environ["PAWL_URL"])
    kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
    link = kind(where.netloc, timeout=max(timeout, 0.01))
    fields = {"Authorization": "Bearer " + os.environ["PAWL_TOKEN"], "Content-Type": "application/json"}
    try:
        link.request(method, path, json.dumps(body) if body is not None else None, fields)
        answer = link.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else {}, answer.headers
    except (OSError, http.client.HTTPException):
        return 0, {}, {}
    finally:
        link.close()


class Lease:
    def __init__(self, place, granted, sent):
        self.place, self.token, self.ttl_ms = place, granted["fence_token"], granted["ttl_ms"]
        self.valid_until = valid_until(sent + granted["waited_ms"] * 0.999 / 1000, self.ttl_ms)
        self.is_lost, self.is_over = False, threading.Event()
        threading.Thread(target=self.keep, daemon=True).start()

    def held(self):
        """To be asked before each step. It needs no answer of the store."""
        return not self.is_lost and now() < self.valid_until

    def keep(self):
        """Renews when a third of the time is over; without an answer it retries while the lease is valid."""
        pause = self.ttl_ms / 3000
        while not self.is_over.wait(pause) and self.held():
            sent = now()
            status, _, _ = ask("PUT", self.place, {"ttl_ms": self.ttl_ms}, self.valid_until - sent)
            if status == 200 and now() < self.valid_until:  # validity that has ended never comes back
                self.valid_until = valid_until(sent, self.ttl_ms)
            elif status == 409:
                self.is_lost = True
            pause = self.ttl_ms / (3000 if status == 200 else 10000)

    def release(self):
        """True if it was held until now. Nothing is lost if no answer comes: the lease then expires."""
        self.is_over.set()
        return ask("DELETE", self.place)[0] == 204


def acquire(key):
    """A lease, or nothing when the key is busy. Asking again under the same claim_id cannot take it twice."""
    claim = {"key": key, "ttl_ms": TTL_MS, "wait_ms": WAIT_MS, "claim_id": secrets.token_hex(16)}
    for attempt in range(5):
        sent = now()
        status, told, fields = ask("POST", "/api/v1/leases", claim, WAIT_MS / 1000 + 10)
        if status == 201:
            lease = Lease(fields["Location"], told, sent)
            if lease.held():
                return lease
            lease.release()  # the answer took too long to be worth anything
            return None
        if status == 409:
            return None
        if status != 0 and status not in ASKED_AGAIN:
            raise SystemExit(f"lease.py: {status}: {told.get('detail')}")
        time.sleep(0.1 * 2**attempt)
    raise SystemExit("lease.py: no answer from " + os.environ["PAWL_URL"])


def add_one(database, lease):
    """Reads, computes and writes. False when a newer token has been here: then nothing is written."""
    with sqlite3.connect(database, timeout=10) as where:
        where.execute("create table if not exists counter (value integer not null, fence_token integer not null)")
        where.execute("insert into counter select 0, 0 where not exists (select 1 from counter)")
        # The fence goes up before the reading, or an older holder's last write could slip in between.
        raised = where.execute("update counter set fence_token = :t where fence_token <= :t", {"t": lease.token})
        where.commit()
        if raised.rowcount == 0:
            return False
        (value,) = where.execute("select value from counter").fetchone()
        time.sleep(float(os.environ.get("WORK_SECONDS", "0.01")))
        if not lease.held():
            return False
        # The check and the write are one step, which a lease alone can never be.
        done = where.execute("update counter set value = ? where fence_token = ?", (value + 1, lease.token))
        return done.rowcount == 1


def main():
    if len(sys.argv) != 3:
        print("usage: lease.py KEY DATABASE", file=sys.stderr)
        return 64
    key, database = sys.argv[1:]
    lease = acquire(key)
    if lease is None:
        return 75
    try:
        return 0 if add_one(database, lease) else 70
    finally:
        lease.release()


if __name__ == "__main__":
    sys.exit(main())
