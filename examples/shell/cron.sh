#!/bin/sh
# A crontab line that runs on every node, and does its work on one of them each time:
#
#   0 2 * * *  PAWL_STORE=redis://10.0.0.5:6379 /usr/local/bin/cron.sh minute
#
# Usage: cron.sh OCCURRENCE, the scheduled time; `minute` is the current one. A node that comes late, or finds
# the work being done, skips it and ends with 0: for cron that is no failure.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
exec pawl exec invoices/nightly --ttl 30s --occurrence "$1" --skip-status 0 -- "$folder/send_invoices.sh"
