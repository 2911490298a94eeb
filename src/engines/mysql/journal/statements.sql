-- The statements of the verbs, each behind a line of its own that names it, with what it is given, what
-- it answers, and why it is as it is. What stands in braces is bound: see statement.hpp.

-- name: layout
-- -> the layout of the tables.
SELECT layout FROM pawl_journal_marker WHERE only_one = 1

-- name: begin
-- space id job part due key owner node token again by silence, checkpoint: an expression, told: '' or a
-- statement -> the second answer: affected 1: begun. Else there is a row already (known).
-- A row that is there is locked once and for all, so that many who race do not deadlock.
START TRANSACTION;
INSERT INTO pawl_job_run (name_space, run_id, job_name, partition_number, occurrence, lease_key, lock_owner,
  node, fence_token, at_least_once, started_by, status, reason, started_at, last_heartbeat, silence_max,
  attempt, taken_over, cancel_requested, output_size, checkpoint)
VALUES ({space}, {id}, {job}, {part}, {due}, {key}, {owner}, {node}, {token}, {again}, {by}, 'started', '',
  UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), {silence}, 1, 0, 0, 0, {checkpoint})
ON DUPLICATE KEY UPDATE run_id = run_id;
INSERT INTO pawl_run_event (run_number, number, at, kind, said, node, fence_token, attempt)
SELECT run_number, 1, started_at, 'begun', started_by, node, fence_token, 1 FROM pawl_job_run
WHERE ROW_COUNT() = 1 AND run_number = LAST_INSERT_ID();
{told}
COMMIT

-- name: begin_triggered
-- As begin, for a run that answers a trigger -> the second answer: affected 1: the trigger waited;
-- the third: affected 1: begun.
START TRANSACTION;
DELETE FROM pawl_run_trigger WHERE name_space = {space} AND run_id = {id};
INSERT INTO pawl_job_run (name_space, run_id, job_name, partition_number, occurrence, lease_key, lock_owner,
  node, fence_token, at_least_once, started_by, status, reason, started_at, last_heartbeat, silence_max,
  attempt, taken_over, cancel_requested, output_size, checkpoint)
SELECT {space}, {id}, {job}, {part}, {due}, {key}, {owner}, {node}, {token}, {again}, {by}, 'started', '',
  UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), {silence}, 1, 0, 0, 0, {checkpoint} FROM DUAL
WHERE ROW_COUNT() = 1
ON DUPLICATE KEY UPDATE run_id = {id};
INSERT INTO pawl_run_event (run_number, number, at, kind, said, node, fence_token, attempt)
SELECT run_number, 1, started_at, 'begun', started_by, node, fence_token, 1 FROM pawl_job_run
WHERE ROW_COUNT() = 1 AND run_number = LAST_INSERT_ID();
{told}
COMMIT

-- name: known
-- run: columns, space id which -> now; the row of the occurrence or the id; whether the id has a row.
SELECT {now} DIV 1000;
SELECT {run} FROM pawl_job_run AS r WHERE r.name_space = {space} AND {which};
SELECT COUNT(*) FROM pawl_job_run WHERE name_space = {space} AND run_id = {id}

-- name: take
-- number seen_token seen_status seen_attempt, first, what a run is told, checkpoint: an expression,
-- run: columns, event -> the second answer: affected 1: taken; the fifth: the row.
-- Compare and set: what was decided stands only if the row is as it was seen.
START TRANSACTION;
UPDATE pawl_job_run AS r SET
  lease_key = {key}, lock_owner = {owner}, node = {node}, fence_token = {token}, at_least_once = {again},
  started_by = {by}, status = 'started', reason = '', completed_at = NULL, exit_status = NULL,
  started_at = IF({first}, UTC_TIMESTAMP(3), started_at), last_heartbeat = UTC_TIMESTAMP(3),
  silence_max = {silence}, attempt = {attempt}, taken_over = {taken_over}, checkpoint = {checkpoint}
WHERE r.run_number = {number} AND r.fence_token = {seen_token} AND r.status = {seen_status}
  AND r.attempt = {seen_attempt} AND r.cancel_requested = 0;
{event};
{trim};
SELECT {run} FROM pawl_job_run AS r WHERE r.run_number = {number};
COMMIT

