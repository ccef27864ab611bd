-- What waits for a person lies beside what is believed, and overlaps only nothing else that waits.

DROP TRIGGER beliefs_never_overlap;

CREATE TRIGGER beliefs_never_overlap BEFORE INSERT ON beliefs
WHEN NEW.tx_end IS NULL AND EXISTS (
  SELECT 1 FROM beliefs b
  WHERE b.tenant = NEW.tenant AND b.place = NEW.place AND b.tx_end IS NULL
    AND (b.lifecycle = 'awaiting_confirmation') = (NEW.lifecycle = 'awaiting_confirmation')
    AND coalesce(b.valid_from, -9223372036854775808) < coalesce(NEW.valid_until, 9223372036854775807)
    AND coalesce(NEW.valid_from, -9223372036854775808) < coalesce(b.valid_until, 9223372036854775807))
BEGIN SELECT RAISE(FAIL, 'two beliefs about one object overlap'); END;
