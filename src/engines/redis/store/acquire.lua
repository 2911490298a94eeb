-- KEYS lock [marker history] [index: in a cluster only]; ARGV id owner ttl_ms ttl_and_retention_ms [due_ms|'' once|again max_skew_ms [quarantine_ms seen|new run_id PLACE|lazy|uncertain]]; reply token, or {0 held|1 cooldown|2 quarantined|3 early, holder, remaining_ms, owner}, or {4 done, last_done_ms}
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local due = tonumber(ARGV[5])

if ARGV[8] then
  local since, born = whole_since(now, KEYS[2], KEYS[3], ARGV[10], ARGV[11], ARGV[9])
  local left = since + ARGV[8] * 1000 - now
  if left > 0 then return {2, 0, math.ceil(left / 1000), ''} end
  -- A claim for no time only makes sure that there is a marker.
  if ARGV[3] == '0' then return 0 end
  -- Grants went up to max_skew ahead of the clock, so forgotten ones may have as well.
  local granted_to = born + 1 + ARGV[7]
  if due and due < granted_to then return {4, granted_to} end
end

-- A record: 1 HOLDER UNTIL LAST ACQUIRED WATCHED DONE WITHDRAWN ID OWNER, the first four numbers of
-- 16 digits, so that they stand at 3, 20, 37 and 54, the mark of the waiters at 71, DONE at 73.
local packed = redis.call('GET', KEYS[1])
local last, watched, done, withdrawn, repeated = 0, '-', '-', '-', false
if packed then
  if string.sub(packed, 1, 2) ~= '1 ' then
    return redis.error_reply('PAWL cannot read the record ' .. KEYS[1] .. ': another version of pawl has written it')
  end
  local till = tonumber(string.sub(packed, 20, 35))
  if string.sub(packed, 73, 76) ~= '- - ' then
    done, withdrawn = string.match(packed, '^(%S+) (%S+) ', 73)
  end
  if not till or not done then return redis.error_reply('PAWL cannot read the record ' .. KEYS[1]) end
  -- Rule 2: a claim that was withdrawn is dead, however late it arrives.
  local dead = withdrawn ~= '-' and string.find(',' .. withdrawn .. ',', ',' .. ARGV[1] .. ',', 1, true)
  if now < till or dead then
    local holder = tonumber(string.sub(packed, 3, 18))
    local id, owner = string.match(packed, '^%S+ %S+ (%S+) (.*)$', 73)
    if holder == 0 or id ~= ARGV[1] or dead then
      return {holder == 0 and 1 or 0, holder, math.max(1, math.ceil((till - now) / 1000)), owner}
    end
    till = math.max(till, now + ARGV[3] * 1000)
    redis.call('SET', KEYS[1], string.sub(packed, 1, 19) .. string.format('%016d', till) .. string.sub(packed, 36),
      'PX', math.ceil((till - now) / 1000) + ARGV[4] - ARGV[3])
    return holder
  end
  last, watched = tonumber(string.sub(packed, 37, 52)), string.sub(packed, 71, 71)
  -- Rule 2: its own lease has expired, and nobody was granted the key since: what it marked is its own.
  repeated = due and done == ARGV[5] and tonumber(string.sub(packed, 3, 18)) ~= 0
    and string.match(packed, '^%S+ %S+ (%S+) ', 73) == ARGV[1]
end

-- Rule 6.
if due and not repeated then
  if done ~= '-' and tonumber(done) >= due then return {4, tonumber(done)} end
  local ahead = due * 1000 - now - ARGV[7] * 1000
  if ahead > 0 then return {3, 0, math.ceil(ahead / 1000), ''} end
  if ARGV[6] == 'once' then done = ARGV[5] end
end

-- Rule 1.
local token = now
if last >= now then token = last + 1 end
if last == 0 then
  local space, key = string.match(KEYS[1], '^([^:]+):lock:(.*)$')
  -- While its slot moves, the index may be on another node: only a key that is listed can be taken.
  if #KEYS == 1 and string.find(space, '{', 1, true) then
    return redis.error_reply('TRYAGAIN the slot of this new key is being moved')
  end
  redis.call('ZADD', space .. ':locks', 0, key)
end
local minted, begun = string.format('%016d', token), string.format('%016d', now)
local till = string.format('%016d', now + ARGV[3] * 1000)
-- Last, because Redis does not take back what a script did before it failed.
redis.call('SET', KEYS[1],
  '1 ' .. minted .. ' ' .. till .. ' ' .. minted .. ' ' .. begun .. ' ' .. watched .. ' ' .. done .. ' ' ..
    withdrawn .. ' ' .. ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[4])
return token
