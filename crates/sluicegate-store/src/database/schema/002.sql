-- The hash of the entry and of the link before it: 32 bytes, made by the program.
ALTER TABLE audit ADD COLUMN link BLOB NOT NULL DEFAULT x'';
