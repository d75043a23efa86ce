
-- Does what was asked of a meter.
local function apply(limit, mode, charged, slot)
  local kind = limit.kind
  limit.kept, dirty = true, true
  if kind <= 2 then
    limit.v1, limit.v2 = limit.n1, limit.n2
  elseif kind <= 4 and limit.old then
    if limit.held then
      limit.v2 = limit.old
    else
      keep_past(limit, { limit.past[1], limit.old, limit.past[3], limit.past[4] })
    end
  elseif kind <= 4 then
    if limit.keeps and limit.n3 ~= limit.v3 then move_on(limit) end
    limit.v1, limit.v2, limit.v3 = limit.n1, limit.n2, limit.n3
    if limit.keeps then limit.v4, limit.v5 = limit.n4, limit.n5 end
  elseif kind == 5 then
    limit.v1, limit.v2, limit.v3, limit.v4 = limit.n1, limit.n2, limit.n3, limit.n4
  elseif kind == 6 and mode == 3 then
    give(limit, limit.n1, charged)
  elseif kind == 6 then
    add(limit, limit.n1)
  elseif mode == 3 then
    release(limit, slot)
  elseif limit.n1 == 1 then
    renew(limit, slot)
  else
    take(limit, slot)
  end
end

-- What a meter says: a small one as it is, a large one what it comes to.
local function say(limit, seen)
  local kind = limit.kind
  if kind <= 2 then
    if seen then return pack('<dd', limit.s1, limit.s2) end
    return pack('<dd', limit.v1, limit.v2)
  elseif kind <= 4 and limit.inc then
    return pack('<dddd', limit.v2, limit.v3, limit.v4, limit.v5)
  elseif kind <= 4 then
    return pack('<dd', limit.v2, limit.v3)
  elseif kind == 5 then
    return pack('<ddd', limit.v2, limit.v3, limit.v4)
  elseif kind == 6 then
    local _, held, first = walk(limit)
    local next = first > 0 and first - now or limit.b
    local reset = limit.v3 > 0 and limit.v1 > now and limit.v1 - now or 0
    return pack('<dddd', limit.v3 - held, next, reset, limit.wait or -1)
  end
  local some, first = counting(limit)
  if some == 0 then return pack('<dddd', 0, 0, 0, limit.wait or -1) end
  return pack('<dddd', some, first - now, limit.v1 - now, limit.wait or -1)
end

-- What remains at a meter.
local function remains(limit)
  if limit.kind == 7 then
    local some = counting(limit)
    return some < limit.a and limit.a - some or 0
  end
  local _, room = ask(limit, 1, 1, true, false, 0, nil)
  return room
end

