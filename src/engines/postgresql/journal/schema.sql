-- Layout 1 of a pawl journal: tables, and one function for each verb. pawl runs this by itself when it
-- may; an administrator runs it with `psql -1 -v ON_ERROR_STOP=1 -f postgresql-journal.sql` when it
-- may not. The word pawl is the name of the schema, which the leases may share: replace it for another
-- (schema=NAME in the URL). Names are bytes, so that the encoding of the database does not matter; the
-- view job_runs shows them as text.
DO $$
BEGIN
  IF to_regnamespace('pawl') IS NULL THEN
    CREATE SCHEMA pawl;
  END IF;
END
$$;

CREATE TABLE IF NOT EXISTS pawl.journal_marker (
  one    integer PRIMARY KEY CHECK (one = 1),
  layout integer NOT NULL
);
INSERT INTO pawl.journal_marker VALUES (1, 1) ON CONFLICT DO NOTHING;

-- One row for each run, whatever its attempts; for each occurrence of a job's partition one row. A beat
-- changes no column that an index has, so it stays on its page.
CREATE TABLE IF NOT EXISTS pawl.job_run (
  name_space       text COLLATE "C" NOT NULL,
  run_number       bigint GENERATED ALWAYS AS IDENTITY,  -- rises as runs begin
  run_id           bytea NOT NULL,
  job_name         bytea NOT NULL,
  partition_number bigint NOT NULL,
  occurrence       bigint,                -- Unix milliseconds; null: of no schedule
  lease_key        bytea NOT NULL,
  lock_owner       bytea NOT NULL,
  node             bytea NOT NULL,
  fence_token      bigint NOT NULL,
  at_least_once    boolean NOT NULL,
  started_by       bytea NOT NULL,        -- schedule, manual, exec, library
  status           text COLLATE "C" NOT NULL,
  reason           bytea NOT NULL,
  started_at       timestamptz NOT NULL,  -- on the server's clock, as all times
  completed_at     timestamptz,
  last_heartbeat   timestamptz NOT NULL,
  silence_max      bigint NOT NULL,       -- milliseconds; silent for longer it is stale
  exit_status      integer,
  attempt          integer NOT NULL,
  taken_over       boolean NOT NULL,      -- by a newer token since it began
  cancel_requested boolean NOT NULL,
  output_size      bigint NOT NULL,       -- of all that was written, kept or not
  checkpoint       bytea NOT NULL,
  PRIMARY KEY (name_space, run_number)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX IF NOT EXISTS job_run_id ON pawl.job_run (name_space, run_id);
CREATE UNIQUE INDEX IF NOT EXISTS job_run_firing
  ON pawl.job_run (name_space, job_name, partition_number, occurrence) WHERE occurrence IS NOT NULL;
CREATE INDEX IF NOT EXISTS job_run_job ON pawl.job_run (name_space, job_name, run_number);
CREATE INDEX IF NOT EXISTS job_run_node ON pawl.job_run (name_space, node, run_number);
CREATE INDEX IF NOT EXISTS job_run_status ON pawl.job_run (name_space, status, run_number);
-- For the control state: few rows at any time.
CREATE INDEX IF NOT EXISTS job_run_cancel ON pawl.job_run (name_space, run_number)
  WHERE cancel_requested AND status = 'started';
CREATE INDEX IF NOT EXISTS job_run_orphan ON pawl.job_run (name_space, run_number)
  WHERE at_least_once AND status = 'abandoned';

CREATE TABLE IF NOT EXISTS pawl.run_event (
  run_number  bigint NOT NULL,
  number      integer NOT NULL,  -- 1, 2, 3 … within the run
  at          timestamptz NOT NULL,
  kind        bytea NOT NULL,
  said        bytea NOT NULL,
  node        bytea NOT NULL,
  fence_token bigint NOT NULL,
  attempt     integer NOT NULL,
  PRIMARY KEY (run_number, number)
);

CREATE TABLE IF NOT EXISTS pawl.run_output (
  run_number bigint NOT NULL,
  starts     bigint NOT NULL,  -- where in all that the run has written
  ends       bigint NOT NULL,
  piece      bytea NOT NULL,
  PRIMARY KEY (run_number, starts)
);

-- The last that any run of a job's partition has saved; outlives its run.
CREATE TABLE IF NOT EXISTS pawl.job_checkpoint (
  name_space       text COLLATE "C" NOT NULL,
  job_name         bytea NOT NULL,
  partition_number bigint NOT NULL,
  fence_token      bigint NOT NULL,
  checkpoint       bytea NOT NULL,
  PRIMARY KEY (name_space, job_name, partition_number)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS pawl.run_trigger (
  place            bigint GENERATED ALWAYS AS IDENTITY,
  name_space       text COLLATE "C" NOT NULL,
  run_id           bytea NOT NULL,
  job_name         bytea NOT NULL,
  partition_number bigint NOT NULL,
  arguments        bytea NOT NULL,  -- each as its length, a colon and its bytes
  inherits         boolean NOT NULL,
  asked_by         bytea NOT NULL,
  at               timestamptz NOT NULL,
  PRIMARY KEY (name_space, run_id)
);
CREATE INDEX IF NOT EXISTS run_trigger_oldest ON pawl.run_trigger (name_space, place);

CREATE TABLE IF NOT EXISTS pawl.job_pause (
  name_space text COLLATE "C" NOT NULL,
  job_name   bytea NOT NULL,
  reason     bytea NOT NULL,
  paused_by  bytea NOT NULL,
  at         timestamptz NOT NULL,
  PRIMARY KEY (name_space, job_name)
);

CREATE TABLE IF NOT EXISTS pawl.job (
  name_space   text COLLATE "C" NOT NULL,
  job_name     bytea NOT NULL,
  schedule     bytea NOT NULL,
  zone         bytea NOT NULL,
  partitions   bigint NOT NULL,
  definition   bytea NOT NULL,
  node         bytea NOT NULL,        -- which published it last
  since        timestamptz NOT NULL,  -- with this schedule, zone and partitions
  published_at timestamptz NOT NULL,
  PRIMARY KEY (name_space, job_name)
);

CREATE TABLE IF NOT EXISTS pawl.node (
  name_space  text COLLATE "C" NOT NULL,
  node_id     bytea NOT NULL,  -- the owner of its leases
  node_name   bytea NOT NULL,
  version     bytea NOT NULL,
  address     bytea NOT NULL,
  started_at  timestamptz NOT NULL,
  last_seen   timestamptz NOT NULL,
  running     bigint NOT NULL,
  running_max bigint NOT NULL,
  jobs        bigint NOT NULL,
  draining    boolean NOT NULL,
  PRIMARY KEY (name_space, node_id)
) WITH (fillfactor = 50);

-- Who did what. Each entry holds the hash of the one before it.
CREATE TABLE IF NOT EXISTS pawl.audit (
  name_space text COLLATE "C" NOT NULL,
  sequence   bigint NOT NULL,
  at         timestamptz NOT NULL,
  actor      bytea NOT NULL,
  action     bytea NOT NULL,
  target     bytea NOT NULL,
  detail     bytea NOT NULL,
  previous   text COLLATE "C" NOT NULL,
  hash       text COLLATE "C" NOT NULL,
  PRIMARY KEY (name_space, sequence)
);

CREATE OR REPLACE FUNCTION pawl.journal_keep_audit() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'what was audited is never changed or removed';
END
$$;
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'pawl.audit'::regclass AND tgname = 'keep_audit') THEN
    CREATE TRIGGER keep_audit BEFORE UPDATE OR DELETE OR TRUNCATE ON pawl.audit
    FOR EACH STATEMENT EXECUTE FUNCTION pawl.journal_keep_audit();
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_layout() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.journal_marker
$$;

-- As an earlier pawl looks for it.
CREATE OR REPLACE FUNCTION pawl.journal_layout_v2() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.journal_marker
$$;

CREATE OR REPLACE FUNCTION pawl.journal_layout_v3() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.journal_marker
$$;

CREATE OR REPLACE FUNCTION pawl.journal_layout_v4() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.journal_marker
$$;

CREATE OR REPLACE FUNCTION pawl.journal_layout_v5() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.journal_marker
$$;

CREATE OR REPLACE FUNCTION pawl.journal_layout_v6() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.journal_marker
$$;

CREATE OR REPLACE FUNCTION pawl.journal_layout_v7() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.journal_marker
$$;

-- There where all that follows is: a schema that an earlier pawl has made is given what it lacks.
CREATE OR REPLACE FUNCTION pawl.journal_layout_v8() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.journal_marker
$$;

-- now() stands still in a transaction.
CREATE OR REPLACE FUNCTION pawl.journal_clock() RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
  SELECT date_trunc('milliseconds', clock_timestamp())
$$;

CREATE OR REPLACE FUNCTION pawl.journal_millis(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT (extract(epoch FROM at) * 1000)::bigint
$$;

CREATE OR REPLACE FUNCTION pawl.journal_time(millis bigint) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT timestamptz 'epoch' + millis * interval '1 millisecond'
$$;

-- Bytes as text where they are text.
CREATE OR REPLACE FUNCTION pawl.journal_text(bytes bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN OTHERS THEN
  RETURN encode(bytes, 'escape');
END
$$;

-- A run as pawl reads it.
CREATE OR REPLACE VIEW pawl.journal_run AS
SELECT r.run_number, r.run_id, r.job_name, r.partition_number, r.lease_key, r.lock_owner, r.node,
       r.fence_token, r.occurrence, r.at_least_once, r.started_by, r.status, r.reason,
       pawl.journal_millis(r.started_at) AS started_at,
       pawl.journal_millis(r.completed_at) AS completed_at,
       pawl.journal_millis(r.last_heartbeat) AS last_heartbeat,
       r.exit_status, r.attempt, r.checkpoint, r.output_size, r.cancel_requested, r.name_space
FROM pawl.job_run AS r;

-- The same for people.
CREATE OR REPLACE VIEW pawl.job_runs AS
SELECT r.name_space, pawl.journal_text(r.run_id) AS run_id, pawl.journal_text(r.job_name) AS job_name,
       r.partition_number, pawl.journal_time(r.occurrence) AS occurrence,
       pawl.journal_text(r.lease_key) AS lease_key, pawl.journal_text(r.lock_owner) AS lock_owner,
       pawl.journal_text(r.node) AS node, r.fence_token, r.started_at, r.completed_at, r.status,
       pawl.journal_text(r.reason) AS reason, r.last_heartbeat, r.exit_status, r.attempt,
       pawl.journal_text(r.started_by) AS started_by, pawl.journal_text(r.checkpoint) AS checkpoint,
       r.output_size, r.cancel_requested, r.run_number
FROM pawl.job_run AS r;

-- A session that waits for a lock does not see that its client has gone: each wait is bounded, unless the
-- user has a bound already.
CREATE OR REPLACE FUNCTION pawl.journal_bound_locks() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF current_setting('lock_timeout') = '0' THEN
    PERFORM set_config('lock_timeout', '1500ms', true);
  END IF;
END
$$;

-- The verbs look again at what others have committed, which a snapshot that lasts would hide. The
-- error tells pawl to begin its transactions itself. Their waits for locks are bounded with it.
CREATE OR REPLACE FUNCTION pawl.journal_isolation() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'this function needs the isolation level READ COMMITTED' USING ERRCODE = 'PAWL1';
  END IF;
  PERFORM pawl.journal_bound_locks();
END
$$;

-- Adds to the history of a run whose row the caller has locked, unless the newest says the same. The
-- oldest go beyond 200, but not the first.
CREATE OR REPLACE FUNCTION pawl.journal_remember(
  it pawl.job_run, here timestamptz, what bytea, words bytea) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  newest pawl.run_event;
BEGIN
  SELECT * INTO newest FROM pawl.run_event AS e WHERE e.run_number = it.run_number
  ORDER BY e.number DESC LIMIT 1;
  IF newest.kind = what AND newest.said = words AND newest.node = it.node
     AND newest.fence_token = it.fence_token AND newest.attempt = it.attempt THEN
    RETURN;
  END IF;
  newest.number := coalesce(newest.number, 0) + 1;
  INSERT INTO pawl.run_event
  VALUES (it.run_number, newest.number, here, what, words, it.node, it.fence_token, it.attempt);
  IF newest.number > 200 THEN
    DELETE FROM pawl.run_event AS e
    WHERE e.run_number = it.run_number AND e.number BETWEEN 2 AND newest.number - 199;
  END IF;
END
$$;

-- A run that is to be cancelled is not left to others.
CREATE OR REPLACE FUNCTION pawl.journal_status_after(it pawl.job_run, how text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN it.cancel_requested AND how IN ('abandoned', 'skipped') THEN 'cancelled' ELSE how END
$$;

-- outcome: 0 begun, 1 resumed, 2 already run, 3 superseded, 4 the id is another run's.
CREATE OR REPLACE FUNCTION pawl.journal_begin_v1(
  space text, id bytea, job bytea, part bigint, wanted bytea, who bytea, at_node bytea, token bigint,
  due bigint, again boolean, asked_by bytea, answers boolean, inherits boolean, silence bigint,
  OUT outcome integer, OUT told_id bytea, OUT told_attempt integer, OUT told_checkpoint bytea,
  OUT told_status text, OUT told_output bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here  timestamptz;
  waits boolean := false;
  saved bytea := '';
  it    pawl.job_run;
  was   bytea;
  why   bytea := 'cancelled before another attempt';
BEGIN
  PERFORM pawl.journal_isolation();
  IF answers THEN
    DELETE FROM pawl.run_trigger AS t WHERE t.name_space = space AND t.run_id = id;
    waits := FOUND;
  END IF;
  IF inherits THEN
    SELECT c.checkpoint INTO saved FROM pawl.job_checkpoint AS c
    WHERE c.name_space = space AND c.job_name = job AND c.partition_number = part;
    saved := coalesce(saved, '');
  END IF;
  LOOP
    IF waits OR NOT answers THEN
      here := pawl.journal_clock();
      INSERT INTO pawl.job_run
        (name_space, run_id, job_name, partition_number, occurrence, lease_key, lock_owner, node,
         fence_token, at_least_once, started_by, status, reason, started_at, last_heartbeat, silence_max,
         attempt, taken_over, cancel_requested, output_size, checkpoint)
      VALUES (space, id, job, part, due, wanted, who, at_node, token, again, asked_by, 'started', '', here,
              here, silence, 1, false, false, 0, saved)
      ON CONFLICT DO NOTHING RETURNING run_number INTO it.run_number;
      IF FOUND THEN
        INSERT INTO pawl.run_event
        VALUES (it.run_number, 1, here, 'begun', asked_by, at_node, token, 1);
        outcome := 0;
        told_id := id;
        told_attempt := 1;
        told_checkpoint := saved;
        told_status := 'started';
        told_output := 0;
        RETURN;
      END IF;
    END IF;

    IF due IS NULL THEN
      SELECT * INTO it FROM pawl.job_run AS r WHERE r.name_space = space AND r.run_id = id FOR UPDATE;
    ELSE
      SELECT * INTO it FROM pawl.job_run AS r
      WHERE r.name_space = space AND r.job_name = job AND r.partition_number = part
        AND r.occurrence = due
      FOR UPDATE;
    END IF;
    EXIT WHEN FOUND;
    IF EXISTS (SELECT FROM pawl.job_run AS r WHERE r.name_space = space AND r.run_id = id) THEN
      outcome := 4;
      RETURN;
    END IF;
    IF answers AND NOT waits THEN
      outcome := 2;
      told_id := id;
      told_attempt := 1;
      told_checkpoint := '';
      told_status := 'cancelled';
      told_output := 0;
      RETURN;
    END IF;
    -- Pruned in this moment: nothing stands in the way any more.
  END LOOP;

  here := pawl.journal_clock();
  IF it.job_name <> job OR it.partition_number <> part OR it.occurrence IS DISTINCT FROM due THEN
    outcome := 4;
    RETURN;
  END IF;
  told_id := it.run_id;
  told_attempt := it.attempt;
  told_checkpoint := it.checkpoint;
  told_status := it.status;
  told_output := it.output_size;
  -- Tokens tell runs apart, except for 0, which all runs without a lease have.
  IF it.status = 'started' AND it.fence_token = token AND (it.run_id = id OR token <> 0) THEN
    outcome := CASE WHEN it.taken_over THEN 1 ELSE 0 END;
    RETURN;
  END IF;
  IF it.status = 'skipped' THEN
    -- With the token of its own runner it is a late copy of what that one has taken back.
    outcome := CASE WHEN token < it.fence_token OR (token = it.fence_token AND token <> 0) THEN 3
                    WHEN it.cancel_requested THEN 2
                    ELSE 0 END;
  ELSIF it.status NOT IN ('started', 'abandoned') OR NOT again THEN
    outcome := 2;
  ELSE
    outcome := CASE WHEN token <= it.fence_token THEN 3 ELSE 1 END;
  END IF;
  IF outcome = 1 AND it.cancel_requested THEN
    -- Cancelled while no runner could be told, or one that is gone: no other attempt begins.
    outcome := 2;
    UPDATE pawl.job_run AS r SET status = 'cancelled', reason = why, completed_at = here
    WHERE r.name_space = space AND r.run_number = it.run_number;
    PERFORM pawl.journal_remember(it, here, 'cancelled', why);
    told_status := 'cancelled';
  END IF;
  IF outcome > 1 THEN
    RETURN;
  END IF;

  was := it.node;
  UPDATE pawl.job_run AS r
  SET lease_key = wanted, lock_owner = who, node = at_node, fence_token = token, at_least_once = again,
      status = 'started', reason = '', completed_at = NULL, exit_status = NULL, last_heartbeat = here,
      silence_max = silence,
      started_by = CASE WHEN outcome = 0 THEN asked_by ELSE r.started_by END,
      started_at = CASE WHEN outcome = 0 THEN here ELSE r.started_at END,
      checkpoint = CASE WHEN outcome = 0 AND inherits THEN saved ELSE r.checkpoint END,
      attempt = CASE WHEN outcome = 0 THEN r.attempt ELSE least(r.attempt + 1, 1000) END,
      taken_over = r.taken_over OR outcome = 1
  WHERE r.name_space = space AND r.run_number = it.run_number
  RETURNING * INTO it;
  told_attempt := it.attempt;
  told_checkpoint := it.checkpoint;
  told_status := it.status;
  IF outcome = 0 THEN
    PERFORM pawl.journal_remember(it, here, 'begun', asked_by);
  ELSE
    PERFORM pawl.journal_remember(it, here, 'resumed', 'after '::bytea || was);
  END IF;
END
$$;

-- outcome: 0 there is a row, 1 written, or written before, 4 the id is another run's.
CREATE OR REPLACE FUNCTION pawl.journal_skip_v1(
  space text, id bytea, job bytea, part bigint, wanted bytea, who bytea, at_node bytea, token bigint,
  due bigint, again boolean, asked_by bytea, silence bigint, why bytea) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here timestamptz := pawl.journal_clock();
  it   pawl.job_run;
BEGIN
  PERFORM pawl.journal_isolation();
  LOOP
    INSERT INTO pawl.job_run
      (name_space, run_id, job_name, partition_number, occurrence, lease_key, lock_owner, node,
       fence_token, at_least_once, started_by, status, reason, started_at, completed_at, last_heartbeat,
       silence_max, attempt, taken_over, cancel_requested, output_size, checkpoint)
    VALUES (space, id, job, part, due, wanted, who, at_node, token, again, asked_by, 'skipped', why, here,
            here, here, silence, 1, false, false, 0, '')
    ON CONFLICT DO NOTHING RETURNING * INTO it;
    IF FOUND THEN
      PERFORM pawl.journal_remember(it, here, 'skipped', why);
      RETURN 1;
    END IF;
    SELECT * INTO it FROM pawl.job_run AS r
    WHERE r.name_space = space AND r.job_name = job AND r.partition_number = part AND r.occurrence = due;
    IF FOUND THEN
      RETURN CASE WHEN it.run_id = id AND it.status = 'skipped' THEN 1 ELSE 0 END;
    END IF;
    IF EXISTS (SELECT FROM pawl.job_run AS r WHERE r.name_space = space AND r.run_id = id) THEN
      RETURN 4;
    END IF;
  END LOOP;
END
$$;

-- REQUIRES: each pair once. The places in the arrays, from 1, of those that are alive, and of those of
-- them that are to end. Locked in the order of their ids, so that two batches never wait for each other
-- in a circle; one by one, as the planner would rather compare all with all. A lock is waited for for a
-- moment, as the run's own output takes it all the time; should one last, such rows are passed by: they
-- are alive, and silent, and the other runs are not.
CREATE OR REPLACE FUNCTION pawl.journal_heartbeat_v1(
  space text, ids bytea[], tokens bigint[], OUT alive bigint[], OUT cancelled bigint[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  numbers bigint[];
BEGIN
  PERFORM pawl.journal_isolation();
  PERFORM set_config('lock_timeout', '100ms', true);
  BEGIN
    SELECT array_agg(mine.run_number), coalesce(array_agg(a.place), '{}'),
           coalesce(array_agg(a.place) FILTER (WHERE mine.cancel_requested), '{}')
    INTO numbers, alive, cancelled
    FROM (SELECT u.id, u.token, u.place FROM unnest(ids, tokens) WITH ORDINALITY AS u (id, token, place)
          ORDER BY u.id) AS a
    CROSS JOIN LATERAL (
      SELECT r.run_number, r.cancel_requested FROM pawl.job_run AS r
      WHERE r.name_space = space AND r.run_id = a.id AND r.fence_token = a.token
        AND r.status = 'started'
      FOR UPDATE) AS mine;
  EXCEPTION WHEN lock_not_available THEN
    SELECT array_agg(mine.run_number) INTO numbers
    FROM unnest(ids, tokens) AS a (id, token)
    CROSS JOIN LATERAL (
      SELECT r.run_number FROM pawl.job_run AS r
      WHERE r.name_space = space AND r.run_id = a.id AND r.fence_token = a.token
        AND r.status = 'started'
      FOR UPDATE SKIP LOCKED) AS mine;
    SELECT coalesce(array_agg(a.place), '{}'),
           coalesce(array_agg(a.place) FILTER (WHERE mine.cancel_requested), '{}')
    INTO alive, cancelled
    FROM unnest(ids, tokens) WITH ORDINALITY AS a (id, token, place)
    CROSS JOIN LATERAL (
      SELECT r.cancel_requested FROM pawl.job_run AS r
      WHERE r.name_space = space AND r.run_id = a.id AND r.fence_token = a.token
        AND r.status = 'started') AS mine;
  END;
  UPDATE pawl.job_run AS r SET last_heartbeat = pawl.journal_clock()
  WHERE r.name_space = space AND r.run_number = ANY (numbers);
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_checkpoint_v1(space text, id bytea, token bigint, saved bytea)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  it pawl.job_run;
BEGIN
  PERFORM pawl.journal_isolation();
  SELECT * INTO it FROM pawl.job_run AS r
  WHERE r.name_space = space AND r.run_id = id AND r.fence_token = token AND r.status = 'started'
  FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO pawl.job_checkpoint AS c VALUES (space, it.job_name, it.partition_number, token, saved)
  ON CONFLICT (name_space, job_name, partition_number)
  DO UPDATE SET fence_token = excluded.fence_token, checkpoint = excluded.checkpoint
  WHERE c.fence_token <= excluded.fence_token;
  -- Without a lease it is in no order with others: it saves for itself alone.
  IF NOT FOUND AND token <> 0 THEN
    RETURN false;
  END IF;
  UPDATE pawl.job_run AS r SET checkpoint = saved
  WHERE r.name_space = space AND r.run_number = it.run_number;
  PERFORM pawl.journal_remember(it, pawl.journal_clock(), 'checkpoint',
                                convert_to(length(saved) || ' bytes', 'UTF8'));
  RETURN true;
END
$$;

-- Chunks that end `most` bytes before the end of all, or earlier, are let go of.
CREATE OR REPLACE FUNCTION pawl.journal_output_v1(
  space text, id bytea, token bigint, place bigint, bytes bytea, most bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  it    pawl.job_run;
  known bigint;
BEGIN
  PERFORM pawl.journal_isolation();
  SELECT * INTO it FROM pawl.job_run AS r
  WHERE r.name_space = space AND r.run_id = id AND r.fence_token = token AND r.status = 'started'
  FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  known := least(greatest(it.output_size - place, 0), length(bytes));
  IF known = length(bytes) THEN
    RETURN true;
  END IF;
  INSERT INTO pawl.run_output
  VALUES (it.run_number, place + known, place + length(bytes), substr(bytes, known::integer + 1));
  UPDATE pawl.job_run AS r SET output_size = place + length(bytes)
  WHERE r.name_space = space AND r.run_number = it.run_number;
  DELETE FROM pawl.run_output AS o
  WHERE o.run_number = it.run_number AND o.starts < place + length(bytes) - most
    AND o.ends <= place + length(bytes) - most;
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_note_v1(
  space text, id bytea, token bigint, what bytea, words bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  it pawl.job_run;
BEGIN
  PERFORM pawl.journal_isolation();
  SELECT * INTO it FROM pawl.job_run AS r
  WHERE r.name_space = space AND r.run_id = id AND r.fence_token = token AND r.status = 'started'
  FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM pawl.journal_remember(it, pawl.journal_clock(), what, words);
  RETURN true;
END
$$;

-- 0 stale, 1 written, or the attempt that ended is over already, 2 no more attempts are kept.
CREATE OR REPLACE FUNCTION pawl.journal_attempt_v1(
  space text, id bytea, token bigint, ended integer, why bytea, code bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  it pawl.job_run;
BEGIN
  PERFORM pawl.journal_isolation();
  SELECT * INTO it FROM pawl.job_run AS r
  WHERE r.name_space = space AND r.run_id = id AND r.fence_token = token AND r.status = 'started'
  FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  IF ended <> 0 AND ended < it.attempt THEN
    RETURN 1;
  END IF;
  IF it.attempt >= 1000 THEN
    RETURN 2;
  END IF;
  UPDATE pawl.job_run AS r SET reason = why, exit_status = code, attempt = r.attempt + 1,
    started_at = pawl.journal_clock()
  WHERE r.name_space = space AND r.run_number = it.run_number
  RETURNING * INTO it;
  PERFORM pawl.journal_remember(it, pawl.journal_clock(), 'attempt', why);
  RETURN 1;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_finish_v1(
  space text, id bytea, token bigint, how text, why bytea, code bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here timestamptz := pawl.journal_clock();
  it   pawl.job_run;
BEGIN
  PERFORM pawl.journal_isolation();
  UPDATE pawl.job_run AS r
  SET status = pawl.journal_status_after(r, how), reason = why, exit_status = code,
      completed_at = CASE WHEN pawl.journal_status_after(r, how) = 'abandoned' THEN r.completed_at
                          ELSE here END
  WHERE r.name_space = space AND r.run_id = id AND r.fence_token = token AND r.status = 'started'
  RETURNING * INTO it;
  IF FOUND THEN
    PERFORM pawl.journal_remember(it, here, it.status::bytea, why);
    RETURN true;
  END IF;
  -- Told again, perhaps because no standby has it yet: whoever writes nothing waits for none.
  PERFORM FROM pawl.job_run AS r
  WHERE r.name_space = space AND r.run_id = id AND r.fence_token = token
    AND r.status = pawl.journal_status_after(r, how) FOR UPDATE;
  RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_judge_v1(
  space text, id bytea, token bigint, how text, why bytea, code bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here timestamptz;
  it   pawl.job_run;
BEGIN
  PERFORM pawl.journal_isolation();
  SELECT * INTO it FROM pawl.job_run AS r WHERE r.name_space = space AND r.run_id = id FOR UPDATE;
  here := pawl.journal_clock();
  IF NOT FOUND OR it.fence_token <> token THEN
    RETURN false;
  END IF;
  how := pawl.journal_status_after(it, how);
  IF it.status = how AND it.reason = why THEN
    RETURN true;
  END IF;
  IF it.status <> 'started'
     OR here - it.last_heartbeat <= it.silence_max * interval '1 millisecond' THEN
    RETURN false;
  END IF;
  UPDATE pawl.job_run AS r
  SET status = how, reason = why, exit_status = code,
      completed_at = CASE WHEN how = 'abandoned' THEN r.completed_at ELSE here END
  WHERE r.name_space = space AND r.run_number = it.run_number
  RETURNING * INTO it;
  PERFORM pawl.journal_remember(it, here, how::bytea, why);
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_cancel_v1(space text, id bytea, who bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here timestamptz;
  it   pawl.job_run;
  why  bytea := CASE WHEN who = '' THEN 'cancelled'::bytea ELSE 'cancelled by '::bytea || who END;
BEGIN
  PERFORM pawl.journal_isolation();
  SELECT * INTO it FROM pawl.job_run AS r WHERE r.name_space = space AND r.run_id = id FOR UPDATE;
  here := pawl.journal_clock();
  IF NOT FOUND OR it.status NOT IN ('started', 'abandoned') THEN
    -- What this very request has ended, when it is repeated.
    RETURN coalesce(it.status = 'cancelled' AND it.cancel_requested AND it.reason = why, false);
  END IF;
  IF it.status = 'abandoned' THEN
    UPDATE pawl.job_run AS r
    SET cancel_requested = true, status = 'cancelled', reason = why, completed_at = here
    WHERE r.name_space = space AND r.run_number = it.run_number;
  ELSIF it.cancel_requested THEN
    RETURN true;
  ELSE
    UPDATE pawl.job_run AS r SET cancel_requested = true
    WHERE r.name_space = space AND r.run_number = it.run_number;
  END IF;
  PERFORM pawl.journal_remember(it, here, 'cancel_requested', who);
  RETURN true;
END
$$;

-- ---- Reading. Plans are made while tables are small, and kept: an index is right for every size.

CREATE OR REPLACE FUNCTION pawl.journal_find_v1(space text, id bytea) RETURNS SETOF pawl.journal_run
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT * FROM pawl.journal_run AS r WHERE r.name_space = space AND r.run_id = id;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_firing_v1(space text, job bytea, part bigint, due bigint)
RETURNS SETOF pawl.journal_run
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT * FROM pawl.journal_run AS r
               WHERE r.name_space = space AND r.job_name = job AND r.partition_number = part
                 AND r.occurrence = due;
END
$$;

-- Null, or '' for a status: any. One of them chooses the index, and the others are looked at in its
-- order. Ranges of pairs instead of equality: or the planner takes any index that has the order, and reads
-- all rows in search of a node that is long gone.
CREATE OR REPLACE FUNCTION pawl.journal_list_v1(
  space text, job bytea, at_node bytea, how text, before bigint, count integer)
RETURNS SETOF pawl.journal_run
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off
SET enable_bitmapscan = off AS $$
BEGIN
  how := nullif(how, '');
  IF how IN ('started', 'abandoned') OR (how IS NOT NULL AND job IS NULL AND at_node IS NULL) THEN
    RETURN QUERY SELECT * FROM pawl.journal_run AS r
                 WHERE r.name_space = space AND (r.status, r.run_number) >= (how, 0)
                   AND (r.status, r.run_number) < (how, before)
                   AND (job IS NULL OR r.job_name = job) AND (at_node IS NULL OR r.node = at_node)
                 ORDER BY r.status DESC, r.run_number DESC LIMIT count;
  ELSIF job IS NOT NULL THEN
    RETURN QUERY SELECT * FROM pawl.journal_run AS r
                 WHERE r.name_space = space AND (r.job_name, r.run_number) >= (job, 0)
                   AND (r.job_name, r.run_number) < (job, before)
                   AND (at_node IS NULL OR r.node = at_node) AND (how IS NULL OR r.status = how)
                 ORDER BY r.job_name DESC, r.run_number DESC LIMIT count;
  ELSIF at_node IS NOT NULL THEN
    RETURN QUERY SELECT * FROM pawl.journal_run AS r
                 WHERE r.name_space = space AND (r.node, r.run_number) >= (at_node, 0)
                   AND (r.node, r.run_number) < (at_node, before)
                   AND (how IS NULL OR r.status = how)
                 ORDER BY r.node DESC, r.run_number DESC LIMIT count;
  ELSE
    RETURN QUERY SELECT * FROM pawl.journal_run AS r
                 WHERE r.name_space = space AND r.run_number < before
                 ORDER BY r.run_number DESC LIMIT count;
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_history_v1(space text, id bytea)
RETURNS TABLE (happened bigint, kind bytea, said bytea, node bytea, fence_token bigint, attempt integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT pawl.journal_millis(e.at), e.kind, e.said, e.node, e.fence_token, e.attempt
               FROM pawl.job_run AS r JOIN pawl.run_event AS e ON e.run_number = r.run_number
               WHERE r.name_space = space AND r.run_id = id ORDER BY e.number;
END
$$;

-- One row for each piece, and one with nulls where there is none; no row: no such run. Whoever asks
-- cuts the ends off.
CREATE OR REPLACE FUNCTION pawl.journal_read_output_v1(space text, id bytea, place bigint, most bigint)
RETURNS TABLE (total bigint, over boolean, starts bigint, piece bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  it    pawl.job_run;
  first bigint;
BEGIN
  SELECT * INTO it FROM pawl.job_run AS r WHERE r.name_space = space AND r.run_id = id;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT max(o.starts) INTO first FROM pawl.run_output AS o
  WHERE o.run_number = it.run_number AND o.starts <= place;
  RETURN QUERY
    SELECT it.output_size, it.status NOT IN ('started', 'abandoned'), found.starts, found.piece
    FROM (SELECT 1) AS always LEFT JOIN (
      SELECT s.starts, s.piece FROM (
        SELECT o.starts, o.piece,
               sum(o.ends - greatest(o.starts, place)) OVER (ORDER BY o.starts)
                 - (o.ends - greatest(o.starts, place)) AS before
        FROM pawl.run_output AS o
        WHERE o.run_number = it.run_number AND o.starts >= coalesce(first, 0) AND o.ends > place
        ORDER BY o.starts LIMIT 1024) AS s
      WHERE s.before < most) AS found ON true
    ORDER BY found.starts;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_stale_v1(space text, count integer)
RETURNS SETOF pawl.journal_run
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  here timestamptz := pawl.journal_clock();
BEGIN
  RETURN QUERY SELECT shown.* FROM pawl.job_run AS r
               JOIN pawl.journal_run AS shown
                 ON shown.name_space = space AND shown.run_number = r.run_number
               WHERE r.name_space = space AND (r.status, r.run_number) >= ('started', 0)
                 AND (r.status, r.run_number) <= ('started', 9223372036854775807)
                 AND here - r.last_heartbeat > r.silence_max * interval '1 millisecond'
               ORDER BY r.status, r.run_number LIMIT count;
END
$$;

-- Looks at the oldest only: whoever began later has rarely ended much earlier.
CREATE OR REPLACE FUNCTION pawl.journal_prune_v1(
  space text, job bytea, keep bigint, keep_for bigint, count bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  here    timestamptz := pawl.journal_clock();
  beyond  bigint;
  old     bigint[];
  numbers bigint[];
BEGIN
  PERFORM pawl.journal_isolation();
  SELECT r.run_number INTO beyond FROM pawl.job_run AS r
  WHERE r.name_space = space AND (r.job_name, r.run_number) >= (job, 0)
    AND (r.job_name, r.run_number) <= (job, 9223372036854775807)
    AND r.status NOT IN ('started', 'abandoned')
  ORDER BY r.job_name DESC, r.run_number DESC OFFSET keep LIMIT 1;
  SELECT array_agg(s.run_number) INTO old FROM (
    SELECT o.run_number FROM (
      SELECT r.run_number, r.completed_at FROM pawl.job_run AS r
      WHERE r.name_space = space AND (r.job_name, r.run_number) >= (job, 0)
        AND (r.job_name, r.run_number) <= (job, 9223372036854775807)
        AND r.status NOT IN ('started', 'abandoned')
      ORDER BY r.job_name, r.run_number LIMIT count + 1000) AS o
    WHERE o.run_number <= beyond
       OR (keep_for > 0 AND o.completed_at < here - keep_for * interval '1 millisecond')
    ORDER BY o.run_number LIMIT count) AS s;
  -- An occurrence that was skipped may be taken over at this moment; then it stays.
  SELECT array_agg(s.run_number) INTO numbers FROM (
    SELECT r.run_number FROM pawl.job_run AS r
    WHERE r.name_space = space AND r.run_number = ANY (old)
      AND r.status NOT IN ('started', 'abandoned')
    ORDER BY r.run_number FOR UPDATE SKIP LOCKED) AS s;
  IF numbers IS NULL THEN
    RETURN 0;
  END IF;
  DELETE FROM pawl.run_event AS e WHERE e.run_number = ANY (numbers);
  DELETE FROM pawl.run_output AS o WHERE o.run_number = ANY (numbers);
  DELETE FROM pawl.job_run AS r WHERE r.name_space = space AND r.run_number = ANY (numbers);
  RETURN cardinality(numbers);
END
$$;

-- ---- The control state

-- part: 0 pauses, 1 triggers, 2 ids to cancel, 3 orphans without their checkpoints; of triggers and
-- orphans each job's first, then each one's second and so on. What is no run has its reason, arguments,
-- who and when in the columns reason, checkpoint, lock_owner and started_at. One snapshot.
CREATE OR REPLACE FUNCTION pawl.journal_board_v1(space text, count integer)
RETURNS TABLE (
  part integer, run_number bigint, run_id bytea, job_name bytea, partition_number bigint,
  lease_key bytea, lock_owner bytea, node bytea, fence_token bigint, occurrence bigint,
  at_least_once boolean, started_by bytea, status text, reason bytea, started_at bigint,
  completed_at bigint, last_heartbeat bigint, exit_status integer, attempt integer, checkpoint bytea,
  output_size bigint, cancel_requested boolean, name_space text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  (SELECT 0, 0::bigint, NULL::bytea, p.job_name, NULL::bigint, NULL::bytea, p.paused_by, NULL::bytea,
          NULL::bigint, NULL::bigint, NULL::boolean, NULL::bytea, NULL::text, p.reason,
          pawl.journal_millis(p.at), NULL::bigint, NULL::bigint, NULL::integer, NULL::integer,
          NULL::bytea, NULL::bigint, NULL::boolean, NULL::text
   FROM pawl.job_pause AS p WHERE p.name_space = space ORDER BY p.job_name LIMIT count)
  UNION ALL
  (SELECT 1, t.place, t.run_id, t.job_name, t.partition_number, NULL, t.asked_by, NULL, NULL, NULL,
          t.inherits, NULL, NULL, NULL, pawl.journal_millis(t.at), NULL, NULL, NULL, NULL, t.arguments,
          NULL, NULL, NULL
   FROM (SELECT w.place, row_number() OVER (PARTITION BY w.job_name ORDER BY w.place) AS turn
         FROM pawl.run_trigger AS w WHERE w.name_space = space ORDER BY 2, 1 LIMIT count) AS chosen
   JOIN pawl.run_trigger AS t ON t.name_space = space AND t.place = chosen.place
   ORDER BY t.place)
  UNION ALL
  (SELECT 2, r.run_number, r.run_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
          NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
   FROM pawl.job_run AS r WHERE r.name_space = space AND r.cancel_requested AND r.status = 'started'
   ORDER BY r.run_number LIMIT count)
  UNION ALL
  (SELECT 3, o.run_number, o.run_id, o.job_name, o.partition_number, o.lease_key, o.lock_owner,
          o.node, o.fence_token, o.occurrence, o.at_least_once, o.started_by, o.status, o.reason,
          pawl.journal_millis(o.started_at), pawl.journal_millis(o.completed_at),
          pawl.journal_millis(o.last_heartbeat), o.exit_status, o.attempt, ''::bytea, o.output_size,
          o.cancel_requested, o.name_space
   FROM (SELECT r.*, row_number() OVER (PARTITION BY r.job_name ORDER BY r.run_number) AS turn
         FROM pawl.job_run AS r
         WHERE r.name_space = space AND r.at_least_once AND r.status = 'abandoned'
         ORDER BY turn, r.run_number LIMIT count) AS o
   ORDER BY o.run_number);
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_add_trigger_v1(
  space text, id bytea, job bytea, part bigint, words bytea, takes_past boolean, who bytea)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.journal_isolation();
  INSERT INTO pawl.run_trigger
    (name_space, run_id, job_name, partition_number, arguments, inherits, asked_by, at)
  VALUES (space, id, job, part, words, takes_past, who, pawl.journal_clock())
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- Looked at now: a run that consumed a trigger of this id a moment ago is seen for sure.
  IF EXISTS (SELECT FROM pawl.job_run AS r WHERE r.name_space = space AND r.run_id = id) THEN
    DELETE FROM pawl.run_trigger AS t WHERE t.name_space = space AND t.run_id = id;
    RETURN false;
  END IF;
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_remove_trigger_v1(space text, id bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.journal_bound_locks();
  DELETE FROM pawl.run_trigger AS t WHERE t.name_space = space AND t.run_id = id;
  RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_pause_v1(space text, job bytea, why bytea, who bytea)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.journal_bound_locks();
  INSERT INTO pawl.job_pause VALUES (space, job, why, who, pawl.journal_clock()) ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_unpause_v1(space text, job bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.journal_isolation();
  DELETE FROM pawl.job_pause AS p WHERE p.name_space = space AND p.job_name = job;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- What came due during the pause is not missing.
  UPDATE pawl.job AS j SET since = greatest(j.since, pawl.journal_clock())
  WHERE j.name_space = space AND j.job_name = job;
  RETURN true;
END
$$;

-- ---- Jobs and nodes

-- Whether a job's keys are slots, which take turns. A definition that does not say has none.
CREATE OR REPLACE FUNCTION pawl.journal_has_slots(definition bytea) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT position('"slots":'::bytea IN definition) > 0
     AND position('"slots":1,'::bytea IN definition) = 0
     AND position('"slots":1}'::bytea IN definition) = 0
$$;

-- REQUIRES: each name once. Written in the order of the names.
CREATE OR REPLACE FUNCTION pawl.journal_publish_v2(
  space text, names bytea[], schedules bytea[], zones bytea[], counts bigint[], definitions bytea[],
  nodes bytea[])
RETURNS TABLE (job_name bytea, since bigint, published_at bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  here timestamptz := pawl.journal_clock();
BEGIN
  PERFORM pawl.journal_isolation();
  RETURN QUERY
    INSERT INTO pawl.job AS j
    SELECT space, a.name, a.schedule, a.zone, a.parts, a.definition, a.node, here, here
    FROM unnest(names, schedules, zones, counts, definitions, nodes)
         AS a (name, schedule, zone, parts, definition, node)
    ORDER BY a.name
    ON CONFLICT (name_space, job_name) DO UPDATE
    SET since = CASE WHEN j.schedule = excluded.schedule AND j.zone = excluded.zone
                      AND j.partitions = excluded.partitions
                      AND pawl.journal_has_slots(j.definition)
                        = pawl.journal_has_slots(excluded.definition)
                      AND (position('"enabled":false'::bytea IN j.definition) = 0
                        OR position('"enabled":false'::bytea IN excluded.definition) > 0)
                     THEN j.since
                     ELSE excluded.since END,
        schedule = excluded.schedule, zone = excluded.zone, partitions = excluded.partitions,
        definition = excluded.definition, node = excluded.node, published_at = excluded.published_at
    RETURNING j.job_name, pawl.journal_millis(j.since), pawl.journal_millis(j.published_at);
END
$$;

-- As an earlier pawl calls it.
CREATE OR REPLACE FUNCTION pawl.journal_publish_v1(
  space text, names bytea[], schedules bytea[], zones bytea[], counts bigint[], definitions bytea[],
  nodes bytea[])
RETURNS TABLE (job_name bytea, since bigint, published_at bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT * FROM pawl.journal_publish_v2(space, names, schedules, zones, counts, definitions, nodes)
$$;

CREATE OR REPLACE FUNCTION pawl.journal_retire_v1(space text, names bytea[], by_node bytea)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone bigint;
BEGIN
  PERFORM pawl.journal_isolation();
  WITH mine AS MATERIALIZED (
    SELECT j.job_name FROM pawl.job AS j
    WHERE j.name_space = space AND j.job_name = ANY (names) AND j.node = by_node
    ORDER BY j.job_name FOR UPDATE
  ), removed AS (
    DELETE FROM pawl.job AS j USING mine
    WHERE j.name_space = space AND j.job_name = mine.job_name AND j.node = by_node
    RETURNING 1
  )
  SELECT count(*) INTO gone FROM removed;
  RETURN gone;
END
$$;

-- only_one: the entry itself instead of those after it.
CREATE OR REPLACE FUNCTION pawl.journal_jobs_v1(space text, name bytea, only_one boolean, count integer)
RETURNS TABLE (
  job_name bytea, schedule bytea, zone bytea, partitions bigint, definition bytea, node bytea,
  since bigint, published_at bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT j.job_name, j.schedule, j.zone, j.partitions, j.definition, j.node,
                      pawl.journal_millis(j.since), pawl.journal_millis(j.published_at)
               FROM pawl.job AS j
               WHERE j.name_space = space AND j.job_name >= name
                 AND (j.job_name = name) = only_one
               ORDER BY j.job_name LIMIT count;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_node_v1(
  space text, id bytea, name bytea, its_version bytea, its_address bytea, busy bigint, busy_max bigint,
  its_jobs bigint, drains boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here timestamptz := pawl.journal_clock();
BEGIN
  PERFORM pawl.journal_bound_locks();
  UPDATE pawl.node AS n
  SET node_name = name, version = its_version, address = its_address, last_seen = here, running = busy,
      running_max = busy_max, jobs = its_jobs, draining = drains
  WHERE n.name_space = space AND n.node_id = id;
  IF NOT FOUND THEN
    INSERT INTO pawl.node AS n
    VALUES (space, id, name, its_version, its_address, here, here, busy, busy_max, its_jobs, drains)
    ON CONFLICT (name_space, node_id) DO UPDATE SET last_seen = excluded.last_seen;
    -- Those that are not shown any more; whoever writes to one at this moment keeps it.
    DELETE FROM pawl.node AS n USING (
      SELECT o.node_id FROM pawl.node AS o
      WHERE o.name_space = space AND o.last_seen < here - interval '2 days'
      FOR UPDATE SKIP LOCKED) AS old
    WHERE n.name_space = space AND n.node_id = old.node_id;
  END IF;
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_node_leaves_v1(space text, id bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.journal_bound_locks();
  DELETE FROM pawl.node AS n WHERE n.name_space = space AND n.node_id = id;
  RETURN FOUND;
END
$$;

-- Those that were seen last, by name.
CREATE OR REPLACE FUNCTION pawl.journal_nodes_v1(space text, memory bigint, count integer)
RETURNS TABLE (
  node_id bytea, node_name bytea, version bytea, address bytea, started_at bigint, last_seen bigint,
  age bigint, running bigint, running_max bigint, jobs bigint, draining boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  here timestamptz := pawl.journal_clock();
BEGIN
  RETURN QUERY SELECT n.node_id, n.node_name, n.version, n.address, pawl.journal_millis(n.started_at),
                      pawl.journal_millis(n.last_seen),
                      greatest(pawl.journal_millis(here) - pawl.journal_millis(n.last_seen), 0),
                      n.running, n.running_max, n.jobs, n.draining
               FROM (SELECT a.* FROM pawl.node AS a
                     WHERE a.name_space = space
                       AND a.last_seen >= here - memory * interval '1 millisecond'
                     ORDER BY a.last_seen DESC, a.node_id LIMIT count) AS n
               ORDER BY n.node_name, n.node_id;
END
$$;

-- ---- The audit

-- The newest entry, and what time it is; zero where there is none.
CREATE OR REPLACE FUNCTION pawl.journal_audit_head_v1(
  space text, OUT here bigint, OUT newest bigint, OUT newest_hash text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  SELECT a.sequence, a.hash INTO newest, newest_hash FROM pawl.audit AS a
  WHERE a.name_space = space ORDER BY a.sequence DESC LIMIT 1;
  newest := coalesce(newest, 0);
  newest_hash := coalesce(newest_hash, '');
  here := pawl.journal_millis(pawl.journal_clock());
END
$$;

-- False: another entry has become the next one. An entry that is there is never changed, so its
-- follower is right whoever comes first.
CREATE OR REPLACE FUNCTION pawl.journal_audit_v1(
  space text, number bigint, when_done bigint, who bytea, what bytea, whom bytea, words bytea,
  before text, its_hash text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.journal_bound_locks();
  INSERT INTO pawl.audit
  VALUES (space, number, pawl.journal_time(when_done), who, what, whom, words, before, its_hash)
  ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION pawl.journal_list_audit_v1(space text, before bigint, count integer)
RETURNS TABLE (
  sequence bigint, happened bigint, actor bytea, action bytea, target bytea, detail bytea,
  previous text, hash text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT a.sequence, pawl.journal_millis(a.at), a.actor, a.action, a.target, a.detail,
                      a.previous, a.hash
               FROM pawl.audit AS a
               WHERE a.name_space = space AND a.sequence < before
               ORDER BY a.sequence DESC LIMIT count;
END
$$;

-- Since PostgreSQL 13 there is one more way to read too much.
DO $$
DECLARE
  one regprocedure;
BEGIN
  IF current_setting('server_version_num')::integer < 130000 THEN
    RETURN;
  END IF;
  FOR one IN SELECT p.oid FROM pg_proc AS p
             WHERE p.pronamespace = 'pawl'::regnamespace AND p.proname LIKE 'journal\_%'
               AND 'enable_seqscan=off' = ANY (p.proconfig)
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET enable_incremental_sort = off', one);
  END LOOP;
END
$$;

-- PUBLIC may call new functions by default.
DO $$
DECLARE
  one regprocedure;
BEGIN
  FOR one IN SELECT p.oid FROM pg_proc AS p
             WHERE p.pronamespace = 'pawl'::regnamespace AND p.proname LIKE 'journal\_%'
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', one);
  END LOOP;
END
$$;

-- Users who could call the verbs before these came can call these.
DO $$
DECLARE
  who text;
BEGIN
  FOR who IN
    SELECT DISTINCT a.grantee::regrole::text
    FROM pg_proc AS p, aclexplode(p.proacl) AS a
    WHERE p.oid = 'pawl.journal_layout()'::regprocedure AND a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE 'GRANT EXECUTE ON FUNCTION pawl.journal_publish_v2 TO ' || who;
  END LOOP;
END
$$;
