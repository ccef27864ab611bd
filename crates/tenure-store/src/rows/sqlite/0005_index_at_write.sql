-- The index of terms is made by each write and not by a search. What is written by itself waits in `fresh_terms`, a
-- row each, until there is enough of it to be worth a part of the index; what waits there stands for what the index
-- has of the same object. `unsearched` names the tenants whose older objects are in neither yet.

DROP TABLE searched;
INSERT INTO search (search) VALUES ('delete-all');

CREATE TABLE fresh_terms (
  row   INTEGER PRIMARY KEY,
  terms TEXT NOT NULL
) STRICT;

CREATE TABLE unsearched (
  tenant INTEGER PRIMARY KEY
) STRICT;
INSERT INTO unsearched (tenant) SELECT number FROM tenants;
