-- Which objects a record speaks of, in their order: without that order in the index, all rows of a tenant were read for one
-- record. It follows from the rows.

DROP INDEX record_objects_by_record;
CREATE INDEX record_objects_of ON record_objects (tenant, record, object);

-- The session of a request's record as a column: behind the wall between tenants, an index over what a function makes of a
-- row answers nothing, since the function might tell of rows that the wall hides. Of a long name its begin counts.

DROP INDEX records_by_session;
ALTER TABLE records ADD COLUMN session text COLLATE "C" GENERATED ALWAYS AS (
  CASE WHEN record >= 'gw-' AND record < 'gw.' THEN left(substring(body from '"session":"([^"\\]*)"'), 200) END
) STORED;
CREATE INDEX records_by_session ON records (tenant, session, compiled_at) WHERE session IS NOT NULL;
