-- KEYS lock; ARGV token retention_ms channel delay_ms; reply 1 if this token held the key, or without delay was the newest of one in cooldown, else 0
local packed = redis.call('GET', KEYS[1])
if not packed then return 0 end
if string.sub(packed, 1, 2) ~= '1 ' then
  return redis.error_reply('PAWL cannot read the record ' .. KEYS[1] .. ': another version of pawl has written it')
end
local holder, till, last, acquired, watched, rest =
  string.match(packed, '^1 (%d+) (%d+) (%d+) (%d+) (%S) (.*)$')
if not holder then return redis.error_reply('PAWL cannot read the record ' .. KEYS[1]) end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
till = tonumber(till)
local cooling = tonumber(holder) == 0 and ARGV[4] == '0'
if (cooling and last or holder) ~= ARGV[1] or tonumber(ARGV[1]) == 0 or now >= till then return 0 end
-- The number above its own is burnt, so that a guard which knows it refuses its holder at once.
till = math.min(till, now + ARGV[4] * 1000)
if watched == 'w' then redis.call('PUBLISH', ARGV[3], '') end
redis.call('SET', KEYS[1], string.format('1 %016d %016d %016d %s - %s', 0, till, last + 1, acquired, rest),
  'PX', math.ceil((till - now) / 1000) + ARGV[2])
return 1
