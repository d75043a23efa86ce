redis.call('HSETNX', state, 'secret', ARGV[1])
return {redis.call('HGET', state, 'secret')}
