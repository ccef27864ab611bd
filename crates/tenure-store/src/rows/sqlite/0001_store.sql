-- Every table is keyed by tenant. Instants are microseconds since 1970; NULL is an unknown start or an
-- open end. Transaction time rises with every write of a tenant, so a stamp's instant is a key.

CREATE TABLE tenants (
  tenant  TEXT NOT NULL PRIMARY KEY,
  version INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  places  INTEGER NOT NULL DEFAULT 0,
  key     BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE objects (
  tenant  TEXT NOT NULL,
  place   INTEGER NOT NULL,
  object  BLOB NOT NULL,
  name    TEXT NOT NULL,
  head    BLOB NOT NULL,
  changed INTEGER NOT NULL,
  PRIMARY KEY (tenant, place)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX objects_by_id ON objects (tenant, object);
CREATE INDEX objects_by_name ON objects (tenant, name);
CREATE INDEX objects_by_change ON objects (tenant, changed);

CREATE TABLE revisions (
  tenant   TEXT NOT NULL,
  revision BLOB NOT NULL,
  object   BLOB NOT NULL,
  content  BLOB NOT NULL,
  body     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX revisions_by_digest ON revisions (tenant, revision);

CREATE TABLE beliefs (
  tenant        TEXT NOT NULL,
  object        BLOB NOT NULL,
  tx_start      INTEGER NOT NULL,
  part          INTEGER NOT NULL,
  opened        INTEGER NOT NULL,
  tx_end        INTEGER,
  closed        INTEGER,
  revision      BLOB NOT NULL,
  valid_from    INTEGER,
  valid_until   INTEGER,
  contradiction TEXT NOT NULL,
  superseded_by BLOB,
  lifecycle     TEXT NOT NULL,
  PRIMARY KEY (tenant, object, tx_start, part),
  CHECK ((tx_end IS NULL) = (closed IS NULL)),
  CHECK (tx_end > tx_start),
  CHECK (valid_until > valid_from)
) STRICT, WITHOUT ROWID;
CREATE INDEX beliefs_held ON beliefs (tenant, object) WHERE tx_end IS NULL;

CREATE TABLE links (
  tenant TEXT NOT NULL,
  parent BLOB NOT NULL,
  child  BLOB NOT NULL,
  PRIMARY KEY (tenant, parent, child)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_child ON links (tenant, child);

CREATE TABLE subjects (
  tenant  TEXT NOT NULL,
  object  BLOB NOT NULL,
  subject TEXT NOT NULL,
  PRIMARY KEY (tenant, object, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX subjects_by_name ON subjects (tenant, subject);

CREATE TABLE usage (
  tenant         TEXT NOT NULL,
  object         BLOB NOT NULL,
  access_count   INTEGER NOT NULL,
  last_used      INTEGER,
  last_confirmed INTEGER,
  PRIMARY KEY (tenant, object)
) STRICT, WITHOUT ROWID;

CREATE TABLE writes (
  tenant  TEXT NOT NULL,
  version INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  verb    TEXT NOT NULL,
  author  TEXT,
  objects INTEGER NOT NULL,
  PRIMARY KEY (tenant, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
  tenant  TEXT NOT NULL,
  digest  BLOB NOT NULL,
  version INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
  tenant TEXT NOT NULL,
  key    TEXT NOT NULL,
  asked  BLOB NOT NULL,
  answer TEXT NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
  tenant      TEXT NOT NULL,
  record      TEXT NOT NULL,
  compiled_at INTEGER NOT NULL,
  body        TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_by_id ON records (tenant, record);
CREATE INDEX records_by_time ON records (tenant, compiled_at);

CREATE TABLE record_objects (
  tenant TEXT NOT NULL,
  object BLOB NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (tenant, object, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_objects_by_record ON record_objects (tenant, record);

CREATE TABLE blobs (
  tenant TEXT NOT NULL,
  digest BLOB NOT NULL,
  bytes  BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX blobs_by_digest ON blobs (tenant, digest);

CREATE TABLE entries (
  tenant TEXT NOT NULL,
  log    TEXT NOT NULL,
  number INTEGER NOT NULL,
  body   TEXT NOT NULL,
  PRIMARY KEY (tenant, log, number)
) STRICT, WITHOUT ROWID;

-- What is being erased, within the transaction that does it.
CREATE TABLE erasing (
  tenant TEXT NOT NULL,
  object BLOB NOT NULL,
  PRIMARY KEY (tenant, object)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER revisions_never_change BEFORE UPDATE ON revisions
BEGIN SELECT RAISE(ABORT, 'a revision is immutable'); END;

CREATE TRIGGER revisions_stay BEFORE DELETE ON revisions
WHEN NOT EXISTS (SELECT 1 FROM erasing e WHERE e.tenant = OLD.tenant AND e.object = OLD.object)
BEGIN SELECT RAISE(ABORT, 'a revision leaves by an erasure only'); END;

CREATE TRIGGER beliefs_only_end BEFORE UPDATE ON beliefs
WHEN OLD.tx_end IS NOT NULL OR NEW.tx_end IS NULL
  OR OLD.tenant IS NOT NEW.tenant OR OLD.object IS NOT NEW.object
  OR OLD.tx_start IS NOT NEW.tx_start OR OLD.part IS NOT NEW.part
  OR OLD.opened IS NOT NEW.opened OR OLD.revision IS NOT NEW.revision
  OR OLD.valid_from IS NOT NEW.valid_from OR OLD.valid_until IS NOT NEW.valid_until
  OR OLD.contradiction IS NOT NEW.contradiction OR OLD.superseded_by IS NOT NEW.superseded_by
  OR OLD.lifecycle IS NOT NEW.lifecycle
BEGIN SELECT RAISE(ABORT, 'a belief is immutable; it can only end, once'); END;

CREATE TRIGGER beliefs_stay BEFORE DELETE ON beliefs
WHEN NOT EXISTS (SELECT 1 FROM erasing e WHERE e.tenant = OLD.tenant AND e.object = OLD.object)
BEGIN SELECT RAISE(ABORT, 'a belief leaves by an erasure only'); END;

CREATE TRIGGER beliefs_never_overlap BEFORE INSERT ON beliefs
WHEN NEW.tx_end IS NULL AND EXISTS (
  SELECT 1 FROM beliefs b
  WHERE b.tenant = NEW.tenant AND b.object = NEW.object AND b.tx_end IS NULL
    AND coalesce(b.valid_from, -9223372036854775808) < coalesce(NEW.valid_until, 9223372036854775807)
    AND coalesce(NEW.valid_from, -9223372036854775808) < coalesce(b.valid_until, 9223372036854775807))
BEGIN SELECT RAISE(ABORT, 'two beliefs about one object overlap'); END;
