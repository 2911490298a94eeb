-- name_space, key, holder, claim_id, owner, boot, acquired, acquired_wall, until, until_wall,
-- last_token, last_done -> none.
INSERT INTO pawl_lease (name_space, key, holder, claim_id, owner, boot, acquired, acquired_wall,
                        until, until_wall, last_token, last_done)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT DO UPDATE SET
  holder = excluded.holder, claim_id = excluded.claim_id, owner = excluded.owner,
  boot = excluded.boot, acquired = excluded.acquired, acquired_wall = excluded.acquired_wall,
  until = excluded.until, until_wall = excluded.until_wall, last_token = excluded.last_token,
  last_done = excluded.last_done
