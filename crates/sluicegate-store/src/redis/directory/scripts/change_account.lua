local kind, serial, id, before, after, says_before, says_after = unpack(ARGV, 5)
if redis.call('HGET', accounts, serial) ~= before then
  return {'changed'}
end
local change = enter(id, says_before, says_after)
redis.call('HSET', accounts, serial, after)
if kind == 'custom' then
  redis.call('ZADD', custom, serial, serial)
else
  redis.call('ZREM', custom, serial)
end
if kind == 'gone' then
  redis.call('HDEL', ids, id)
  -- No id begins with a tilde. Under it are the last accounts that had the id, the newest first.
  local earlier = redis.call('HGET', ids, '~' .. id)
  earlier = earlier and serial .. ' ' .. earlier or serial
  if #earlier > 1700 then
    earlier = string.match(string.sub(earlier, 1, 1700), '^(.*) ')
  end
  redis.call('HSET', ids, '~' .. id, earlier)
  redis.call('ZREM', live, serial)
  -- Its keys stay as they are: a key of an account that is gone is revoked.
  local usable = redis.call('HGET', state, 'usable:' .. serial) or 0
  redis.call('HINCRBY', state, 'usable', 0 - usable)
  redis.call('HDEL', state, 'usable:' .. serial, 'made:' .. serial)
  tell('gone', serial, change)
else
  tell('account', serial, change)
end
return done(change)
