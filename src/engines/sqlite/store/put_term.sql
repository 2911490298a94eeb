-- name_space, key, until, until_wall -> none.
UPDATE pawl_lease SET until = ?3, until_wall = ?4 WHERE name_space = ?1 AND key = ?2