-- name: call_off
-- number seen_token seen_status why event -> the second answer: affected 1: ended, as it was to be cancelled.
START TRANSACTION;
UPDATE pawl_job_run SET status = 'cancelled', reason = {why}, completed_at = UTC_TIMESTAMP(3)
WHERE run_number = {number} AND fence_token = {seen_token} AND status = {seen_status};
{event};
COMMIT

-- name: skip
-- As begin, why event -> the second answer: affected 1: written.
START TRANSACTION;
INSERT INTO pawl_job_run (name_space, run_id, job_name, partition_number, occurrence, lease_key, lock_owner,
  node, fence_token, at_least_once, started_by, status, reason, started_at, completed_at, last_heartbeat,
  silence_max, attempt, taken_over, cancel_requested, output_size, checkpoint)
VALUES ({space}, {id}, {job}, {part}, {due}, {key}, {owner}, {node}, {token}, {again}, {by}, 'skipped',
  {why}, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), {silence}, 1, 0, 0, 0, '')
ON DUPLICATE KEY UPDATE run_id = run_id;
{event};
COMMIT

-- name: event
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

-- name: trim
-- run: a number -> its oldest events but the first go, beyond 200.
DELETE e FROM pawl_run_event AS e
JOIN (SELECT MAX(n.number) - 199 AS last FROM pawl_run_event AS n WHERE n.run_number = {run}) AS old
  ON e.number BETWEEN 2 AND old.last
WHERE e.run_number = {run}

-- name: heartbeat
-- space ids pairs -> the fourth answer: id, token, cancel_requested of those that are alive.
-- It fails at once where another session keeps a row locked: the other runs would go stale meanwhile.
-- The index is named, as a walk through others' rows would find theirs locked.
START TRANSACTION;
SELECT run_number FROM pawl_job_run FORCE INDEX (by_id)
WHERE name_space = {space} AND run_id IN ({ids}) AND (run_id, fence_token) IN ({pairs})
  AND status = 'started' FOR UPDATE NOWAIT;
UPDATE pawl_job_run FORCE INDEX (by_id) SET last_heartbeat = UTC_TIMESTAMP(3)
WHERE name_space = {space} AND run_id IN ({ids}) AND (run_id, fence_token) IN ({pairs})
  AND status = 'started';
{alive};
COMMIT

-- name: alive
-- space ids pairs -> id, token, cancel_requested of those that are alive. Waits for no lock.
SELECT run_id, fence_token, cancel_requested FROM pawl_job_run FORCE INDEX (by_id)
WHERE name_space = {space} AND run_id IN ({ids}) AND (run_id, fence_token) IN ({pairs})
  AND status = 'started'

-- name: checkpoint
-- space id token text said, event, trim -> the last but one answer: 1: saved. Without a lease, under token 0,
-- it is in no order with others: it saves for itself alone.
START TRANSACTION;
SET @pawl_run = NULL, @pawl_text = {text};
SELECT run_number INTO @pawl_run FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' FOR UPDATE;
INSERT INTO pawl_job_checkpoint (name_space, job_name, partition_number, fence_token, checkpoint)
SELECT r.name_space, r.job_name, r.partition_number, {token}, @pawl_text FROM pawl_job_run AS r
WHERE r.run_number = @pawl_run
ON DUPLICATE KEY UPDATE
  checkpoint = IF(pawl_job_checkpoint.fence_token <= {token}, @pawl_text, pawl_job_checkpoint.checkpoint),
  fence_token = GREATEST(pawl_job_checkpoint.fence_token, {token});
SET @pawl_run = (SELECT r.run_number FROM pawl_job_run AS r
  JOIN pawl_job_checkpoint AS c ON c.name_space = r.name_space AND c.job_name = r.job_name
    AND c.partition_number = r.partition_number
  WHERE r.run_number = @pawl_run AND {token} IN (c.fence_token, 0));
UPDATE pawl_job_run SET checkpoint = @pawl_text WHERE run_number = @pawl_run;
{event};
{trim};
SELECT @pawl_run IS NOT NULL;
COMMIT

