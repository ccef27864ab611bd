-- Which objects a record speaks of, in their order: without that order in the index, all rows of a tenant were read for one
-- record. It follows from the rows.

DROP INDEX record_objects_by_record;
CREATE INDEX record_objects_of ON record_objects (tenant, record, object);
