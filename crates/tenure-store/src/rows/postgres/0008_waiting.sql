-- What waits for a person lies beside what is believed, and overlaps only nothing else that waits: by two constraints in the
-- place of one, where there is one, else by the trigger.

DO $$
BEGIN
  IF EXISTS (
    SELECT FROM pg_constraint c
    WHERE c.conrelid = 'beliefs'::regclass AND c.conname = 'beliefs_never_overlap' AND c.contype = 'x'
  ) THEN
    ALTER TABLE beliefs DROP CONSTRAINT beliefs_never_overlap;
    ALTER TABLE beliefs ADD CONSTRAINT beliefs_never_overlap EXCLUDE USING gist
      (tenant WITH =, object WITH =, int8range(valid_from, valid_until) WITH &&)
      WHERE (closed IS NULL AND lifecycle <> 'awaiting_confirmation');
    ALTER TABLE beliefs ADD CONSTRAINT waiting_never_overlap EXCLUDE USING gist
      (tenant WITH =, object WITH =, int8range(valid_from, valid_until) WITH &&)
      WHERE (closed IS NULL AND lifecycle = 'awaiting_confirmation');
    RETURN;
  END IF;
  CREATE OR REPLACE FUNCTION refuse_overlap() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $f$
  BEGIN
    -- An update, so that a transaction whose snapshot is older than another's write fails here.
    UPDATE tenants SET places = places WHERE tenant IN (SELECT tenant FROM fresh);
    IF EXISTS (
      SELECT FROM fresh f WHERE NOT EXISTS (SELECT FROM tenants t WHERE t.tenant = f.tenant)
    ) OR EXISTS (
      SELECT FROM fresh f JOIN beliefs b ON b.tenant = f.tenant AND b.object = f.object
      WHERE f.tx_end IS NULL AND b.tx_end IS NULL
        AND (b.tx_start, b.part) <> (f.tx_start, f.part)
        AND (b.lifecycle = 'awaiting_confirmation') = (f.lifecycle = 'awaiting_confirmation')
        AND int8range(b.valid_from, b.valid_until) && int8range(f.valid_from, f.valid_until)
    ) THEN
      RAISE EXCEPTION 'two beliefs about one object overlap' USING ERRCODE = 'exclusion_violation';
    END IF;
    RETURN NULL;
  END $f$;
END $$;
