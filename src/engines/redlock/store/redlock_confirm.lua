-- Rule 17. KEYS marker lock; ARGV life id own_token token retention_ms [due_ms]; reply 1 if the node agrees, else 0
if left > 0 then return 0 end
local packed = redis.call('GET', KEYS[2])
if not packed then return 0 end
if string.sub(packed, 1, 2) ~= '1 ' then
  return redis.error_reply('PAWL cannot read the record ' .. KEYS[2] .. ': another version of pawl has written it')
end
local till, last = tonumber(string.sub(packed, 20, 35)), string.sub(packed, 37, 52)
local done, rest, id = string.match(packed, '^(%S+) (%S+ (%S+) .*)$', 75)
if not till or not done then return redis.error_reply('PAWL cannot read the record ' .. KEYS[2]) end
-- The compare: still held by this claim with exactly the token that this node gave; and nothing
-- above the token of the lock has been confirmed here (both have 16 digits).
if now >= till or id ~= ARGV[2] or string.sub(packed, 3, 18) ~= ARGV[3] then return 0 end
if last >= ARGV[4] and not (last == ARGV[4] and ARGV[3] == ARGV[4]) then return 0 end
if tonumber(last) == 0 then
  local space, key = string.match(KEYS[2], '^([^:]+):redlock:(.*)$')
  redis.call('ZADD', space .. ':redlocks', 0, key)
end
if ARGV[6] and (done == '-' or tonumber(done) < tonumber(ARGV[6])) then done = ARGV[6] end
redis.call('SET', KEYS[2], '1 ' .. ARGV[4] .. ' ' .. string.sub(packed, 20, 36) .. ARGV[4] .. string.sub(packed, 53, 70) .. 'c' ..
  string.sub(packed, 72, 74) .. done .. ' ' .. rest, 'PX', math.ceil((till - now) / 1000) + ARGV[5])
return 1
