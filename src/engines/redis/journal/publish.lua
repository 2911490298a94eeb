-- ARGV for each job: name schedule zone partitions definition node; reply {now, since, since...}
local told = {now}
local function tells(definition, text) return string.find(definition, text, 1, true) ~= nil end
local function is_off(definition) return tells(definition, '"enabled":false') end
local function has_slots(definition)
  return tells(definition, '"slots":') and not tells(definition, '"slots":1,') and not tells(definition, '"slots":1}')
end
for i = 1, #ARGV, 6 do
  local key = base .. 'entry:' .. ARGV[i]
  local known = call('HMGET', key, 'schedule', 'zone', 'partitions', 'since', 'definition')
  local since = digits(now)
  if known[1] == ARGV[i + 1] and known[2] == ARGV[i + 2] and known[3] == ARGV[i + 3]
    and has_slots(known[5]) == has_slots(ARGV[i + 4]) and (not is_off(known[5]) or is_off(ARGV[i + 4])) then since = known[4] end
  call('HSET', key, 'schedule', ARGV[i + 1], 'zone', ARGV[i + 2], 'partitions', ARGV[i + 3], 'definition', ARGV[i + 4],
    'node', ARGV[i + 5], 'since', since, 'published', digits(now))
  call('ZADD', base .. 'entries', 0, ARGV[i])
  told[#told + 1] = tonumber(since)
end
return told
