-- Refuses an UPDATE that does not move the version by exactly one. Instead of the trigger that bumps, not beside it: the one
-- that was created first comes first, and when that bumps there is nothing left to refuse.
--
-- The file goes to the server as it is, and that knows where the trigger ends. Only the command line client needs a
-- DELIMITER.
SET SESSION lock_wait_timeout = 5;
CREATE TRIGGER products_version_required
BEFORE UPDATE ON products
FOR EACH ROW
BEGIN
    IF NOT (NEW.version <=> COALESCE(OLD.version, 0) + 1) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'products: an UPDATE must set version = version + 1';
    END IF;
END;
SET SESSION lock_wait_timeout = DEFAULT;
