
-- What the home holds: how many numbers, where they begin, and where the limits of the call have theirs. Other meters are
-- not looked at. How many numbers a meter has is told by the second byte of its image.
local WIDTH = '\2\3\3\4\6\6\4\5\5\5\5'
-- A home of version 1, as nodes of format 1 write it, is written anew as a whole. They do not read version 2.
local lives, width, values, nodes, known, stale, outdated = 0, 0, 6, 6, 0, false, false
if home then
  local version, length
  version, length, width = unpack_from('<BHH', home)
  if version ~= 1 and version ~= 2 then error('the home is not of version 1 or 2') end
  outdated = version == 1
  lives, values = unpack_from('<d', home, 6 + length)
  nodes = values + 8 * width
  for i = 1, count do
    local limit = limits[i]
    local here = string.find(home, limit.id, 6, true)
    if here and here < 6 + length then
      local place, size = unpack_from('<HB', home, here + 8)
      local was, from = byte(home, here + 12), values + 8 * place
      limit.place = place
      if sub(home, here + 11, here + 10 + size) ~= limit.image then limit.was, stale = was, true end
      if was == 1 then
        limit.v1, limit.v2 = unpack_from('<dd', home, from)
      elseif was <= 3 then
        limit.v1, limit.v2, limit.v3 = unpack_from('<ddd', home, from)
      elseif was >= 8 then
        limit.v1, limit.v2, limit.v3, limit.v4, limit.v5 = unpack_from('<ddddd', home, from)
      elseif was == 4 or was == 7 then
        limit.v1, limit.v2, limit.v3, limit.v4 = unpack_from('<dddd', home, from)
      else
        limit.v1, limit.v2, limit.v3, limit.v4, limit.v5, limit.v6 = unpack_from('<dddddd', home, from)
      end
      known = known + byte(WIDTH, was)
    end
  end
end

-- What this node did last, when, and where that stands.
local last, told, made, mine, crowded = 0, '', 0, 0, outdated
if home then
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

-- Writes a whole home: what comes before the instant until which it lives, and its numbers. The nodes go along, but for
-- those that have not been heard of for long.
local function write(front, packed, entry, ends)
  local here, size = nodes, home and #home or 0
  while here < size do
    local id, _, time, length, next = unpack_from('<c8ddH', home, here)
    if id ~= node and time >= forgotten then entry = entry .. sub(home, here, next + length - 1) end
    here = next + length
  end
  if ends > lives then
    -- A little longer than need be, so that the expiry need not be set with every call.
    local slack = floor((ends - now) / 4)
    if slack > 3600000000 then slack = 3600000000 elseif slack < 60000000 then slack = 60000000 end
    lives = ends + slack
  end
  call('SET', KEYS[1], front .. pack('<d', lives) .. packed .. entry, 'PX', floor((lives - now) / 1000))
end

-- What became of a call whose answer was lost, and when? The answer is kept with the fence, for this one may be lost as
-- well.
if op == 4 then
  local doubt = unpack_from('<d', body, at)
  local fate
  if byte(told) == 254 and unpack_from('<d', told, 2) == doubt then
    fate = told
  elseif last == doubt then
    fate = pack('<BdBd', 254, doubt, 1, made) .. told
  elseif last < doubt then
    fate = pack('<BdB', 254, doubt, 0)
  else
    return pack('<Bdd', 3, now, last)
  end
  if last < seq then
    local front, packed = pack('<BHH', 2, 0, 0), ''
    if home then front, packed = char(2) .. sub(home, 2, values - 9), sub(home, values, nodes - 1) end
    -- It outlives whatever may still be on its way here.
    write(front, packed, pack('<c8ddH', node, seq, now, #fate) .. fate, now + 3600000000)
  end
  return pack('<Bd', 5, now) .. sub(fate, 10)
end

-- A number that was used already: nothing is done again, but what the call did is said again.
local repeated = writes and last >= seq
if repeated and (last > seq or byte(told) == 254) then return pack('<Bdd', 3, now, last) end
