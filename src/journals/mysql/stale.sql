-- run: columns, space limit skip -> rows that have been silent for longer than they said.
SELECT {run} FROM pawl_job_run AS r FORCE INDEX (by_status)
WHERE r.name_space = {space} AND r.status = 'started'
  AND TIMESTAMPDIFF(MICROSECOND, r.last_heartbeat, UTC_TIMESTAMP(3)) > r.silence_max * 1000
ORDER BY r.run_number LIMIT {limit} OFFSET {skip}
