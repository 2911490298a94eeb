-- space, key, claim id, owner, ttl in ms -> the token; no row: acquire_v1 is to decide.
-- The grant of a free key that has a record, for a role that may write the table itself: the call of a
-- function costs more than all of it. Each name and operator says its schema, as the search path here is
-- the session's. The clock is that of the statement's arrival: after a wait for a lock it is a little
-- old, which makes the lease no longer than it should be.
UPDATE pawl.lease AS l
SET holder = greatest(
      l.last_token OPERATOR(pg_catalog.+) 1::bigint,
      (pg_catalog.date_part('epoch', pg_catalog.statement_timestamp())
       OPERATOR(pg_catalog.*) 1000000::double precision)::bigint),
    last_token = greatest(
      l.last_token OPERATOR(pg_catalog.+) 1::bigint,
      (pg_catalog.date_part('epoch', pg_catalog.statement_timestamp())
       OPERATOR(pg_catalog.*) 1000000::double precision)::bigint),
    until = pg_catalog.statement_timestamp()
            OPERATOR(pg_catalog.+) ($5::double precision OPERATOR(pg_catalog.*) interval '1 millisecond'),
    acquired = pg_catalog.statement_timestamp(),
    claim_id = $3,
    owner = $4
WHERE l.name_space OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
  AND l.until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
  AND l.last_token OPERATOR(pg_catalog.>) 0::bigint
  AND NOT $3 OPERATOR(pg_catalog.=) ANY (l.withdrawn)
  AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
  AND (pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.<>) 'off'
       OR pg_catalog.set_config('synchronous_commit', 'on', true) IS NOT NULL)
  AND (pg_catalog.current_setting('lock_timeout') OPERATOR(pg_catalog.<>) '0'
       OR pg_catalog.set_config('lock_timeout', '1500ms', true) IS NOT NULL)
RETURNING l.holder
