-- name_space, key, waiter -> none.
DELETE FROM pawl_waiter WHERE name_space = ?1 AND key = ?2 AND waiter = ?3
