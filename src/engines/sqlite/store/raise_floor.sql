-- name_space, token -> none.
INSERT INTO pawl_floor (name_space, token) VALUES (?1, ?2)
ON CONFLICT DO UPDATE SET token = max(token, excluded.token)
