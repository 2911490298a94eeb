-- The parameters of add_lease.sql -> none. For a key that has a record.
UPDATE pawl_lease SET holder = ?3, claim_id = ?4, owner = ?5, boot = ?6, acquired = ?7,
                      acquired_wall = ?8, until = ?9, until_wall = ?10, last_token = ?11,
                      last_done = ?12
WHERE name_space = ?1 AND key = ?2
