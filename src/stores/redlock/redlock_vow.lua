-- Put before every script by which a node promises something. KEYS[1] marker; ARGV[1] '' or `quarantine_ms run_id synced|uncertain`.
-- Rule 7: the marker says since when this node's data has been whole, and in which life of the server. While `left` is above 0
-- the node may have forgotten what it promised, and promises nothing.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local left, born = 0, nil
if ARGV[1] ~= '' then
  local span, life, writes = string.match(ARGV[1], '^(%d+) (%w+) (%a+)$')
  local marker = redis.call('GET', KEYS[1])
  local since, run
  born, run, since = string.match(marker or '', '^(%d+) (%w+) (%d+)$')
  if run ~= life then
    -- Another life: what was promised before it may be forgotten, unless every write was synced. A
    -- replica that was promoted has lived longer, so for it the quarantine begins when first seen.
    local promoted = marker and not string.find(redis.call('INFO', 'replication'), 'second_repl_offset:-1', 1, true)
    if promoted or not marker or writes ~= 'synced' then
      local up = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
      -- The second of the start and that of the moment are taken as they began, so this may be one too many.
      up = math.max(0, up - 1)
      since = promoted and now or now - up * 1000000
      born = math.max(tonumber(born or '0'), math.floor(since / 1000))
    end
    redis.call('SET', KEYS[1], string.format('%d %s %d', born, life, since))
  end
  left, born = since + span * 1000 - now, tonumber(born)
end

