-- name_space, key -> none.
DELETE FROM pawl_lease WHERE name_space = ?1 AND key = ?2
