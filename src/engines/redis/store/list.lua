-- KEYS index; ARGV lock_prefix from to limit; reply {now_us, key, record, key, record...}, at most `limit` of them
local clock = redis.call('TIME')
local found = {clock[1] * 1000000 + clock[2]}
local from, want = ARGV[2], tonumber(ARGV[4])
repeat
  local members = redis.call('ZRANGEBYLEX', KEYS[1], from, ARGV[3], 'LIMIT', 0, want)
  if #members == 0 then break end
  local names, dead = {}, {}
  for i = 1, #members do names[i] = ARGV[1] .. members[i] end
  local packed = redis.call('MGET', unpack(names))
  for i = 1, #members do
    if packed[i] then
      found[#found + 1] = members[i]
      found[#found + 1] = packed[i]
    else
      dead[#dead + 1] = members[i]
    end
  end
  -- A record outlived by its index entry. On a read-only replica the entry stays.
  if #dead > 0 then redis.pcall('ZREM', KEYS[1], unpack(dead)) end
  from = '(' .. members[#members]
  local full = #members == want
  want = #dead
until want == 0 or not full
return found
