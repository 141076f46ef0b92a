-- Refuses an UPDATE that does not move the version by exactly one. Instead of the trigger that bumps, not beside it.
--
-- A trigger of yours that updates the row once more (an updated_at) would be refused too, and with it the write that set
-- it off. Name the columns that it does not write: BEFORE UPDATE OF name, stock, version ON products.
CREATE TRIGGER products_version_required
BEFORE UPDATE ON products
FOR EACH ROW
-- After the largest version SQLite would go on with a float.
WHEN typeof(NEW.version) <> 'integer' OR NEW.version <> COALESCE(OLD.version, 0) + 1
BEGIN
    SELECT RAISE(ABORT, 'products: an UPDATE must set version = version + 1');
END;
