-- space key id owner ttl_us mark, done (', last_done = …' or empty), due (' AND …' or empty) ->
-- affected 1: granted; insert id: the token.
-- The grant of a free key that has a record, as most have: acquire.sql and acquire_occurrence.sql
-- decide the rest, and cost the server twice as much. Assignments see those to their left.
UPDATE pawl_lease SET
  owner      = {owner},
  claim_id   = {id},
  acquired   = {now},
  until_at   = acquired + {ttl_us},
  last_token = LAST_INSERT_ID(GREATEST(last_token + 1, acquired)),
  holder     = last_token{done}
WHERE name_space = {space} AND lock_key = {key} AND until_at <= {now}
  AND LOCATE({mark}, withdrawn) = 0{due}
