-- name_space, key -> what ending its lease needs to know, and whether anybody waits for that.
SELECT holder, claim_id, boot, acquired, until, until_wall, last_token, last_done,
       EXISTS (SELECT 1 FROM pawl_waiter AS waiting
               WHERE waiting.name_space = lease.name_space AND waiting.key = lease.key),
       acquired_wall
FROM pawl_lease AS lease WHERE name_space = ?1 AND key = ?2
