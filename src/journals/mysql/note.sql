-- space id token event trim -> the last but one answer: 1: the run is the caller's.
START TRANSACTION;
SET @pawl_run = NULL;
SELECT run_number INTO @pawl_run FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' FOR UPDATE;
{event};
{trim};
SELECT @pawl_run IS NOT NULL;
COMMIT
