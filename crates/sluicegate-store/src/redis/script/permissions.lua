-- Names the first command that a node needs and this user may not run. Runs none of them.
-- ARGV[1]: the channel of changes.

local commands = {
  { 'time' }, { 'get', KEYS[1] }, { 'set', KEYS[1], 'x', 'px', '1' }, { 'setrange', KEYS[1], '0', 'x' },
  { 'del', KEYS[1] }, { 'pexpire', KEYS[1], '1' },
  { 'lrange', KEYS[1], '0', '1' }, { 'lindex', KEYS[1], '0' }, { 'rpush', KEYS[1], 'x' }, { 'rpop', KEYS[1] },
  { 'ltrim', KEYS[1], '0', '1' }, { 'lset', KEYS[1], '0', 'x' }, { 'lrem', KEYS[1], '1', 'x' },
  { 'zadd', KEYS[1], '1', 'x' }, { 'zrem', KEYS[1], 'x' }, { 'zremrangebyscore', KEYS[1], '0', '1' },
  { 'zcard', KEYS[1] }, { 'zcount', KEYS[1], '0', '1' }, { 'zscore', KEYS[1], 'x' },
  { 'zrange', KEYS[1], '0', '0' }, { 'zpopmin', KEYS[1] }, { 'zremrangebyrank', KEYS[1], '0', '1' }, { 'zrangebyscore', KEYS[1], '0', '1' },
  { 'zrangebylex', KEYS[1], '-', '+' }, { 'hget', KEYS[1], 'x' }, { 'hmget', KEYS[1], 'x' },
  { 'hexists', KEYS[1], 'x' }, { 'hset', KEYS[1], 'x', 'x' }, { 'hsetnx', KEYS[1], 'x', 'x' },
  { 'hincrby', KEYS[1], 'x', '1' }, { 'hdel', KEYS[1], 'x' }, { 'hrandfield', KEYS[1], '-1' }, { 'xadd', KEYS[1], '*', 'x', 'x' },
  { 'xrevrange', KEYS[1], '+', '-' }, { 'publish', ARGV[1], 'x' }, { 'subscribe', ARGV[1] },
  { 'evalsha', 'x', '1', KEYS[1] },
}
for i = 1, #commands do
  if not redis.acl_check_cmd(unpack(commands[i])) then return commands[i][1] end
end
return false
