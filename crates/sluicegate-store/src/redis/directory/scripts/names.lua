local accounts, ids, live, custom, keys, key_ids, key_list, state, audit = unpack(KEYS)

-- Whole numbers as text: Lua would write large ones with an exponent.
local function whole(number)
  return string.format('%.0f', number)
end
