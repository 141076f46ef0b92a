-- Refuses an UPDATE that does not move the version by exactly one. Instead of the trigger that bumps, not beside it: that one
-- comes first, by its name, and there is nothing left to refuse.
--
-- A trigger of yours that sends one more UPDATE of the row (an updated_at) would be refused too, and with it the write that
-- set it off. Let it set NEW in a BEFORE trigger, or name the columns that it does not write: BEFORE UPDATE OF name, stock,
-- version ON products.
SET LOCAL lock_timeout = '5s';
CREATE FUNCTION products_version_required() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'products: an UPDATE must set version = version + 1'
        USING ERRCODE = 'integrity_constraint_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
END
$$;
CREATE TRIGGER products_version_required
BEFORE UPDATE ON products
FOR EACH ROW
WHEN (NEW.version IS DISTINCT FROM COALESCE(OLD.version, 0) + 1)
EXECUTE FUNCTION products_version_required();
