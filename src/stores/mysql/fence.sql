-- space resource token -> insert id: the newest, affected 0: nothing was raised (rule 15).
INSERT INTO pawl_fence (name_space, resource, newest) VALUES ({space}, {resource}, LAST_INSERT_ID({token}))
ON DUPLICATE KEY UPDATE newest = LAST_INSERT_ID(GREATEST(newest, {token}))
