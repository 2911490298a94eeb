-- space key token until -> affected 1: the token was the live holder's.
UPDATE pawl_lease SET holder = 0, claim_id = '', until_at = {until}
WHERE name_space = {space} AND lock_key = {key} AND holder = {token} AND until_at > {now}
