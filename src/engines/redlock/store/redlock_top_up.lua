-- Rule 18. KEYS marker lock; ARGV life id owner token ttl_ms max_lifetime_ms retention_ms; reply 1 if the node holds the lock for this claim now, else 0
if left > 0 then return 0 end
local packed = redis.call('GET', KEYS[2])
local till, last, acquired, watched, done, withdrawn = 0, '0000000000000000', math.min(now, tonumber(ARGV[4])), '-', '-', '-'
if packed then
  if string.sub(packed, 1, 2) ~= '1 ' then
    return redis.error_reply('PAWL cannot read the record ' .. KEYS[2] .. ': another version of pawl has written it')
  end
  local id
  till, last = tonumber(string.sub(packed, 20, 35)), string.sub(packed, 37, 52)
  done, withdrawn, id = string.match(packed, '^(%S+) (%S+) (%S+) ', 75)
  if not till or not done then return redis.error_reply('PAWL cannot read the record ' .. KEYS[2]) end
  local phase = string.sub(packed, 71, 71)
  local mine = phase ~= '-' and id == ARGV[2]
  if withdrawn ~= '-' and string.find(',' .. withdrawn .. ',', ',' .. ARGV[2] .. ',', 1, true) then return 0 end
  -- Live under another, or promised to nobody yet; or a higher token has been here; or this one was let go.
  if now < till and not mine then return 0 end
  if last > ARGV[4] then return 0 end
  if last == ARGV[4] then
    if not (mine and phase == 'c') then return 0 end
    acquired = tonumber(string.sub(packed, 54, 69))
  end
  watched = string.sub(packed, 73, 73)
end
local wanted = now + ARGV[5] * 1000
if ARGV[6] ~= '0' then wanted = math.min(wanted, acquired + ARGV[6] * 1000) end
if wanted <= now then return 0 end
till = math.max(till, wanted)
if tonumber(last) == 0 then
  local space, key = string.match(KEYS[2], '^([^:]+):redlock:(.*)$')
  redis.call('ZADD', space .. ':redlocks', 0, key)
end
redis.call('SET', KEYS[2], '1 ' .. ARGV[4] .. ' ' .. string.format('%016d', till) .. ' ' .. ARGV[4] .. ' ' .. string.format('%016d', acquired) ..
  ' c ' .. watched .. ' ' .. done .. ' ' .. withdrawn .. ' ' .. ARGV[2] .. ' - ' .. ARGV[3],
  'PX', math.ceil((till - now) / 1000) + ARGV[7])
return 1
