-- name_space, key -> a row if anybody waits.
SELECT 1 FROM pawl_waiter WHERE name_space = ?1 AND key = ?2 LIMIT 1
