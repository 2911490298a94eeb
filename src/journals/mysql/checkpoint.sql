-- space id token text said, event, trim -> the last but one answer: 1: saved.
START TRANSACTION;
SET @pawl_run = NULL, @pawl_text = {text};
SELECT run_number INTO @pawl_run FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' FOR UPDATE;
INSERT INTO pawl_job_checkpoint (name_space, job_name, partition_number, fence_token, checkpoint)
SELECT r.name_space, r.job_name, r.partition_number, {token}, @pawl_text FROM pawl_job_run AS r
WHERE r.run_number = @pawl_run
ON DUPLICATE KEY UPDATE
  checkpoint = IF(pawl_job_checkpoint.fence_token <= {token}, @pawl_text, pawl_job_checkpoint.checkpoint),
  fence_token = GREATEST(pawl_job_checkpoint.fence_token, {token});
SET @pawl_run = (SELECT r.run_number FROM pawl_job_run AS r
  JOIN pawl_job_checkpoint AS c ON c.name_space = r.name_space AND c.job_name = r.job_name
    AND c.partition_number = r.partition_number
  WHERE r.run_number = @pawl_run AND c.fence_token = {token});
UPDATE pawl_job_run SET checkpoint = @pawl_text WHERE run_number = @pawl_run;
{event};
{trim};
SELECT @pawl_run IS NOT NULL;
COMMIT
