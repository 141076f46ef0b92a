-- Writes no row. A trigger that names the column must be gone before.
SET LOCAL lock_timeout = '5s';
ALTER TABLE products DROP COLUMN version;
