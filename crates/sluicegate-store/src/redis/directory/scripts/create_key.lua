local id, account_id, least = ARGV[5], ARGV[6], ARGV[7]
local record_1, record_2, record_3, record_4, after_1, after_2, after_3 = unpack(ARGV, 8)
local account = redis.call('HGET', ids, account_id)
if not account then
  return {'no-account'}
end
if redis.call('HEXISTS', keys, id) == 1 then
  return {'exists'}
end
local made = redis.call('HGET', state, 'made:' .. account) or 0
if tonumber(made) >= 4294967295 then
  return {'too-many'}
end
local number = whole(redis.call('HINCRBY', state, 'made:' .. account, 1))
local serial = next_serial('key-last', least)
local change = enter(id, '', after_1 .. serial .. after_2 .. number .. after_3)
redis.call('HSET', keys, id, record_1 .. serial .. record_2 .. account .. record_3 .. number .. record_4)
redis.call('HSET', key_ids, serial, id)
redis.call('ZADD', key_list, 0, place(account, number) .. id)
redis.call('HINCRBY', state, 'usable:' .. account, 1)
redis.call('HINCRBY', state, 'usable', 1)
tell('key', id, change)
return done(change, serial, number)