-- `later` has the charges that are due on refusal.
-- `spared` has those that a repeat is not charged with.
-- `overs` has the ends of the periods in which charges were made that are corrected.
local reply, said, outcomes, asked, owes, later, spared, overs = { '' }, 1, {}, {}, {}, {}, {}, {}
for place = 1, asks do
  local mode, charges, charged, reserved, slot, elsewhere = 0, 2, 0, 0, nil, nil
  local name, request, decision, used, since
  if op == 1 then
    asked[1], asked[2] = limits[1], limits[2]
    owes[1], owes[2], at = unpack_from('<dd', body, at)
  else
    local parts, expected, least, most
    mode, parts, charges, at = unpack_from('<BBB', body, at)
    if mode == 2 then charged, at = unpack_from('<d', body, at) end
    if mode == 3 then charged, reserved, at = unpack_from('<dd', body, at) end
    if parts % 2 == 1 then slot, at = unpack_from('<c16', body, at) end
    if parts % 4 >= 2 then expected, least, most, at = unpack_from('<Bdd', body, at) end
    if parts % 8 >= 4 then name, request, decision, used, since, at = unpack_from('<Hc8c16Bd', body, at) end
    hold = nil
    if parts >= 8 then hold, at = unpack_from('<d', body, at) end
    for k = 1, charges do
      local which, due
      which, due, owes[k], at = unpack_from('<BBd', body, at)
      asked[k], later[k], spared[k] = limits[which], due == 1, due == 2
      if mode >= 2 and limits[which].keeps and limits[which].kind == 4 then overs[k], at = unpack_from('<d', body, at) end
    end
    if expected then
      local left = remains(asked[expected])
      if left < least or left > most then elsewhere = left end
    end
  end
  local keeps = mode ~= 1 and not repeated and not elsewhere
  -- The decision that has the name, while it is remembered; how many attempts under it are open, how many were free, and
  -- whether one was answered. Only what may be refused is free under it.
  local owner, till, again, conflicts
  local open, free, delivered = 0, 0, 0
  if name and keeps then
    local held = call('GET', KEYS[name])
    if held then
      local theirs, whose, ends = unpack_from('<c8c16d', held)
      if ends > now then
        owner, till, delivered = whose, ends, 1
        if #held > 32 then open, free, delivered = unpack_from('<HBB', held, 33) end
        if mode == 0 and theirs ~= request then
          conflicts, keeps = true, false
        elseif mode == 0 then
          again = used == 0 or used == 1 and free < 20 or used == 2 and open == 0 and delivered == 0 and free < 5
        end
        if mode == 3 then request = theirs end
      end
    end
  end
  if keeps and replaced and not dirty then
    dirty = true
    for emptied = 1, #ARGV[6] do call('DEL', limits[byte(ARGV[6], emptied) + 1].key) end
    for here = 1, #ARGV[7], 33 do
      local which, over, used, recorded, free = unpack_from('<Bdddd', ARGV[7], here)
      keep_past(limits[which + 1], over > 0 and { over, used, recorded, free })
    end
  end
  local refused, never, overage = nil, nil, 0
  for k = 1, charges do
    local limit, cost = asked[k], owes[k]
    limit.wait, limit.over_at = nil, overs[k]
    if elsewhere or conflicts or again and spared[k] then
      -- Only a bucket has to be asked for what it says.
      if limit.kind <= 2 then ask(limit, cost, 1, true, false, 0, nil) end
    elseif later[k] then
      limit.fits = ask(limit, cost, 4, true, keeps, 0, slot) == 0
      limit.wait = nil
    else
      local bills = limit.bills and mode < 3
      local force = mode == 2 or (bills and not limit.over)
      local answer = ask(limit, cost, mode, force, keeps, charged, slot, reserved)
      if answer == 2 then
        never = never or k
      elseif answer == 1 then
        refused = refused or k
      elseif limit.more then
        overage = overage + limit.more
      end
    end
  end
  local outcome
  if elsewhere then
    outcome = pack('<Bd', 34, elsewhere)
  elseif conflicts then
    outcome = char(36)
  elseif never then
    outcome = char(17 + never)
  elseif refused then
    outcome = char(1 + refused)
  elseif overage > 0 then
    outcome = pack('<Bd', 1, overage)
  else
    outcome = char(0)
  end
  if again then outcome = char(35) .. owner .. outcome end
  local done = keeps and not never and not refused
  local signals = keeps and mode == 0 and refused and not never
  said = said + 1
  reply[said], outcomes[place] = outcome, outcome
  for k = 1, charges do
    local limit, seen = asked[k], true
    if later[k] then
      if signals and limit.fits then
        apply(limit, 2, 0, slot)
        seen = false
      end
    elseif done and not (again and spared[k]) then
      -- What is given back to a meter that does not exist makes none.
      if mode ~= 3 or limit.place or limit.kept then apply(limit, mode, charged, slot) end
      seen = false
    end
    said = said + 1
    reply[said] = say(limit, seen)
  end
  if name and done then
    local ends = till
    if mode == 3 then
      if owner == decision and used == 16 then
        forget_name(KEYS[name])
        owner, dirty = nil, true
      elseif owner then
        open = open > 0 and open - 1 or 0
        if used == 18 then delivered = 1 end
      end
      decision = owner
    elseif again then
      open, free, decision = open + 1, free < 255 and free + 1 or 255, owner
    else
      ends = (since < 0 and now or since) + REMEMBERED
      if owner and till > ends then ends = till end
      -- How an attempt has ended that was forced is not known.
      if mode == 2 then delivered = 1 else open = open + 1 end
    end
    if decision and ends >= now + 1000 then
      if open > 65535 then open = 65535 end
      call('SET', KEYS[name], request .. decision .. pack('<dHBB', ends, open, free, delivered), 'PX',
        floor((ends - now) / 1000))
      if mode ~= 3 and not again then keep_name(KEYS[name], ends) end
      dirty = true
    end
  end
end

