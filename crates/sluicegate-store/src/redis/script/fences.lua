
-- Writes a whole home: what comes before the instant until which it lives, and its numbers. The nodes go along, but for
-- those that have not been heard of for long.
local function write(front, packed, entry, ends)
  local here, size = nodes, home and #home or 0
  while here < size do
    local id, _, time, length, next = unpack_from('<c8ddH', home, here)
    if id ~= node and time >= forgotten then entry = entry .. sub(home, here, next + length - 1) end
    here = next + length
  end
  prolong(ends)
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
  if last < seq and many then
    write_many({}, pack('<ddH', seq, now, #fate) .. fate, now + 3600000000)
  elseif last < seq then
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
