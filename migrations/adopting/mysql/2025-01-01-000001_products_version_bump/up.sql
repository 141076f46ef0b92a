-- Moves the version for writers that know none: an UPDATE that does not move it forward gets the next one, also when it
-- changed nothing else. A write that moves it itself passes untouched.
--
-- The file goes to the server as it is, and that knows where the trigger ends. Only the command line client needs a
-- DELIMITER.
SET SESSION lock_wait_timeout = 5;
CREATE TRIGGER products_version_bump
BEFORE UPDATE ON products
FOR EACH ROW
BEGIN
    IF NEW.version IS NULL OR NEW.version <= OLD.version THEN
        SET NEW.version = COALESCE(OLD.version, 0) + 1;
    END IF;
END;
SET SESSION lock_wait_timeout = DEFAULT;