if repeated then
  reply[1] = pack('<BdH', 2, now, #told) .. told
else
  reply[1] = pack('<Bd', 0, now)
end
if not dirty then return concat(reply) end

-- The home as it is now. What was asked for is packed anew, the rest stays as it is.
local function packed(limit)
  local size = byte(WIDTH, byte(limit.image, 2))
  if size == 2 then return pack('<dd', limit.v1, limit.v2) end
  if size == 3 then return pack('<ddd', limit.v1, limit.v2, limit.v3) end
  if size == 4 then return pack('<dddd', limit.v1, limit.v2, limit.v3, limit.v4) end
  if size == 5 then return pack('<ddddd', limit.v1, limit.v2, limit.v3, limit.v4, limit.v5) end
  return pack('<dddddd', limit.v1, limit.v2, limit.v3, limit.v4, limit.v5, limit.v6)
end

outcomes = concat(outcomes)
local entry, ends, added = pack('<c8ddH', node, seq, now, #outcomes) .. outcomes, now + 60000000, 0
for i = 1, count do
  local limit = limits[i]
  if limit.taken then flush(limit) end
  if limit.place or limit.kept then
    local till = limit.keeps and limit.v1 + PAST or limit.v1
    if till > ends then ends = till end
    if not limit.place then added = added + byte(WIDTH, byte(limit.image, 2)) end
  end
end

if many then
  local fields = {}
  for i = 1, count do
    local limit = limits[i]
    if limit.place or limit.kept then
      fields[#fields + 1], fields[#fields + 2] = limit.id, char(#limit.image) .. limit.image .. packed(limit)
    end
  end
  write_many(fields, sub(entry, 9), ends)
  return concat(reply)
end

local same = added == 0 and not replaced and not crowded and mine > 0 and #told == #outcomes and ends <= lives
  and width <= FEW

local region = home and sub(home, values, nodes - 1) or ''
for i = 1, count do
  local limit = limits[i]
  local from = limit.place and 8 * limit.place
  if from then
    local changed = packed(limit)
    region = sub(region, 1, from) .. changed .. sub(region, from + #changed + 1)
  end
end
if same then
  call('SETRANGE', KEYS[1], values - 1, region .. sub(home, nodes, mine - 1) .. entry)
  return concat(reply)
end

if known == width and width + added <= FEW then
  -- No other meters: in the order of the call, by which the common call knows the home.
  local shapes, numbers, place = {}, {}, 0
  for i = 1, count do
    local limit = limits[i]
    if limit.place or limit.kept then
      shapes[#shapes + 1] = limit.id .. pack('<HB', place, #limit.image) .. limit.image
      numbers[#numbers + 1] = packed(limit)
      place = place + byte(WIDTH, byte(limit.image, 2))
    end
  end
  shapes = concat(shapes)
  write(pack('<BHH', 2, #shapes, place) .. shapes, concat(numbers), entry, ends)
  return concat(reply)
end

-- Next to others: new ones come behind them. Where there are many, those that say nothing any more are dropped first,
-- and if there are still many, they move to a hash.
local shape = home and sub(home, 6, values - 9) or ''
if width + added > FEW then
  local kept, numbers, here, place = {}, {}, 1, 0
  while here < #shape do
    local at, size = unpack_from('<HB', shape, here + 8)
    local shaped = byte(shape, here + 12)
    local wide = byte(WIDTH, shaped)
    if unpack_from('<d', region, 8 * at + 1) > idle_since(shaped) then
      kept[#kept + 1] = sub(shape, here, here + 7) .. pack('<H', place) .. sub(shape, here + 10, here + 10 + size)
      numbers[#numbers + 1] = sub(region, 8 * at + 1, 8 * (at + wide))
      place = place + wide
    end
    here = here + 11 + size
  end
  shape, region, width = concat(kept), concat(numbers), place
end
for i = 1, count do
  local limit = limits[i]
  if limit.kept and not limit.place then
    shape = shape .. limit.id .. pack('<HB', width, #limit.image) .. limit.image
    region = region .. packed(limit)
    width = width + byte(WIDTH, byte(limit.image, 2))
  end
end
if width > FEW then
  spread(shape, region, sub(entry, 9), ends)
else
  write(pack('<BHH', 2, #shape, width) .. shape, region, entry, ends)
end
return concat(reply)
