-- which at kind said -> affected 1 unless the newest event of the run says the same.
INSERT INTO pawl_run_event (run_number, number, at, kind, said, node, fence_token, attempt)
SELECT r.run_number, COALESCE(e.number, 0) + 1, {at}, {kind}, {said}, r.node, r.fence_token,
       r.attempt
FROM pawl_job_run AS r
LEFT JOIN pawl_run_event AS e ON e.run_number = r.run_number
  AND e.number = (SELECT MAX(n.number) FROM pawl_run_event AS n WHERE n.run_number = r.run_number)
WHERE {which}
  AND (e.number IS NULL OR e.kind <> {kind} OR e.said <> {said} OR e.node <> r.node
       OR e.fence_token <> r.fence_token OR e.attempt <> r.attempt)
