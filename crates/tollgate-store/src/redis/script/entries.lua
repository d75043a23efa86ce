-- Entries: newest until, its amount, total, oldest until, how many older ones the list has, until when the list lives.
-- Of those that do not count any more: how many are in the list, and how much they hold; then the first that counts.
local walked = {}
local function walk(i)
  local seen = walked[i]
  if seen then return seen[1], seen[2], seen[3] end
  local gone, held, first = 0, 0, 0
  if v3[i] > 0 and v4[i] > now then
    first = v4[i]
  elseif v3[i] > 0 then
    while first == 0 and gone < v5[i] do
      local rows = call('LRANGE', key[i], gone, gone + 127)
      if #rows == 0 then
        -- The list is not what it was: somebody deleted it.
        v3[i], v5[i] = held + v2[i], gone
      end
      for row = 1, #rows do
        local till, amount = unpack_from('<dd', rows[row])
        if till > now then
          first = till
          break
        end
        gone, held = gone + 1, held + amount
      end
    end
    if first == 0 and v1[i] > now then
      first = v1[i]
    elseif first == 0 then
      held = held + v2[i]
    end
  end
  walked[i] = { gone, held, first }
  return gone, held, first
end

if stale then
  local reply = { pack('<BdI', 1, now, #home), home }
  for i = 1, limits do
    local m = found[names[i]]
    if m and images[m] ~= wanted[i] then
      local old, used = byte(images[m], 2), 0
      if (old == 5 or old == 6) and v5[i] > 0 and not key[i] then
        used = -1
      elseif old == 5 or old == 6 then
        local _, held = walk(i)
        used = v3[i] - held
      end
      reply[#reply + 1] = pack('<Hd', i - 1, used)
    end
  end
  return concat(reply)
end

-- When what is used at an instant stops counting.
local function till(i, instant)
  local grain = C[i]
  if grain > 0 then instant = instant - instant % grain + grain end
  return instant + B[i]
end

-- How long until so much of what counts is forgotten.
local function freed(i, excess)
  local from = walk(i)
  while from < v5[i] do
    local rows = call('LRANGE', key[i], from, from + 127)
    if #rows == 0 then break end
    for row = 1, #rows do
      local ends, amount = unpack_from('<dd', rows[row])
      excess = excess - amount
      if excess <= 0 then return ends - now end
    end
    from = from + #rows
  end
  return v1[i] - now
end

local function add(i, amount)
  local gone, held, first = walk(i)
  if held > 0 and first == 0 then
    if v5[i] > 0 then call('DEL', key[i]) end
    v1[i], v2[i], v3[i], v4[i], v5[i], v6[i] = 0, 0, 0, 0, 0, 0
  elseif held > 0 then
    call('LTRIM', key[i], gone, -1)
    v3[i], v4[i], v5[i] = v3[i] - held, first, v5[i] - gone
    if v5[i] == 0 then v6[i] = 0 end
  end
  walked[i] = nil
  if amount == 0 then return end
  local ends = till(i, now)
  if ends <= v1[i] then
    v2[i] = v2[i] + amount
  else
    if v3[i] == 0 then
      v4[i] = ends
    else
      call('RPUSH', key[i], pack('<dd', v1[i], v2[i]))
      v5[i] = v5[i] + 1
      if v6[i] < ends then
        -- Not with every entry: once in a quarter of the window.
        v6[i] = ends + floor(B[i] / 4) + 60000000
        call('PEXPIRE', key[i], floor((v6[i] - now) / 1000))
      end
    end
    v1[i], v2[i] = ends, amount
  end
  v3[i] = v3[i] + amount
end

local function give(i, cost, charged)
  local wants = till(i, charged)
  walked[i] = nil
  if v3[i] == 0 or wants > v1[i] then return end
  if wants == v1[i] then
    if cost > v2[i] then cost = v2[i] end
    v2[i], v3[i] = v2[i] - cost, v3[i] - cost
    if v2[i] > 0 then return end
    local row = v5[i] > 0 and call('RPOP', key[i])
    if row then
      v1[i], v2[i] = unpack_from('<dd', row)
      v5[i] = v5[i] - 1
      if v5[i] == 0 then v6[i] = 0 end
    else
      v1[i], v2[i], v3[i], v4[i], v5[i], v6[i] = 0, 0, 0, 0, 0, 0
    end
    return
  end
  local low, high = 0, v5[i] - 1
  while low <= high do
    local middle = floor((low + high) / 2)
    local row = call('LINDEX', key[i], middle)
    if not row then return end
    local ends, amount = unpack_from('<dd', row)
    if ends == wants then
      if cost > amount then cost = amount end
      v3[i] = v3[i] - cost
      if cost < amount then
        call('LSET', key[i], middle, pack('<dd', ends, amount - cost))
        return
      end
      call('LSET', key[i], middle, '')
      call('LREM', key[i], 1, '')
      v5[i] = v5[i] - 1
      if v5[i] == 0 then v6[i] = 0 end
      if middle == 0 then
        v4[i] = v5[i] > 0 and unpack_from('<d', call('LINDEX', key[i], 0)) or v1[i]
      end
      return
    elseif ends < wants then
      low = middle + 1
    else
      high = middle - 1
    end
  end
end

