-- Rule 5. KEYS lock; ARGV token burnt delay_ms retention_ms held|any; reply 1 if the token was force-released or burnt here, else 0
-- held: only where this token holds the key, or without delay is the newest of one in cooldown. any: also where it does not, so that no node falls behind.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local packed = redis.call('GET', KEYS[1])
if not packed then
  if ARGV[5] == 'held' then return 0 end
  packed = string.format('1 %016d %016d %016d %016d - - - - - - ', 0, 0, 0, now)
end
if string.sub(packed, 1, 2) ~= '1 ' then
  return redis.error_reply('PAWL cannot read the record ' .. KEYS[1] .. ': another version of pawl has written it')
end
local till, last = tonumber(string.sub(packed, 20, 35)), string.sub(packed, 37, 52)
if not till or not string.find(packed, '^%S+ %S+ %S+ %S+ ', 75) then
  return redis.error_reply('PAWL cannot read the record ' .. KEYS[1])
end
local phase, watched, holder = string.sub(packed, 71, 71), string.sub(packed, 73, 73), string.sub(packed, 3, 18)
local cooling = phase == '-' and ARGV[3] == '0' and last == ARGV[1] and now < till
local held = cooling or phase == 'c' and holder == ARGV[1] and now < till
if not held and ARGV[5] == 'held' then return 0 end
-- Its claim is over here as well, where the lease has expired a little earlier.
local expired = phase == 'c' and holder == ARGV[1] and not held
if not held and not expired and last >= ARGV[2] then return 1 end
local space, key = string.match(KEYS[1], '^([^:]+):redlock:(.*)$')
if held then
  if watched == 'w' then redis.call('PUBLISH', space .. ':redlock-changed:' .. key, '') end
  till = math.min(till, now + ARGV[3] * 1000)
  phase, watched, holder = '-', '-', '0000000000000000'
end
if expired then phase, watched, holder = '-', '-', '0000000000000000' end
if tonumber(last) == 0 then redis.call('ZADD', space .. ':redlocks', 0, key) end
if last < ARGV[2] then last = ARGV[2] end
redis.call('SET', KEYS[1], '1 ' .. holder .. ' ' .. string.format('%016d', till) .. ' ' .. last .. ' ' .. string.sub(packed, 54, 70) ..
  phase .. ' ' .. watched .. ' ' .. string.sub(packed, 75), 'PX', math.ceil(math.max(till - now, 0) / 1000) + ARGV[4])
return 1
