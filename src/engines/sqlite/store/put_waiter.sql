-- name_space, key, waiter, boot, until -> none.
INSERT OR REPLACE INTO pawl_waiter (name_space, key, waiter, boot, until)
VALUES (?1, ?2, ?3, ?4, ?5)
