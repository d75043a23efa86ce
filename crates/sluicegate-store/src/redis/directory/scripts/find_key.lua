local change = redis.call('HGET', state, 'change') or '0'
local key = redis.call('HGET', keys, ARGV[1])
if not key then
  return {change}
end
-- The numbers come before anything that people may choose.
local account = string.match(key, '^{"v":[12],"serial":%d+,"account":(%d+)')
return {change, key, account and redis.call('HGET', accounts, account)}
