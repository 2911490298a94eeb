-- Rule 15. KEYS fence [marker history]; ARGV token older|not_newer (what is rejected) max_skew_ms [seen|new run_id PLACE|lazy|uncertain]; reply
-- {1 accepted|0 too old|2 never issued, newest}
local newest = tonumber(redis.call('GET', KEYS[1]) or '0')
local token = tonumber(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
-- Tokens are microseconds of this clock, or of a node's that was master before.
if token > now + ARGV[3] * 1000 then return {2, newest} end
if ARGV[4] then
  -- A newer one may have been accepted before the data was born, and be forgotten.
  local _, born = whole_since(now, KEYS[2], KEYS[3], ARGV[5], ARGV[6], ARGV[4])
  newest = math.max(newest, (born + 1) * 1000)
end
if token < newest or (token == newest and ARGV[2] == 'not_newer') then return {0, newest} end
redis.call('SET', KEYS[1], ARGV[1])
return {1, token}
