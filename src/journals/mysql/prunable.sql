-- space job keep aged: a condition, limit window -> numbers of runs that may go, the oldest first.
-- Looks at the oldest only: whoever began later has rarely ended much earlier.
SELECT oldest.run_number FROM (
  SELECT r.run_number, r.completed_at FROM pawl_job_run AS r FORCE INDEX (by_job)
  WHERE r.name_space = {space} AND r.job_name = {job} AND r.status NOT IN ('started', 'abandoned')
  ORDER BY r.run_number LIMIT {window}) AS oldest
WHERE {aged} OR oldest.run_number <= (
  SELECT k.run_number FROM pawl_job_run AS k FORCE INDEX (by_job)
  WHERE k.name_space = {space} AND k.job_name = {job} AND k.status NOT IN ('started', 'abandoned')
  ORDER BY k.run_number DESC LIMIT 1 OFFSET {keep})
ORDER BY oldest.run_number LIMIT {limit}
