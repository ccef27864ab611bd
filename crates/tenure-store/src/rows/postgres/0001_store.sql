-- The tables of the SQLite engine, column for column. Every key starts with the tenant and nothing
-- refers from one tenant to another, so that the rows can be spread over nodes by `tenant`. Instants
-- are microseconds since 1970; NULL is an unknown start or an open end. Transaction time rises with
-- every write of a tenant, so a stamp's instant is a key. Texts sort by their bytes.

CREATE TABLE tenants (
  tenant  text COLLATE "C" NOT NULL PRIMARY KEY CHECK (tenant <> ''),
  version bigint NOT NULL,
  at      bigint NOT NULL,
  places  bigint NOT NULL DEFAULT 0,
  key     bytea NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE objects (
  tenant  text COLLATE "C" NOT NULL,
  place   bigint NOT NULL,
  object  uuid NOT NULL,
  name    text COLLATE "C" NOT NULL,
  head    bytea NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (tenant, place),
  UNIQUE (tenant, object)
);
CREATE INDEX objects_by_name ON objects (tenant, name);
CREATE INDEX objects_by_change ON objects (tenant, changed);

CREATE TABLE revisions (
  tenant   text COLLATE "C" NOT NULL,
  revision bytea NOT NULL,
  object   uuid NOT NULL,
  content  bytea NOT NULL,
  body     text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, revision)
);

CREATE TABLE beliefs (
  tenant        text COLLATE "C" NOT NULL,
  object        uuid NOT NULL,
  tx_start      bigint NOT NULL,
  part          integer NOT NULL,
  opened        bigint NOT NULL,
  tx_end        bigint,
  closed        bigint,
  revision      bytea NOT NULL,
  valid_from    bigint,
  valid_until   bigint,
  contradiction text COLLATE "C" NOT NULL,
  superseded_by uuid,
  lifecycle     text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, object, tx_start, part),
  CHECK ((tx_end IS NULL) = (closed IS NULL)),
  CHECK (tx_end > tx_start),
  CHECK (valid_until > valid_from)
);
CREATE INDEX beliefs_held ON beliefs (tenant, object) WHERE tx_end IS NULL;

CREATE TABLE links (
  tenant text COLLATE "C" NOT NULL,
  parent uuid NOT NULL,
  child  uuid NOT NULL,
  PRIMARY KEY (tenant, parent, child)
);
CREATE INDEX links_by_child ON links (tenant, child);

CREATE TABLE subjects (
  tenant  text COLLATE "C" NOT NULL,
  object  uuid NOT NULL,
  subject text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, object, subject)
);
CREATE INDEX subjects_by_name ON subjects (tenant, subject);

CREATE TABLE usage (
  tenant         text COLLATE "C" NOT NULL,
  object         uuid NOT NULL,
  access_count   bigint NOT NULL,
  last_used      bigint,
  last_confirmed bigint,
  PRIMARY KEY (tenant, object)
);

CREATE TABLE writes (
  tenant  text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  at      bigint NOT NULL,
  verb    text COLLATE "C" NOT NULL,
  author  text COLLATE "C",
  objects bigint NOT NULL,
  PRIMARY KEY (tenant, version)
);

CREATE TABLE tombstones (
  tenant  text COLLATE "C" NOT NULL,
  digest  bytea NOT NULL,
  version bigint NOT NULL,
  at      bigint NOT NULL,
  PRIMARY KEY (tenant, digest)
);

CREATE TABLE answers (
  tenant text COLLATE "C" NOT NULL,
  key    text COLLATE "C" NOT NULL,
  asked  bytea NOT NULL,
  answer text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, key)
);

CREATE TABLE records (
  tenant      text COLLATE "C" NOT NULL,
  record      text COLLATE "C" NOT NULL,
  compiled_at bigint NOT NULL,
  body        text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, record)
);
CREATE INDEX records_by_time ON records (tenant, compiled_at);

CREATE TABLE record_objects (
  tenant text COLLATE "C" NOT NULL,
  object uuid NOT NULL,
  record text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, object, record)
);
CREATE INDEX record_objects_by_record ON record_objects (tenant, record);

CREATE TABLE blobs (
  tenant text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  bytes  bytea NOT NULL,
  PRIMARY KEY (tenant, digest)
);

CREATE TABLE entries (
  tenant text COLLATE "C" NOT NULL,
  log    text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  body   text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, log, number)
);

-- What is being erased, within the transaction that does it.
CREATE TABLE erasing (
  tenant text COLLATE "C" NOT NULL,
  object uuid NOT NULL,
  PRIMARY KEY (tenant, object)
);

-- What never changes.

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION refuse_unless_erasing() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM erasing e WHERE e.tenant = OLD.tenant AND e.object = OLD.object) THEN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER revisions_never_change BEFORE UPDATE ON revisions
FOR EACH ROW EXECUTE FUNCTION refuse('a revision is immutable');

CREATE TRIGGER revisions_stay BEFORE DELETE ON revisions
FOR EACH ROW EXECUTE FUNCTION refuse_unless_erasing('a revision leaves by an erasure only');

