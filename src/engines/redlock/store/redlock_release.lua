-- Rule 4. KEYS lock; ARGV token id|'' at_least_ms|until_expiry done_ms|'' retention_ms; reply 1 if the key was held under this token, else 0
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local packed = redis.call('GET', KEYS[1])
if not packed then
  if ARGV[2] == '' then return 0 end
  packed = string.format('1 %016d %016d %016d %016d - - - - - - ', 0, 0, 0, now)
end
if string.sub(packed, 1, 2) ~= '1 ' then
  return redis.error_reply('PAWL cannot read the record ' .. KEYS[1] .. ': another version of pawl has written it')
end
local till, last = tonumber(string.sub(packed, 20, 35)), string.sub(packed, 37, 52)
local done, rest, id = string.match(packed, '^(%S+) (%S+ (%S+) .*)$', 75)
if not till or not done then return redis.error_reply('PAWL cannot read the record ' .. KEYS[1]) end
local phase, watched = string.sub(packed, 71, 71), string.sub(packed, 73, 73)
local live = now < till
-- A node that was promised to this claim but heard no confirmation lets go as well.
local mine = phase == 'c' and string.sub(packed, 3, 18) == ARGV[1] or phase ~= '-' and ARGV[2] ~= '' and id == ARGV[2]
local held = live and mine
-- A node that never heard of the token learns that it is over: a top-up that comes late is refused.
local burns = ARGV[2] ~= '' and last < ARGV[1] and (mine or not live)
if burns then
  if tonumber(last) == 0 then
    local space, key = string.match(KEYS[1], '^([^:]+):redlock:(.*)$')
    redis.call('ZADD', space .. ':redlocks', 0, key)
  end
  last = ARGV[1]
end
-- The work is done whether or not the lease outlived it: the token proves who says so. Where there has been a promise only there is
-- none yet, and 0 proves nothing.
local raised = ARGV[4] ~= '' and tonumber(last) > 0 and last == ARGV[1] and (done == '-' or tonumber(done) < tonumber(ARGV[4]))
if raised then done = ARGV[4] end
-- A release ends the claim, also after its lease expired, so that no late copy of it is granted (rule 2).
local ends = mine or burns
if not ends and not raised then return 0 end

if held then
  if watched == 'w' then
    local space, key = string.match(KEYS[1], '^([^:]+):redlock:(.*)$')
    redis.call('PUBLISH', space .. ':redlock-changed:' .. key, '')
    watched = '-'
  end
  if ARGV[3] ~= 'until_expiry' then
    till = math.max(now, string.sub(packed, 54, 69) + ARGV[3] * 1000)
    if till == now then till = 0 end
  end
end
local holder = string.sub(packed, 3, 18)
if ends then holder, phase = '0000000000000000', '-' end
redis.call('SET', KEYS[1], '1 ' .. holder .. ' ' .. string.format('%016d', till) .. ' ' .. last .. ' ' .. string.sub(packed, 54, 70) ..
  phase .. ' ' .. watched .. ' ' .. done .. ' ' .. rest, 'PX', math.ceil(math.max(till - now, 0) / 1000) + ARGV[5])
return held and 1 or 0
