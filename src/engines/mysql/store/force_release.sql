-- space key token delay_us -> the third answer: affected 1: the token was the live holder's, or
-- without delay the newest of a key in cooldown.
-- The row is locked first: the delay counts from a clock that is read when the forced release takes effect,
-- not from before it waited for others (rule 5).
START TRANSACTION;
SELECT holder FROM pawl_lease WHERE name_space = {space} AND lock_key = {key} FOR UPDATE;
UPDATE pawl_lease SET holder = 0, claim_id = '', last_token = last_token + 1,
                      until_at = LEAST(until_at, {now} + {delay_us})
WHERE name_space = {space} AND lock_key = {key} AND until_at > {now} AND {token} <> 0
  AND IF(holder = 0 AND {delay_us} = 0, last_token, holder) = {token};
COMMIT
