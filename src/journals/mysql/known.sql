-- run: columns, space id which -> now; the row of the firing or the id; whether the id has a row.
SELECT {now} DIV 1000;
SELECT {run} FROM pawl_job_run AS r WHERE r.name_space = {space} AND {which};
SELECT COUNT(*) FROM pawl_job_run WHERE name_space = {space} AND run_id = {id}
