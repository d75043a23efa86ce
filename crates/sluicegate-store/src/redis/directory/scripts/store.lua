-- The last argument of every call: the store that the node means. One that was emptied, or another behind the same
-- address, is not asked for anything.
local found_store = redis.call('HGET', state, 'store')
if found_store ~= ARGV[#ARGV] then
  local is_empty = not found_store and redis.call('EXISTS', accounts) == 0
  return {'other-store', is_empty and 'emptied' or 'other'}
end

