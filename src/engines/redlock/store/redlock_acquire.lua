-- Rule 16. KEYS marker lock; ARGV life id attempt owner ttl_ms retention_ms [due_ms max_skew_ms]; reply the node's token; {5, token} if
-- this claim holds the key already; {4, done_ms}; or {0 held|1 cooldown|2 quarantined|3 early, remaining_ms, last, holder or 0, id, owner}
if left > 0 then return {2, math.ceil(left / 1000), 0, 0, '', ''} end
local due = tonumber(ARGV[7])
if due and born then
  -- Grants went up to max_skew ahead of the clock, so forgotten ones may have as well.
  local granted_to = born + 1 + ARGV[8]
  if due < granted_to then return {4, granted_to} end
end

-- A record: 1 HOLDER UNTIL LAST ACQUIRED PHASE WATCHED DONE WITHDRAWN ID ATTEMPT OWNER; the first four numbers of 16 digits, so that
-- they stand at 3, 20, 37 and 54, PHASE at 71 (p: promised, c: confirmed, -: nobody's), WATCHED at 73, DONE at 75.
local packed = redis.call('GET', KEYS[2])
local last, watched, done, withdrawn, repeated = 0, '-', '-', '-', false
if packed then
  if string.sub(packed, 1, 2) ~= '1 ' then
    return redis.error_reply('PAWL cannot read the record ' .. KEYS[2] .. ': another version of pawl has written it')
  end
  local till = tonumber(string.sub(packed, 20, 35))
  local id, attempt, owner
  done, withdrawn, id, attempt, owner = string.match(packed, '^(%S+) (%S+) (%S+) (%S+) (.*)$', 75)
  if not till or not done then return redis.error_reply('PAWL cannot read the record ' .. KEYS[2]) end
  last, watched = tonumber(string.sub(packed, 37, 52)), string.sub(packed, 73, 73)
  -- Rule 2: what was withdrawn is dead, however late it arrives: a claim, or one attempt at it.
  local dead = false
  if withdrawn ~= '-' then
    local all = ',' .. withdrawn .. ','
    dead = string.find(all, ',' .. ARGV[2] .. ',', 1, true)
      or string.find(all, ',' .. ARGV[2] .. '/' .. ARGV[3] .. ',', 1, true)
  end
  if now < till or dead then
    local phase = string.sub(packed, 71, 71)
    local holder = tonumber(string.sub(packed, 3, 18))
    if dead or phase == '-' or id ~= ARGV[2] then
      return {phase == '-' and 1 or 0, math.max(1, math.ceil((till - now) / 1000)), last,
        phase == 'c' and holder or 0, id, owner}
    end
    till = math.max(till, now + ARGV[5] * 1000)
    redis.call('SET', KEYS[2], string.sub(packed, 1, 19) .. string.format('%016d', till) .. string.sub(packed, 36, 74) ..
      done .. ' ' .. withdrawn .. ' ' .. id .. ' ' .. ARGV[3] .. ' ' .. owner,
      'PX', math.ceil((till - now) / 1000) + (last > 0 and ARGV[6] or 0))
    if phase == 'c' then return {5, holder} end
    return holder
  end
  -- Rule 2: its own lease has expired, and nobody was granted the key here since: what it marked is its own.
  repeated = due and done == ARGV[7] and id == ARGV[2] and string.sub(packed, 71, 71) ~= '-'
end

-- Rule 6: asked here, marked when confirmed.
if due and not repeated then
  if done ~= '-' and tonumber(done) >= due then return {4, tonumber(done)} end
  local ahead = due * 1000 - now - ARGV[8] * 1000
  if ahead > 0 then return {3, math.ceil(ahead / 1000), 0, 0, '', ''} end
end

-- LAST is the highest token that was confirmed or burnt; a promise alone does not raise it, so that
-- a promise that came to nothing leaves nothing behind.
local token = now
if last >= now then token = last + 1 end
redis.call('SET', KEYS[2], string.format('1 %016d %016d %016d %016d p %s %s %s %s %s ', token, now + ARGV[5] * 1000, last, now, watched,
  done, withdrawn, ARGV[2], ARGV[3]) .. ARGV[4], 'PX', ARGV[5] + ((last > 0 or withdrawn ~= '-') and ARGV[6] or 0))
return token
