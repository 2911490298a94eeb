-- space job -> affected 1: it was paused.
DELETE FROM pawl_job_pause WHERE name_space = {space} AND job_name = {job}
