-- An erasure takes whole logs, and the answers of writes that name what is erased.

GRANT DELETE ON entries, answers TO tenure_app;
