-- KEYS lock; ARGV token [at_least_ms|until_expiry done_ms|'' retention_ms]; reply 1 if this token held the key, else 0
local granted = string.sub(packed, 1, 18) == '1 ' .. ARGV[1]
local held = granted and now < till

local last, acquired, done, rest, raised
if ARGV[2] then
  last, acquired, done, rest = string.match(packed, '^(%d+) (%d+) %S (%S+) (.*)$', 37)
  -- The work is done whether or not the lease outlived it: the token proves who says so.
  raised = ARGV[3] ~= '' and last == ARGV[1] and (done == '-' or tonumber(done) < tonumber(ARGV[3]))
end
if not held and not raised then
  -- Rule 2: a release ends the claim, also after its lease expired, so that no late copy of it is granted.
  if granted then redis.call('SETRANGE', KEYS[1], 2, '0000000000000000') end
  return 0
end

if string.sub(packed, 71, 71) == 'w' then
  -- Before the change, because Redis does not take it back should this fail; waiters see it after.
  local space, key = string.match(KEYS[1], '^([^:]+):lock:(.*)$')
  redis.call('PUBLISH', space .. ':changed:' .. key, '')
  redis.call('SETRANGE', KEYS[1], 70, '-')
end

if not ARGV[2] then
  -- In place: it costs the least, and leaves the retention that the grant or the renewal gave.
  redis.call('SETRANGE', KEYS[1], 2, '0000000000000000 0000000000000000')
  return 1
end
local holder = tonumber(string.sub(packed, 3, 18))
if granted then holder = 0 end
if held then
  if ARGV[2] ~= 'until_expiry' then till = math.max(now, acquired + ARGV[2] * 1000) end
end
if raised then done = ARGV[3] end
redis.call('SET', KEYS[1], string.format('1 %016d %016d %s %s - %s %s', holder, till, last, acquired, done, rest),
  'PX', math.ceil(math.max(till - now, 0) / 1000) + ARGV[4])
return held and 1 or 0
