-- What the home holds.
local had, ids, images, places, found, numbers, entries = 0, {}, {}, {}, {}, {}, 6
-- What this node did last, and what the others did.
local last, told, others = 0, '', ''
if home then
  local version, length, width = unpack_from('<BHH', home)
  if version ~= 1 then error('the home is not of version 1') end
  local here, place = 6, 1
  while here < 6 + length do
    local id, size = unpack_from('<c8B', home, here)
    had = had + 1
    ids[had], images[had], places[had], found[id] = id, sub(home, here + 9, here + 8 + size), place, had
    place = place + (WIDTH[byte(images[had], 2)] or error('the home is damaged'))
    here = here + 9 + size
  end
  if place ~= width + 1 then error('the home is damaged') end
  numbers = { unpack_from('<' .. rep('d', width), home, here) }
  entries = numbers[place]
  here = entries
  while here < #home do
    local id, number, time, length, after = unpack_from('<c8ddH', home, here)
    if id == node then
      last, told = number, sub(home, after, after + length - 1)
    elseif time > forgotten then
      others = others .. sub(home, here, after + length - 1)
    end
    here = after + length
  end
end

local function keep(front, outcomes, ends)
  local stays = floor((ends - now) / 1000) + 1
  if stays < 60000 then stays = 60000 end
  call('SET', KEYS[1], front .. pack('<c8ddH', node, seq, now, #outcomes) .. outcomes .. others, 'PX', stays)
end

-- What became of a call whose answer was lost? The answer is kept with the fence, for this one may be lost as well.
if op == 4 then
  local doubt = unpack_from('<d', body, 26)
  local fate
  if byte(told) == 254 and unpack_from('<d', told, 2) == doubt then
    fate = told
  elseif last == doubt then
    fate = pack('<Bd', 254, doubt) .. char(1) .. told
  elseif last < doubt then
    fate = pack('<Bd', 254, doubt) .. char(0)
  else
    return pack('<Bdd', 3, now, last)
  end
  if last < seq then
    local stays = home and call('PTTL', KEYS[1]) * 1000 or 0
    if stays < 3600000000 then stays = 3600000000 end
    keep(home and sub(home, 1, entries - 1) or pack('<BHH', 1, 0, 0), fate, now + stays)
  end
  return pack('<Bd', 5, now) .. sub(fate, 10)
end


-- A number that was used already: nothing is done again, but what the call did is said again.
local repeated = writes and last >= seq
if repeated and (last > seq or byte(told) == 254) then return pack('<Bdd', 3, now, last) end

-- The meters of the limits: up to six numbers each.
local have, stale = {}, false
local v1, v2, v3, v4, v5, v6 = {}, {}, {}, {}, {}, {}
for i = 1, limits do
  local m = found[names[i]]
  local p = m and places[m]
  if p then
    have[i] = true
    v1[i], v2[i], v3[i], v4[i], v5[i], v6[i] =
      numbers[p], numbers[p + 1], numbers[p + 2], numbers[p + 3], numbers[p + 4], numbers[p + 5]
    if images[m] ~= wanted[i] then stale = true end
  else
    v1[i], v2[i], v3[i], v4[i], v5[i], v6[i] = 0, 0, 0, 0, 0, 0
  end
end

