DROP TRIGGER products_version_bump;
