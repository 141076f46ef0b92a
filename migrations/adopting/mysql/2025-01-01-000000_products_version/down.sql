-- MySQL 8.0.29, MariaDB 10.4; before those take ALGORITHM=INPLACE, which copies the table while others write it.
-- Nothing stops you while a trigger names the column, but every UPDATE fails from then on. Drop the trigger before.
SET SESSION lock_wait_timeout = 5;
ALTER TABLE products DROP COLUMN version, ALGORITHM=INSTANT;
SET SESSION lock_wait_timeout = DEFAULT;
