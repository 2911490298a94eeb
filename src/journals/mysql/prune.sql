-- numbers -> the second answer: affected: how many went.
-- A firing that was skipped may have been taken over since it was looked at; then all of it stays.
START TRANSACTION;
DELETE FROM pawl_job_run WHERE run_number IN ({numbers}) AND status NOT IN ('started', 'abandoned');
DELETE e FROM pawl_run_event AS e LEFT JOIN pawl_job_run AS r ON r.run_number = e.run_number
WHERE e.run_number IN ({numbers}) AND r.run_number IS NULL;
DELETE o FROM pawl_run_output AS o LEFT JOIN pawl_job_run AS r ON r.run_number = o.run_number
WHERE o.run_number IN ({numbers}) AND r.run_number IS NULL;
COMMIT
