-- space memory_us limit -> nodes by name.
SELECT node_id, node_name, version, address, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', started_at) DIV 1000,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', last_seen) DIV 1000,
       GREATEST(TIMESTAMPDIFF(MICROSECOND, last_seen, UTC_TIMESTAMP(3)) DIV 1000, 0),
       running, running_max, jobs, draining
FROM pawl_node
WHERE name_space = {space} AND TIMESTAMPDIFF(MICROSECOND, last_seen, UTC_TIMESTAMP(3)) <= {memory_us}
ORDER BY node_name, node_id LIMIT {limit}
