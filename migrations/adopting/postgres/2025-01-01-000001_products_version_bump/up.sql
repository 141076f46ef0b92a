-- Moves the version for writers that know none: an UPDATE that does not move it forward gets the next one, also when it
-- changed nothing else. A write that moves it itself passes untouched.
--
-- A trigger of yours that sends one more UPDATE of the row (an updated_at) is such a writer too, and would move the version
-- a second time. Let it set NEW in a BEFORE trigger, or name the columns that it does not write: BEFORE UPDATE OF name,
-- stock, version ON products.
SET LOCAL lock_timeout = '5s';
CREATE FUNCTION products_version_bump() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := COALESCE(OLD.version, 0) + 1;
    RETURN NEW;
END
$$;
CREATE TRIGGER products_version_bump
BEFORE UPDATE ON products
FOR EACH ROW
-- Here, and not in the function: it is not called for a write that moves the version, and the column cannot be dropped while
-- the trigger needs it.
WHEN (NEW.version IS NULL OR NEW.version <= OLD.version)
EXECUTE FUNCTION products_version_bump();
