-- space id token how and -> whether the run has been ended so.
SELECT COUNT(*) FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = {how} {and}
