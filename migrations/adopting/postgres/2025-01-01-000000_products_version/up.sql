-- Every row that is there gets version 0, and so does every row that an INSERT adds without naming the column. No row is
-- written: since PostgreSQL 11 the default of a column that is added is kept in the catalogue.
-- https://www.postgresql.org/docs/current/ddl-alter.html#DDL-ALTER-ADDING-A-COLUMN
--
-- Everybody who comes later waits behind an ALTER TABLE that waits. Better it gives up, and is run again.
SET LOCAL lock_timeout = '5s';
ALTER TABLE products ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
