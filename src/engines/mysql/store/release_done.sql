-- space key token until done -> insert id 1: the token was the live holder's.
-- The work is done whether or not the lease outlived it: the token proves who says so (rule 6).
UPDATE pawl_lease SET
  last_done = IF(last_token = {token} AND (last_done IS NULL OR last_done < {done}), {done}, last_done),
  until_at  = IF(holder = {token} AND until_at > {now}, {until} + LAST_INSERT_ID(1) - 1, until_at),
  claim_id  = IF(holder = {token}, '', claim_id),
  holder    = IF(holder = {token}, 0, holder)
WHERE name_space = {space} AND lock_key = {key} AND (holder = {token} OR last_token = {token})
