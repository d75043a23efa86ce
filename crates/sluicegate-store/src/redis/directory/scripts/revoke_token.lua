local tokens = KEYS[11]
local id, name, token, before = unpack(ARGV, 5)
if redis.call('HGET', tokens, id) ~= token then
  return {'changed'}
end
local change = enter(id, before, '')
redis.call('HDEL', tokens, id, '~' .. name)
redis.call('HSET', state, 'tokens', change)
tell('token', id, change)
return done(change)
