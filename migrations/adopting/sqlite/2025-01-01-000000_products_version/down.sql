-- Needs SQLite 3.35. A trigger that names the column must be gone before.
ALTER TABLE products DROP COLUMN version;
