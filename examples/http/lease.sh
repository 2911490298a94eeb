#!/bin/sh
# Runs a command under a lease taken over HTTP, with curl: on one machine at a time.
#
#   PAWL_URL=http://127.0.0.1:7295 PAWL_TOKEN=pawl.… lease.sh KEY COMMAND…
#
# Ends with the command's status; 75 when another client has the key, 70 when the lease was lost and the command
# stopped, 69 without an answer. The command sees PAWL_KEY and PAWL_FENCE_TOKEN, which its writes are to carry.
#
# Told to end by SIGINT, SIGTERM or SIGHUP, it stops the command first. Killed by SIGKILL it leaves the command
# running without a lease: only `pawl exec` guards against that.
set -eu
[ $# -ge 2 ] || { echo "usage: lease.sh KEY COMMAND…" >&2; exit 64; }
key=$1
shift
case $key in *[!A-Za-z0-9/_.:-]*) echo "lease.sh: use letters, digits, / _ . : - in the key" >&2; exit 64 ;; esac
ttl=${TTL_MS:-30000}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Not on curl's command line, which every user of this machine may read.
(umask 077 && printf 'Authorization: Bearer %s' "$PAWL_TOKEN" >"$folder/secret")

# Milliseconds since the machine was started, its sleep included: a clock that is never set.
now() {
  read -r up _ </proc/uptime
  echo $((${up%.*} * 1000 + 1${up#*.} * 10 - 1000))
}

# ask METHOD PATH SECONDS [BODY]: the status of the answer, 000 when there is none.
ask() {
  curl --silent --request "$1" --max-time "$3" --header @"$folder/secret" --header 'Content-Type: application/json' \
    ${4:+--data "$4"} --dump-header "$folder/fields" --output "$folder/answer" --write-out '%{http_code}' "$PAWL_URL$2" || true
}

number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$folder/answer"; }

# A lease is valid until a little before the store may give the key to another client.
trust_from() { echo $(($1 + ttl - ttl / 1000 - ttl / 50 - 5)); }

# Asking again under the same claim_id cannot take it twice.
claim=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
tries=0
while :; do
  sent=$(now) # before the request leaves: what its answer says is counted from here
  status=$(ask POST /api/v1/leases 10 "{\"key\": \"$key\", \"ttl_ms\": $ttl, \"claim_id\": \"$claim\"}")
  case $status in
    201) break ;;
    409) exit 75 ;;
    000 | 429 | 502 | 503) ;;
    *) cat "$folder/answer" >&2; exit 69 ;;
  esac
  tries=$((tries + 1))
  [ $tries -lt 5 ] || { echo "lease.sh: no answer from $PAWL_URL" >&2; exit 69; }
  sleep 0.5
done
ttl=$(number ttl_ms) # a store may grant less than was asked
valid_until=$(trust_from "$sent")
place=$(tr -d '\r' <"$folder/fields" | sed -n 's/^[Ll]ocation: //p')
PAWL_KEY=$key PAWL_FENCE_TOKEN=$(number fence_token)
export PAWL_KEY PAWL_FENCE_TOKEN

# In a group of its own, so that all of it can be stopped, which is done here: no signal of a terminal reaches it.
stopped=
trap 'stopped=130' INT
trap 'stopped=143' TERM
trap 'stopped=129' HUP
setsid "$@" &
work=$!
renew_at=$((sent + ttl / 3))
while kill -0 $work 2>/dev/null; do
  at=$(now) || continue # Ctrl-C ends what runs here, too
  if [ -n "$stopped" ] || [ "$at" -ge $((valid_until - ttl / 6)) ]; then
    # Told to end, or not renewed for so long: the command is told to stop now, and dead when trust ends.
    kill -TERM -$work 2>/dev/null || true
    while kill -0 $work 2>/dev/null && [ "$(now)" -lt "$valid_until" ]; do sleep 0.05 || true; done
    kill -KILL -$work 2>/dev/null || true
    [ -z "$stopped" ] || ask DELETE "$place" 5 >/dev/null
    exit "${stopped:-70}"
  fi
  if [ "$at" -ge "$renew_at" ]; then
    left=$((valid_until - ttl / 6 - at))
    case $(ask PUT "$place" "$((left / 1000)).$(printf %03d $((left % 1000)))" "{\"ttl_ms\": $ttl}") in
      200) valid_until=$(trust_from "$at") renew_at=$((at + ttl / 3)) ;;
      409) valid_until=$at ;;             # lost: another client may have the key, so the command dies at once
      *) renew_at=$(($(now) + ttl / 20)) ;; # unknown: retry while the lease is valid
    esac
  fi
  sleep 0.05 || true
done
status=0
wait $work || status=$?
ask DELETE "$place" 5 >/dev/null
exit $status
