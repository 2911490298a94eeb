-- ARGV id text; reply 1, or 0 where a trigger or a run has this id
if call('EXISTS', base .. 'run:' .. ARGV[1]) == 1 then return 0 end
if call('HSETNX', base .. 'trigger_texts', ARGV[1], part(digits(now)) .. ARGV[2]) == 0 then return 0 end
call('ZADD', base .. 'triggers', call('INCR', base .. 'place'), ARGV[1])
return 1
