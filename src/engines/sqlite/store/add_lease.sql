-- name_space, key, holder, claim_id, owner, boot, acquired, acquired_wall, until, until_wall,
-- last_token, last_done -> none. For a key without a record.
INSERT INTO pawl_lease (name_space, key, holder, claim_id, owner, boot, acquired, acquired_wall,
                        until, until_wall, last_token, last_done)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
