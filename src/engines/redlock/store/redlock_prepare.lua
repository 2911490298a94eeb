-- The first half of a guard's step. KEYS marker fence; ARGV life round who token; reply {1, round, who, token, writer, now_us} of what was
-- accepted here last, {0, round} if a later ballot was promised, {2, left_ms} in quarantine, {3, birth_us} where it began after the token
if left > 0 then return {2, math.ceil(left / 1000)} end
-- A newer token may have been accepted here before the data was born, and be forgotten: only those who remember may say.
if born and tonumber(ARGV[4]) < (born + 1) * 1000 then return {3, (born + 1) * 1000} end
-- A record: PROMISED_ROUND PROMISED_TO ACCEPTED_ROUND ACCEPTED_FROM TOKEN WRITER
local packed = redis.call('GET', KEYS[2]) or '0 - 0 - 0 -'
local round, who, rest, old_round, old_who, token, writer =
  string.match(packed, '^(%d+) (%S+) ((%d+) (%S+) (%d+) (%S+))$')
if not round then return redis.error_reply('PAWL cannot read the record ' .. KEYS[2]) end
local mine, theirs = tonumber(ARGV[2]), tonumber(round)
if mine < theirs or (mine == theirs and ARGV[3] <= who) then return {0, theirs} end
redis.call('SET', KEYS[2], ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. rest)
return {1, tonumber(old_round), old_who, tonumber(token), writer, now}
