-- run: a number -> its oldest events but the first go, beyond 200.
DELETE e FROM pawl_run_event AS e
JOIN (SELECT MAX(n.number) - 199 AS last FROM pawl_run_event AS n WHERE n.run_number = {run}) AS old
  ON e.number BETWEEN 2 AND old.last
WHERE e.run_number = {run}
