-- space which limit -> jobs in the order of their names.
SELECT job_name, schedule, zone, partitions, definition, node,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', since) DIV 1000,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', published_at) DIV 1000
FROM pawl_job WHERE name_space = {space} AND {which} ORDER BY job_name LIMIT {limit}
