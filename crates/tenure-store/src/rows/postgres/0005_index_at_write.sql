-- The index of terms is made by each write and not by a search, and knows the place of each object, so that a page of
-- what matches is found without the rest. `unsearched` names the tenants whose older objects are not in it yet.

DROP FUNCTION matching(bigint[]);
DROP TABLE search, searched;

CREATE TABLE search (
  tenant text COLLATE "C" NOT NULL,
  place  bigint NOT NULL,
  terms  bigint[] NOT NULL,
  PRIMARY KEY (tenant, place)
);
CREATE INDEX search_by_term ON search USING gin (terms);

CREATE TABLE unsearched (
  tenant text COLLATE "C" NOT NULL PRIMARY KEY
);
INSERT INTO unsearched (tenant) SELECT tenant FROM tenants;

DO $$
DECLARE
  part name;
BEGIN
  FOREACH part IN ARRAY ARRAY['search', 'unsearched'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format(
      'CREATE POLICY one_tenant ON %I USING (tenant = nullif(current_setting(''tenure.tenant'', true), '''')) '
      'WITH CHECK (tenant = nullif(current_setting(''tenure.tenant'', true), ''''))', part);
  END LOOP;
END $$;

GRANT SELECT, INSERT, DELETE ON search, unsearched TO tenure_app;
GRANT UPDATE (terms) ON search TO tenure_app;

-- Behind the wall between tenants no index is used that compares lists, for the comparison might tell what it
-- sees. So the one question over that index is asked by the owner, for the tenant that the transaction names:
-- the owner sees the digests of all tenants, which say nothing without their keys.

CREATE POLICY the_owner_searches ON search FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY the_owner_lists ON unsearched FOR SELECT TO CURRENT_USER USING (true);

-- It names the schema and searches none: a temporary view of the caller's would be asked with the owner's eyes. Of a
-- common term enough is found along the places, whatever the server knows of how common it is; a rare one is looked up.

DO $$
BEGIN
  EXECUTE format($f$
    CREATE FUNCTION matching(wanted bigint[], first bigint, last bigint, most bigint, backwards boolean)
    RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $s$
    DECLARE
      own    text := nullif(current_setting('tenure.tenant', true), '');
      run    text := ' WHERE s.tenant = $1 AND s.place BETWEEN $3 AND $4';
      sorted text := CASE WHEN backwards THEN ' ORDER BY place DESC' ELSE ' ORDER BY place' END;
      near   bigint[];
    BEGIN
      IF most <= 100 THEN
        EXECUTE 'SELECT array_agg(n.place) FROM (SELECT l.place FROM (SELECT s.place, s.terms FROM %1$I.search s'
          || run || sorted || ' LIMIT 400) l WHERE l.terms @> $2 LIMIT $5) n'
          INTO near USING own, wanted, first, last, most;
        IF cardinality(near) = most THEN
          RETURN QUERY SELECT unnest(near);
          RETURN;
        END IF;
      END IF;
      RETURN QUERY EXECUTE 'SELECT s.place FROM %1$I.search s' || run || ' AND s.terms @> $2' || sorted || ' LIMIT $5'
        USING own, wanted, first, last, most;
    END
    $s$ $f$, current_schema());
END $$;
REVOKE ALL ON FUNCTION matching(bigint[], bigint, bigint, bigint, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION matching(bigint[], bigint, bigint, bigint, boolean) TO tenure_app;
