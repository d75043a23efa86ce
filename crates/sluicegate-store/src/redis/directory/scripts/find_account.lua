local change = redis.call('HGET', state, 'change') or '0'
local serial = redis.call('HGET', ids, ARGV[1])
return {change, serial and redis.call('HGET', accounts, serial)}
