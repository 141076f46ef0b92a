SET LOCAL lock_timeout = '5s';
DROP TRIGGER products_version_required ON products;
DROP FUNCTION products_version_required();
