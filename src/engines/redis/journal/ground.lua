-- What every script of the journal begins with: its keys, the time, and how a row changes. KEYS[1] is the index of all runs, BASEruns; KEYS[2], in a cluster only, is a name that nobody writes: while their slot is being moved the two are never together, so no script sees half of the journal.
local call = redis.call
local base = string.sub(KEYS[1], 1, -5)
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function digits(number) return string.format('%.0f', number) end
-- As journals::pack writes a list.
local function part(text) return #text .. ':' .. text end

local is_open = {started = true, abandoned = true}

-- A row changes its place in the indexes. Most rows end as completed: they are found without one.
local function move(id, job, place, from, to)
  if from == to then return end
  if from and from ~= 'completed' then call('ZREM', base .. 'status:' .. from, id) end
  if to and to ~= 'completed' then call('ZADD', base .. 'status:' .. to, place, id) end
  if is_open[to] and not is_open[from] then
    call('SADD', base .. 'open:' .. job, id)
  elseif is_open[from] and not is_open[to] then
    call('SREM', base .. 'open:' .. job, id)
  end
end

-- A repetition of the newest is left out; of more than 200 the oldest but the first goes.
local function add_event(id, kind, text, node, token, attempt)
  local key = base .. 'events:' .. id
  local at = part(digits(now))
  local body = part(kind) .. part(text) .. part(node) .. part(token) .. part(attempt)
  local newest = call('LINDEX', key, -1)
  if newest and string.sub(newest, #at + 1) == body then return end
  if call('RPUSH', key, at .. body) > 200 then
    local first = call('LPOP', key)
    call('LPOP', key)
    call('LPUSH', key, first)
  end
end

-- What the fields of its row do not say of a run; nothing where there is no row.
local function named_row(row, id)
  if #row == 0 then return false end
  row[#row + 1] = 'id'
  row[#row + 1] = id
  local due = call('ZSCORE', base .. 'beats', id)
  if due then
    row[#row + 1] = 'due'
    row[#row + 1] = due
  end
  return row
end

-- All that is known of a run, as field, value, field, value; nothing where there is none.
local function whole_row(id) return named_row(call('HGETALL', base .. 'run:' .. id), id) end

-- The same without its checkpoint, which may be long.
local short_fields = {'attempt', 'cancel', 'ended', 'exit', 'firing', 'heard', 'job', 'key', 'mode', 'node', 'output',
  'owner', 'partition', 'reason', 'silence', 'started', 'status', 'token', 'trigger'}
local function short_row(id)
  local row, values = {}, call('HMGET', base .. 'run:' .. id, unpack(short_fields))
  for i = 1, #short_fields do
    if values[i] then
      row[#row + 1] = short_fields[i]
      row[#row + 1] = values[i]
    end
  end
  return named_row(row, id)
end

local function bytes_of(row)
  local bytes = 0
  for i = 1, #row do bytes = bytes + #row[i] end
  return bytes
end
