SET SESSION lock_wait_timeout = 5;
DROP TRIGGER products_version_bump;
SET SESSION lock_wait_timeout = DEFAULT;
