-- space key id owner ttl_us mark, due done (Unix ms or NULL), due_us skew_us skew_ms, quarantine_us
-- (or NULL) -> as acquire.sql.
-- The grant of an occurrence, or under quarantine (rules 6 and 7). What is refused for its time makes
-- no row. What this very claim has marked does not count against it: it asks again because an answer
-- was lost, and any end of its lease but expiry would have taken its id away (rule 2).
INSERT INTO pawl_lease (name_space, lock_key, holder, claim_id, owner, acquired, until_at, last_token,
                        last_done, withdrawn)
SELECT {space}, {key}, LAST_INSERT_ID(fresh.token), {id}, {owner}, {now}, {now} + {ttl_us},
       fresh.token, {done}, ''
FROM (SELECT GREATEST({now}, 1 + COALESCE(
               (SELECT token FROM pawl_floor WHERE name_space = {space} LOCK IN SHARE MODE), 0)) AS token,
             GREATEST(whole_at, COALESCE(@pawl_since, 0)) AS since
      FROM pawl_marker WHERE only_one = 1) AS fresh
WHERE ({due} IS NULL OR {due_us} - {now} <= {skew_us})
  AND ({quarantine_us} IS NULL OR fresh.since + {quarantine_us} <= {now})
  AND ({quarantine_us} IS NULL OR {due} IS NULL OR {due} >= CEILING(fresh.since / 1000) + {skew_ms})
ON DUPLICATE KEY UPDATE
  owner      = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0
                  AND ({due} IS NULL OR last_done IS NULL OR last_done < {due}
                       OR (last_done = {due} AND claim_id = {id} AND holder <> 0)), {owner}, owner),
  acquired   = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0
                  AND ({due} IS NULL OR last_done IS NULL OR last_done < {due}
                       OR (last_done = {due} AND claim_id = {id} AND holder <> 0)), {now}, acquired),
  claim_id   = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0
                  AND ({due} IS NULL OR last_done IS NULL OR last_done < {due}
                       OR (last_done = {due} AND claim_id = {id} AND holder <> 0)), {id}, claim_id),
  last_token = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0
                  AND ({due} IS NULL OR last_done IS NULL OR last_done < {due}
                       OR (last_done = {due} AND claim_id = {id} AND holder <> 0)),
                  LAST_INSERT_ID(GREATEST(last_token + 1, {now})), last_token),
  holder     = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0
                  AND ({due} IS NULL OR last_done IS NULL OR last_done < {due}
                       OR (last_done = {due} AND claim_id = {id} AND holder <> 0)), last_token,
                  IF(holder <> 0 AND claim_id = {id}, LAST_INSERT_ID(holder), holder)),
  last_done  = IF(claim_id = {id} AND holder <> 0 AND (until_at > {now} OR acquired = {now})
                  AND {done} IS NOT NULL, GREATEST({done}, COALESCE(last_done, {done})), last_done),
  until_at   = IF(claim_id = {id} AND holder <> 0 AND (until_at > {now} OR acquired = {now}),
                  GREATEST(until_at, {now} + {ttl_us}), until_at)
