-- space id event -> the fourth answer: 1: the run goes on.
START TRANSACTION;
UPDATE pawl_job_run SET cancel_requested = 1
WHERE name_space = {space} AND run_id = {id} AND status IN ('started', 'abandoned')
  AND cancel_requested = 0;
{event};
SELECT COUNT(*) FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND status IN ('started', 'abandoned');
COMMIT
