SET SESSION lock_wait_timeout = 5;
DROP TRIGGER products_version_required;
SET SESSION lock_wait_timeout = DEFAULT;
