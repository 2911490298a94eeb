-- Put before every script that asks who holds a key. KEYS[1] lock: without a record of it the reply is 0. Sets `packed`, the record,
-- `now` and `till`, the end of the lease or of its cooldown, both in us.
local packed = redis.call('GET', KEYS[1])
if not packed then return 0 end
if string.sub(packed, 1, 2) ~= '1 ' then
  return redis.error_reply('PAWL cannot read the record ' .. KEYS[1] .. ': another version of pawl has written it')
end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local till = tonumber(string.sub(packed, 20, 35))
if not till then return redis.error_reply('PAWL cannot read the record ' .. KEYS[1]) end
