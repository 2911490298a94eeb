-- As begin.sql, why event -> the second answer: affected 1: written.
START TRANSACTION;
INSERT INTO pawl_job_run (name_space, run_id, job_name, partition_number, occurrence, lease_key, lock_owner,
  node, fence_token, at_least_once, started_by, status, reason, started_at, completed_at, last_heartbeat,
  silence_max, attempt, taken_over, cancel_requested, output_size, checkpoint)
VALUES ({space}, {id}, {job}, {part}, {due}, {key}, {owner}, {node}, {token}, {again}, {by}, 'skipped',
  {why}, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), {silence}, 1, 0, 0, 0, '')
ON DUPLICATE KEY UPDATE run_id = run_id;
{event};
COMMIT
