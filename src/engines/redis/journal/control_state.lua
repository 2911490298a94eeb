-- ARGV entries_max bytes_max rows_looked_max; reply {pauses, triggers, cancels, orphans}: job, text...; id, text...; id...; row...
local last = ARGV[1] - 1
-- Pairs of a job and a text.
local function pauses()
  local jobs = call('ZRANGE', base .. 'pauses', 0, last)
  local found, bytes = {}, 0
  if #jobs == 0 then return found end
  local told = call('HMGET', base .. 'pause_texts', unpack(jobs))
  for i = 1, #jobs do
    if told[i] and bytes <= tonumber(ARGV[2]) then
      found[#found + 1] = jobs[i]
      found[#found + 1] = told[i]
      bytes = bytes + #jobs[i] + #told[i]
    end
  end
  return found
end
-- A text begins with its time and its job, each as its length, a colon and its bytes.
local function part_at(text, from)
  local bytes, begin = string.match(text, '^(%d+):()', from)
  return string.sub(text, begin, begin + bytes - 1), begin + bytes
end
local function job_of(text)
  local _, behind_time = part_at(text, 1)
  return (part_at(text, behind_time))
end
-- '' of a text that no journal wrote.
local function readable_job_of(text)
  local is_ours, job = pcall(job_of, text)
  return is_ours and job or ''
end
-- Of these, the oldest first, of each job its first, then of each its second and so on; again the oldest first.
local function fair(all)
  local turns = {}
  for i = 1, #all do
    local job = all[i].job
    turns[job] = (turns[job] or 0) + 1
    all[i].turn, all[i].place = turns[job], i
  end
  table.sort(all, function(a, b)
    if a.turn ~= b.turn then return a.turn < b.turn end
    return a.place < b.place
  end)
  local chosen, bytes = {}, 0
  for i = 1, math.min(#all, last + 1) do
    if bytes > tonumber(ARGV[2]) then break end
    chosen[i] = all[i]
    bytes = bytes + all[i].bytes
  end
  table.sort(chosen, function(a, b) return a.place < b.place end)
  return chosen
end
-- Pairs of an id and a text.
local function triggers()
  local all, from = {}, 0
  repeat
    local ids = call('ZRANGE', base .. 'triggers', from, from + last)
    local told = #ids > 0 and call('HMGET', base .. 'trigger_texts', unpack(ids)) or {}
    for i = 1, #ids do
      if told[i] then
        all[#all + 1] = {job = readable_job_of(told[i]), id = ids[i], text = told[i], bytes = #ids[i] + #told[i]}
      end
    end
    from = from + #ids
  until #ids <= last
  local found = {}
  for _, one in ipairs(fair(all)) do
    found[#found + 1] = one.id
    found[#found + 1] = one.text
  end
  return found
end
-- Rows without their checkpoints, so that their bytes need no bound.
local function orphans()
  local all, from = {}, 0
  repeat
    local ids = call('ZRANGE', base .. 'status:abandoned', from, from + last)
    for i = 1, #ids do
      local row = call('HMGET', base .. 'run:' .. ids[i], 'mode', 'job')
      if row[1] == 'at_least_once' then all[#all + 1] = {job = row[2] or '', id = ids[i], bytes = 0} end
    end
    from = from + #ids
  until #ids <= last or from >= tonumber(ARGV[3])
  local found = {}
  for i, one in ipairs(fair(all)) do found[i] = short_row(one.id) end
  return found
end
return {pauses(), triggers(), call('ZRANGE', base .. 'cancels', 0, last), orphans()}
