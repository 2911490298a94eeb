-- name_space, key -> everything that is known of the key; no row: nothing.
SELECT holder, claim_id, owner, boot, acquired, acquired_wall, until, until_wall, last_token,
       last_done
FROM pawl_lease WHERE name_space = ?1 AND key = ?2
