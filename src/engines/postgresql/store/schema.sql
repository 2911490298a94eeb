-- Layout 1 of a pawl store: tables, and one function for each verb. pawl runs this by itself when it
-- may; an administrator runs it with `psql -1 -v ON_ERROR_STOP=1 -f postgresql.sql` when it may not.
-- It may be run again, and is what an administrator runs before a newer pawl starts: functions that
-- agents of an older pawl call stay.
-- The word pawl is the name of the schema: replace it for another (schema=NAME in the URL).
-- Who may write the table lease does so without a function in the ordinary case (acquire_known.sql,
-- release_held.sql): a layout in which that would be wrong must rename the table, so that older
-- processes fail, and then see the layout.
-- Keys, owners and claim ids are bytes, so that the encoding of the database does not matter.
DO $$
BEGIN
  IF to_regnamespace('pawl') IS NULL THEN
    CREATE SCHEMA pawl;
  END IF;
END
$$;

-- Since when this data has been whole, and in which life of the server: one row.
CREATE TABLE IF NOT EXISTS pawl.marker (
  one     integer PRIMARY KEY CHECK (one = 1),
  layout  integer NOT NULL,
  born    timestamptz NOT NULL,
  life    text NOT NULL,
  started timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS pawl.lease (
  name_space text COLLATE "C" NOT NULL,
  key        bytea NOT NULL,
  holder     bigint NOT NULL,      -- the fencing token; 0: held by nobody
  until      timestamptz NOT NULL, -- held, or kept by nobody, before this
  acquired   timestamptz NOT NULL,
  last_token bigint NOT NULL,      -- the highest ever granted or burnt; 0: never granted
  last_done  bigint,               -- Unix milliseconds of the last occurrence that is done
  waited     boolean NOT NULL,     -- somebody wants to be told when it is let go
  claim_id   bytea NOT NULL,
  owner      bytea NOT NULL,       -- for people
  withdrawn  bytea[] NOT NULL,     -- claims that were given up, the newest first
  PRIMARY KEY (name_space, key)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- The highest token of the records that were purged: new keys start above it.
CREATE TABLE IF NOT EXISTS pawl.floor (
  name_space text COLLATE "C" PRIMARY KEY,
  token      bigint NOT NULL
);

CREATE TABLE IF NOT EXISTS pawl.fence (
  name_space text COLLATE "C" NOT NULL,
  resource   bytea NOT NULL,
  newest     bigint NOT NULL,
  PRIMARY KEY (name_space, resource)
) WITH (fillfactor = 50);

-- Changes with what may have forgotten grants: another time line (a promoted standby, a restore to a
-- point in time), another database, tables made anew. Each grant under a quarantine asks for it: so it
-- is in a language whose plans are kept, and has the search path of who calls it, which is a verb's.
CREATE OR REPLACE FUNCTION pawl.life() RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) || '/' ||
         (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()) ||
         '/' || 'pawl.lease'::regclass::oid;
END
$$;

INSERT INTO pawl.marker
SELECT 1, 1, clock_timestamp(), pawl.life(), pg_postmaster_start_time()
ON CONFLICT DO NOTHING;

CREATE OR REPLACE FUNCTION pawl.layout() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT layout FROM pawl.marker
$$;

CREATE OR REPLACE FUNCTION pawl.micros(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT (extract(epoch FROM at) * 1000000)::bigint
$$;

-- Rounded up, so that whoever waits for it does not ask a moment too early.
CREATE OR REPLACE FUNCTION pawl.millis(length interval) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(ceil(extract(epoch FROM length) * 1000), 0)::bigint
$$;

-- The verbs look again at what others have committed, which a snapshot that lasts would hide. The
-- error tells pawl to begin its transactions itself.
CREATE OR REPLACE FUNCTION pawl.expect_read_committed() RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'this function needs the isolation level READ COMMITTED' USING ERRCODE = 'PAWL1';
  END IF;
END
$$;

-- A process of the server that crashes takes with it what other sessions have committed and nobody has
-- written yet, and the server seems to have been up all the time. So what must not be forgotten waits
-- for the disk, also where synchronous_commit is off. Lasts until the transaction ends.
CREATE OR REPLACE FUNCTION pawl.sync_commit() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END
$$;

-- A session that waits for a lock does not see that its client has gone, and keeps a connection of the
-- server. So each wait is bounded, below the timeout that pawl has by default; a bound of the user's own
-- holds. Lasts until the transaction ends.
CREATE OR REPLACE FUNCTION pawl.bound_locks() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF current_setting('lock_timeout') = '0' THEN
    PERFORM set_config('lock_timeout', '1500ms', true);
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION pawl.announce(space text, changed bytea) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_notify('pawl_' || left(encode(sha256(space::bytea), 'hex'), 16), encode(changed, 'hex'))
$$;

-- Rule 7: since when the data has been whole. Another life of the server than the one that the marker
-- names may have forgotten grants, so it begins when it is first seen.
CREATE OR REPLACE FUNCTION pawl.whole_since() RETURNS timestamptz
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  seen   pawl.marker;
  now_in text := pawl.life();
  synced boolean := current_setting('synchronous_commit') <> 'off' AND current_setting('fsync')::boolean;
BEGIN
  SELECT * INTO seen FROM pawl.marker;
  IF seen.life = now_in AND (synced OR seen.started = pg_postmaster_start_time()) THEN
    RETURN seen.born;
  END IF;
  SELECT * INTO seen FROM pawl.marker FOR UPDATE;
  IF seen.life = now_in AND (synced OR seen.started = pg_postmaster_start_time()) THEN
    RETURN seen.born;
  END IF;
  UPDATE pawl.marker SET born = clock_timestamp(), life = now_in, started = pg_postmaster_start_time()
  RETURNING born INTO seen.born;
  RETURN seen.born;
END
$$;

-- kind: 0 granted, 1 held, 2 kept by nobody, 3 quarantined, 4 early, 5 done (the occurrence is in
-- token). Durations are milliseconds.
CREATE OR REPLACE FUNCTION pawl.acquire_v1(
  space text, wanted bytea, id bytea, who bytea, ttl bigint,
  due bigint, once boolean, skew bigint, quarantine bigint,
  OUT kind integer, OUT token bigint, OUT remaining bigint, OUT holder_name bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here    timestamptz := clock_timestamp();
  term    interval := ttl * interval '1 millisecond';
  born    timestamptz;
  lowest  bigint;
  it   pawl.lease;
  is_new  boolean;
  is_dead boolean;
BEGIN
  -- Asked here first, as most sessions need neither and each call costs as much as the grant's clock.
  IF current_setting('transaction_isolation') <> 'read committed'
     OR current_setting('synchronous_commit') = 'off' THEN
    PERFORM pawl.expect_read_committed();
    PERFORM pawl.sync_commit();
  END IF;
  PERFORM pawl.bound_locks();
  kind := 0;
  remaining := ttl;
  holder_name := '';
  IF quarantine IS NOT NULL THEN
    born := pawl.whole_since();
    here := clock_timestamp();
    IF here < born + quarantine * interval '1 millisecond' THEN
      kind := 3;
      token := 0;
      remaining := pawl.millis(born + quarantine * interval '1 millisecond' - here);
      RETURN;
    END IF;
    -- Grants went up to max_skew ahead of the clock, so forgotten ones may have as well.
    lowest := ceil(extract(epoch FROM born) * 1000)::bigint + skew;
    IF due < lowest THEN
      kind := 5;
      token := lowest;
      RETURN;
    END IF;
  END IF;

  IF due IS NULL THEN
    -- Most claims are for a key that is known and free: one statement. Should it wait for a lock, the
    -- clock it read is a little old, which makes the lease no longer than it should be.
    UPDATE pawl.lease AS l
    SET holder = greatest(l.last_token + 1, pawl.micros(here)),
        last_token = greatest(l.last_token + 1, pawl.micros(here)),
        until = here + term, acquired = here, claim_id = id, owner = who
    WHERE l.name_space = space AND l.key = wanted AND l.until <= here AND l.last_token > 0
      AND NOT id = ANY (l.withdrawn)
    RETURNING l.holder INTO token;
    IF FOUND THEN
      RETURN;
    END IF;
  END IF;

  LOOP
    SELECT * INTO it FROM pawl.lease AS l WHERE l.name_space = space AND l.key = wanted FOR UPDATE;
    is_new := NOT FOUND;
    here := clock_timestamp();
    IF NOT is_new THEN
      -- Rule 2: a claim that was withdrawn is dead, however late it arrives.
      is_dead := id = ANY (it.withdrawn);
      IF here < it.until OR is_dead THEN
        IF it.holder <> 0 AND it.claim_id = id AND NOT is_dead THEN
          UPDATE pawl.lease AS l SET until = greatest(l.until, here + term)
          WHERE l.name_space = space AND l.key = wanted;
          token := it.holder;
          RETURN;
        END IF;
        token := CASE WHEN here < it.until THEN it.holder ELSE 0 END;
        kind := CASE WHEN token <> 0 THEN 1 ELSE 2 END;
        remaining := greatest(pawl.millis(it.until - here), 1);
        holder_name := it.owner;
        RETURN;
      END IF;
    END IF;

    -- Rule 6. What this very claim has marked does not count against it: it asks again because an
    -- answer was lost, and any end of its lease but expiry would have taken its id away (rule 2).
    IF due IS NOT NULL AND NOT (NOT is_new AND it.holder <> 0 AND it.claim_id = id
                                AND coalesce(it.last_done = due, false)) THEN
      IF it.last_done >= due THEN
        kind := 5;
        token := it.last_done;
        RETURN;
      END IF;
      remaining := ceil(due - extract(epoch FROM here) * 1000 - skew)::bigint;
      IF remaining > 0 THEN
        kind := 4;
        token := 0;
        RETURN;
      END IF;
      remaining := ttl;
      IF once THEN
        it.last_done := due;
      END IF;
    END IF;

    -- Rule 1.
    token := greatest(coalesce(it.last_token, 0) + 1, pawl.micros(here));
    IF NOT is_new THEN
      IF it.last_token = 0 THEN
        -- Known for a withdrawal only: what it was before may have been purged.
        SELECT f.token INTO lowest FROM pawl.floor AS f WHERE f.name_space = space;
        token := greatest(token, lowest + 1);
      END IF;
      UPDATE pawl.lease AS l
      SET holder = token, last_token = token, until = here + term, acquired = here, claim_id = id,
          owner = who, last_done = it.last_done
      WHERE l.name_space = space AND l.key = wanted;
      RETURN;
    END IF;
    INSERT INTO pawl.lease
    VALUES (space, wanted, token, here + term, here, token, it.last_done, false, id, who, '{}')
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
      -- Looked at now, because what was purged before the row came is seen now for sure.
      SELECT f.token INTO lowest FROM pawl.floor AS f WHERE f.name_space = space;
      IF lowest >= token THEN
        token := lowest + 1;
        UPDATE pawl.lease AS l SET holder = acquire_v1.token, last_token = acquire_v1.token
        WHERE l.name_space = space AND l.key = wanted;
      END IF;
      RETURN;
    END IF;
  END LOOP;
END
$$;

-- due: the occurrence that is given back, if this claim was the last to be granted and marked it.
CREATE OR REPLACE FUNCTION pawl.withdraw_v4(space text, given_up bytea, id bytea, due bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here     timestamptz;
  it    pawl.lease;
  was_last boolean;
  was_held boolean;
BEGIN
  PERFORM pawl.expect_read_committed();
  PERFORM pawl.sync_commit();
  PERFORM pawl.bound_locks();
  -- The claim may still be on its way, over a connection that we believe dead: its id is remembered,
  -- if need be in a record that was never granted.
  INSERT INTO pawl.lease
  VALUES (space, given_up, 0, clock_timestamp(), clock_timestamp(), 0, NULL, false, '', '', ARRAY[id])
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    RETURN false;
  END IF;
  SELECT * INTO it FROM pawl.lease AS l WHERE l.name_space = space AND l.key = given_up FOR UPDATE;
  IF NOT FOUND THEN
    -- Purged in this moment: nothing is held, and a claim so late would have been for nothing.
    RETURN false;
  END IF;
  here := clock_timestamp();
  was_last := it.holder <> 0 AND it.claim_id = id;
  was_held := was_last AND here < it.until;
  IF id = ANY (it.withdrawn) AND NOT was_last THEN
    RETURN false;
  END IF;
  UPDATE pawl.lease AS l
  SET holder = CASE WHEN was_last THEN 0 ELSE l.holder END,
      -- Its last use is now: a claim that comes late must find its id, however old the record was.
      until = CASE WHEN was_held OR l.until < here THEN here ELSE l.until END,
      last_done = CASE WHEN was_last AND l.last_done = due THEN due - 1 ELSE l.last_done END,
      claim_id = CASE WHEN was_last THEN '' ELSE l.claim_id END,
      waited = l.waited AND NOT was_held,
      withdrawn = (ARRAY[id] || array_remove(l.withdrawn, id))[1:32]
  WHERE l.name_space = space AND l.key = given_up;
  IF was_held AND it.waited THEN
    PERFORM pawl.announce(space, given_up);
  END IF;
  RETURN was_held;
END
$$;

-- For agents that do not know withdraw_v4.
CREATE OR REPLACE FUNCTION pawl.withdraw_v3(space text, given_up bytea, id bytea, due bigint)
RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT pawl.withdraw_v4(space, given_up, id, due)
$$;

CREATE OR REPLACE FUNCTION pawl.withdraw_v2(space text, given_up bytea, id bytea, due bigint)
RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT pawl.withdraw_v4(space, given_up, id, due)
$$;

CREATE OR REPLACE FUNCTION pawl.withdraw_v1(space text, given_up bytea, id bytea) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT pawl.withdraw_v4(space, given_up, id, NULL)
$$;

-- The places in the arrays, from 1, of those that were renewed, and of those whose row another session
-- keeps locked. One by one in the order of their keys, so that two batches never wait for each other
-- in a circle.
CREATE OR REPLACE FUNCTION pawl.renew_rows(
  space text, keys bytea[], tokens bigint[], ttls bigint[], lifetimes bigint[], lapsed boolean[],
  skip_locked boolean, OUT renewed bigint[], OUT locked bigint[])
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  one  record;
  here timestamptz;
BEGIN
  renewed := '{}';
  locked := '{}';
  FOR one IN
    SELECT k.key, k.token, k.ttl * interval '1 millisecond' AS term,
           CASE WHEN k.lifetime > 0 THEN k.lifetime * interval '1 millisecond' END AS lifetime,
           k.may_lapse, k.place
    FROM unnest(keys, tokens, ttls, lifetimes, lapsed)
         WITH ORDINALITY AS k (key, token, ttl, lifetime, may_lapse, place)
    ORDER BY k.key, k.place
  LOOP
    IF skip_locked THEN
      PERFORM FROM pawl.lease AS l
      WHERE l.name_space = space AND l.key = one.key AND l.holder = one.token AND l.holder <> 0
      FOR NO KEY UPDATE SKIP LOCKED;
      IF NOT FOUND THEN
        PERFORM FROM pawl.lease AS l
        WHERE l.name_space = space AND l.key = one.key AND l.holder = one.token AND l.holder <> 0;
        IF FOUND THEN
          locked := locked || one.place;
        END IF;
        CONTINUE;
      END IF;
    END IF;
    here := clock_timestamp();
    UPDATE pawl.lease AS l
    SET until = greatest(l.until, least(here + one.term, l.acquired + one.lifetime))
    WHERE l.name_space = space AND l.key = one.key AND l.holder = one.token AND l.holder <> 0
      AND (l.until > here OR one.may_lapse)
      AND least(here + one.term, l.acquired + one.lifetime) > here;
    IF FOUND THEN
      renewed := renewed || one.place;
    END IF;
  END LOOP;
END
$$;

-- Rule 11: one row that another session keeps locked must not let the other leases of the batch run
-- out. A lock is waited for up to `patience` milliseconds, as others take them for a moment all the
-- time; if one lasts, all is begun again and such rows are passed by.
CREATE OR REPLACE FUNCTION pawl.renew_v2(
  space text, keys bytea[], tokens bigint[], ttls bigint[], lifetimes bigint[], lapsed boolean[],
  patience bigint, OUT renewed bigint[], OUT locked bigint[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.expect_read_committed();
  PERFORM pawl.sync_commit();
  PERFORM set_config('lock_timeout', patience::text, true);
  BEGIN
    SELECT * INTO renewed, locked
    FROM pawl.renew_rows(space, keys, tokens, ttls, lifetimes, lapsed, false);
  EXCEPTION WHEN lock_not_available THEN
    SELECT * INTO renewed, locked
    FROM pawl.renew_rows(space, keys, tokens, ttls, lifetimes, lapsed, true);
  END;
END
$$;

-- For agents that do not know renew_v2.
CREATE OR REPLACE FUNCTION pawl.renew_v1(
  space text, keys bytea[], tokens bigint[], ttls bigint[], lifetimes bigint[], lapsed boolean[])
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.expect_read_committed();
  PERFORM pawl.sync_commit();
  PERFORM pawl.bound_locks();
  RETURN (SELECT r.renewed
          FROM pawl.renew_rows(space, keys, tokens, ttls, lifetimes, lapsed, false) AS r);
END
$$;

-- at_least: milliseconds since the grant; NULL: until its lease would have ended.
CREATE OR REPLACE FUNCTION pawl.release_v1(
  space text, held bytea, token bigint, at_least bigint, done bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here     timestamptz := clock_timestamp();
  it    pawl.lease;
  was_last boolean;
  was_held boolean;
  raises   boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    PERFORM pawl.expect_read_committed();
  END IF;
  PERFORM pawl.bound_locks();
  IF at_least = 0 AND done IS NULL THEN
    -- Most releases: nobody waits, nothing lingers.
    UPDATE pawl.lease AS l SET holder = 0, until = here, claim_id = ''
    WHERE l.name_space = space AND l.key = held AND l.holder = release_v1.token AND l.holder <> 0
      AND l.until > here AND NOT l.waited;
    IF FOUND THEN
      RETURN true;
    END IF;
  END IF;
  SELECT * INTO it FROM pawl.lease AS l WHERE l.name_space = space AND l.key = held FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- An occurrence that is done, and a key that lingers, have to outlive the server.
  IF done IS NOT NULL OR at_least IS DISTINCT FROM 0 THEN
    PERFORM pawl.sync_commit();
  END IF;
  here := clock_timestamp();
  was_last := it.holder = token AND it.holder <> 0;
  was_held := was_last AND here < it.until;
  -- The work is done whether or not the lease outlived it: the token proves who says so.
  raises := done IS NOT NULL AND it.last_token = token AND coalesce(it.last_done < done, true);
  IF NOT was_last AND NOT raises THEN
    RETURN false;
  END IF;
  -- Also after its lease has run out, a claim that was released is never granted again.
  UPDATE pawl.lease AS l
  SET last_done = CASE WHEN raises THEN done ELSE l.last_done END,
      holder = CASE WHEN was_last THEN 0 ELSE l.holder END,
      claim_id = CASE WHEN was_last THEN '' ELSE l.claim_id END,
      waited = l.waited AND NOT was_held,
      until = CASE WHEN was_held AND at_least IS NOT NULL
                   THEN greatest(here, l.acquired + at_least * interval '1 millisecond')
                   ELSE l.until END
  WHERE l.name_space = space AND l.key = held;
  IF was_held AND it.waited THEN
    PERFORM pawl.announce(space, held);
  END IF;
  RETURN was_held;
END
$$;

-- Rule 5: the number above its own is burnt, so that a guard which knows it refuses its holder. Without
-- delay the newest token of a key in cooldown ends that.
CREATE OR REPLACE FUNCTION pawl.evict_v1(space text, held bytea, token bigint, delay bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here  timestamptz;
  it pawl.lease;
BEGIN
  PERFORM pawl.expect_read_committed();
  PERFORM pawl.sync_commit();
  PERFORM pawl.bound_locks();
  SELECT * INTO it FROM pawl.lease AS l WHERE l.name_space = space AND l.key = held FOR UPDATE;
  here := clock_timestamp();
  IF NOT FOUND OR here >= it.until OR token = 0
     OR token <> (CASE WHEN it.holder = 0 AND delay = 0 THEN it.last_token ELSE it.holder END) THEN
    RETURN false;
  END IF;
  UPDATE pawl.lease AS l
  SET holder = 0, claim_id = '', last_token = l.last_token + 1, waited = false,
      until = least(l.until, here + delay * interval '1 millisecond')
  WHERE l.name_space = space AND l.key = held;
  IF it.waited THEN
    PERFORM pawl.announce(space, held);
  END IF;
  RETURN true;
END
$$;

-- True if the key is held under this token (0: by nobody), and then marks it as waited for.
CREATE OR REPLACE FUNCTION pawl.watch_v1(space text, held bytea, seen bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  it pawl.lease;
BEGIN
  PERFORM pawl.expect_read_committed();
  PERFORM pawl.bound_locks();
  -- Without a lock: whoever lets it go after this has been read announces it.
  SELECT * INTO it FROM pawl.lease AS l WHERE l.name_space = space AND l.key = held;
  IF NOT FOUND OR it.holder <> seen OR clock_timestamp() >= it.until THEN
    RETURN false;
  END IF;
  IF it.waited OR it.holder = 0 THEN
    RETURN true;
  END IF;
  UPDATE pawl.lease AS l SET waited = true
  WHERE l.name_space = space AND l.key = held AND l.holder = seen AND l.until > clock_timestamp();
  RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION pawl.list_v1(
  space text, first bytea, beyond bytea, after bytea, count integer)
RETURNS TABLE (
  key bytea, owner bytea, holder bigint, remaining bigint, acquired bigint, last_done bigint,
  last_token bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.key, l.owner, CASE WHEN l.until > clock_timestamp() THEN l.holder ELSE 0 END,
         pawl.millis(l.until - clock_timestamp()), pawl.micros(l.acquired) / 1000, l.last_done,
         l.last_token
  FROM pawl.lease AS l
  WHERE l.name_space = space AND l.key >= first AND (beyond IS NULL OR l.key < beyond)
    AND (after IS NULL OR l.key > after) AND l.last_token > 0
  ORDER BY l.key LIMIT count
$$;

CREATE OR REPLACE FUNCTION pawl.inspect_v1(space text, wanted bytea)
RETURNS TABLE (
  key bytea, owner bytea, holder bigint, remaining bigint, acquired bigint, last_done bigint,
  last_token bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.key, l.owner, CASE WHEN l.until > clock_timestamp() THEN l.holder ELSE 0 END,
         pawl.millis(l.until - clock_timestamp()), pawl.micros(l.acquired) / 1000, l.last_done,
         l.last_token
  FROM pawl.lease AS l WHERE l.name_space = space AND l.key = wanted AND l.last_token > 0
$$;

-- Rule 15. With a quarantine a token from before the data were whole is too old, as a newer one may
-- have been forgotten. One that is further ahead of the clock than skew (milliseconds; NULL: any) was
-- never issued, and must not close the resource for all that will be.
CREATE OR REPLACE FUNCTION pawl.fence_v2(
  space text, guarded bytea, token bigint, only_newer boolean, quarantined boolean, skew bigint,
  OUT accepted boolean, OUT newest bigint, OUT never_issued boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  oldest bigint := 0;
BEGIN
  PERFORM pawl.expect_read_committed();
  PERFORM pawl.sync_commit();
  never_issued := coalesce(token > pawl.micros(clock_timestamp()) + skew * 1000, false);
  accepted := false;
  IF never_issued THEN
    SELECT f.newest INTO newest FROM pawl.fence AS f WHERE f.name_space = space AND f.resource = guarded;
    newest := coalesce(newest, 0);
    RETURN;
  END IF;
  IF quarantined THEN
    oldest := pawl.micros(pawl.whole_since());
  END IF;
  IF token >= oldest THEN
    INSERT INTO pawl.fence AS f VALUES (space, guarded, token)
    ON CONFLICT (name_space, resource) DO UPDATE SET newest = excluded.newest
    WHERE excluded.newest > f.newest OR (excluded.newest = f.newest AND NOT only_newer)
    RETURNING f.newest INTO newest;
    accepted := FOUND;
  END IF;
  IF NOT accepted THEN
    SELECT f.newest INTO newest FROM pawl.fence AS f WHERE f.name_space = space AND f.resource = guarded;
    newest := greatest(newest, oldest);
  END IF;
END
$$;

-- What pawl itself asks. A bound lasts until the transaction ends, and fence_v2 is for transactions of the
-- user's own, whose later waits are none of pawl's business.
CREATE OR REPLACE FUNCTION pawl.bounded_fence_v1(
  space text, guarded bytea, token bigint, only_newer boolean, quarantined boolean, skew bigint,
  OUT accepted boolean, OUT newest bigint, OUT never_issued boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pawl.bound_locks();
  SELECT * INTO accepted, newest, never_issued
  FROM pawl.fence_v2(space, guarded, token, only_newer, quarantined, skew);
END
$$;

-- For agents, and transactions, that do not know fence_v2.
CREATE OR REPLACE FUNCTION pawl.fence_v1(
  space text, guarded bytea, token bigint, only_newer boolean, OUT accepted boolean, OUT newest bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT f.accepted, f.newest FROM pawl.fence_v2(space, guarded, token, only_newer, false, NULL) AS f
$$;

-- Forgets, among the next `count` records, those whose last use is longer ago than the retention;
-- their tokens leave a floor for new keys. Returns the last key looked at; NULL: that was the end.
CREATE OR REPLACE FUNCTION pawl.purge_v1(space text, after bytea, retention bigint, count integer)
RETURNS bytea
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  keys   bytea[];
  oldest timestamptz := clock_timestamp() - retention * interval '1 millisecond';
  lowest bigint;
BEGIN
  PERFORM pawl.expect_read_committed();
  PERFORM pawl.bound_locks();
  SELECT array_agg(s.key ORDER BY s.key) INTO keys
  FROM (SELECT l.key FROM pawl.lease AS l WHERE l.name_space = space AND l.key > after
        ORDER BY l.key LIMIT count) AS s;
  IF keys IS NULL THEN
    RETURN NULL;
  END IF;
  WITH dead AS (
    SELECT l.key FROM pawl.lease AS l
    WHERE l.name_space = space AND l.key = ANY (keys) AND l.until < oldest
    ORDER BY l.key FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM pawl.lease AS l USING dead
    WHERE l.name_space = space AND l.key = dead.key AND l.until < oldest
    RETURNING l.last_token
  )
  SELECT max(last_token) INTO lowest FROM gone;
  IF lowest > 0 THEN
    INSERT INTO pawl.floor AS f VALUES (space, lowest)
    ON CONFLICT (name_space) DO UPDATE SET token = excluded.token WHERE excluded.token > f.token;
  END IF;
  RETURN CASE WHEN cardinality(keys) < count THEN NULL ELSE keys[cardinality(keys)] END;
END
$$;

-- Bytes as text where they are text.
CREATE OR REPLACE FUNCTION pawl.readable(bytes bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN OTHERS THEN
  RETURN encode(bytes, 'escape');
END
$$;

-- Who holds what now, in the columns of the classic table of that name, and what pawl adds.
CREATE OR REPLACE VIEW pawl.exclusive_job AS
SELECT l.name_space,
       pawl.readable(l.key) AS job_id,
       CASE WHEN pawl.readable(l.claim_id) ~ '^[0-9a-f]{32}$'
            THEN pawl.readable(l.claim_id)::uuid END AS job_instance_id,
       l.until AS lock_expires_at,
       pawl.readable(l.owner) AS owner,
       l.holder AS fence_token,
       l.acquired AS acquired_at
FROM pawl.lease AS l
WHERE l.holder <> 0 AND l.until > clock_timestamp();

-- PUBLIC may call new functions by default.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pawl FROM PUBLIC;

-- Who could call a verb before its newer version came can call that one, and no other: an
-- administrator may have given some of them alone, or taken one away. The bounded fence came later
-- than the fence.
DO $$
DECLARE
  who  text;
  verb text;
BEGIN
  FOR who, verb IN
    SELECT DISTINCT a.grantee::regrole::text, v.oid::regprocedure::text
    FROM pg_proc AS p, aclexplode(p.proacl) AS a, pg_proc AS v,
         regexp_replace(p.proname, '_v[0-9]+$', '') AS known,
         regexp_replace(v.proname, '_v[0-9]+$', '') AS offered
    WHERE p.pronamespace = (SELECT l.pronamespace FROM pg_proc AS l
                            WHERE l.oid = 'pawl.layout()'::regprocedure)
      AND v.pronamespace = p.pronamespace AND v.oid <> p.oid AND a.grantee NOT IN (0, p.proowner)
      AND p.proname ~ '_v[0-9]+$' AND v.proname ~ '_v[0-9]+$' AND v.proname !~ '^journal_'
      AND (offered = known OR offered = 'bounded_' || known)
  LOOP
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || verb || ' TO ' || who;
  END LOOP;
END
$$;
