-- space key id owner ttl_us mark -> affected 0: refused, else granted; insert id: the token.
-- The atomic step of a grant (rules 1 and 2). Assignments see those to their left: where the last
-- one asks whether the row is ours now, `holder` and `claim_id` have their new values.
INSERT INTO pawl_lease (name_space, lock_key, holder, claim_id, owner, acquired, until_at, last_token,
                        last_done, withdrawn)
VALUES ({space}, {key},
        LAST_INSERT_ID(GREATEST({now}, 1 + COALESCE(
          (SELECT token FROM pawl_floor WHERE name_space = {space} LOCK IN SHARE MODE), 0))),
        {id}, {owner}, {now}, {now} + {ttl_us}, holder, NULL, '')
ON DUPLICATE KEY UPDATE
  owner      = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0, {owner}, owner),
  acquired   = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0, {now}, acquired),
  claim_id   = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0, {id}, claim_id),
  last_token = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0,
                  LAST_INSERT_ID(GREATEST(last_token + 1, {now})), last_token),
  holder     = IF(until_at <= {now} AND LOCATE({mark}, withdrawn) = 0, last_token,
                  IF(holder <> 0 AND claim_id = {id}, LAST_INSERT_ID(holder), holder)),
  until_at   = IF(claim_id = {id} AND holder <> 0 AND (until_at > {now} OR acquired = {now}),
                  GREATEST(until_at, {now} + {ttl_us}), until_at)
