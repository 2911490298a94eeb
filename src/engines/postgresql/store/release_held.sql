-- space, key, token, channel -> a row: the lease was live under the token; no row: release_v1 is to decide.
-- The plain release, for a role that may write the table itself; see acquire_known.sql. RETURNING sees
-- only what was set, so claim_id, which means nothing without a holder, says whether somebody waited.
UPDATE pawl.lease AS l
SET holder = 0::bigint,
    until = pg_catalog.statement_timestamp(),
    claim_id = CASE WHEN l.waited THEN 'announced'::pg_catalog.bytea ELSE ''::pg_catalog.bytea END,
    waited = false
WHERE l.name_space OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
  AND l.holder OPERATOR(pg_catalog.=) $3 AND l.holder OPERATOR(pg_catalog.<>) 0::bigint
  AND l.until OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
  AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
  AND (pg_catalog.current_setting('lock_timeout') OPERATOR(pg_catalog.<>) '0'
       OR pg_catalog.set_config('lock_timeout', '1500ms', true) IS NOT NULL)
RETURNING CASE WHEN l.claim_id OPERATOR(pg_catalog.<>) ''
               THEN pg_catalog.pg_notify($4, pg_catalog.encode(l.key, 'hex')) END