-- name: output
-- space id token offset length end bytes floor -> the last but one answer: 1: written, or was there.
-- What is there already is not added again; chunks that end at the floor or before it go.
START TRANSACTION;
SET @pawl_run = NULL, @pawl_size = 0;
SELECT run_number, output_size INTO @pawl_run, @pawl_size FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' FOR UPDATE;
SET @pawl_known = LEAST(GREATEST(@pawl_size - {offset}, 0), {length});
INSERT INTO pawl_run_output (run_number, starts, ends, piece)
SELECT @pawl_run, {offset} + @pawl_known, {end}, SUBSTRING({bytes}, @pawl_known + 1) FROM DUAL
WHERE @pawl_run IS NOT NULL AND @pawl_known < {length};
UPDATE pawl_job_run SET output_size = {end}
WHERE run_number = @pawl_run AND output_size < {end} AND {length} > 0;
DELETE FROM pawl_run_output WHERE run_number = @pawl_run AND starts < {floor} AND ends <= {floor};
SELECT @pawl_run IS NOT NULL;
COMMIT

-- name: note
-- space id token event trim -> the last but one answer: 1: the run is the caller's.
START TRANSACTION;
SET @pawl_run = NULL;
SELECT run_number INTO @pawl_run FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' FOR UPDATE;
{event};
{trim};
SELECT @pawl_run IS NOT NULL;
COMMIT

-- name: attempt
-- space id token ended why code event trim -> the last but one answer: whether the run is the caller's,
-- the attempt that it was at.
START TRANSACTION;
SET @pawl_run = NULL, @pawl_attempt = 0;
SELECT run_number, attempt INTO @pawl_run, @pawl_attempt FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' FOR UPDATE;
SET @pawl_mine = @pawl_run IS NOT NULL,
    @pawl_run = IF(({ended} <> 0 AND {ended} < @pawl_attempt) OR @pawl_attempt >= 1000, NULL, @pawl_run);
UPDATE pawl_job_run SET reason = {why}, exit_status = {code}, attempt = attempt + 1,
  started_at = UTC_TIMESTAMP(3)
WHERE run_number = @pawl_run;
{event};
{trim};
SELECT @pawl_mine, @pawl_attempt;
COMMIT

-- name: finish
-- space id token how why code and: more conditions, event -> the second answer: affected 1: ended.
-- A run that is to be cancelled is not left to others.
START TRANSACTION;
UPDATE pawl_job_run SET
  status = IF({how} IN ('abandoned', 'skipped') AND cancel_requested = 1, 'cancelled', {how}),
  reason = {why}, exit_status = {code},
  completed_at = IF({how} = 'abandoned' AND cancel_requested = 0, completed_at, UTC_TIMESTAMP(3))
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' {and};
{event};
COMMIT

-- name: ended
-- space id token how and -> whether the run has been ended so.
SELECT COUNT(*) FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} {and}
  AND status = IF({how} IN ('abandoned', 'skipped') AND cancel_requested = 1, 'cancelled', {how})

-- name: cancel
-- space id why event -> the fourth answer: 1: the run goes on, or this has ended it: no runner has it.
START TRANSACTION;
UPDATE pawl_job_run SET cancel_requested = 1, reason = IF(status = 'abandoned', {why}, reason),
  completed_at = IF(status = 'abandoned', UTC_TIMESTAMP(3), completed_at),
  status = IF(status = 'abandoned', 'cancelled', status)
WHERE name_space = {space} AND run_id = {id}
  AND (status = 'abandoned' OR (status = 'started' AND cancel_requested = 0));
{event};
SELECT COUNT(*) FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id}
  AND (status = 'started' OR (status = 'cancelled' AND cancel_requested = 1 AND reason = {why}));
COMMIT

-- name: find
-- run: columns, space which -> the row.
SELECT {run} FROM pawl_job_run AS r WHERE r.name_space = {space} AND {which}

-- name: list
-- run: columns, index space which before limit -> rows, the newest first.
-- The index is named: the optimizer likes to walk the primary key when the order is its own.
SELECT {run} FROM pawl_job_run AS r FORCE INDEX ({index})
WHERE r.name_space = {space} AND r.run_number < {before} {which}
ORDER BY r.run_number DESC LIMIT {limit}

-- name: history
-- space id -> events, the oldest first.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', e.at) DIV 1000, e.kind, e.said, e.node, e.fence_token,
       e.attempt
FROM pawl_job_run AS r JOIN pawl_run_event AS e ON e.run_number = r.run_number
WHERE r.name_space = {space} AND r.run_id = {id} ORDER BY e.number

