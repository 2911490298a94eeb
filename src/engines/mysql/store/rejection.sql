-- space key mark -> now, since when the data are whole, the record or NULLs, whether the claim was
-- withdrawn. Why a claim was refused; not part of its atomic step, as a refusal grants nothing.
SELECT {now}, GREATEST(marker.whole_at, COALESCE(@pawl_since, 0)), lease.holder, lease.claim_id,
       lease.owner, lease.acquired, lease.until_at, lease.last_token, lease.last_done,
       LOCATE({mark}, COALESCE(lease.withdrawn, ''))
FROM pawl_marker AS marker
LEFT JOIN pawl_lease AS lease ON lease.name_space = {space} AND lease.lock_key = {key}
WHERE marker.only_one = 1
