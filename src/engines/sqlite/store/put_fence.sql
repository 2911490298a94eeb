-- name_space, resource, newest -> none.
INSERT INTO pawl_fence (name_space, resource, newest) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET newest = excluded.newest