-- name: read_output
-- space id offset limit -> size, whether it is over, and a piece each, or NULLs.
SELECT r.output_size, r.status NOT IN ('started', 'abandoned'), o.starts, o.piece
FROM pawl_job_run AS r
LEFT JOIN pawl_run_output AS o ON o.run_number = r.run_number AND o.ends > {offset}
  AND o.starts >= COALESCE((SELECT MAX(b.starts) FROM pawl_run_output AS b
                            WHERE b.run_number = r.run_number AND b.starts <= {offset}), 0)
WHERE r.name_space = {space} AND r.run_id = {id} ORDER BY o.starts LIMIT {limit}

-- name: stale
-- run: columns, space limit skip -> rows that have been silent for longer than they said.
SELECT {run} FROM pawl_job_run AS r FORCE INDEX (by_status)
WHERE r.name_space = {space} AND r.status = 'started'
  AND TIMESTAMPDIFF(MICROSECOND, r.last_heartbeat, UTC_TIMESTAMP(3)) > r.silence_max * 1000
ORDER BY r.run_number LIMIT {limit} OFFSET {skip}

-- name: prunable
-- space job keep aged: a condition, limit window -> numbers of runs that may go, the oldest first.
-- Looks at the oldest only: whoever began later has rarely ended much earlier.
SELECT oldest.run_number FROM (
  SELECT r.run_number, r.completed_at FROM pawl_job_run AS r FORCE INDEX (by_job)
  WHERE r.name_space = {space} AND r.job_name = {job} AND r.status NOT IN ('started', 'abandoned')
  ORDER BY r.run_number LIMIT {window}) AS oldest
WHERE {aged} OR oldest.run_number <= (
  SELECT k.run_number FROM pawl_job_run AS k FORCE INDEX (by_job)
  WHERE k.name_space = {space} AND k.job_name = {job} AND k.status NOT IN ('started', 'abandoned')
  ORDER BY k.run_number DESC LIMIT 1 OFFSET {keep})
ORDER BY oldest.run_number LIMIT {limit}

-- name: prune
-- numbers -> the second answer: affected: how many went.
-- An occurrence that was skipped may have been taken over since it was looked at; then all of it stays.
START TRANSACTION;
DELETE FROM pawl_job_run WHERE run_number IN ({numbers}) AND status NOT IN ('started', 'abandoned');
DELETE e FROM pawl_run_event AS e LEFT JOIN pawl_job_run AS r ON r.run_number = e.run_number
WHERE e.run_number IN ({numbers}) AND r.run_number IS NULL;
DELETE o FROM pawl_run_output AS o LEFT JOIN pawl_job_run AS r ON r.run_number = o.run_number
WHERE o.run_number IN ({numbers}) AND r.run_number IS NULL;
COMMIT

-- name: control_state
-- run: columns, space limit -> a part and the columns of a run: 0 pauses, 1 triggers, 2 ids to cancel,
-- 3 orphans; of triggers and orphans each job's first, then each one's second and so on. What is no run
-- has its reason, arguments, who and when in the columns reason, checkpoint, lock_owner and started_at.
-- One statement: one look.
(SELECT 0, 0, NULL, p.job_name, NULL, NULL, p.paused_by, NULL, NULL, NULL, NULL, NULL, NULL, p.reason,
        TIMESTAMPDIFF(MICROSECOND, '1970-01-01', p.at) DIV 1000, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL
 FROM pawl_job_pause AS p WHERE p.name_space = {space} ORDER BY p.job_name LIMIT {limit})
UNION ALL
(SELECT 1, t.place, t.run_id, t.job_name, t.partition_number, NULL, t.asked_by, NULL, NULL, NULL,
        t.inherits, NULL, NULL, NULL, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t.at) DIV 1000, NULL, NULL,
        NULL, NULL, t.arguments, NULL, NULL, NULL, NULL
 FROM (SELECT w.place, ROW_NUMBER() OVER (PARTITION BY w.job_name ORDER BY w.place) AS turn
       FROM pawl_run_trigger AS w FORCE INDEX (oldest) WHERE w.name_space = {space}
       ORDER BY 2, 1 LIMIT {limit}) AS chosen
 JOIN pawl_run_trigger AS t ON t.name_space = {space} AND t.place = chosen.place)
UNION ALL
(SELECT 2, r.run_number, r.run_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
 FROM pawl_job_run AS r FORCE INDEX (by_status)
 WHERE r.name_space = {space} AND r.status = 'started' AND r.cancel_requested = 1
 ORDER BY r.run_number LIMIT {limit})
