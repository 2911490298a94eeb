-- space id job part arguments inherits by -> the second answer: affected 1: added; the third: affected 1:
-- and taken back, because there is a run of this id.
-- Looked at afterwards: a run that consumed such a trigger a moment ago is seen for sure.
START TRANSACTION;
INSERT INTO pawl_run_trigger (name_space, run_id, job_name, partition_number, arguments, inherits, asked_by,
  at)
VALUES ({space}, {id}, {job}, {part}, {arguments}, {inherits}, {by}, UTC_TIMESTAMP(3))
ON DUPLICATE KEY UPDATE run_id = run_id;
DELETE t FROM pawl_run_trigger AS t
JOIN pawl_job_run AS r ON r.name_space = t.name_space AND r.run_id = t.run_id
WHERE t.name_space = {space} AND t.run_id = {id};
COMMIT
