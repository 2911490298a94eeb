-- number seen_token seen_status seen_attempt, first, what a run is told, checkpoint: an expression,
-- run: columns, event -> the second answer: affected 1: taken; the fifth: the row.
-- Compare and set: what was decided stands only if the row is as it was seen.
START TRANSACTION;
UPDATE pawl_job_run AS r SET
  lease_key = {key}, lock_owner = {owner}, node = {node}, fence_token = {token}, at_least_once = {again},
  started_by = {by}, status = 'started', reason = '', completed_at = NULL, exit_status = NULL,
  started_at = IF({first}, UTC_TIMESTAMP(3), started_at), last_heartbeat = UTC_TIMESTAMP(3),
  silence_max = {silence}, attempt = {attempt}, taken_over = {taken_over}, checkpoint = {checkpoint}
WHERE r.run_number = {number} AND r.fence_token = {seen_token} AND r.status = {seen_status}
  AND r.attempt = {seen_attempt};
{event};
{trim};
SELECT {run} FROM pawl_job_run AS r WHERE r.run_number = {number};
COMMIT
