-- The classic table of exclusive jobs, for programs that keep their statements: what they write takes,
-- extends and ends leases of pawl. Run it as the owner of pawl's schema, in the schema where the
-- programs expect the table; for another namespace, or another bound on clock skew, change the
-- arguments of the triggers.
--
-- The lease decides. A statement that may not happen changes no row, as the programs expect. Their own
-- clocks say when a lock expires, so a lease lasts longer than the lock by max_skew: that is how far a
-- program's clock may be behind the server's. The instance is the claim: a static UUID for each process.
-- pawl's verbs bound their waits for locks where nobody else has, until the transaction ends. This one is
-- the program's: it waits as it always did, under the longest bound that there is, and has its own back.

CREATE TABLE exclusive_job (
  job_id          text PRIMARY KEY CHECK (char_length(job_id) BETWEEN 1 AND 255),
  job_instance_id uuid NOT NULL,
  lock_expires_at timestamptz NOT NULL,
  fence_token     bigint -- given by pawl with each grant; a write says RETURNING fence_token
);

CREATE FUNCTION pawl.take_exclusive_job() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  space CONSTANT text := TG_ARGV[0];
  ends  CONSTANT timestamptz := NEW.lock_expires_at + TG_ARGV[1]::interval;
  id    CONSTANT bytea := convert_to(replace(NEW.job_instance_id::text, '-', ''), 'UTF8');
  ttl   CONSTANT bigint := ceil(extract(epoch FROM ends - clock_timestamp()) * 1000)::bigint;
  was   CONSTANT text := current_setting('lock_timeout');
  got   record;
BEGIN
  IF NEW.job_id IS NULL OR char_length(NEW.job_id) NOT BETWEEN 1 AND 255
     OR NEW.job_instance_id IS NULL OR NEW.lock_expires_at IS NULL THEN
    RETURN NEW; -- for the constraints to refuse
  END IF;
  IF ttl < 1 THEN
    RAISE check_violation USING MESSAGE = format(
      'lock_expires_at %s has passed by more than %s; expected a time ahead', NEW.lock_expires_at, TG_ARGV[1]);
  END IF;
  IF was = '0' THEN
    PERFORM set_config('lock_timeout', '2147483647', true);
  END IF;
  SELECT * INTO got FROM pawl.acquire_v1(
    space, convert_to(NEW.job_id, 'UTF8'), id, convert_to('exclusive_job ' || NEW.job_instance_id, 'UTF8'),
    ttl, NULL, false, 0, NULL);
  PERFORM set_config('lock_timeout', was, true);
  IF got.kind <> 0 THEN
    RETURN NULL;
  END IF;
  -- A row of another instance is one whose lease has ended before its time, by force or by an
  -- administrator; the statement's own condition does not know.
  EXECUTE format('DELETE FROM %I.%I WHERE job_id = $1 AND job_instance_id <> $2', TG_TABLE_SCHEMA, TG_TABLE_NAME)
  USING NEW.job_id, NEW.job_instance_id;
  NEW.fence_token := got.token;
  RETURN NEW;
END
$$;

-- Also behind the one above, where the statement says ON CONFLICT DO UPDATE: the instance has the lease
-- already. A lock that has expired and that nobody else took may be extended.
CREATE FUNCTION pawl.extend_exclusive_job() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  ends CONSTANT timestamptz := NEW.lock_expires_at + TG_ARGV[1]::interval;
BEGIN
  IF NEW.job_id IS DISTINCT FROM OLD.job_id THEN
    RAISE check_violation USING MESSAGE = 'job_id cannot be changed: delete the row, and insert another';
  END IF;
  IF NEW.job_instance_id IS NULL OR NEW.lock_expires_at IS NULL THEN
    RETURN NEW; -- for the constraints to refuse
  END IF;
  PERFORM pawl.sync_commit();
  UPDATE pawl.lease AS l SET until = ends
  WHERE l.name_space = TG_ARGV[0] AND l.key = convert_to(NEW.job_id, 'UTF8') AND l.holder <> 0
    AND l.claim_id = convert_to(replace(NEW.job_instance_id::text, '-', ''), 'UTF8')
  RETURNING l.holder INTO NEW.fence_token;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END
$$;

-- Of a lock that has expired anybody may delete the row: its lease runs out by itself, max_skew later.
CREATE FUNCTION pawl.end_exclusive_job() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  was CONSTANT text := current_setting('lock_timeout');
BEGIN
  IF OLD.lock_expires_at <= clock_timestamp() THEN
    RETURN OLD;
  END IF;
  IF was = '0' THEN
    PERFORM set_config('lock_timeout', '2147483647', true);
  END IF;
  PERFORM pawl.release_v1(TG_ARGV[0], l.key, l.holder, 0, NULL)
  FROM pawl.lease AS l
  WHERE l.name_space = TG_ARGV[0] AND l.key = convert_to(OLD.job_id, 'UTF8') AND l.holder = OLD.fence_token
    AND l.claim_id = convert_to(replace(OLD.job_instance_id::text, '-', ''), 'UTF8');
  PERFORM set_config('lock_timeout', was, true);
  RETURN OLD;
END
$$;

REVOKE ALL ON FUNCTION pawl.take_exclusive_job, pawl.extend_exclusive_job, pawl.end_exclusive_job FROM PUBLIC;

-- The namespace, and max_skew.
CREATE TRIGGER take BEFORE INSERT ON exclusive_job
FOR EACH ROW EXECUTE FUNCTION pawl.take_exclusive_job('pawl', '1 second');
CREATE TRIGGER extend BEFORE UPDATE ON exclusive_job
FOR EACH ROW EXECUTE FUNCTION pawl.extend_exclusive_job('pawl', '1 second');
CREATE TRIGGER finish BEFORE DELETE ON exclusive_job
FOR EACH ROW EXECUTE FUNCTION pawl.end_exclusive_job('pawl', '1 second');
