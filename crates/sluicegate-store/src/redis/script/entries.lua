
-- Buckets and logs. In the home: until when the newest entry counts, its amount, the total, until when the oldest counts,
-- how many older ones than the newest are in the list, and until when the list lives.
local walk, add, give, freed
if large or stale then
  -- Of the entries that do not count any more: how many are in the list, and how much they hold. And until when the first
  -- counts that does.
  walk = function(limit)
    local seen = limit.walked
    if seen then return seen[1], seen[2], seen[3] end
    local gone, held, first = 0, 0, 0
    if limit.v3 > 0 and limit.v4 > now then
      first = limit.v4
    elseif limit.v3 > 0 then
      while first == 0 and gone < limit.v5 do
        local rows = call('LRANGE', limit.key, gone, gone + 127)
        if #rows == 0 then
          -- Somebody deleted the list: what was in it is forgotten.
          limit.v3, limit.v5 = held + limit.v2, gone
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
      if first == 0 and limit.v1 > now then
        first = limit.v1
      elseif first == 0 then
        held = held + limit.v2
      end
    end
    limit.walked = { gone, held, first }
    return gone, held, first
  end
end

-- Some meters were written under limits edited since: the node will carry over what was used.
if stale then
  local seen = many and as_home() or home
  local reply = { pack('<BdI', 1, now, #seen), seen }
  for i = 1, count do
    local limit = limits[i]
    if limit.was then
      local used = 0
      if (limit.was == 5 or limit.was == 6) and limit.v5 > 0 and not limit.key then
        used = -1
      elseif limit.was == 5 or limit.was == 6 then
        local _, held = walk(limit)
        used = limit.v3 - held
      end
      reply[#reply + 1] = pack('<Hd', i - 1, used)
    end
  end
  return concat(reply)
end

if large then
  -- Until when what is used at an instant counts.
  local function till(limit, instant)
    local grain = limit.c
    if grain > 0 then instant = instant - instant % grain + grain end
    return instant + limit.b
  end

  -- How long until so much of what counts is forgotten.
  freed = function(limit, excess)
    local from = walk(limit)
    while from < limit.v5 do
      local rows = call('LRANGE', limit.key, from, from + 127)
      if #rows == 0 then break end
      for row = 1, #rows do
        local ends, amount = unpack_from('<dd', rows[row])
        excess = excess - amount
        if excess <= 0 then return ends - now end
      end
      from = from + #rows
    end
    return limit.v1 - now
  end

  add = function(limit, amount)
    local gone, held, first = walk(limit)
    limit.walked = nil
    if held > 0 and first == 0 then
      if limit.v5 > 0 then call('DEL', limit.key) end
      limit.v1, limit.v2, limit.v3, limit.v4, limit.v5, limit.v6, held = 0, 0, 0, 0, 0, 0, 0
    end
    local ends = till(limit, now)
    if amount > 0 and ends <= limit.v1 then
      limit.v2 = limit.v2 + amount
    elseif amount > 0 then
      if limit.v3 == 0 then
        limit.v4 = ends
      else
        -- What is there of a home that expired is not ours.
        if limit.v5 == 0 then call('DEL', limit.key) end
        -- Before anything is dropped: where memory is short, this is what is refused.
        call('RPUSH', limit.key, pack('<dd', limit.v1, limit.v2))
        limit.v5 = limit.v5 + 1
        if limit.v6 < ends then
          -- Not with every entry: once in a quarter of the window.
          limit.v6 = ends + floor(limit.b / 4) + 60000000
          call('PEXPIRE', limit.key, floor((limit.v6 - now) / 1000))
        end
      end
      limit.v1, limit.v2 = ends, amount
    end
    -- In this order: with what is forgotten, the total may be more than a double holds.
    limit.v3 = limit.v3 - held + amount
    if held > 0 then
      call('LTRIM', limit.key, gone, -1)
      limit.v4, limit.v5 = first, limit.v5 - gone
      if limit.v5 == 0 then limit.v6 = 0 end
    end
  end

  -- Takes it from the entries that count as long as what is given back, or longer: the first of them first.
  give = function(limit, cost, charged)
    local wanted = till(limit, charged)
    limit.walked = nil
    if limit.v3 == 0 or wanted <= now or wanted > limit.v1 then return end
    local from, behind = 0, limit.v5
    if wanted == limit.v1 then from = behind end
    while from < behind do
      local middle = floor((from + behind) / 2)
      local row = call('LINDEX', limit.key, middle)
      if not row then return end
      if unpack_from('<d', row) < wanted then from = middle + 1 else behind = middle end
    end
    local gone = 0
    while cost > 0 and from + gone < limit.v5 do
      local ends, amount = unpack_from('<dd', call('LINDEX', limit.key, from + gone))
      if cost < amount then
        call('LSET', limit.key, from + gone, pack('<dd', ends, amount - cost))
        limit.v3, cost = limit.v3 - cost, 0
      else
        call('LSET', limit.key, from + gone, '')
        limit.v3, cost, gone = limit.v3 - amount, cost - amount, gone + 1
      end
    end
    if gone > 0 then
      call('LREM', limit.key, gone, '')
      limit.v5 = limit.v5 - gone
    end
    if cost > limit.v2 then cost = limit.v2 end
    limit.v2, limit.v3 = limit.v2 - cost, limit.v3 - cost
    if limit.v2 == 0 then
      local row = limit.v5 > 0 and call('RPOP', limit.key)
      if row then
        limit.v1, limit.v2 = unpack_from('<dd', row)
        limit.v5 = limit.v5 - 1
      else
        limit.v1, limit.v3, limit.v4 = 0, 0, 0
      end
    end
    if limit.v5 == 0 then limit.v6 = 0 end
    if gone > 0 and from == 0 and limit.v3 > 0 then
      limit.v4 = limit.v5 > 0 and unpack_from('<d', call('LINDEX', limit.key, 0)) or limit.v1
    end
  end
end
