-- name_space, key, holder, claim_id, boot, until, until_wall, last_token, last_done -> none.
UPDATE pawl_lease SET holder = ?3, claim_id = ?4, boot = ?5, until = ?6, until_wall = ?7,
                      last_token = ?8, last_done = ?9
WHERE name_space = ?1 AND key = ?2
