-- The statements of the journal. Each begins with a line of its own that names it.

-- ---- Of run_table

-- name: space_find
SELECT space FROM pawl_space WHERE name = ?1

-- name: space_add
INSERT INTO pawl_space (name) VALUES (?1) ON CONFLICT DO NOTHING

-- name: run_find
SELECT * FROM pawl_run WHERE space = ?1 AND run_id = ?2

-- name: run_find_firing
SELECT * FROM pawl_run WHERE space = ?1 AND job_name = ?2 AND partition = ?3 AND occurrence = ?4

-- name: run_insert
INSERT INTO pawl_run (space, run_id, job_name, partition, lock_key, lock_owner, node, fence_token,
  occurrence, at_least_once, run_trigger, status, reason, started_at, completed_at, last_heartbeat,
  exit_status, attempt, checkpoint, output_size, cancel_requested, silence_max, taken_over)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
  CAST(?19 AS BLOB), ?20, ?21, ?22, ?23)

-- A new runner.
-- name: run_take_over
UPDATE pawl_run SET lock_key = ?2, lock_owner = ?3, node = ?4, fence_token = ?5, at_least_once = ?6,
  run_trigger = ?7, status = ?8, reason = ?9, started_at = ?10, completed_at = ?11,
  last_heartbeat = ?12, exit_status = ?13, attempt = ?14, checkpoint = CAST(?15 AS BLOB),
  silence_max = ?16, taken_over = ?17
WHERE place = ?1

-- What a verb of a runner or a reconciler may change.
-- name: run_update
UPDATE pawl_run SET status = ?2, reason = ?3, completed_at = ?4, exit_status = ?5, attempt = ?6,
  cancel_requested = ?7, started_at = ?8
WHERE place = ?1

-- name: run_beat
UPDATE pawl_run SET last_heartbeat = ?5
WHERE space = ?1 AND run_id = ?2 AND fence_token = ?3 AND status = ?4
RETURNING cancel_requested

-- name: run_save
UPDATE pawl_run SET checkpoint = CAST(?2 AS BLOB) WHERE place = ?1

-- name: run_grow
UPDATE pawl_run SET output_size = ?2 WHERE place = ?1

-- name: checkpoint_find
SELECT fence_token, checkpoint FROM pawl_checkpoint
WHERE space = ?1 AND job_name = ?2 AND partition = ?3

-- name: checkpoint_put
INSERT INTO pawl_checkpoint (space, job_name, partition, fence_token, checkpoint)
VALUES (?1, ?2, ?3, ?4, CAST(?5 AS BLOB))
ON CONFLICT (space, job_name, partition)
DO UPDATE SET fence_token = excluded.fence_token, checkpoint = excluded.checkpoint

-- name: event_newest
SELECT number, kind, detail, node, fence_token, attempt FROM pawl_run_event
WHERE place = ?1 ORDER BY number DESC LIMIT 1

-- name: event_add
INSERT INTO pawl_run_event (place, number, at, kind, detail, node, fence_token, attempt)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- The first stays.
-- name: event_trim
DELETE FROM pawl_run_event WHERE place = ?1 AND number > 1 AND number <= ?2

-- name: event_list
SELECT at, kind, detail, node, fence_token, attempt FROM pawl_run_event
WHERE place = (SELECT place FROM pawl_run WHERE space = ?1 AND run_id = ?2) ORDER BY number

-- name: event_remove
DELETE FROM pawl_run_event WHERE place = ?1

-- name: output_last
SELECT start, length(bytes) FROM pawl_run_output WHERE place = ?1 ORDER BY start DESC LIMIT 1

-- name: output_add
INSERT INTO pawl_run_output (place, start, bytes) VALUES (?1, ?2, CAST(?3 AS BLOB))

-- name: output_extend
UPDATE pawl_run_output SET bytes = CAST(bytes || ?3 AS BLOB) WHERE place = ?1 AND start = ?2

-- name: output_trim
DELETE FROM pawl_run_output WHERE place = ?1 AND start < ?2 AND start + length(bytes) <= ?2

-- From the chunk on that begins at or before the offset, if there is one.
-- name: output_read
SELECT start, length(bytes), substr(bytes, max(?2 - start, 0) + 1, ?3) FROM pawl_run_output
WHERE place = ?1 AND start >= coalesce(
  (SELECT max(start) FROM pawl_run_output WHERE place = ?1 AND start <= ?2), 0)
ORDER BY start

-- name: output_remove
DELETE FROM pawl_run_output WHERE place = ?1

-- name: run_list
SELECT * FROM pawl_run WHERE space = ?1 AND place < ?2 ORDER BY place DESC LIMIT ?3

-- name: run_list_job
SELECT * FROM pawl_run INDEXED BY pawl_run_job
WHERE space = ?1 AND place < ?2 AND job_name = ?4 AND (?5 = '' OR status = ?5)
  AND (?6 = 0 OR node = ?7) ORDER BY place DESC LIMIT ?3

