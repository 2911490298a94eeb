-- space id -> none.
DELETE FROM pawl_node WHERE name_space = {space} AND node_id = {id}
