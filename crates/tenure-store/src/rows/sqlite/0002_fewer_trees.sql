-- Fewer trees for each object. A tenant has a number, an object its place, and beliefs are kept in the order
-- of these: what is new goes to the end of each tree but two, those that find an object by its id and by its
-- name. A revision is found by the number of its row, which the beliefs about it have; which objects a write
-- changed is one row of `changes` in the place of an index over all of them.

CREATE TABLE numbered_tenants (
  number  INTEGER PRIMARY KEY,
  tenant  TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  places  INTEGER NOT NULL DEFAULT 0,
  key     BLOB NOT NULL
) STRICT;
INSERT INTO numbered_tenants (tenant, version, at, places, key)
SELECT tenant, version, at, places, key FROM tenants ORDER BY tenant;

CREATE TABLE placed_revisions (
  number  INTEGER PRIMARY KEY,
  tenant  INTEGER NOT NULL,
  place   INTEGER NOT NULL,
  content BLOB NOT NULL,
  body    TEXT NOT NULL
) STRICT;
INSERT INTO placed_revisions (number, tenant, place, content, body)
SELECT r.rowid, t.number, o.place, r.content, r.body FROM revisions r
JOIN numbered_tenants t ON t.tenant = r.tenant
JOIN objects o ON o.tenant = r.tenant AND o.object = r.object;

CREATE TABLE found_objects (
  tenant      INTEGER NOT NULL,
  object      BLOB NOT NULL,
  place       INTEGER NOT NULL,
  name        TEXT NOT NULL,
  head        BLOB NOT NULL,
  head_number INTEGER NOT NULL,
  PRIMARY KEY (tenant, object)
) STRICT, WITHOUT ROWID;
INSERT INTO found_objects (tenant, object, place, name, head, head_number)
SELECT t.number, o.object, o.place, o.name, o.head, r.rowid FROM objects o
JOIN numbered_tenants t ON t.tenant = o.tenant
JOIN revisions r ON r.tenant = o.tenant AND r.revision = o.head
ORDER BY t.number, o.object;

CREATE TABLE placed_beliefs (
  tenant          INTEGER NOT NULL,
  place           INTEGER NOT NULL,
  tx_start        INTEGER NOT NULL,
  part            INTEGER NOT NULL,
  object          BLOB NOT NULL,
  opened          INTEGER NOT NULL,
  tx_end          INTEGER,
  closed          INTEGER,
  revision        BLOB NOT NULL,
  revision_number INTEGER NOT NULL,
  valid_from      INTEGER,
  valid_until     INTEGER,
  contradiction   TEXT NOT NULL,
  superseded_by   BLOB,
  lifecycle       TEXT NOT NULL,
  PRIMARY KEY (tenant, place, tx_start, part),
  CHECK ((tx_end IS NULL) = (closed IS NULL)),
  CHECK (tx_end > tx_start),
  CHECK (valid_until > valid_from)
) STRICT, WITHOUT ROWID;
INSERT INTO placed_beliefs
SELECT t.number, o.place, b.tx_start, b.part, b.object, b.opened, b.tx_end, b.closed, b.revision, r.rowid,
       b.valid_from, b.valid_until, b.contradiction, b.superseded_by, b.lifecycle
FROM beliefs b
JOIN numbered_tenants t ON t.tenant = b.tenant
JOIN objects o ON o.tenant = b.tenant AND o.object = b.object
JOIN revisions r ON r.tenant = b.tenant AND r.revision = b.revision
ORDER BY t.number, o.place, b.tx_start, b.part;

-- The places of the objects that a write changed, as ranges: `0-99,104-104`.
CREATE TABLE changes (
  tenant  INTEGER NOT NULL,
  version INTEGER NOT NULL,
  places  TEXT NOT NULL,
  PRIMARY KEY (tenant, version)
) STRICT, WITHOUT ROWID;
INSERT INTO changes (tenant, version, places)
SELECT number, changed, group_concat(lowest || '-' || highest) FROM (
  SELECT number, changed, min(place) AS lowest, max(place) AS highest FROM (
    SELECT t.number, o.changed, o.place,
           o.place - row_number() OVER (PARTITION BY o.tenant, o.changed ORDER BY o.place) AS run
    FROM objects o JOIN numbered_tenants t ON t.tenant = o.tenant)
  GROUP BY number, changed, run)
