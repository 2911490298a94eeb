-- run: columns, space limit -> a part and the columns of a run: 0 pauses, 1 triggers, 2 ids to cancel,
-- 3 orphans. What is no run has its reason, arguments, who and when in the columns reason, checkpoint,
-- lock_owner and started_at. One statement: one look.
(SELECT 0, 0, NULL, p.job_name, NULL, NULL, p.paused_by, NULL, NULL, NULL, NULL, NULL, NULL, p.reason,
        TIMESTAMPDIFF(MICROSECOND, '1970-01-01', p.at) DIV 1000, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL
 FROM pawl_job_pause AS p WHERE p.name_space = {space} ORDER BY p.job_name LIMIT {limit})
UNION ALL
(SELECT 1, t.place, t.run_id, t.job_name, t.partition_number, NULL, t.asked_by, NULL, NULL, NULL,
        t.inherits, NULL, NULL, NULL, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t.at) DIV 1000, NULL, NULL,
        NULL, NULL, t.arguments, NULL, NULL, NULL, NULL
 FROM pawl_run_trigger AS t FORCE INDEX (oldest) WHERE t.name_space = {space} ORDER BY t.place LIMIT {limit})
UNION ALL
(SELECT 2, r.run_number, r.run_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
 FROM pawl_job_run AS r FORCE INDEX (by_status)
 WHERE r.name_space = {space} AND r.status = 'started' AND r.cancel_requested = 1
 ORDER BY r.run_number LIMIT {limit})
UNION ALL
(SELECT 3, {run} FROM pawl_job_run AS r FORCE INDEX (by_status)
 WHERE r.name_space = {space} AND r.status = 'abandoned' AND r.at_least_once = 1
 ORDER BY r.run_number LIMIT {limit})
ORDER BY 1, 2, 4
