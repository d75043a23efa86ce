local account_id, after, count = unpack(ARGV)
local serial = redis.call('HGET', ids, account_id)
if not serial then
  return {}
end
-- A tilde comes after every character of an id.
local first = string.format('(%020.0f%010.0f~', serial, after)
local last = string.format('(%020.0f~', serial)
local found = {}
for _, member in ipairs(redis.call('ZRANGEBYLEX', key_list, first, last, 'LIMIT', 0, count)) do
  found[#found + 1] = string.sub(member, 31)
end
local list = {redis.call('HGET', accounts, serial)}
if #found > 0 then
  for _, key in ipairs(redis.call('HMGET', keys, unpack(found))) do
    list[#list + 1] = key
  end
end
return list
