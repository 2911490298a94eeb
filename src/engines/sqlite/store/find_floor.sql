-- name_space -> the highest token of the purged records; no row: none was purged.
SELECT token FROM pawl_floor WHERE name_space = ?1
