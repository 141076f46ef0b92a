-- Every row that is there gets version 0, and so does every row that an INSERT adds without naming the column.
ALTER TABLE products ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
