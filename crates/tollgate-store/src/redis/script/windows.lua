ask[3] = function(i, cost, mode, force, _, charged)
  local limit, first, last, held = A[i], 0, 0, 0
  if kind[i] == 3 then
    first = now - now % B[i]
    last = first + B[i]
  elseif now < S1[i] then
    first, last = S0[i], S1[i]
  elseif now < S2[i] then
    first, last = S1[i], S2[i]
  else
    first, last = S2[i], S3[i]
  end
  if v3[i] == first then
    held = v2[i]
  elseif v3[i] > first then
    -- The clock stepped back: the later window goes on.
    held, first, last = v2[i], v3[i], v1[i]
  end
  local room, count = held < limit and limit - held or 0, held
  if mode == 3 then
    if charged >= first then count = held > cost and held - cost or 0 end
  elseif force then
    count = held + cost
    if count > MOST then count = MOST end
  elseif cost <= limit - held then
    count = held + cost
  else
    return cost > limit and 2 or 1, room
  end
  if count ~= held then
    n1[i], n2[i], n3[i] = last, count, first
  else
    n1[i], n2[i], n3[i] = v1[i], v2[i], v3[i]
  end
  return 0, room
end
ask[4] = ask[3]

ask[5] = function(i, cost, mode, force, _, charged)
  local limit, length = A[i], B[i]
  local current, previous, start = v2[i], v3[i], v4[i]
  local first = now - now % length
  if first > start then
    previous = first - start == length and current or 0
    current, start = 0, first
  end
  local elapsed, weighted = now > start and now - start or 0, previous
  if previous > 0 and elapsed > 0 then
    if previous * (length - elapsed) <= MOST then
      weighted = floor(previous * (length - elapsed) / length)
    else
      weighted = divide(length - elapsed, previous, 0, length)
    end
  end
  local left = limit - current - weighted
  local room = left > 0 and left or 0
  n1[i], n2[i], n3[i], n4[i] = start + 2 * length, current, previous, start
  if mode == 3 then
    if charged >= start and current > 0 then
      n2[i] = current > cost and current - cost or 0
    elseif charged < start and start - charged <= length and previous > 0 then
      n3[i] = previous > cost and previous - cost or 0
    else
      n1[i], n2[i], n3[i], n4[i] = v1[i], v2[i], v3[i], v4[i]
    end
  elseif force then
    n2[i] = current + cost
    if n2[i] > MOST then n2[i] = MOST end
  elseif cost <= left then
    n2[i] = current + cost
  else
    return cost > limit and 2 or 1, room
  end
  return 0, room
end

ask[6] = function(i, cost, mode, force)
  local _, held = walk(i)
  local limit, used = A[i], v3[i] - held
  local room = used < limit and limit - used or 0
  n1[i] = cost
  if mode == 3 then return 0, room end
  if force then
    if cost > MOST - used then n1[i] = MOST - used end
    return 0, room
  end
  if cost <= limit - used then return 0, room end
  if cost > limit then return 2, room end
  wait[i] = freed(i, cost - (limit - used))
  return 1, room
end

ask[7] = function(i, _, mode, force, _, _, slot)
  local count, first = counting(i)
  n1[i] = 0
  if mode == 3 then return 0, 0 end
  if force and renews(i, slot) then
    n1[i] = 1
    return 0, 0
  end
  if count < A[i] then return 0, 0 end
  if count > A[i] then
    flush(i)
    local rows = call('ZRANGEBYSCORE', key[i], after_now(), '+inf', 'WITHSCORES', 'LIMIT', count - A[i], 1)
    first = tonumber(rows[2])
  end
  wait[i] = first - now
  return 1, 0
end

