-- Who may see a revision stands beside it, so that it is judged before its body is read. The owner writes here for all
-- tenants, which the wall would hinder.

ALTER TABLE objects ADD COLUMN labels text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE beliefs ADD COLUMN labels text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE objects NO FORCE ROW LEVEL SECURITY;
ALTER TABLE beliefs NO FORCE ROW LEVEL SECURITY;
ALTER TABLE revisions NO FORCE ROW LEVEL SECURITY;
DROP TRIGGER IF EXISTS beliefs_only_end ON beliefs;

CREATE FUNCTION labels_of(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (SELECT CASE WHEN json_typeof(b) <> 'object' THEN '' ELSE json_strip_nulls(json_build_object(
    'security_classification', b -> 'security_classification', 'permission_scope', b -> 'permission_scope',
    'user_id', b -> 'user_id', 'project_id', b -> 'project_id', 'session_id', b -> 'session_id',
    'task_id', b -> 'task_id', 'tags', b -> 'tags', 'subjects', b -> 'subjects',
    'source_origin', b -> 'source_origin', 'origins', b -> 'origins'))::text END FROM (SELECT body::json AS b) AS parsed);
EXCEPTION WHEN OTHERS THEN
  -- What is damaged has no labels; that keeps no store from being brought up to date.
  RETURN '';
END
$$;
UPDATE objects o SET labels = labels_of(r.body) FROM revisions r WHERE r.tenant = o.tenant AND r.revision = o.head;
UPDATE beliefs b SET labels = labels_of(r.body) FROM revisions r WHERE r.tenant = b.tenant AND r.revision = b.revision;
DROP FUNCTION labels_of;

ALTER TABLE objects FORCE ROW LEVEL SECURITY;
ALTER TABLE beliefs FORCE ROW LEVEL SECURITY;
ALTER TABLE revisions FORCE ROW LEVEL SECURITY;

CREATE TRIGGER beliefs_only_end BEFORE UPDATE ON beliefs
FOR EACH ROW WHEN (
  OLD.tx_end IS NOT NULL OR NEW.tx_end IS NULL
  OR (OLD.tenant, OLD.object, OLD.tx_start, OLD.part, OLD.opened, OLD.revision, OLD.valid_from,
      OLD.valid_until, OLD.contradiction, OLD.superseded_by, OLD.lifecycle, OLD.labels)
    IS DISTINCT FROM
     (NEW.tenant, NEW.object, NEW.tx_start, NEW.part, NEW.opened, NEW.revision, NEW.valid_from,
      NEW.valid_until, NEW.contradiction, NEW.superseded_by, NEW.lifecycle, NEW.labels))
EXECUTE FUNCTION refuse('a belief is immutable; it can only end, once');

GRANT UPDATE (labels) ON objects TO tenure_app;

-- Which revisions were found damaged and are left out. The rows themselves stay as they are.

CREATE TABLE set_aside (
  tenant   text COLLATE "C" NOT NULL,
  revision bytea NOT NULL,
  at       bigint NOT NULL,
  PRIMARY KEY (tenant, revision)
);

DO $$
BEGIN
  ALTER TABLE set_aside ENABLE ROW LEVEL SECURITY;
  ALTER TABLE set_aside FORCE ROW LEVEL SECURITY;
  CREATE POLICY one_tenant ON set_aside USING (tenant = nullif(current_setting('tenure.tenant', true), ''))
    WITH CHECK (tenant = nullif(current_setting('tenure.tenant', true), ''));
END $$;

GRANT SELECT, INSERT, DELETE ON set_aside TO tenure_app;
