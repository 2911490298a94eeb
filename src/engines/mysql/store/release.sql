-- space key token until -> insert id 1: the token was the live holder's.
-- Also after its lease has run out, a claim that was released is never granted again (rule 2).
UPDATE pawl_lease SET
  until_at = IF(until_at > {now}, {until} + LAST_INSERT_ID(1) - 1, until_at),
  holder   = 0,
  claim_id = ''
WHERE name_space = {space} AND lock_key = {key} AND holder = {token}
