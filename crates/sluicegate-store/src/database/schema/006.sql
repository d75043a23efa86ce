-- Deleted accounts by the id that they had, the newest first.
CREATE INDEX accounts_deleted ON accounts (id, serial DESC) WHERE deleted_at IS NOT NULL;