GROUP BY number, changed;

-- A row that found no partner above would be lost: then the file is not as it was written, and stays as it is.
CREATE TABLE whole (nothing_is_lost INTEGER NOT NULL CHECK (nothing_is_lost)) STRICT;
INSERT INTO whole SELECT
  (SELECT count(*) FROM revisions) = (SELECT count(*) FROM placed_revisions)
  AND (SELECT count(*) FROM objects) = (SELECT count(*) FROM found_objects)
  AND (SELECT count(*) FROM beliefs) = (SELECT count(*) FROM placed_beliefs);
DROP TABLE whole;

DROP TABLE beliefs;
DROP TABLE revisions;
DROP TABLE objects;
DROP TABLE tenants;
DROP TABLE erasing;
ALTER TABLE numbered_tenants RENAME TO tenants;
ALTER TABLE placed_revisions RENAME TO revisions;
ALTER TABLE found_objects RENAME TO objects;
ALTER TABLE placed_beliefs RENAME TO beliefs;
CREATE INDEX objects_by_name ON objects (tenant, name);
CREATE INDEX beliefs_held ON beliefs (tenant, place) WHERE tx_end IS NULL;

CREATE TABLE erasing (
  tenant INTEGER NOT NULL,
  place  INTEGER NOT NULL,
  PRIMARY KEY (tenant, place)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER revisions_never_change BEFORE UPDATE ON revisions
BEGIN SELECT RAISE(ABORT, 'a revision is immutable'); END;

CREATE TRIGGER revisions_stay BEFORE DELETE ON revisions
WHEN NOT EXISTS (SELECT 1 FROM erasing e WHERE e.tenant = OLD.tenant AND e.place = OLD.place)
BEGIN SELECT RAISE(ABORT, 'a revision leaves by an erasure only'); END;

CREATE TRIGGER beliefs_only_end BEFORE UPDATE ON beliefs
WHEN OLD.tx_end IS NOT NULL OR NEW.tx_end IS NULL
  OR OLD.tenant IS NOT NEW.tenant OR OLD.place IS NOT NEW.place
  OR OLD.tx_start IS NOT NEW.tx_start OR OLD.part IS NOT NEW.part
  OR OLD.object IS NOT NEW.object OR OLD.opened IS NOT NEW.opened
  OR OLD.revision IS NOT NEW.revision OR OLD.revision_number IS NOT NEW.revision_number
  OR OLD.valid_from IS NOT NEW.valid_from OR OLD.valid_until IS NOT NEW.valid_until
  OR OLD.contradiction IS NOT NEW.contradiction OR OLD.superseded_by IS NOT NEW.superseded_by
  OR OLD.lifecycle IS NOT NEW.lifecycle
BEGIN SELECT RAISE(ABORT, 'a belief is immutable; it can only end, once'); END;

CREATE TRIGGER beliefs_stay BEFORE DELETE ON beliefs
WHEN NOT EXISTS (SELECT 1 FROM erasing e WHERE e.tenant = OLD.tenant AND e.place = OLD.place)
BEGIN SELECT RAISE(ABORT, 'a belief leaves by an erasure only'); END;

-- FAIL and not ABORT: nothing was written yet that would have to be undone, and SQLite would copy pages for
-- each row to be able to.
CREATE TRIGGER beliefs_never_overlap BEFORE INSERT ON beliefs
WHEN NEW.tx_end IS NULL AND EXISTS (
  SELECT 1 FROM beliefs b
  WHERE b.tenant = NEW.tenant AND b.place = NEW.place AND b.tx_end IS NULL
    AND coalesce(b.valid_from, -9223372036854775808) < coalesce(NEW.valid_until, 9223372036854775807)
    AND coalesce(NEW.valid_from, -9223372036854775808) < coalesce(b.valid_until, 9223372036854775807))
BEGIN SELECT RAISE(FAIL, 'two beliefs about one object overlap'); END;
