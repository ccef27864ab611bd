-- The records of requests by their sessions: a conversation is read without all others. It follows from the records. The
-- field is found by its text, since a cast to JSON fails of texts that are legal there; of a long name its begin counts.

CREATE INDEX records_by_session ON records (
  tenant,
  (left(substring(body from '"session":"([^"\\]*)"'), 200)),
  compiled_at
) WHERE record >= 'gw-' AND record < 'gw.';
