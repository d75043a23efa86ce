local kind, id, account, before, after, says_before, says_after = unpack(ARGV, 5)
if redis.call('HGET', keys, id) ~= before or not redis.call('ZSCORE', live, account) then
  return {'changed'}
end
local change = enter(id, says_before, says_after)
redis.call('HSET', keys, id, after)
if kind == 'revoked' then
  redis.call('HINCRBY', state, 'usable:' .. account, -1)
  redis.call('HINCRBY', state, 'usable', -1)
end
tell('key', id, change)
return done(change)
