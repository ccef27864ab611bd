-- The records of requests by their sessions: a conversation is read without all others. It follows from the records.

CREATE INDEX records_by_session ON records (
  tenant,
  (CASE WHEN json_valid(body) THEN json_extract(body, '$.session') END),
  compiled_at
) WHERE record >= 'gw-' AND record < 'gw.';
