-- space key id mark entry due (or NULL) -> insert id 1: the key was held under this claim.
-- The claim may still be on its way, over a connection that was believed dead: its id is remembered,
-- even where the key has no record yet. If it was the last to be granted, live or not, it gives the
-- occurrence back that it marked (rule 2). Its last use is now, so that the trace outlives a claim that
-- comes late, however old the record was. Ids longer than ours leave room for fewer, and a part of one that is
-- cut off is no id. `mark` is ',HEX,' and `entry` ',HEX'.
INSERT INTO pawl_lease (name_space, lock_key, holder, claim_id, owner, acquired, until_at, last_token,
                        last_done, withdrawn)
VALUES ({space}, {key}, 0, '', '', 0, {now},
        COALESCE((SELECT token FROM pawl_floor WHERE name_space = {space} LOCK IN SHARE MODE), 0), NULL,
        {mark})
ON DUPLICATE KEY UPDATE
  last_done = IF(holder <> 0 AND claim_id = {id} AND last_done = {due}, {due} - 1, last_done),
  holder    = IF(holder <> 0 AND claim_id = {id},
                 IF(until_at > {now}, LAST_INSERT_ID(1) - 1, 0), holder),
  until_at  = IF(until_at < {now} OR (holder = 0 AND claim_id = {id}), {now}, until_at),
  claim_id  = IF(holder = 0, '', claim_id),
  withdrawn = IF(LOCATE({mark}, withdrawn) > 0, withdrawn, CONCAT(
                LEFT(SUBSTRING_INDEX(CONCAT({entry}, IF(withdrawn = '', ',', withdrawn)), ',', 17), 1099), ','))
