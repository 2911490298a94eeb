-- space job why by -> affected 1: it was not paused before.
INSERT INTO pawl_job_pause (name_space, job_name, reason, paused_by, at)
VALUES ({space}, {job}, {why}, {by}, UTC_TIMESTAMP(3))
ON DUPLICATE KEY UPDATE job_name = job_name
