-- space id -> events, the oldest first.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.at) DIV 1000, e.kind, e.said, e.node, e.fence_token,
       e.attempt
FROM pawl_job_run AS r JOIN pawl_run_event AS e ON e.run_number = r.run_number
WHERE r.name_space = {space} AND r.run_id = {id} ORDER BY e.number
