-- Rule 18. KEYS marker lock...; ARGV life retention_ms, then for each lock: token ttl_ms max_lifetime_ms id; reply a text with one letter for
-- each lock: h (held, and renewed), f (free for this claim: it may be topped up), n (no), u (its record cannot be read)
local count = #KEYS - 1
if left > 0 then return string.rep('n', count) end
local packed = redis.call('MGET', unpack(KEYS, 2))
local answers = {}
for i = 1, count do
  local at = i * 4 - 1
  local token, id = ARGV[at], ARGV[at + 3]
  local one = packed[i]
  local answer = 'n'
  if not one then
    answer = 'f'
  else
    local till, last = tonumber(string.sub(one, 20, 35)), string.sub(one, 37, 52)
    local acquired = tonumber(string.sub(one, 54, 69))
    local phase, own = string.sub(one, 71, 71), string.match(one, '^%S+ %S+ (%S+) ', 75)
    local mine = phase ~= '-' and own == id
    if string.sub(one, 1, 2) ~= '1 ' or not (till and acquired) then
      answer = 'u'
    elseif mine and phase == 'c' and string.sub(one, 3, 18) == token then
      local wanted = now + ARGV[at + 1] * 1000
      if ARGV[at + 2] ~= '0' then
        wanted = math.min(wanted, acquired + ARGV[at + 2] * 1000)
      end
      if wanted > now then
        if now < till then
          till = math.max(till, wanted)
          redis.call('SET', KEYS[i + 1], string.sub(one, 1, 19) .. string.format('%016d', till) .. string.sub(one, 36),
            'PX', math.ceil((till - now) / 1000) + ARGV[2])
          answer = 'h'
        else
          answer = 'f'
        end
      end
    elseif last < token and (mine or now >= till) then
      answer = 'f'
    end
  end
  answers[i] = answer
end
return table.concat(answers)
