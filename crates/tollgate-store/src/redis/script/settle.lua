local function apply(i, mode, charged, slot)
  local what = kind[i]
  have[i], dirty = true, true
  if what <= 2 then
    v1[i], v2[i] = n1[i], n2[i]
  elseif what <= 4 then
    v1[i], v2[i], v3[i] = n1[i], n2[i], n3[i]
  elseif what == 5 then
    v1[i], v2[i], v3[i], v4[i] = n1[i], n2[i], n3[i], n4[i]
  elseif what == 6 and mode == 3 then
    give(i, n1[i], charged)
  elseif what == 6 then
    add(i, n1[i])
  elseif mode == 3 then
    release(i, slot)
  elseif n1[i] == 1 then
    renew(i, slot)
  else
    take(i, slot)
  end
end

-- What a meter says, as the node wants to read it.
local function say(i, seen)
  local what = kind[i]
  if what <= 2 then
    if seen then return pack('<dd', s1[i], s2[i]) end
    return pack('<dd', v1[i], v2[i])
  elseif what <= 4 then
    return pack('<dd', v2[i], v3[i])
  elseif what == 5 then
    return pack('<ddd', v2[i], v3[i], v4[i])
  elseif what == 6 then
    local _, held, first = walk(i)
    local next = first > 0 and first - now or B[i]
    local reset = v3[i] > 0 and v1[i] > now and v1[i] - now or 0
    return pack('<dddd', v3[i] - held, next, reset, wait[i] or -1)
  end
  local count, first = counting(i)
  if count == 0 then return pack('<dddd', 0, 0, 0, wait[i] or -1) end
  return pack('<dddd', count, first - now, v1[i] - now, wait[i] or -1)
end

local reply, outcomes = { '' }, {}
for place = 1, asks do
  local mode, charges, charged, slot = 0, 2, 0, nil
  if op == 1 then
    lim[1], owes[1], lim[2], owes[2] = 1, unpack_from('<d', body, 26), 2, unpack_from('<d', body, 58)
  else
    local slots
    mode, slots, charges, at = unpack_from('<BBB', body, at)
    if mode == 3 then charged, at = unpack_from('<d', body, at) end
    if slots == 1 then slot, at = unpack_from('<c16', body, at) end
    for k = 1, charges do
      lim[k], owes[k], at = unpack_from('<Hd', body, at)
    end
  end
  local keeps = mode ~= 1 and not repeated
  local refused, never, overage = nil, nil, 0
  for k = 1, charges do
    local i = lim[k]
    wait[i] = nil
    local answered, room = ask[kind[i]](i, owes[k], mode, mode == 2 or (bills[i] and mode < 3), keeps, charged, slot)
    if answered == 2 then
      never, wait[i] = never or k, -2
    elseif answered == 1 then
      refused = refused or k
    elseif bills[i] and mode < 3 and owes[k] > room then
      overage = overage + owes[k] - room
    end
  end
  local outcome
  if never then
    outcome = pack('<BB', 3, never - 1)
  elseif refused then
    outcome = pack('<BB', 2, refused - 1)
  elseif overage > 0 then
    outcome = pack('<Bd', 1, overage)
  else
    outcome = char(0)
  end
  local done = keeps and not never and not refused
  reply[#reply + 1], outcomes[place] = outcome, outcome
  for k = 1, charges do
    local i = lim[k]
    -- What is given back to a meter that does not exist makes none.
    if done and (have[i] or mode ~= 3) then apply(i, mode, charged, slot) end
  end
  for k = 1, charges do
    reply[#reply + 1] = say(lim[k], not done)
  end
end
outcomes = concat(outcomes)
if repeated then
  reply[1] = pack('<BdH', 2, now, #told) .. told
else
  reply[1] = pack('<Bd', 0, now)
end

if dirty then
  for i = 1, limits do flush(i) end
  local shape, values, width, ends, ours = {}, {}, 0, 0, {}
  local function put(id, image, ...)
    shape[#shape + 1] = id .. char(#image) .. image
    if ... > ends then ends = ... end
    for number = 1, WIDTH[byte(image, 2)] do
      width = width + 1
      values[width] = select(number, ...)
    end
  end
  local strangers = had
  for i = 1, limits do
    local m = found[names[i]]
    if m then ours[m], strangers = i, strangers - 1 end
  end
  if strangers > 0 then
    for m = 1, had do
      local i, p = ours[m], places[m]
      if i then
        put(ids[m], wanted[i], v1[i], v2[i], v3[i], v4[i], v5[i], v6[i])
      elseif had <= 12 or numbers[p] > now - 60000000 then
        -- In a home with many meters, those that say nothing any more are dropped.
        put(ids[m], images[m], numbers[p], numbers[p + 1], numbers[p + 2], numbers[p + 3], numbers[p + 4], numbers[p + 5])
      end
    end
  end
  for i = 1, limits do
    if have[i] and (strangers == 0 or not found[names[i]]) then
      put(names[i], wanted[i], v1[i], v2[i], v3[i], v4[i], v5[i], v6[i])
    end
  end
  shape = concat(shape)
  keep(pack('<BHH', 1, #shape, width) .. shape .. pack('<' .. rep('d', width), unpack(values)), outcomes, ends)
end
return concat(reply)
