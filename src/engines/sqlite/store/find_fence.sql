-- name_space, resource -> the newest token accepted.
SELECT newest FROM pawl_fence WHERE name_space = ?1 AND resource = ?2
