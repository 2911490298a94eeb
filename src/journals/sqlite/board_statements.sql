-- The statements of board_table. Each begins with a line of its own that names it.

-- name: trigger_find
SELECT 1 FROM pawl_trigger WHERE space = ?1 AND trigger_id = ?2

-- name: trigger_add
INSERT INTO pawl_trigger (space, trigger_id, job_name, partition, arguments, last_saved, asked_by,
  asked_at)
SELECT ?1, ?2, ?3, ?4, CAST(?5 AS BLOB), ?6, ?7, ?8
WHERE NOT EXISTS (SELECT 1 FROM pawl_run WHERE space = ?1 AND run_id = ?2)
ON CONFLICT DO NOTHING
RETURNING 1

-- name: trigger_remove
DELETE FROM pawl_trigger WHERE space = ?1 AND trigger_id = ?2 RETURNING 1

-- name: trigger_list
SELECT trigger_id, job_name, partition, arguments, last_saved, asked_by, asked_at FROM pawl_trigger
WHERE space = ?1 ORDER BY place LIMIT ?2

-- name: pause_add
INSERT INTO pawl_pause (space, job_name, reason, paused_by, paused_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO NOTHING
RETURNING 1

-- name: pause_remove
DELETE FROM pawl_pause WHERE space = ?1 AND job_name = ?2 RETURNING 1

-- name: pause_list
SELECT job_name, reason, paused_by, paused_at FROM pawl_pause WHERE space = ?1
ORDER BY job_name LIMIT ?2

-- name: job_put
INSERT INTO pawl_job (space, job_name, schedule, zone, partitions, definition, node, schedule_since,
  published_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
ON CONFLICT (space, job_name) DO UPDATE SET
  schedule_since = CASE WHEN schedule = excluded.schedule AND zone = excluded.zone
    AND partitions = excluded.partitions THEN schedule_since ELSE excluded.schedule_since END,
  schedule = excluded.schedule, zone = excluded.zone, partitions = excluded.partitions,
  definition = excluded.definition, node = excluded.node, published_at = excluded.published_at
RETURNING schedule_since

-- name: job_retire
DELETE FROM pawl_job WHERE space = ?1 AND job_name = ?2 AND node = ?3 RETURNING 1

-- name: job_list
SELECT job_name, schedule, zone, partitions, definition, node, schedule_since, published_at
FROM pawl_job WHERE space = ?1 AND job_name > ?2 ORDER BY job_name LIMIT ?3

-- name: job_find
SELECT job_name, schedule, zone, partitions, definition, node, schedule_since, published_at
FROM pawl_job WHERE space = ?1 AND job_name = ?2

-- name: node_put
INSERT INTO pawl_node (space, node_id, name, version, address, started_at, last_seen, running,
  running_max, jobs, draining)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (space, node_id) DO UPDATE SET
  name = excluded.name, version = excluded.version, address = excluded.address,
  last_seen = excluded.last_seen, running = excluded.running, running_max = excluded.running_max,
  jobs = excluded.jobs, draining = excluded.draining

-- name: node_forget
DELETE FROM pawl_node WHERE space = ?1 AND last_seen < ?2

-- name: node_remove
DELETE FROM pawl_node WHERE space = ?1 AND node_id = ?2

-- name: node_list
SELECT node_id, name, version, address, started_at, last_seen, running, running_max, jobs, draining
FROM pawl_node WHERE space = ?1 AND last_seen >= ?2 ORDER BY name, node_id LIMIT ?3

-- name: audit_newest
SELECT sequence, hash FROM pawl_audit WHERE space = ?1 ORDER BY sequence DESC LIMIT 1

-- name: audit_add
INSERT INTO pawl_audit (space, sequence, at, actor, action, target, detail, previous, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: audit_list
SELECT sequence, at, actor, action, target, detail, previous, hash FROM pawl_audit
WHERE space = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3
