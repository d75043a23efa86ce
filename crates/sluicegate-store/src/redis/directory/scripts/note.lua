return done(enter(unpack(ARGV, 5)))
