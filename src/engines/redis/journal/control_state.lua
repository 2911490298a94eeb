-- ARGV entries_max bytes_max; reply {pauses, triggers, cancels, orphans}: job, text...; id, text...; id...; row...
local last = ARGV[1] - 1
local function texts_of(index, texts)
  local names = call('ZRANGE', base .. index, 0, last)
  local found, bytes = {}, 0
  if #names == 0 then return found end
  local told = call('HMGET', base .. texts, unpack(names))
  for i = 1, #names do
    if told[i] and bytes <= tonumber(ARGV[2]) then
      found[#found + 1] = names[i]
      found[#found + 1] = told[i]
      bytes = bytes + #names[i] + #told[i]
    end
  end
  return found
end
local orphans, bytes = {}, 0
local abandoned = call('ZRANGE', base .. 'status:abandoned', 0, last)
for i = 1, #abandoned do
  if bytes <= tonumber(ARGV[2]) and call('HGET', base .. 'run:' .. abandoned[i], 'mode') == 'at_least_once' then
    orphans[#orphans + 1] = whole_row(abandoned[i])
    bytes = bytes + bytes_of(orphans[#orphans])
  end
end
return {texts_of('pauses', 'pause_texts'), texts_of('triggers', 'trigger_texts'), call('ZRANGE', base .. 'cancels', 0, last), orphans}
