-- run: columns, space which -> the row.
SELECT {run} FROM pawl_job_run AS r WHERE r.name_space = {space} AND {which}