UNION ALL
(SELECT 3, {run}
 FROM (SELECT w.run_number, ROW_NUMBER() OVER (PARTITION BY w.job_name ORDER BY w.run_number) AS turn
       FROM pawl_job_run AS w FORCE INDEX (by_status)
       WHERE w.name_space = {space} AND w.status = 'abandoned' AND w.at_least_once = 1
       ORDER BY 2, 1 LIMIT {limit}) AS chosen
 JOIN pawl_job_run AS r ON r.run_number = chosen.run_number)
ORDER BY 1, 2, 4

-- name: add_trigger
-- space id job part arguments inherits by -> the second answer: affected 1: added; the third: affected 1:
-- and taken back, because there is a run of this id.
-- Looked at afterwards: a run that consumed such a trigger a moment ago is seen for sure.
START TRANSACTION;
INSERT INTO pawl_run_trigger (name_space, run_id, job_name, partition_number, arguments, inherits, asked_by,
  at)
VALUES ({space}, {id}, {job}, {part}, {arguments}, {inherits}, {by}, UTC_TIMESTAMP(3))
ON DUPLICATE KEY UPDATE run_id = run_id;
DELETE t FROM pawl_run_trigger AS t
JOIN pawl_job_run AS r ON r.name_space = t.name_space AND r.run_id = t.run_id
WHERE t.name_space = {space} AND t.run_id = {id};
COMMIT

-- name: remove_trigger
-- space id -> affected 1: removed.
DELETE FROM pawl_run_trigger WHERE name_space = {space} AND run_id = {id}

-- name: pause
-- space job why by -> affected 1: it was not paused before.
INSERT INTO pawl_job_pause (name_space, job_name, reason, paused_by, at)
VALUES ({space}, {job}, {why}, {by}, UTC_TIMESTAMP(3))
ON DUPLICATE KEY UPDATE job_name = job_name

-- name: unpause
-- space job -> the second answer: affected 1: it was paused.
START TRANSACTION;
DELETE FROM pawl_job_pause WHERE name_space = {space} AND job_name = {job};
UPDATE pawl_job SET since = GREATEST(since, UTC_TIMESTAMP(3))
WHERE ROW_COUNT() = 1 AND name_space = {space} AND job_name = {job};
COMMIT

-- name: publish
-- space values names -> the third answer: name, since, published_at of each.
START TRANSACTION;
INSERT INTO pawl_job (name_space, job_name, schedule, zone, partitions, definition, node, since,
  published_at)
VALUES {values}
ON DUPLICATE KEY UPDATE
  since = IF(schedule = VALUES(schedule) AND zone = VALUES(zone) AND partitions = VALUES(partitions)
      AND (LOCATE('"slots":', definition) > 0 AND LOCATE('"slots":1,', definition) = 0
          AND LOCATE('"slots":1}', definition) = 0)
        = (LOCATE('"slots":', VALUES(definition)) > 0 AND LOCATE('"slots":1,', VALUES(definition)) = 0
          AND LOCATE('"slots":1}', VALUES(definition)) = 0)
      AND (LOCATE('"enabled":false', definition) = 0 OR LOCATE('"enabled":false', VALUES(definition)) > 0),
    since, VALUES(since)),
  schedule = VALUES(schedule), zone = VALUES(zone), partitions = VALUES(partitions),
  definition = VALUES(definition), node = VALUES(node), published_at = VALUES(published_at);
SELECT job_name, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', since) DIV 1000,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', published_at) DIV 1000
FROM pawl_job WHERE name_space = {space} AND job_name IN ({names});
COMMIT

-- name: retire
-- space names node -> affected: how many went.
DELETE FROM pawl_job WHERE name_space = {space} AND job_name IN ({names}) AND node = {node}

-- name: jobs
-- space which limit -> jobs in the order of their names.
SELECT job_name, schedule, zone, partitions, definition, node,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', since) DIV 1000,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', published_at) DIV 1000
FROM pawl_job WHERE name_space = {space} AND {which} ORDER BY job_name LIMIT {limit}

-- name: node
-- space id name version address running running_max jobs draining -> affected 1: it is new.
INSERT INTO pawl_node (name_space, node_id, node_name, version, address, started_at, last_seen, running,
  running_max, jobs, draining)
VALUES ({space}, {id}, {name}, {version}, {address}, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), {running},
  {running_max}, {jobs}, {draining})
