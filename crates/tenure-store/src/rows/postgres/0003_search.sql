-- Full-text search. `search` holds keyed digests of terms and no texts; `searched` says up to which version of
-- a tenant it goes.

CREATE TABLE search (
  tenant text COLLATE "C" NOT NULL,
  object uuid NOT NULL,
  terms  bigint[] NOT NULL,
  PRIMARY KEY (tenant, object)
);
CREATE INDEX search_by_term ON search USING gin (terms);

CREATE TABLE searched (
  tenant  text COLLATE "C" NOT NULL PRIMARY KEY,
  version bigint NOT NULL
);

DO $$
DECLARE
  part name;
BEGIN
  FOREACH part IN ARRAY ARRAY['search', 'searched'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format(
      'CREATE POLICY one_tenant ON %I USING (tenant = nullif(current_setting(''tenure.tenant'', true), '''')) '
      'WITH CHECK (tenant = nullif(current_setting(''tenure.tenant'', true), ''''))', part);
  END LOOP;
END $$;

GRANT SELECT, INSERT ON search, searched TO tenure_app;
GRANT UPDATE (terms) ON search TO tenure_app;
GRANT UPDATE (version) ON searched TO tenure_app;
GRANT DELETE ON search TO tenure_app;

-- Behind the wall between tenants no index is used that compares lists, for the comparison might tell what it
-- sees. So the one question over that index is asked by the owner, for the tenant that the transaction names:
-- the owner sees the digests of all tenants, which say nothing without their keys.

CREATE POLICY the_owner_searches ON search FOR SELECT TO CURRENT_USER USING (true);

-- It names the schema and searches none: a temporary view of the caller's would be asked with the owner's eyes.

DO $$
BEGIN
  EXECUTE format($f$
    CREATE FUNCTION matching(wanted bigint[]) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $s$
      SELECT s.object FROM %I.search s
      WHERE s.tenant = nullif(current_setting('tenure.tenant', true), '') AND s.terms @> wanted
    $s$ $f$, current_schema());
END $$;
REVOKE ALL ON FUNCTION matching FROM PUBLIC;
GRANT EXECUTE ON FUNCTION matching TO tenure_app;
