-- ARGV index after|'' rows_max bytes_max looked_max job|'' status|'' =node|''; reply {place to go on after|'', row, row...}, the newest begun first
local found, bytes = {''}, 0
local job, status, node = ARGV[6], ARGV[7], ARGV[8]
local from = ARGV[2] == '' and '+inf' or '(' .. ARGV[2]
local members = call('ZREVRANGEBYSCORE', base .. ARGV[1], from, '-inf', 'WITHSCORES', 'LIMIT', 0, ARGV[5])
for i = 1, #members, 2 do
  local wanted = true
  if job .. status .. node ~= '' then
    local row = call('HMGET', base .. 'run:' .. members[i], 'job', 'status', 'node')
    wanted = (job == '' or row[1] == job) and (status == '' or row[2] == status) and (node == '' or '=' .. row[3] == node)
  end
  local row = wanted and whole_row(members[i])
  if row then
    found[#found + 1] = row
    bytes = bytes + bytes_of(row)
    if #found > tonumber(ARGV[3]) or bytes > tonumber(ARGV[4]) then
      found[1] = members[i + 1]
      return found
    end
  end
end
if #members == 2 * ARGV[5] then found[1] = members[#members] end
return found
