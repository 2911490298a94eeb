-- space names node -> affected: how many went.
DELETE FROM pawl_job WHERE name_space = {space} AND job_name IN ({names}) AND node = {node}
