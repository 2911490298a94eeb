-- name_space, key -> what a renewal needs to know.
SELECT holder, boot, acquired, until FROM pawl_lease WHERE name_space = ?1 AND key = ?2
