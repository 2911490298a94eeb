-- name_space, first key, limit, boot, now -> records from that key on, with their waiters.
SELECT key, holder, claim_id, owner, boot, acquired, acquired_wall, until, until_wall, last_token,
       last_done,
       (SELECT count(*) FROM pawl_waiter AS waiting
        WHERE waiting.name_space = lease.name_space AND waiting.key = lease.key
          AND waiting.boot = ?4 AND waiting.until > ?5)
FROM pawl_lease AS lease WHERE name_space = ?1 AND key >= ?2 ORDER BY key LIMIT ?3
