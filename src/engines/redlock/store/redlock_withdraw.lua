-- KEYS lock; ARGV id attempt|'' remember|'' retention_ms [due_ms]; reply 1 if the key was held under this claim, else 0
-- Frees what a claim, or one attempt at it, was promised or holds. What may still be on its way, over
-- a connection that we believe dead, is remembered, so that it comes too late.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local packed = redis.call('GET', KEYS[1])
if not packed then
  if ARGV[3] == '' then return 0 end
  packed = string.format('1 %016d %016d %016d %016d - - - - - - ', 0, 0, 0, 0)
end
if string.sub(packed, 1, 2) ~= '1 ' then
  return redis.error_reply('PAWL cannot read the record ' .. KEYS[1] .. ': another version of pawl has written it')
end
local till, last = tonumber(string.sub(packed, 20, 35)), tonumber(string.sub(packed, 37, 52))
local done, withdrawn, id, attempt, owner = string.match(packed, '^(%S+) (%S+) (%S+) (%S+) (.*)$', 75)
if not till or not done then return redis.error_reply('PAWL cannot read the record ' .. KEYS[1]) end
local phase, watched = string.sub(packed, 71, 71), string.sub(packed, 73, 73)
-- The last promise or grant was its own, live or expired.
local granted = phase ~= '-' and id == ARGV[1] and (ARGV[2] == '' or attempt == ARGV[2])
local held = granted and now < till

local known = false
if ARGV[3] ~= '' then
  local dead = ARGV[2] == '' and ARGV[1] or ARGV[1] .. '/' .. ARGV[2]
  local ids = {dead}
  if withdrawn ~= '-' then
    for other in string.gmatch(withdrawn, '[^,]+') do
      if other == dead then known = true elseif #ids < 32 then ids[#ids + 1] = other end
    end
  end
  withdrawn = table.concat(ids, ',')
end
if not granted and (known or ARGV[3] == '') then return 0 end

local holder = string.sub(packed, 3, 18)
if granted then
  -- Rule 2: its work never began. Occurrences of a key only move forward, so nothing earlier comes back.
  if ARGV[5] and done == ARGV[5] then done = string.format('%d', ARGV[5] - 1) end
  if watched == 'w' then
    local space, key = string.match(KEYS[1], '^([^:]+):redlock:(.*)$')
    redis.call('PUBLISH', space .. ':redlock-changed:' .. key, '')
  end
  if last == 0 and withdrawn == '-' then
    redis.call('DEL', KEYS[1])
    return held and 1 or 0
  end
  holder, till, phase, watched, id, attempt = string.format('%016d', 0), 0, '-', '-', '-', '-'
end
-- A key that was never held is remembered only for as long as a letter may be late.
local keep = tonumber(ARGV[4])
if last == 0 then keep = math.min(keep, 600000) end
redis.call('SET', KEYS[1], '1 ' .. holder .. ' ' .. string.format('%016d', till) .. ' ' .. string.sub(packed, 37, 70) .. phase .. ' ' ..
  watched .. ' ' .. done .. ' ' .. withdrawn .. ' ' .. id .. ' ' .. attempt .. ' ' .. owner,
  'PX', math.ceil(math.max(till - now, 0) / 1000) + keep)
return held and 1 or 0
