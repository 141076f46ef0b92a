-- Every row that is there gets version 0, and so does every row that an INSERT adds without naming the column. No row is
-- written: MySQL 8.0.12, MariaDB 10.3. Where that cannot be done, the statement fails and the table is as it was.
-- https://dev.mysql.com/doc/refman/8.4/en/innodb-online-ddl-operations.html
-- https://mariadb.com/kb/en/innodb-online-ddl-operations-with-the-instant-alter-algorithm/
--
-- Everybody who comes later waits behind an ALTER TABLE that waits, and it would wait for a day or a year. Better it gives
-- up, and is run again.
SET SESSION lock_wait_timeout = 5;
ALTER TABLE products ADD COLUMN version BIGINT NOT NULL DEFAULT 0, ALGORITHM=INSTANT;
SET SESSION lock_wait_timeout = DEFAULT;
