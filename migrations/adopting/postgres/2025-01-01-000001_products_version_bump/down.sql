SET LOCAL lock_timeout = '5s';
DROP TRIGGER products_version_bump ON products;
DROP FUNCTION products_version_bump();
