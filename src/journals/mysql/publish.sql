-- space values names -> the third answer: name, since, published_at of each.
START TRANSACTION;
INSERT INTO pawl_job (name_space, job_name, schedule, zone, partitions, definition, node, since,
  published_at)
VALUES {values}
ON DUPLICATE KEY UPDATE
  since = IF(schedule = VALUES(schedule) AND zone = VALUES(zone) AND partitions = VALUES(partitions),
    since, VALUES(since)),
  schedule = VALUES(schedule), zone = VALUES(zone), partitions = VALUES(partitions),
  definition = VALUES(definition), node = VALUES(node), published_at = VALUES(published_at);
SELECT job_name, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', since) DIV 1000,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', published_at) DIV 1000
FROM pawl_job WHERE name_space = {space} AND job_name IN ({names});
COMMIT
