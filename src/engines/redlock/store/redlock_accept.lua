-- The second half of a guard's step. KEYS marker fence; ARGV life round who token writer; reply 1 if accepted, else 0
if left > 0 then return 0 end
local packed = redis.call('GET', KEYS[2]) or '0 - 0 - 0 -'
local round, who = string.match(packed, '^(%d+) (%S+) %d+ %S+ %d+ %S+$')
if not round then return redis.error_reply('PAWL cannot read the record ' .. KEYS[2]) end
local mine, theirs = tonumber(ARGV[2]), tonumber(round)
if mine < theirs or (mine == theirs and ARGV[3] < who) then return 0 end
local ballot = ARGV[2] .. ' ' .. ARGV[3]
redis.call('SET', KEYS[2], ballot .. ' ' .. ballot .. ' ' .. ARGV[4] .. ' ' .. ARGV[5])
return 1
