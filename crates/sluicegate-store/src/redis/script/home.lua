
-- What the home holds: how many numbers, where they begin, and where the limits of the call have theirs. Other meters are
-- not looked at. How many numbers a meter has is told by the second byte of its image.
local WIDTH = '\2\3\3\4\6\6\4\5\5\5\5'
-- A home of version 1, as nodes of format 1 write it, is written anew as a whole. They do not read version 2.
local lives, width, values, nodes, known, stale, outdated = 0, 0, 6, 6, 0, false, false

-- Takes the numbers of a meter from where they stand.
local function read(limit, text, from, was)
  if was == 1 then
    limit.v1, limit.v2 = unpack_from('<dd', text, from)
  elseif was <= 3 then
    limit.v1, limit.v2, limit.v3 = unpack_from('<ddd', text, from)
  elseif was >= 8 then
    limit.v1, limit.v2, limit.v3, limit.v4, limit.v5 = unpack_from('<ddddd', text, from)
  elseif was == 4 or was == 7 then
    limit.v1, limit.v2, limit.v3, limit.v4 = unpack_from('<dddd', text, from)
  else
    limit.v1, limit.v2, limit.v3, limit.v4, limit.v5, limit.v6 = unpack_from('<dddddd', text, from)
  end
end

-- Finds the meters of the call in a home, or in what a node would put in its place.
local function find(text)
  local length, numbers
  length, width = unpack_from('<HH', text, 2)
  lives, numbers = unpack_from('<d', text, 6 + length)
  for i = 1, count do
    local limit = limits[i]
    local here = string.find(text, limit.id, 6, true)
    if here and here < 6 + length then
      local place, size = unpack_from('<HB', text, here + 8)
      local was = byte(text, here + 12)
      limit.place = place
      if sub(text, here + 11, here + 10 + size) ~= limit.image then limit.was, stale = was, true end
      read(limit, text, numbers + 8 * place, was)
      known = known + byte(WIDTH, was)
    end
  end
  return numbers
end

if home and not many then
  local version = byte(home)
  if version ~= 1 and version ~= 2 then error('the home is not of version 1, 2 or 3') end
  outdated = version == 1
  values = find(home)
  nodes = values + 8 * width
end

-- What this node did last, when, and where that stands.
local last, told, made, mine, crowded = 0, '', 0, 0, outdated
if home and not many then
  local here, size = nodes, #home
  while here < size do
    local id, number, time, length, next = unpack_from('<c8ddH', home, here)
    if id == node then
      last, told, made, mine = number, sub(home, next, next + length - 1), time, here
    elseif time < forgotten then
      crowded = true
    end
    here = next + length
  end
end
