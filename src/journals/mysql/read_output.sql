-- space id offset limit -> size, whether it is over, and a piece each, or NULLs.
SELECT r.output_size, r.status NOT IN ('started', 'abandoned'), o.starts, o.piece
FROM pawl_job_run AS r
LEFT JOIN pawl_run_output AS o ON o.run_number = r.run_number AND o.ends > {offset}
  AND o.starts >= COALESCE((SELECT MAX(b.starts) FROM pawl_run_output AS b
                            WHERE b.run_number = r.run_number AND b.starts <= {offset}), 0)
WHERE r.name_space = {space} AND r.run_id = {id} ORDER BY o.starts LIMIT {limit}
