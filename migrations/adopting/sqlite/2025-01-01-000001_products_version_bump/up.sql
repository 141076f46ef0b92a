-- Moves the version for writers that know none: an UPDATE that does not move it forward gets the next one, also when it
-- changed nothing else. A write that moves it itself passes untouched.
--
-- A trigger of yours that updates the row once more (an updated_at) is such a writer too, and would move the version a
-- second time. Name the columns that it does not write: AFTER UPDATE OF name, stock, version ON products.
CREATE TRIGGER products_version_bump
AFTER UPDATE ON products
FOR EACH ROW
-- The UPDATE below moves the version forward, so this is false for it: no recursion.
WHEN NEW.version IS NULL OR NEW.version <= OLD.version
BEGIN
    -- SQLite would go on with a float.
    SELECT RAISE(ABORT, 'products: the version cannot grow any more') WHERE OLD.version = 9223372036854775807;
    UPDATE products SET version = COALESCE(OLD.version, 0) + 1 WHERE id = NEW.id;
END;
