#!/bin/sh
# Sends an invoice to receiver.py under the fencing token of its run.
#
#   pawl exec invoices/nightly --ttl 30s -- sender.sh http://127.0.0.1:8080 2026-11 'the text of it'
#
# Ends with 0 when it was stored, now or before; with 70 when the token is stale: another run has taken over, so stop.
# curl repeats a request that had no answer. The idempotency key lets the receiver store it once all the same.
set -eu
: "${PAWL_FENCE_TOKEN:?run this under pawl exec or in a job}"
status=$(curl --silent --show-error --output /dev/null --write-out '%{http_code}' --max-time 10 --retry 3 --retry-connrefused \
  -H "X-Job-Token: $PAWL_FENCE_TOKEN" -H "Idempotency-Key: $2" --data-raw "$3" "$1/invoices")
case $status in
  200 | 201) exit 0 ;;
  409) echo "sender.sh: token $PAWL_FENCE_TOKEN is stale, stopping" >&2; exit 70 ;;
  *) echo "sender.sh: $1 answered $status" >&2; exit 74 ;;
esac
