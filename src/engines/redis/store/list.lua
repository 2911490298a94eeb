-- KEYS index; ARGV lock_prefix from to limit; reply {now_us, place, key, record, key, record...}: at most `limit` records, and the key behind
-- which there may be more, else ''
local clock = redis.call('TIME')
local found = {clock[1] * 1000000 + clock[2], ''}
local from, limit, count = ARGV[2], tonumber(ARGV[4]), 0
-- One more than asked for tells whether there is another page.
local portion = limit + 1
-- No other client is answered meanwhile: where many are dead, the caller asks again.
for _ = 1, 5 do
  local members, packed = walk(KEYS[1], ARGV[1], from, ARGV[3], portion)
  for i = 1, #members do
    if packed[i] then
      if count == limit then return found end
      count = count + 1
      found[#found + 1] = members[i]
      found[#found + 1] = packed[i]
    end
    found[2] = members[i]
  end
  if #members < portion then
    found[2] = ''
    return found
  end
  from, portion = '(' .. found[2], math.max(limit + 1 - count, 100)
end
return found
