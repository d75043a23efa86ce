
-- Homes with many meters (version 3). The home key holds only its expiry. A hash holds one field per meter, so the cost of a
-- call does not depend on the number of meters. Meter field: name = meter id; value = length of the limit image (1 byte),
-- image, numbers. Node field: name = 'n' .. node id; value = the entry of the node without its id. Idle fields are evicted
-- by sampling.

-- The most numbers that a home keeps in its string. Above it, the meters move to the hash.
local FEW = 64
-- How many fields are sampled for eviction: per new field, and with every 256th call.
local SAMPLED_PER_NEW, SAMPLED_BY_TURNS = 4, 32
local rows, ids

-- The meters of the call in the format of a version 2 home. The node migrates stale meters in this format.
local function as_home()
  local shapes, numbers, place = {}, {}, 0
  for i = 1, count do
    local row = rows[i]
    if row then
      local size = byte(row)
      shapes[#shapes + 1] = limits[i].id .. pack('<H', place) .. sub(row, 1, size + 1)
      numbers[#numbers + 1] = sub(row, size + 2)
      place = place + byte(WIDTH, byte(row, 3))
    end
  end
  shapes = concat(shapes)
  return pack('<BHH', 2, #shapes, place) .. shapes .. pack('<d', lives) .. concat(numbers)
end

if many then
  ids = {}
  for i = 1, count do ids[i] = limits[i].id end
  ids[count + 1] = 'n' .. node
  lives = unpack_from('<d', home, 6)
  rows = call('HMGET', many, unpack(ids))
  local fence = rows[count + 1]
  if fence then
    local from
    last, made, from = unpack_from('<dd', fence)
    told, mine = sub(fence, from + 2), 1
  end
  if ARGV[4] and as_home() == ARGV[4] then
    local ends = lives
    replaced = true
    find(ARGV[5])
    lives = ends
  else
    for i = 1, count do
      local row, limit = rows[i], limits[i]
      if row then
        local size, was = byte(row), byte(row, 3)
        limit.place = 0
        if sub(row, 2, size + 1) ~= limit.image then limit.was, stale = was, true end
        read(limit, row, size + 2, was)
      end
    end
  end
end

-- Extends the expiry of the home, with some slack, so that it is not set with every call. Returns whether it changed.
local function prolong(ends)
  if ends <= lives then return false end
  local slack = floor((ends - now) / 4)
  if slack > 3600000000 then slack = 3600000000 elseif slack < 60000000 then slack = 60000000 end
  lives = ends + slack
  return true
end

-- A meter of this shape is idle if it ended at or before this instant. Periods are kept for corrections.
local function idle_since(shape)
  local since = now - 60000000
  if shape == 3 or shape >= 8 then since = since - PAST end
  return since
end

-- Samples so many fields at random and deletes the idle ones.
local function evict_idle(some)
  local sample, gone = call('HRANDFIELD', many, -some, 'WITHVALUES'), {}
  for i = 1, #sample, 2 do
    local field, row = sample[i], sample[i + 1]
    local idle
    if #field == 9 then
      local _, time = unpack_from('<dd', row)
      idle = time < forgotten
    else
      idle = unpack_from('<d', row, byte(row) + 2) <= idle_since(byte(row, 3))
    end
    if idle then gone[#gone + 1] = field end
  end
  if #gone > 0 then call('HDEL', many, unpack(gone)) end
end

-- Writes fields of the hash and the entry of this node.
local function write_many(fields, entry, ends)
  fields[#fields + 1], fields[#fields + 2] = 'n' .. node, entry
  local new = call('HSET', many, unpack(fields))
  if prolong(ends) or mine == 0 then
    local expires = floor((lives - now) / 1000)
    call('SET', KEYS[1], pack('<BHHd', 3, 0, 0, lives), 'PX', expires)
    call('PEXPIRE', many, expires)
  end
  local some = seq % 256 == 0 and SAMPLED_BY_TURNS or new * SAMPLED_PER_NEW
  if some > 0 then evict_idle(some) end
end

-- Moves the meters and node entries of a home to the hash.
local function spread(shape, region, entry, ends)
  many = KEYS[1] .. ':m'
  call('DEL', many)
  local fields, here = {}, 1
  local function put(field, row)
    fields[#fields + 1], fields[#fields + 2] = field, row
    if #fields >= 200 then
      call('HSET', many, unpack(fields))
      fields = {}
    end
  end
  while here < #shape do
    local place, size = unpack_from('<HB', shape, here + 8)
    local numbers = byte(WIDTH, byte(shape, here + 12))
    put(sub(shape, here, here + 7),
      sub(shape, here + 10, here + 10 + size) .. sub(region, 8 * place + 1, 8 * (place + numbers)))
    here = here + 11 + size
  end
  here = nodes
  while home and here < #home do
    local id, _, time, length, next = unpack_from('<c8ddH', home, here)
    if id ~= node and time >= forgotten then put('n' .. id, sub(home, here + 8, next + length - 1)) end
    here = next + length
  end
  mine = 0
  write_many(fields, entry, ends)
end
