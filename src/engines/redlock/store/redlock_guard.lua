-- Put before every script by which a node promises something, behind whole_since. KEYS[1] marker; ARGV[1] '' or
-- `quarantine_ms run_id PLACE|lazy|uncertain seen|new`. Rule 7: while `left` is above 0 the node may have forgotten what it promised, and
-- promises nothing. `born` (ms) is set under a quarantine.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local left, born = 0, nil
if ARGV[1] ~= '' then
  local span, life, writes, met = string.match(ARGV[1], '^(%d+) (%w+) (%w+) (%a+)$')
  local since
  since, born = whole_since(now, KEYS[1], (string.gsub(KEYS[1], 'marker$', 'history')), life, writes, met)
  left = since + span * 1000 - now
end

