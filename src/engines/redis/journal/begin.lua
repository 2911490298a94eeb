-- ARGV id job partition key owner node token due_ms|'' mode trigger answers|'' none|last_saved silence_ms; reply {outcome, id, attempt, checkpoint, status, output_size}, or {-1} where another run has this id
local id, job, partition, token, due = ARGV[1], ARGV[2], ARGV[3], ARGV[7], ARGV[8]
local begun, resumed, already_run, superseded = 0, 1, 2, 3

local at = id
if due ~= '' then at = call('HGET', base .. 'firings:' .. job, partition .. ':' .. due) end
local row = at and call('HMGET', base .. 'run:' .. at, 'status', 'token', 'job', 'partition', 'firing',
  'taken', 'attempt', 'checkpoint', 'output', 'node', 'place', 'cancel', 'started')
local status = row and row[1]
if status then
  if row[3] ~= job or row[4] ~= partition or (row[5] or '') ~= due then return {-1} end
elseif due ~= '' and call('EXISTS', base .. 'run:' .. id) == 1 then
  return {-1}
end
local waits = ARGV[11] ~= '' and call('HEXISTS', base .. 'trigger_texts', id) == 1

-- A trigger is used up, whatever comes of it.
local function answer(outcome, id_now, attempt, checkpoint, status_now, output)
  if waits then
    call('HDEL', base .. 'trigger_texts', id)
    call('ZREM', base .. 'triggers', id)
  end
  return {outcome, id_now, tonumber(attempt), checkpoint or '', status_now, tonumber(output or '0')}
end
local function refuse(outcome) return answer(outcome, at, row[7], row[8], status, row[9]) end

local saved = ''
if ARGV[12] == 'last_saved' then saved = call('HGET', base .. 'checkpoints:' .. job, partition) or '' end

-- The row comes last: Redis does not take back what a script did before it failed, and whoever asks
-- again finds nothing decided.
local function put(id_now, ...)
  call('ZADD', base .. 'beats', digits(now + ARGV[13]), id_now)
  call('HSET', base .. 'run:' .. id_now, 'key', ARGV[4], 'owner', ARGV[5], 'node', ARGV[6], 'token', token,
    'mode', ARGV[9], 'status', 'started', 'silence', ARGV[13], ...)
end

if not status then
  if ARGV[11] ~= '' and not waits then return answer(already_run, id, '1', '', 'cancelled') end
  local place = digits(call('INCR', base .. 'place'))
  local row = {'job', job, 'partition', partition, 'trigger', ARGV[10], 'started', digits(now), 'attempt', '1', 'place', place}
  if due ~= '' then
    row[#row + 1], row[#row + 2] = 'firing', due
    call('HSET', base .. 'firings:' .. job, partition .. ':' .. due, id)
  end
  if saved ~= '' then row[#row + 1], row[#row + 2] = 'checkpoint', saved end
  call('ZADD', KEYS[1], place, id)
  call('ZADD', base .. 'job:' .. job, place, id)
  move(id, job, place, nil, 'started')
  add_event(id, 'begun', ARGV[10], ARGV[6], token, '1')
  put(id, unpack(row))
  return answer(begun, id, '1', saved, 'started')
end

-- Tokens tell runs apart, except for 0, which all runs without a lease have.
if status == 'started' and row[2] == token and (at == id or token ~= '0') then
  return refuse(row[6] and resumed or begun)
end
local older = tonumber(token) < tonumber(row[2])
if status == 'skipped' then
  -- With the token of its own runner it is a late copy of what that one has taken back.
  if older or (token == row[2] and token ~= '0') then return refuse(superseded) end
  if row[12] then return refuse(already_run) end
  local checkpoint = row[8] or ''
  if ARGV[12] == 'last_saved' then checkpoint = saved end
  move(at, job, row[11], status, 'started')
  add_event(at, 'begun', ARGV[10], ARGV[6], token, row[7])
  -- Its place tells when it was written, which pruning relies on; so that instant is kept.
  put(at, 'trigger', ARGV[10], 'started', digits(now), 'born', row[13], 'checkpoint', checkpoint, 'reason', '', 'exit', '')
  call('HDEL', base .. 'run:' .. at, 'ended')
  return answer(begun, at, row[7], checkpoint, 'started', row[9])
end
if not is_open[status] or ARGV[9] == 'at_most_once' then return refuse(already_run) end
if older or token == row[2] then return refuse(superseded) end
if row[12] then
  -- Cancelled while no runner could be told, or one that is gone: no other attempt begins.
  local key, why = base .. 'run:' .. at, 'cancelled before another attempt'
  local due = call('ZSCORE', base .. 'beats', at)
  add_event(at, 'cancelled', why, row[10], row[2], row[7])
  move(at, job, row[11], status, 'cancelled')
  call('ZREM', base .. 'beats', at)
  call('ZREM', base .. 'cancels', at)
  if due then call('HSET', key, 'heard', digits(due - call('HGET', key, 'silence'))) end
  call('HSET', key, 'status', 'cancelled', 'reason', why, 'ended', digits(now))
  return answer(already_run, at, row[7], row[8], 'cancelled', row[9])
end
local attempt = digits(math.min(row[7] + 1, 1000))
move(at, job, row[11], status, 'started')
add_event(at, 'resumed', 'after ' .. row[10], ARGV[6], token, attempt)
put(at, 'taken', '1', 'attempt', attempt, 'reason', '', 'exit', '')
return answer(resumed, at, attempt, row[8], 'started', row[9])
