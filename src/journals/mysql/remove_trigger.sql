-- space id -> affected 1: removed.
DELETE FROM pawl_run_trigger WHERE name_space = {space} AND run_id = {id}
