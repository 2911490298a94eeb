-- space ids pairs -> the second answer: id, token, cancel_requested of those that are alive.
-- Locked in the order of the ids, so that two batches never wait for each other in a circle.
UPDATE pawl_job_run SET last_heartbeat = UTC_TIMESTAMP(3)
WHERE name_space = {space} AND run_id IN ({ids}) AND (run_id, fence_token) IN ({pairs})
  AND status = 'started';
SELECT run_id, fence_token, cancel_requested FROM pawl_job_run
WHERE name_space = {space} AND run_id IN ({ids}) AND (run_id, fence_token) IN ({pairs})
  AND status = 'started'