-- name: run_list_node
SELECT * FROM pawl_run INDEXED BY pawl_run_node
WHERE space = ?1 AND place < ?2 AND node = ?4 AND (?5 = '' OR status = ?5)
ORDER BY place DESC LIMIT ?3

-- name: run_list_status
SELECT * FROM pawl_run INDEXED BY pawl_run_status
WHERE space = ?1 AND place < ?2 AND status = ?4 ORDER BY place DESC LIMIT ?3

-- name: run_stale
SELECT * FROM pawl_run WHERE space = ?1 AND status = 'started' AND ?2 - last_heartbeat > silence_max
ORDER BY place LIMIT ?3 OFFSET ?4

-- name: run_cancels
SELECT run_id FROM pawl_run WHERE space = ?1 AND status = 'started' AND cancel_requested
ORDER BY place LIMIT ?2

-- name: run_orphans
-- Of each job its first, then of each its second … None has its checkpoint.
SELECT place, space, run_id, job_name, partition, lock_key, lock_owner, node, fence_token, occurrence,
  at_least_once, run_trigger, status, reason, started_at, completed_at, last_heartbeat, exit_status,
  attempt, x'', output_size, cancel_requested, silence_max, taken_over
FROM pawl_run
WHERE place IN (
  SELECT place FROM (
    SELECT place, row_number() OVER (PARTITION BY job_name ORDER BY place) AS turn
    FROM pawl_run INDEXED BY pawl_run_status
    WHERE space = ?1 AND status = 'abandoned' AND at_least_once)
  ORDER BY turn, place LIMIT ?2)
ORDER BY place

-- The newest run that is beyond the number to keep.
-- name: prune_beyond
SELECT place FROM pawl_run INDEXED BY pawl_run_over
WHERE space = ?1 AND job_name = ?2 AND status NOT IN ('started', 'abandoned')
ORDER BY place DESC LIMIT 1 OFFSET ?3

-- name: prune_number
SELECT place FROM pawl_run INDEXED BY pawl_run_over
WHERE space = ?1 AND job_name = ?2 AND status NOT IN ('started', 'abandoned') AND place <= ?3
ORDER BY place LIMIT ?4

-- name: prune_age
SELECT place FROM pawl_run INDEXED BY pawl_run_end
WHERE space = ?1 AND job_name = ?2 AND status NOT IN ('started', 'abandoned') AND completed_at < ?3
ORDER BY place LIMIT ?4

-- It may have been taken over since it was chosen.
-- name: prune_remove
DELETE FROM pawl_run WHERE place = ?1 AND space = ?2 AND status NOT IN ('started', 'abandoned')

-- ---- Of control_table

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
-- Of each job its first, then of each its second …
SELECT trigger_id, job_name, partition, arguments, last_saved, asked_by, asked_at FROM pawl_trigger
WHERE place IN (
  SELECT place FROM (
    SELECT place, row_number() OVER (PARTITION BY job_name ORDER BY place) AS turn
    FROM pawl_trigger WHERE space = ?1)
  ORDER BY turn, place LIMIT ?2)
ORDER BY place

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
    AND partitions = excluded.partitions
    AND (instr(definition, '"slots":') > 0 AND instr(definition, '"slots":1,') = 0 AND instr(definition, '"slots":1}') = 0)
      = (instr(excluded.definition, '"slots":') > 0 AND instr(excluded.definition, '"slots":1,') = 0
        AND instr(excluded.definition, '"slots":1}') = 0)
    AND (instr(definition, '"enabled":false') = 0 OR instr(excluded.definition, '"enabled":false') > 0)
    THEN schedule_since ELSE excluded.schedule_since END,
  schedule = excluded.schedule, zone = excluded.zone, partitions = excluded.partitions,
  definition = excluded.definition, node = excluded.node, published_at = excluded.published_at
RETURNING schedule_since

-- name: job_resume
UPDATE pawl_job SET schedule_since = max(schedule_since, ?3) WHERE space = ?1 AND job_name = ?2

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
SELECT node_id, name, version, address, started_at, last_seen, max(?4 - last_seen, 0), running,
  running_max, jobs, draining
FROM (SELECT * FROM pawl_node WHERE space = ?1 AND last_seen >= ?2
  ORDER BY last_seen DESC, node_id LIMIT ?3)
ORDER BY name, node_id

-- name: audit_newest
SELECT sequence, hash FROM pawl_audit WHERE space = ?1 ORDER BY sequence DESC LIMIT 1

-- name: audit_add
INSERT INTO pawl_audit (space, sequence, at, actor, action, target, detail, previous, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: audit_list
SELECT sequence, at, actor, action, target, detail, previous, hash FROM pawl_audit
WHERE space = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3
