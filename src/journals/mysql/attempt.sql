-- space id token ended why code event trim -> the last but one answer: whether the run is the caller's,
-- the attempt that it was at.
START TRANSACTION;
SET @pawl_run = NULL, @pawl_attempt = 0;
SELECT run_number, attempt INTO @pawl_run, @pawl_attempt FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' FOR UPDATE;
SET @pawl_mine = @pawl_run IS NOT NULL,
    @pawl_run = IF(({ended} <> 0 AND {ended} < @pawl_attempt) OR @pawl_attempt >= 1000, NULL, @pawl_run);
UPDATE pawl_job_run SET reason = {why}, exit_status = {code}, attempt = attempt + 1,
  started_at = UTC_TIMESTAMP(3)
WHERE run_number = @pawl_run;
{event};
{trim};
SELECT @pawl_mine, @pawl_attempt;
COMMIT
