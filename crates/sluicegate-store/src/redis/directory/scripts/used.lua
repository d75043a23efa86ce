-- Raises the minutes in which keys were last used: pairs of a serial and a minute, and the store behind them.
local used = KEYS[10]
for at = 1, #ARGV - 2, 2 do
  local known = tonumber(redis.call('HGET', used, ARGV[at]) or 0)
  if tonumber(ARGV[at + 1]) > known then
    redis.call('HSET', used, ARGV[at], ARGV[at + 1])
  end
end
return {}
