-- Full-text search. The index holds keyed digests of terms, 16 hexadecimal digits each, and no texts. The row
-- of an object is the number of its tenant, shifted by 40 bits, and its place. `searched` says up to which
-- version of a tenant it goes.

CREATE VIRTUAL TABLE search USING fts5(
  terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TABLE searched (
  tenant  INTEGER PRIMARY KEY,
  version INTEGER NOT NULL
) STRICT;
