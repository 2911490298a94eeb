-- run: columns, index space which before limit -> rows, the newest first.
-- The index is named: the optimizer likes to walk the primary key when the order is its own.
SELECT {run} FROM pawl_job_run AS r FORCE INDEX ({index})
WHERE r.name_space = {space} AND r.run_number < {before} {which}
ORDER BY r.run_number DESC LIMIT {limit}
