local tokens = KEYS[11]
local id, name, most, token, after = unpack(ARGV, 5)
-- Names are claimed in the same hash; no id begins with a tilde.
if redis.call('HEXISTS', tokens, '~' .. name) == 1 then
  return {'exists'}
end
-- Two fields for each token.
if redis.call('HLEN', tokens) >= 2 * tonumber(most) then
  return {'too-many'}
end
local change = enter(id, '', after)
redis.call('HSET', tokens, id, token, '~' .. name, id)
redis.call('HSET', state, 'tokens', change)
tell('token', id, change)
return done(change)
