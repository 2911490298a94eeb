-- KEYS lock...; ARGV retention_ms, then for each lock: token ttl_ms max_lifetime_ms lose|extend; reply a text with 1 (renewed), 0 (lost) or ? (unreadable) for each lock
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local packed = redis.call('MGET', unpack(KEYS))
local answers = {}
for i = 1, #KEYS do
  answers[i] = '0'
  local at = i * 4 - 2
  local one = packed[i]
  if one and string.sub(one, 1, 2) ~= '1 ' then
    answers[i] = '?'
  elseif one and string.sub(one, 1, 18) == '1 ' .. ARGV[at] then
    local till, acquired = tonumber(string.sub(one, 20, 35)), tonumber(string.sub(one, 54, 69))
    if not (till and acquired) then
      answers[i] = '?'
    elseif now < till or ARGV[at + 3] == 'extend' then
      local wanted = now + ARGV[at + 1] * 1000
      if ARGV[at + 2] ~= '0' then
        wanted = math.min(wanted, acquired + ARGV[at + 2] * 1000)
      end
      if wanted > now then
        till = math.max(till, wanted)
        redis.call('SET', KEYS[i], string.sub(one, 1, 19) .. string.format('%016d', till) .. string.sub(one, 36),
          'PX', math.ceil((till - now) / 1000) + ARGV[1])
        answers[i] = '1'
      end
    end
  end
end
return table.concat(answers)
