-- All tokens, behind the change up to which they are known.
local tokens = KEYS[10]
local list = {redis.call('HGET', state, 'tokens') or '0'}
local found = redis.call('HGETALL', tokens)
for place = 1, #found, 2 do
  if string.sub(found[place], 1, 1) ~= '~' then
    list[#list + 1] = found[place + 1]
  end
end
return list
