#!/bin/sh
# What cron.sh runs under the lease. pawl has set PAWL_STORE, PAWL_KEY and PAWL_FENCE_TOKEN.
set -eu

# First of all the fence is raised, before anything is read: from now on an older holder, frozen since
# who knows when, is rejected. 77 is pawl's status for that.
pawl fence check invoices-outbox "$PAWL_FENCE_TOKEN" || exit 77

for invoice in one two three; do
  # And again before each write: a newer holder may have come since. The check and the write are two
  # steps here, so this narrows the gap; only a resource that checks the token itself closes it.
  pawl fence check invoices-outbox "$PAWL_FENCE_TOKEN" || exit 77
  printf '%s %s\n' "$PAWL_FENCE_TOKEN" "$invoice" >>outbox
done
