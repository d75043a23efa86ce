local id, least, record_head, record_tail, after_head, after_tail = unpack(ARGV, 5)
if redis.call('HEXISTS', ids, id) == 1 then
  return {'exists'}
end
local serial = next_serial('account-last', least)
local change = enter(id, '', after_head .. serial .. after_tail)
redis.call('HSET', accounts, serial, record_head .. serial .. record_tail)
redis.call('HSET', ids, id, serial)
redis.call('ZADD', live, serial, serial)
tell('account', serial, change)
return done(change, serial)
