#!/bin/sh
# One snapshot over all nodes, written by one of them; when its writer dies, another node's continues within 15 s:
#
#   pawl exec --wait --ttl 10s --no-journal snapshot/writer -- writer.sh snapshot.db snapshot.txt 5 pawl locks ls
#
# Usage: writer.sh DATABASE FILE SECONDS COMMAND [ARGUMENT...]. Every SECONDS what the command prints is the new snapshot:
# in the database, which decides by the token whose it is, and in the file for those who only read. Ends with 77 where a
# newer writer has written. pawl has set PAWL_FENCE_TOKEN, and PAWL_OWNER is who writes.
set -eu
database=$1 file=$2 seconds=$3
shift 3

quoted() {
  printf '%s' "$1" | sed "s/'/''/g"
}

# One statement, so that a writer that was frozen since it read its token cannot come between.
store() {
  sqlite3 -cmd '.timeout 5000' "$database" "
    CREATE TABLE IF NOT EXISTS snapshot (name TEXT PRIMARY KEY, token INTEGER NOT NULL, writer TEXT NOT NULL,
                                         written_at INTEGER NOT NULL, body TEXT NOT NULL);
    INSERT INTO snapshot VALUES ('workers', $PAWL_FENCE_TOKEN, '$(quoted "$PAWL_OWNER")', unixepoch(), '$(quoted "$1")')
      ON CONFLICT (name) DO UPDATE SET token = excluded.token, writer = excluded.writer,
                                       written_at = excluded.written_at, body = excluded.body
      WHERE excluded.token >= snapshot.token;
    SELECT changes();"
}

while :; do
  body=$("$@")
  [ "$(store "$body")" -eq 1 ] || exit 77
  # Whole or not at all. The file cannot reject a token, so the database goes first, and is what counts.
  printf '%s\n' "$body" >"$file.$PAWL_FENCE_TOKEN"
  mv "$file.$PAWL_FENCE_TOKEN" "$file"
  sleep "$seconds"
done