ON DUPLICATE KEY UPDATE node_name = {name}, version = {version}, address = {address},
  last_seen = UTC_TIMESTAMP(3), running = {running}, running_max = {running_max}, jobs = {jobs},
  draining = {draining}

-- name: forget_nodes
-- space -> those go that are not shown any more.
DELETE FROM pawl_node WHERE name_space = {space} AND last_seen < UTC_TIMESTAMP(3) - INTERVAL 2 DAY LIMIT 100

-- name: node_leaves
-- space id -> none.
DELETE FROM pawl_node WHERE name_space = {space} AND node_id = {id}

-- name: nodes
-- space memory_us limit -> the nodes that were seen last, by name.
SELECT node_id, node_name, version, address, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', started_at) DIV 1000,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', last_seen) DIV 1000,
       GREATEST(TIMESTAMPDIFF(MICROSECOND, last_seen, UTC_TIMESTAMP(3)) DIV 1000, 0),
       running, running_max, jobs, draining
FROM (SELECT * FROM pawl_node
      WHERE name_space = {space} AND TIMESTAMPDIFF(MICROSECOND, last_seen, UTC_TIMESTAMP(3)) <= {memory_us}
      ORDER BY last_seen DESC, node_id LIMIT {limit}) AS newest
ORDER BY node_name, node_id

-- name: audit_head
-- space -> now; sequence and hash of the newest entry.
SELECT {now} DIV 1000;
SELECT sequence, hash FROM pawl_audit WHERE name_space = {space} ORDER BY sequence DESC LIMIT 1

-- name: audit
-- space sequence at_us actor action target detail previous hash -> affected 1: added; else another entry
-- has become the next one. An entry that is there is never changed, so its follower is right whoever
-- comes first.
INSERT INTO pawl_audit (name_space, sequence, at, actor, action, target, detail, previous, hash)
VALUES ({space}, {sequence}, TIMESTAMPADD(MICROSECOND, {at_us}, '1970-01-01'), {actor}, {action}, {target},
  {detail}, {previous}, {hash})
ON DUPLICATE KEY UPDATE sequence = sequence

-- name: list_audit
-- space before limit -> entries, the newest first.
SELECT sequence, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at) DIV 1000, actor, action, target, detail,
       previous, hash
FROM pawl_audit WHERE name_space = {space} AND sequence < {before} ORDER BY sequence DESC LIMIT {limit}

-- ---- What several of them are made of

-- name: run_columns
-- checkpoint: an expression -> the columns that a run is read from, of a row r.
r.run_number, r.run_id, r.job_name, r.partition_number, r.lease_key, r.lock_owner, r.node,
r.fence_token, r.occurrence, r.at_least_once, r.started_by, r.status, r.reason,
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', r.started_at) DIV 1000,
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', r.completed_at) DIV 1000,
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', r.last_heartbeat) DIV 1000,
r.exit_status, r.attempt, {checkpoint}, r.output_size, r.cancel_requested, r.silence_max,
r.taken_over

-- name: of_id
r.run_id = {id}

-- name: of_firing
r.job_name = {job} AND r.partition_number = {part} AND r.occurrence = {due}

-- name: of_locked
r.run_number = @pawl_run

-- Where the statement before this one has written the run.
-- name: of_written
ROW_COUNT() = 1 AND r.name_space = {space} AND r.run_id = {id}

-- name: of_taken
ROW_COUNT() = 1 AND r.run_number = {number}

-- name: last_saved
COALESCE((SELECT c.checkpoint FROM pawl_job_checkpoint AS c WHERE c.name_space = {space}
  AND c.job_name = {job} AND c.partition_number = {part}), '')

-- name: told
SELECT checkpoint FROM pawl_job_run WHERE name_space = {space} AND run_id = {id}

-- name: and_job
AND r.job_name = {job}

-- name: and_node
AND r.node = {node}

-- name: and_status
AND r.status = {status}

-- name: and_silent
AND TIMESTAMPDIFF(MICROSECOND, last_heartbeat, UTC_TIMESTAMP(3)) > silence_max * 1000

-- name: and_reason
AND reason = {why}

-- name: aged
TIMESTAMPDIFF(MICROSECOND, oldest.completed_at, UTC_TIMESTAMP(3)) > {ms} * 1000

-- name: published
({space}, {name}, {schedule}, {zone}, {partitions}, {definition}, {node}, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))

-- name: job_named
job_name = {name}

-- name: job_behind
job_name > {name}
