-- ARGV for each run: id token; reply a text with 0 (stale), 1 (alive) or 2 (cancel requested) for each
local answers, beats = {}, {}
for i = 1, #ARGV, 2 do
  local row = call('HMGET', base .. 'run:' .. ARGV[i], 'status', 'token', 'silence', 'cancel')
  local answer = '0'
  if row[1] == 'started' and row[2] == ARGV[i + 1] then
    answer = row[4] and '2' or '1'
    beats[#beats + 1] = digits(now + row[3])
    beats[#beats + 1] = ARGV[i]
  end
  answers[#answers + 1] = answer
end
if #beats > 0 then call('ZADD', base .. 'beats', unpack(beats)) end
return table.concat(answers)
