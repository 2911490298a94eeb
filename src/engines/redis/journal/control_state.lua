-- ARGV entries_max bytes_max; reply {pauses, triggers, cancels, orphans}: job, text...; id, text...; id...; row...
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
-- Of each job its first, then of each its second: pairs of an id and a text, the oldest first.
local function triggers()
  local turns, order, from = {}, {}, 0
  repeat
    local ids = call('ZRANGE', base .. 'triggers', from, from + last)
    local told = #ids > 0 and call('HMGET', base .. 'trigger_texts', unpack(ids)) or {}
    for i = 1, #ids do
      if told[i] then
        local job = job_of(told[i])
        turns[job] = (turns[job] or 0) + 1
        order[#order + 1] = {turn = turns[job], place = from + i, id = ids[i], text = told[i]}
      end
    end
    from = from + #ids
  until #ids <= last
  table.sort(order, function(a, b)
    if a.turn ~= b.turn then return a.turn < b.turn end
    return a.place < b.place
  end)
  local chosen, bytes = {}, 0
  for i = 1, math.min(#order, last + 1) do
    if bytes > tonumber(ARGV[2]) then break end
    chosen[i] = order[i]
    bytes = bytes + #order[i].id + #order[i].text
  end
  table.sort(chosen, function(a, b) return a.place < b.place end)
  local found = {}
  for i = 1, #chosen do
    found[#found + 1] = chosen[i].id
    found[#found + 1] = chosen[i].text
  end
  return found
end
local orphans, bytes = {}, 0
local abandoned = call('ZRANGE', base .. 'status:abandoned', 0, last)
for i = 1, #abandoned do
  if bytes <= tonumber(ARGV[2]) and call('HGET', base .. 'run:' .. abandoned[i], 'mode') == 'at_least_once' then
    orphans[#orphans + 1] = whole_row(abandoned[i])
    bytes = bytes + bytes_of(orphans[#orphans])
  end
end
return {pauses(), triggers(), call('ZRANGE', base .. 'cancels', 0, last), orphans}
