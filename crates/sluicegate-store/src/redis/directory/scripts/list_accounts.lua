local set, after, count = unpack(ARGV)
local serials = redis.call('ZRANGEBYSCORE', set == 'custom' and custom or live, '(' .. after, '+inf', 'LIMIT', 0, count)
if #serials == 0 then
  return {}
end
return redis.call('HMGET', accounts, unpack(serials))