CREATE TRIGGER revisions_stay_all BEFORE TRUNCATE ON revisions
EXECUTE FUNCTION refuse('a revision leaves by an erasure only');

CREATE TRIGGER beliefs_only_end BEFORE UPDATE ON beliefs
FOR EACH ROW WHEN (
  OLD.tx_end IS NOT NULL OR NEW.tx_end IS NULL
  OR (OLD.tenant, OLD.object, OLD.tx_start, OLD.part, OLD.opened, OLD.revision, OLD.valid_from,
      OLD.valid_until, OLD.contradiction, OLD.superseded_by, OLD.lifecycle)
    IS DISTINCT FROM
     (NEW.tenant, NEW.object, NEW.tx_start, NEW.part, NEW.opened, NEW.revision, NEW.valid_from,
      NEW.valid_until, NEW.contradiction, NEW.superseded_by, NEW.lifecycle))
EXECUTE FUNCTION refuse('a belief is immutable; it can only end, once');

CREATE TRIGGER beliefs_stay BEFORE DELETE ON beliefs
FOR EACH ROW EXECUTE FUNCTION refuse_unless_erasing('a belief leaves by an erasure only');

CREATE TRIGGER beliefs_stay_all BEFORE TRUNCATE ON beliefs
EXECUTE FUNCTION refuse('a belief leaves by an erasure only');

-- Beliefs about one object never overlap: by an exclusion constraint where the extension for it can be
-- had, else by a trigger, which lets the writers of a tenant in one after the other. The constraint speaks
-- of `closed`, statements of `tx_end`, which says the same: its index serves no statement, so none is ever
-- planned over it, for want of statistics, in the place of the one that is meant for it.

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'btree_gist') THEN
    BEGIN
      CREATE EXTENSION IF NOT EXISTS btree_gist;
    EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
      NULL;
    END;
  END IF;
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'btree_gist') THEN
    ALTER TABLE beliefs ADD CONSTRAINT beliefs_never_overlap EXCLUDE USING gist
      (tenant WITH =, object WITH =, int8range(valid_from, valid_until) WITH &&) WHERE (closed IS NULL);
    RETURN;
  END IF;
  CREATE FUNCTION refuse_overlap() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $f$
  BEGIN
    -- An update, so that a transaction whose snapshot is older than another's write fails here.
    UPDATE tenants SET places = places WHERE tenant IN (SELECT tenant FROM fresh);
    IF EXISTS (
      SELECT FROM fresh f WHERE NOT EXISTS (SELECT FROM tenants t WHERE t.tenant = f.tenant)
    ) OR EXISTS (
      SELECT FROM fresh f JOIN beliefs b ON b.tenant = f.tenant AND b.object = f.object
      WHERE f.tx_end IS NULL AND b.tx_end IS NULL
        AND (b.tx_start, b.part) <> (f.tx_start, f.part)
        AND int8range(b.valid_from, b.valid_until) && int8range(f.valid_from, f.valid_until)
    ) THEN
      RAISE EXCEPTION 'two beliefs about one object overlap' USING ERRCODE = 'exclusion_violation';
    END IF;
    RETURN NULL;
  END $f$;
  CREATE TRIGGER beliefs_never_overlap AFTER INSERT ON beliefs
  REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION refuse_overlap();
END $$;

-- The wall between tenants. Whoever reads or writes rows does so as `tenure_app`, for the one tenant
-- that the transaction names; a transaction that names none sees none. The owner lists tenants.

DO $$
DECLARE
  part name;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tenure_app') THEN
    BEGIN
      CREATE ROLE tenure_app NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL; -- The role is of the whole server: another database was faster.
    END;
  END IF;
  BEGIN
    PERFORM set_config('role', 'tenure_app', true);
  EXCEPTION WHEN insufficient_privilege OR invalid_parameter_value THEN
    EXECUTE format('GRANT tenure_app TO %I', session_user);
  END;
  PERFORM set_config('role', 'none', true);
  FOR part IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format(
      'CREATE POLICY one_tenant ON %I USING (tenant = nullif(current_setting(''tenure.tenant'', true), '''')) '
      'WITH CHECK (tenant = nullif(current_setting(''tenure.tenant'', true), ''''))', part);
  END LOOP;
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO tenure_app', current_schema());
END $$;

CREATE POLICY the_owner_lists ON tenants FOR SELECT TO CURRENT_USER USING (true);

GRANT SELECT, INSERT ON
  tenants, objects, revisions, beliefs, links, subjects, usage, writes, tombstones, answers, records,
  record_objects, blobs, entries, erasing TO tenure_app;
GRANT UPDATE (version, at, places) ON tenants TO tenure_app;
GRANT UPDATE (name, head, changed) ON objects TO tenure_app;
GRANT UPDATE (tx_end, closed) ON beliefs TO tenure_app;
GRANT UPDATE (access_count, last_used, last_confirmed) ON usage TO tenure_app;
GRANT UPDATE (body) ON records, entries TO tenure_app;
GRANT DELETE ON
  objects, revisions, beliefs, links, subjects, usage, records, record_objects, blobs, erasing TO tenure_app;
