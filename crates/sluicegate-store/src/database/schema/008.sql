-- What narrows a key: networks and origins separated by blanks, and its own limits as JSON.
ALTER TABLE keys ADD COLUMN allowed_ips TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN allowed_origins TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN limits TEXT;
-- By the minute.
ALTER TABLE keys ADD COLUMN last_used_at INTEGER;
