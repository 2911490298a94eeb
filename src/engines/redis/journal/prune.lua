-- ARGV job keep keep_for_ms|0 limit looked_max after|''; reply {removed, place to go on after|''}
local job, keep_for = ARGV[1], tonumber(ARGV[3])
local index = base .. 'job:' .. job
local excess = call('ZCARD', index) - call('SCARD', base .. 'open:' .. job) - ARGV[2]
local removed = 0
local from = ARGV[6] == '' and '-inf' or '(' .. ARGV[6]
local members = call('ZRANGEBYSCORE', index, from, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[5])
for i = 1, #members, 2 do
  local id = members[i]
  local row = call('HMGET', base .. 'run:' .. id, 'status', 'started', 'ended', 'partition', 'firing', 'born')
  -- Those that began later ended later. A row that somebody deleted is taken off the indexes.
  local young = keep_for == 0 or now - (row[6] or row[2] or 0) <= keep_for
  if excess <= 0 and young then return {removed, ''} end
  if not is_open[row[1]] and (excess > 0 or (keep_for > 0 and now - (row[3] or 0) > keep_for)) then
    call('UNLINK', base .. 'run:' .. id, base .. 'events:' .. id, base .. 'chunks:' .. id, base .. 'output:' .. id)
    if row[5] then call('HDEL', base .. 'firings:' .. job, row[4] .. ':' .. row[5]) end
    call('ZREM', KEYS[1], id)
    call('ZREM', index, id)
    move(id, job, nil, row[1], nil)
    excess = excess - 1
    removed = removed + 1
    if removed == tonumber(ARGV[4]) then return {removed, ''} end
  end
end
return {removed, #members == 2 * ARGV[5] and members[#members] or ''}
