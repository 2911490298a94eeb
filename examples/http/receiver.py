#!/usr/bin/env python3
"""A service whose side effect is fenced: it rejects a request whose token is lower than one that it has accepted. Standard library only.

    receiver.py DATABASE [PORT]

POST /invoices with the fields X-Job-Token (the fencing token of the run, $PAWL_FENCE_TOKEN) and Idempotency-Key; the body is the invoice.
201: stored. 200: this key was stored before. 409: the token is stale, stop. 400: a field is missing or no token. GET /invoices lists them.
Prints "listening on PORT" when it is ready; without PORT it takes one that is free.

The token is compared and raised in the transaction that stores the invoice. Two steps would leave a gap for a late request to slip through.
"""
import contextlib
import http.server
import json
import sqlite3
import sys

TOKEN_MAX = 2**53 - 1
DATABASE = sys.argv[1]


def store(token, key, invoice):
    with contextlib.closing(sqlite3.connect(DATABASE, timeout=10, isolation_level=None)) as data:
        data.execute("begin immediate")
        newest = data.execute("select newest from fence").fetchone()[0]
        if token < newest:
            data.execute("rollback")
            return 409, {"detail": f"token {token} is stale; {newest} has been accepted"}
        data.execute("update fence set newest = ?", (token,))
        added = data.execute("insert or ignore into invoice values (?, ?, ?)", (key, invoice, token)).rowcount
        data.execute("commit")
        return (201 if added else 200), {"key": key, "token": token}


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("Content-Length", "0")), 65536)).decode()
        text, key = self.headers.get("X-Job-Token", ""), self.headers.get("Idempotency-Key", "")
        if not (text.isascii() and text.isdigit() and 0 < int(text) <= TOKEN_MAX):
            return self.answer(400, {"detail": f"invalid X-Job-Token '{text}'; expected an integer from 1 to {TOKEN_MAX}"})
        if not key:
            return self.answer(400, {"detail": "Idempotency-Key is missing"})
        return self.answer(*store(int(text), key, body))

    def do_GET(self):
        with contextlib.closing(sqlite3.connect(DATABASE)) as data:
            rows = data.execute("select key, body, token from invoice order by key").fetchall()
        self.answer(200, [{"key": key, "body": body, "token": token} for key, body, token in rows])

    def answer(self, status, document):
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


with contextlib.closing(sqlite3.connect(DATABASE)) as first, first:
    first.execute("create table if not exists invoice (key text primary key, body text not null, token integer not null)")
    first.execute("create table if not exists fence (only_one integer primary key check (only_one = 1), newest integer not null)")
    first.execute("insert or ignore into fence values (1, 0)")
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Receiver)
print(f"listening on {server.server_address[1]}", flush=True)
server.serve_forever()
