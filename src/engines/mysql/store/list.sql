-- space conditions limit -> now and records in the order of their bytes, with waiters unknown.
SELECT {now}, lock_key, holder, claim_id, owner, acquired, until_at, last_token, last_done
FROM pawl_lease WHERE name_space = {space} AND acquired > 0 AND {conditions}
ORDER BY lock_key LIMIT {limit}
