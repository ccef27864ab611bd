-- Claims that cannot both hold. `claims` says which objects make a claim on a slot, the strongest first: by authority, then by
-- the later begin (`behind` is its negative). A slot is a keyed digest of its entity and its name. It follows from the
-- beliefs. `pairs` holds the judgements on pairs, with their history; of two objects the first has the lower id.

CREATE TABLE claims (
  tenant INTEGER NOT NULL,
  slot   INTEGER NOT NULL,
  level  INTEGER NOT NULL,
  behind INTEGER NOT NULL,
  object BLOB NOT NULL,
  PRIMARY KEY (tenant, slot, level, behind, object)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_by_object ON claims (tenant, object);

CREATE TABLE pairs (
  tenant   INTEGER NOT NULL,
  first    BLOB NOT NULL,
  second   BLOB NOT NULL,
  slot     INTEGER NOT NULL,
  tx_start INTEGER NOT NULL,
  opened   INTEGER NOT NULL,
  tx_end   INTEGER,
  closed   INTEGER,
  body     TEXT NOT NULL,
  sum      INTEGER NOT NULL,
  PRIMARY KEY (tenant, first, second, slot, tx_start),
  CHECK (first < second),
  CHECK ((tx_end IS NULL) = (closed IS NULL)),
  CHECK (tx_end > tx_start)
) STRICT, WITHOUT ROWID;
CREATE INDEX pairs_by_second ON pairs (tenant, second);
CREATE INDEX pairs_open ON pairs (tenant) WHERE tx_end IS NULL;

CREATE TRIGGER pairs_only_end BEFORE UPDATE ON pairs
WHEN OLD.tx_end IS NOT NULL OR NEW.tx_end IS NULL
  OR OLD.tenant IS NOT NEW.tenant OR OLD.first IS NOT NEW.first OR OLD.second IS NOT NEW.second
  OR OLD.slot IS NOT NEW.slot OR OLD.tx_start IS NOT NEW.tx_start OR OLD.opened IS NOT NEW.opened
  OR OLD.body IS NOT NEW.body
BEGIN SELECT RAISE(ABORT, 'a judgement on a pair is immutable; it can only end, once'); END;
