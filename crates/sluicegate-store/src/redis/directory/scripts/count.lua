return {redis.call('ZCARD', live), tonumber(redis.call('HGET', state, 'usable') or 0)}
