-- Who may see a revision stands beside it, so that it is judged before its body is read. Each row has a sum over its other columns, which whoever reads the row compares. Revisions and kept texts have none:
-- they are found by their digests. `tallies` counts rows; `set_aside` names damaged revisions that are left out from then on.

DROP TRIGGER beliefs_only_end;

ALTER TABLE objects ADD COLUMN labels TEXT NOT NULL DEFAULT '';
ALTER TABLE beliefs ADD COLUMN labels TEXT NOT NULL DEFAULT '';
CREATE TABLE labelled AS SELECT number, CASE WHEN json_valid(body) IS NOT 1 THEN ''
  WHEN json_type(body) <> 'object' THEN '' ELSE json_patch('{}', json_object(
  'security_classification', body ->> 'security_classification', 'permission_scope', body -> 'permission_scope',
  'user_id', body ->> 'user_id', 'project_id', body ->> 'project_id', 'session_id', body ->> 'session_id',
  'task_id', body ->> 'task_id', 'tags', body -> 'tags', 'subjects', body -> 'subjects',
  'source_origin', body ->> 'source_origin', 'origins', body -> 'origins')) END AS labels
FROM revisions;
CREATE UNIQUE INDEX labelled_by_number ON labelled (number);
-- What is lost or damaged has no labels; that keeps no file from being brought up to date.
UPDATE objects SET labels = coalesce((SELECT l.labels FROM labelled l WHERE l.number = head_number), '');
UPDATE beliefs SET labels = coalesce((SELECT l.labels FROM labelled l WHERE l.number = revision_number), '');
DROP TABLE labelled;

ALTER TABLE tenants ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE objects ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE beliefs ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE writes ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tombstones ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE answers ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE record_objects ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;

UPDATE tenants SET sum = row_sum('tenants', number, tenant, version, at, places, key);
UPDATE objects SET sum = row_sum('objects', tenant, object, place, name, head, head_number, labels);
UPDATE beliefs SET sum = row_sum('beliefs', tenant, place, tx_start, part, object, opened, tx_end, closed, revision,
  revision_number, valid_from, valid_until, contradiction, superseded_by, lifecycle, labels);
UPDATE usage SET sum = row_sum('usage', tenant, object, access_count, last_used, last_confirmed);
UPDATE writes SET sum = row_sum('writes', tenant, version, at, verb, author, objects);
UPDATE changes SET sum = row_sum('changes', tenant, version, places);
UPDATE tombstones SET sum = row_sum('tombstones', tenant, digest, version, at);
UPDATE answers SET sum = row_sum('answers', tenant, key, asked, answer);
UPDATE records SET sum = row_sum('records', tenant, record, compiled_at, body);
UPDATE record_objects SET sum = row_sum('record_objects', tenant, object, record);
UPDATE entries SET sum = row_sum('entries', tenant, log, number, body);

CREATE TRIGGER beliefs_only_end BEFORE UPDATE ON beliefs
WHEN OLD.tx_end IS NOT NULL OR NEW.tx_end IS NULL
  OR OLD.tenant IS NOT NEW.tenant OR OLD.place IS NOT NEW.place
  OR OLD.tx_start IS NOT NEW.tx_start OR OLD.part IS NOT NEW.part
  OR OLD.object IS NOT NEW.object OR OLD.opened IS NOT NEW.opened
  OR OLD.revision IS NOT NEW.revision OR OLD.revision_number IS NOT NEW.revision_number
  OR OLD.valid_from IS NOT NEW.valid_from OR OLD.valid_until IS NOT NEW.valid_until
  OR OLD.contradiction IS NOT NEW.contradiction OR OLD.superseded_by IS NOT NEW.superseded_by
  OR OLD.lifecycle IS NOT NEW.lifecycle OR OLD.labels IS NOT NEW.labels
BEGIN SELECT RAISE(ABORT, 'a belief is immutable; it can only end, once'); END;

-- Which revisions were found damaged and are left out. The rows themselves stay as they are.
CREATE TABLE set_aside (
  tenant   TEXT NOT NULL,
  revision BLOB NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (tenant, revision)
) STRICT, WITHOUT ROWID;

-- How many rows there are in tables that nothing else tells the rows of.
CREATE TABLE tallies (
  tenant TEXT NOT NULL,
  name   TEXT NOT NULL,
  rows   INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
INSERT INTO tallies SELECT tenant, 'usage', count(*) FROM usage GROUP BY tenant;
INSERT INTO tallies SELECT tenant, 'tombstones', count(*) FROM tombstones GROUP BY tenant;
INSERT INTO tallies SELECT tenant, 'answers', count(*) FROM answers GROUP BY tenant;
INSERT INTO tallies SELECT tenant, 'records', count(*) FROM records GROUP BY tenant;
INSERT INTO tallies SELECT tenant, 'record_objects', count(*) FROM record_objects GROUP BY tenant;
INSERT INTO tallies SELECT tenant, 'blobs', count(*) FROM blobs GROUP BY tenant;
INSERT INTO tallies SELECT tenant, 'entries', count(*) FROM entries GROUP BY tenant;

CREATE TRIGGER usage_come AFTER INSERT ON usage BEGIN
  INSERT INTO tallies VALUES (NEW.tenant, 'usage', 1) ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER usage_go AFTER DELETE ON usage BEGIN
  UPDATE tallies SET rows = rows - 1 WHERE tenant = OLD.tenant AND name = 'usage';
END;

CREATE TRIGGER tombstones_come AFTER INSERT ON tombstones BEGIN
  INSERT INTO tallies VALUES (NEW.tenant, 'tombstones', 1) ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER tombstones_go AFTER DELETE ON tombstones BEGIN
  UPDATE tallies SET rows = rows - 1 WHERE tenant = OLD.tenant AND name = 'tombstones';
END;

CREATE TRIGGER answers_come AFTER INSERT ON answers BEGIN
  INSERT INTO tallies VALUES (NEW.tenant, 'answers', 1) ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER answers_go AFTER DELETE ON answers BEGIN
  UPDATE tallies SET rows = rows - 1 WHERE tenant = OLD.tenant AND name = 'answers';
END;

CREATE TRIGGER records_come AFTER INSERT ON records BEGIN
  INSERT INTO tallies VALUES (NEW.tenant, 'records', 1) ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER records_go AFTER DELETE ON records BEGIN
  UPDATE tallies SET rows = rows - 1 WHERE tenant = OLD.tenant AND name = 'records';
END;

CREATE TRIGGER record_objects_come AFTER INSERT ON record_objects BEGIN
  INSERT INTO tallies VALUES (NEW.tenant, 'record_objects', 1) ON CONFLICT DO UPDATE SET rows = rows + 1;
END;

CREATE TRIGGER record_objects_go AFTER DELETE ON record_objects BEGIN
  UPDATE tallies SET rows = rows - 1 WHERE tenant = OLD.tenant AND name = 'record_objects';
END;

CREATE TRIGGER blobs_come AFTER INSERT ON blobs BEGIN
  INSERT INTO tallies VALUES (NEW.tenant, 'blobs', 1) ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER blobs_go AFTER DELETE ON blobs BEGIN
  UPDATE tallies SET rows = rows - 1 WHERE tenant = OLD.tenant AND name = 'blobs';
END;

CREATE TRIGGER entries_come AFTER INSERT ON entries BEGIN
  INSERT INTO tallies VALUES (NEW.tenant, 'entries', 1) ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER entries_go AFTER DELETE ON entries BEGIN
  UPDATE tallies SET rows = rows - 1 WHERE tenant = OLD.tenant AND name = 'entries';
END;
