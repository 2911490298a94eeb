-- name_space, after, limit -> records in order, to look for those past their retention.
SELECT key, boot, until, until_wall, last_token
FROM pawl_lease WHERE name_space = ?1 AND key > ?2 ORDER BY key LIMIT ?3
