-- Claims that cannot both hold. `claims` says which objects make a claim on a slot, the strongest first: by authority, then by
-- the later begin (`behind` is its negative). A slot is a keyed digest of its entity and its name. It follows from the
-- beliefs. `pairs` holds the judgements on pairs, with their history; of two objects the first has the lower id.

CREATE TABLE claims (
  tenant text COLLATE "C" NOT NULL,
  slot   bigint NOT NULL,
  level  integer NOT NULL,
  behind bigint NOT NULL,
  object uuid NOT NULL,
  PRIMARY KEY (tenant, slot, level, behind, object)
);
CREATE INDEX claims_by_object ON claims (tenant, object);

CREATE TABLE pairs (
  tenant   text COLLATE "C" NOT NULL,
  first    uuid NOT NULL,
  second   uuid NOT NULL,
  slot     bigint NOT NULL,
  tx_start bigint NOT NULL,
  opened   bigint NOT NULL,
  tx_end   bigint,
  closed   bigint,
  body     text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, first, second, slot, tx_start),
  CHECK (first < second),
  CHECK ((tx_end IS NULL) = (closed IS NULL)),
  CHECK (tx_end > tx_start)
);
CREATE INDEX pairs_by_second ON pairs (tenant, second);
CREATE INDEX pairs_open ON pairs (tenant) WHERE tx_end IS NULL;

CREATE TRIGGER pairs_only_end BEFORE UPDATE ON pairs
FOR EACH ROW WHEN (
  OLD.tx_end IS NOT NULL OR NEW.tx_end IS NULL
  OR (OLD.tenant, OLD.first, OLD.second, OLD.slot, OLD.tx_start, OLD.opened, OLD.body)
    IS DISTINCT FROM
     (NEW.tenant, NEW.first, NEW.second, NEW.slot, NEW.tx_start, NEW.opened, NEW.body))
EXECUTE FUNCTION refuse('a judgement on a pair is immutable; it can only end, once');

DO $$
DECLARE
  part name;
BEGIN
  FOREACH part IN ARRAY ARRAY['claims', 'pairs'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format(
      'CREATE POLICY one_tenant ON %I USING (tenant = nullif(current_setting(''tenure.tenant'', true), '''')) '
      'WITH CHECK (tenant = nullif(current_setting(''tenure.tenant'', true), ''''))', part);
  END LOOP;
END $$;

GRANT SELECT, INSERT, DELETE ON claims TO tenure_app;
GRANT SELECT, INSERT, DELETE ON pairs TO tenure_app;
GRANT UPDATE (tx_end, closed) ON pairs TO tenure_app;
