#!/bin/sh
# How old the snapshot of writer.sh is, as a check: status 0 when it is fresh, 1 when its time lies ahead of this clock,
# 2 when it is too old or missing. Usage: age.sh DATABASE SECONDS-MAX
set -eu
database=$1 max=$2

# A writer that commits locks readers out for a moment.
row=$(sqlite3 -readonly -cmd '.timeout 5000' -separator ' ' "$database" \
  "SELECT unixepoch() - written_at, token, writer FROM snapshot WHERE name = 'workers'" 2>/dev/null) || row=
if [ -z "$row" ]; then
  echo "CRITICAL: no snapshot in $database"
  exit 2
fi
age=${row%% *}
said="the snapshot is $age s old (writer ${row#* * }, token $(echo "$row" | cut -d ' ' -f 2))"
if [ "$age" -lt 0 ]; then
  echo "WARNING: $said: compare the clocks of the nodes"
  exit 1
fi
if [ "$age" -gt "$max" ]; then
  echo "CRITICAL: $said, expected at most $max s"
  exit 2
fi
echo "OK: $said"
