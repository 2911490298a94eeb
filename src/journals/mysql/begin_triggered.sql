-- As begin.sql, for a run that answers a trigger -> the second answer: affected 1: the trigger waited;
-- the third: affected 1: begun.
START TRANSACTION;
DELETE FROM pawl_run_trigger WHERE name_space = {space} AND run_id = {id};
INSERT INTO pawl_job_run (name_space, run_id, job_name, partition_number, occurrence, lease_key, lock_owner,
  node, fence_token, at_least_once, started_by, status, reason, started_at, last_heartbeat, silence_max,
  attempt, taken_over, cancel_requested, output_size, checkpoint)
SELECT {space}, {id}, {job}, {part}, {due}, {key}, {owner}, {node}, {token}, {again}, {by}, 'started', '',
  UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), {silence}, 1, 0, 0, 0, {checkpoint} FROM DUAL
WHERE ROW_COUNT() = 1
ON DUPLICATE KEY UPDATE run_id = {id};
INSERT INTO pawl_run_event (run_number, number, at, kind, said, node, fence_token, attempt)
SELECT run_number, 1, started_at, 'begun', started_by, node, fence_token, 1 FROM pawl_job_run
WHERE ROW_COUNT() = 1 AND run_number = LAST_INSERT_ID();
{told}
COMMIT
