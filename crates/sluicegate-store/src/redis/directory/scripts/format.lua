-- Raises the format of what nodes keep here to that of this node, and says what it is.
local found = tonumber(redis.call('HGET', state, 'format') or 1)
local format = tonumber(ARGV[1])
if found < format then
  found = format
  redis.call('HSET', state, 'format', whole(format))
end
return {whole(found)}
