-- space -> those go that are not shown any more.
DELETE FROM pawl_node WHERE name_space = {space} AND last_seen < UTC_TIMESTAMP(3) - INTERVAL 2 DAY LIMIT 100
