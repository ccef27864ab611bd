//! Writes of one tenant, over one transaction.

use std::collections::BTreeMap;

use postgres::Row;
use tenure::object::{ObjectId, RevisionId, Usage};
use tenure::time::Instant;
use tenure::{Digest, Error, ErrorKind};

use super::asked;
use super::rows::{
    Id, Rows, Values, bytes, digests, ids, messages, micros, number, stamped, unreadable,
};
use crate::rows::engine::{
    Answered, BeliefRow, Change, ClaimKey, IndexRow, PairRow, RecordRow, RevisionRow, Stamp, Write,
};

impl Write for Rows<'_> {
    fn stamp(&mut self) -> Result<Stamp, Error> {
        if let Some(stamp) = self.stamp {
            return Ok(stamp);
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| {
            let what = format!("the system's random number generator failed: {error}");
            Error::new(ErrorKind::Unavailable, what)
        })?;
        // The row stays locked until the end of the transaction. The clock is read once it is, and one
        // that stands still or goes back holds up no transaction time.
        let sql = "INSERT INTO tenants AS t (tenant, version, at, key) \
                   VALUES ($1, 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $2) \
                   ON CONFLICT (tenant) DO UPDATE SET version = t.version + 1, at = \
                   greatest(t.at + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) \
                   RETURNING version, at";
        let made = self
            .one(sql, &[&key.as_slice()], |row| stamped(row, 0, 1))?
            .ok_or_else(|| unreadable(&"a tenant has no stamp"))?;
        if made.version == 1 {
            // The row is of this write: the tenant has not written before, or has lost its own.
            self.unless_written(|_| Ok(true))?;
        }
        self.stamp = Some(made);
        Ok(made)
    }

    fn take_places(&mut self, count: u64) -> Result<u64, Error> {
        let sql = "UPDATE tenants SET places = places + $2 WHERE tenant = $1 RETURNING places - $2";
        let values: Values<'_> = &[&(count as i64)];
        Ok(self.one(sql, values, |row| number(row, 0))?.unwrap_or(0))
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        let Stamp { version, at } = self.stamp()?;
        let (version, at) = (version as i64, at.micros());
        if !change.objects.is_empty() {
            // What stands twice is as it is said last.
            let objects: BTreeMap<u64, _> = change
                .objects
                .iter()
                .map(|(id, place, name, head)| (*place, (Id(*id), name.as_str(), bytes(head))))
                .collect();
            let places: Vec<i64> = objects.keys().map(|place| *place as i64).collect();
            let of: Vec<Id> = objects.values().map(|(id, _, _)| *id).collect();
            let names: Vec<&str> = objects.values().map(|(_, name, _)| *name).collect();
            let heads: Vec<&[u8]> = objects.values().map(|(_, _, head)| *head).collect();
            let held =
                change.open.iter().map(|row| ((row.object, bytes(&row.revision)), &*row.labels));
            let new = change
                .revisions
                .iter()
                .map(|row| ((row.object, bytes(&row.revision)), &*row.labels));
            let labels: BTreeMap<(ObjectId, &[u8]), &str> = held.chain(new).collect();
            let labels: Vec<&str> = objects
                .values()
                .map(|(id, _, head)| labels.get(&(id.0, *head)).copied().unwrap_or_default())
                .collect();
            let sql = "INSERT INTO objects AS o (tenant, place, object, name, head, changed, labels) \
                       SELECT $1, n.place, n.object, n.name, n.head, $2, n.labels \
                       FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::bytea[], $7::text[]) \
                       AS n (place, object, name, head, labels) \
                       ON CONFLICT (tenant, place) DO UPDATE SET \
                       name = excluded.name, head = excluded.head, changed = excluded.changed, \
                       labels = coalesce(nullif(excluded.labels, ''), \
                       (SELECT b.labels FROM beliefs b WHERE b.tenant = o.tenant AND b.object = o.object \
                        AND b.revision = excluded.head ORDER BY b.tx_start DESC LIMIT 1), o.labels)";
            let values: Values<'_> = &[&version, &places, &of, &names, &heads, &labels];
            self.execute(sql, values)?;
        }
        // In the order of its key, what comes together is written together.
        let mut revisions: Vec<&RevisionRow> = change.revisions.iter().collect();
        revisions.sort_unstable_by_key(|row| row.revision);
        for rows in messages(&revisions, |row| row.body.len()) {
            let revisions: Vec<&[u8]> = rows.iter().map(|row| bytes(&row.revision)).collect();
            let of: Vec<Id> = rows.iter().map(|row| Id(row.object)).collect();
            let contents: Vec<&[u8]> = rows.iter().map(|row| bytes(&row.content)).collect();
            let bodies: Vec<&str> = rows.iter().map(|row| &*row.body).collect();
            let sql = "INSERT INTO revisions (tenant, revision, object, content, body) SELECT $1, n.* \
                       FROM unnest($2::bytea[], $3::uuid[], $4::bytea[], $5::text[]) AS n \
                       ON CONFLICT (tenant, revision) DO NOTHING";
            self.execute(sql, &[&revisions, &of, &contents, &bodies])?;
        }
        if !change.close.is_empty() {
            let of: Vec<Id> = change.close.iter().map(|(id, ..)| Id(*id)).collect();
            let starts: Vec<i64> = change.close.iter().map(|(_, at, _)| at.at.micros()).collect();
            let parts: Vec<i32> = change.close.iter().map(|(.., part)| *part as i32).collect();
            // By their places in the table, which no other writer changes meanwhile: see `for_each`.
            let sql = "UPDATE beliefs SET tx_end = $2, closed = $3 \
                       WHERE tenant = $1 AND ctid = ANY (ARRAY(SELECT t.ctid \
                       FROM unnest($4::uuid[], $5::bigint[], $6::integer[]) AS n (object, tx_start, part), \
                       LATERAL (SELECT b.ctid FROM beliefs b WHERE b.tenant = $1 AND b.object = n.object \
                       AND b.tx_start = n.tx_start AND b.part = n.part OFFSET 0) AS t))";
            let values: Values<'_> = &[&at, &version, &of, &starts, &parts];
            self.execute(sql, values)?;
        }
        if !change.open.is_empty() {
            let mut open: Vec<&BeliefRow> = change.open.iter().collect();
            open.sort_unstable_by_key(|row| (row.object, row.part));
            self.open(&open)?;
        }
        self.link(&change.links, &change.subjects)
    }

    fn set_claims(&mut self, objects: &[(ObjectId, Vec<ClaimKey>)]) -> Result<(), Error> {
        let of: Vec<Id> = objects.iter().map(|(id, _)| Id(*id)).collect();
        let sql = "DELETE FROM claims WHERE tenant = $1 AND object = ANY($2)";
        self.execute(sql, &[&of])?;
        let each: Vec<(Id, &ClaimKey)> = objects
            .iter()
            .flat_map(|(id, claims)| {
                let id = Id(*id);
                claims.iter().map(move |claim| (id, claim))
            })
            .collect();
        let of: Vec<Id> = each.iter().map(|(id, _)| *id).collect();
        let slots: Vec<i64> = each.iter().map(|(_, claim)| claim.slot).collect();
        let levels: Vec<i32> = each.iter().map(|(_, claim)| claim.level.into()).collect();
        let behind: Vec<i64> = each.iter().map(|(_, claim)| claim.behind).collect();
        let sql = "INSERT INTO claims (tenant, object, slot, level, behind) SELECT $1, n.* \
                   FROM unnest($2::uuid[], $3::bigint[], $4::integer[], $5::bigint[]) AS n \
                   ON CONFLICT DO NOTHING";
        self.execute(sql, &[&of, &slots, &levels, &behind])?;
        Ok(())
    }

    fn change_pairs(&mut self, close: &[PairRow], open: &[PairRow]) -> Result<(), Error> {
        let Stamp { version, at } = self.stamp()?;
        let (version, at) = (version as i64, at.micros());
        let side = |rows: &[PairRow], side: fn(&PairRow) -> ObjectId| -> Vec<Id> {
            rows.iter().map(|row| Id(side(row))).collect()
        };
        let slots = |rows: &[PairRow]| -> Vec<i64> { rows.iter().map(|row| row.slot).collect() };
        let starts: Vec<i64> = close.iter().map(|row| row.opened.at.micros()).collect();
        let sql = "UPDATE pairs p SET tx_end = $2, closed = $3 \
                   FROM unnest($4::uuid[], $5::uuid[], $6::bigint[], $7::bigint[]) AS n (first, second, slot, start) \
                   WHERE p.tenant = $1 AND p.first = n.first AND p.second = n.second AND p.slot = n.slot \
                   AND p.tx_start = n.start";
        let (first, second) = (side(close, |row| row.first), side(close, |row| row.second));
        self.execute(
            sql,
            &[&at, &version, &first, &second, &slots(close), &starts],
        )?;
        let sql = "INSERT INTO pairs (tenant, tx_start, opened, first, second, slot, body) SELECT $1, $2, $3, n.* \
                   FROM unnest($4::uuid[], $5::uuid[], $6::bigint[], $7::text[]) AS n";
        let (first, second) = (side(open, |row| row.first), side(open, |row| row.second));
        let bodies: Vec<&str> = open.iter().map(|row| row.body.as_str()).collect();
        self.execute(
            sql,
            &[&at, &version, &first, &second, &slots(open), &bodies],
        )?;
        Ok(())
    }

    fn put_pairs(&mut self, pairs: &[PairRow]) -> Result<(), Error> {
        let sql = "INSERT INTO pairs (tenant, first, second, slot, tx_start, opened, tx_end, closed, body) \
                   SELECT $1, n.* FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], \
                                              $7::bigint[], $8::bigint[], $9::text[]) AS n";
        let first: Vec<Id> = pairs.iter().map(|row| Id(row.first)).collect();
        let second: Vec<Id> = pairs.iter().map(|row| Id(row.second)).collect();
        let number = |of: fn(&PairRow) -> i64| pairs.iter().map(of).collect::<Vec<i64>>();
        let end = |of: fn(&Stamp) -> i64| -> Vec<Option<i64>> {
            let ends = pairs.iter().map(|row| row.closed.as_ref());
            ends.map(|closed| closed.map(of)).collect()
        };
        let bodies: Vec<&str> = pairs.iter().map(|row| row.body.as_str()).collect();
        self.execute(
            sql,
            &[
                &first,
                &second,
                &number(|row| row.slot),
                &number(|row| row.opened.at.micros()),
                &number(|row| row.opened.version as i64),
                &end(|stamp| stamp.at.micros()),
                &end(|stamp| stamp.version as i64),
                &bodies,
            ],
        )?;
        Ok(())
    }

    fn note(&mut self, verb: &str, author: Option<&str>, objects: u64) -> Result<(), Error> {
        let Stamp { version, at } = self.stamp()?;
        let sql = "INSERT INTO writes (tenant, version, at, verb, author, objects) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let (version, at, objects) = (version as i64, at.micros(), objects as i64);
        self.execute(sql, &[&version, &at, &verb, &author, &objects])?;
        self.noted = true;
        Ok(())
    }

    fn hold(&mut self) -> Result<(), Error> {
        let sql = "SELECT version FROM tenants WHERE tenant = $1 FOR UPDATE";
        self.one(sql, &[], |_| Ok(())).map(drop)
    }

    fn index(&mut self, objects: &[IndexRow]) -> Result<(), Error> {
        let (full, empty): (Vec<_>, Vec<_>) = objects.iter().partition(|row| !row.terms.is_empty());
        if !empty.is_empty() {
            let empty: Vec<i64> = empty.iter().map(|row| row.place as i64).collect();
            let sql = "DELETE FROM search WHERE tenant = $1 AND place = ANY($2)";
            self.execute(sql, &[&empty])?;
        }
        // There are no arrays of arrays of several lengths, so all terms travel as one list, and of each object
        // how many of them are its own.
        for part in messages(&full, |row| 8 * row.terms.len()) {
            let places: Vec<i64> = part.iter().map(|row| row.place as i64).collect();
            let terms: Vec<i64> = part.iter().flat_map(|row| &row.terms).copied().collect();
            let mut end = 0;
            let ends: Vec<i32> = part
                .iter()
                .map(|row| {
                    end += row.terms.len() as i32;
                    end
                })
                .collect();
            let sql = "INSERT INTO search (tenant, place, terms) \
                       SELECT $1, n.place, ($4::bigint[])[n.start + 1:n.stop] FROM \
                       (SELECT place, stop, lag(stop, 1, 0) OVER (ORDER BY stop) AS start \
                        FROM unnest($2::bigint[], $3::integer[]) AS u (place, stop)) AS n \
                       ON CONFLICT (tenant, place) DO UPDATE SET terms = excluded.terms";
            self.execute(sql, &[&places, &ends, &terms])?;
        }
        Ok(())
    }

    fn set_unsearched(&mut self) -> Result<(), Error> {
        let sql = "INSERT INTO unsearched (tenant) VALUES ($1) ON CONFLICT DO NOTHING";
        self.execute(sql, &[]).map(drop)
    }

    fn set_searched(&mut self) -> Result<(), Error> {
        let sql = "DELETE FROM unsearched WHERE tenant = $1";
        self.execute(sql, &[]).map(drop)
    }

    fn count(&mut self, usage: &[(ObjectId, Usage)]) -> Result<(), Error> {
        // Each object once, and in one order: two writers cannot wait for each other.
        let mut sums: BTreeMap<ObjectId, Usage> = BTreeMap::new();
        for (id, usage) in usage {
            let sum = sums.entry(*id).or_default();
            sum.access_count = sum.access_count.saturating_add(usage.access_count);
            sum.last_used = sum.last_used.max(usage.last_used);
            sum.last_confirmed = sum.last_confirmed.max(usage.last_confirmed);
        }
        let of: Vec<Id> = sums.keys().copied().map(Id).collect();
        let counts: Vec<i64> = sums.values().map(|sum| sum.access_count as i64).collect();
        let used: Vec<Option<i64>> = sums.values().map(|sum| micros(sum.last_used)).collect();
        let confirmed: Vec<Option<i64>> =
            sums.values().map(|sum| micros(sum.last_confirmed)).collect();
        let sql = "INSERT INTO usage AS u (tenant, object, access_count, last_used, last_confirmed) \
                   SELECT $1, n.* FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) \
                   AS n (object, access_count, last_used, last_confirmed) \
                   WHERE EXISTS (SELECT FROM objects o WHERE o.tenant = $1 AND o.object = n.object) \
                   ORDER BY n.object ON CONFLICT (tenant, object) DO UPDATE SET \
                   access_count = u.access_count + excluded.access_count, \
                   last_used = greatest(u.last_used, excluded.last_used), \
                   last_confirmed = greatest(u.last_confirmed, excluded.last_confirmed)";
        self.execute(sql, &[&of, &counts, &used, &confirmed])?;
        Ok(())
    }

    fn erase(&mut self, of: &[ObjectId], labels: &[Digest]) -> Result<(), Error> {
        let Stamp { version, at } = self.stamp()?;
        let (version, at) = (version as i64, at.micros());
        let of = ids(of);
        for sql in [
            "INSERT INTO erasing (tenant, object) SELECT $1, unnest($2::uuid[])",
            "DELETE FROM blobs WHERE tenant = $1 AND digest IN (SELECT r.content FROM revisions r \
             JOIN beliefs b ON b.tenant = $1 AND b.revision = r.revision \
             WHERE r.tenant = $1 AND b.object = ANY($2))",
            "DELETE FROM search WHERE tenant = $1 AND place IN \
             (SELECT o.place FROM objects o WHERE o.tenant = $1 AND o.object = ANY($2))",
            "DELETE FROM objects WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM revisions WHERE tenant = $1 AND revision IN \
             (SELECT b.revision FROM beliefs b WHERE b.tenant = $1 AND b.object = ANY($2))",
            "DELETE FROM beliefs WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM claims WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM pairs WHERE tenant = $1 AND (first = ANY($2) OR second = ANY($2))",
            "DELETE FROM subjects WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM usage WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM record_objects WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM links WHERE tenant = $1 AND (parent = ANY($2) OR child = ANY($2))",
            "DELETE FROM erasing WHERE tenant = $1 AND object = ANY($2)",
        ] {
            self.execute(sql, &[&of])?;
        }
        let names: Vec<String> = of.iter().map(|id| id.0.to_string()).collect();
        let sql = "DELETE FROM answers a WHERE a.tenant = $1 AND EXISTS \
                   (SELECT FROM unnest($2::text[]) AS n (id) WHERE position(n.id IN a.answer) > 0)";
        self.execute(sql, &[&names])?;
        let sql = "INSERT INTO tombstones (tenant, digest, version, at) \
                   SELECT $1, unnest($2::bytea[]), $3, $4 ON CONFLICT DO NOTHING";
        self.execute(sql, &[&digests(labels), &version, &at])?;
        Ok(())
    }

    fn erase_revisions(&mut self, id: ObjectId, revisions: &[RevisionId]) -> Result<(), Error> {
        let (of, gone) = (Id(id), digests(revisions));
        self.execute(
            "INSERT INTO erasing (tenant, object) VALUES ($1, $2)",
            &[&of],
        )?;
        for sql in [
            "DELETE FROM blobs WHERE tenant = $1 AND digest IN (SELECT r.content FROM revisions r \
             WHERE r.tenant = $1 AND r.object = $2 AND r.revision = ANY($3) \
             EXCEPT SELECT r.content FROM revisions r \
             WHERE r.tenant = $1 AND r.object = $2 AND r.revision <> ALL($3))",
            "DELETE FROM revisions WHERE tenant = $1 AND object = $2 AND revision = ANY($3)",
            "DELETE FROM beliefs WHERE tenant = $1 AND object = $2 AND revision = ANY($3)",
        ] {
            self.execute(sql, &[&of, &gone])?;
        }
        for sql in [
            "DELETE FROM erasing WHERE tenant = $1 AND object = $2",
            "DELETE FROM links WHERE tenant = $1 AND child = $2",
            "DELETE FROM subjects WHERE tenant = $1 AND object = $2",
        ] {
            self.execute(sql, &[&of])?;
        }
        let sql = "DELETE FROM answers WHERE tenant = $1 AND position($2 IN answer) > 0";
        self.execute(sql, &[&id.to_string()])?;
        Ok(())
    }

    fn answer(&mut self, key: &str, answered: &Answered) -> Result<(), Error> {
        let sql = "INSERT INTO answers (tenant, key, asked, answer) VALUES ($1, $2, $3, $4)";
        let asked = bytes(&answered.asked);
        self.execute(sql, &[&key, &asked, &answered.answer])?;
        Ok(())
    }

    fn put_records(&mut self, records: &[RecordRow]) -> Result<(), Error> {
        // Each record once, and in one order: two writers cannot wait for each other.
        let records: Vec<&RecordRow> = records
            .iter()
            .map(|record| (record.id.as_str(), record))
            .collect::<BTreeMap<&str, &RecordRow>>()
            .into_values()
            .collect();
        for records in messages(&records, |record| record.body.len()) {
            let names: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
            let times: Vec<i64> =
                records.iter().map(|record| record.compiled_at.micros()).collect();
            let bodies: Vec<&str> = records.iter().map(|record| record.body.as_str()).collect();
            let sql = "INSERT INTO records (tenant, record, compiled_at, body) SELECT $1, n.* \
                       FROM unnest($2::text[], $3::bigint[], $4::text[]) AS n \
                       ON CONFLICT (tenant, record) DO UPDATE SET body = excluded.body";
            self.execute(sql, &[&names, &times, &bodies])?;
            self.execute(asked::UNLINK, &[&names])?;
            let of = records
                .iter()
                .flat_map(|record| record.objects.iter().map(|id| (record.id.as_str(), Id(*id))));
            let (names, of): (Vec<&str>, Vec<Id>) = of.unzip();
            let sql = "INSERT INTO record_objects (tenant, record, object) SELECT $1, n.* \
                       FROM unnest($2::text[], $3::uuid[]) AS n ON CONFLICT DO NOTHING";
            self.execute(sql, &[&names, &of])?;
        }
        Ok(())
    }

    fn old_records(
        &mut self,
        before: Option<Instant>,
        keep: Option<u64>,
        most: u32,
    ) -> Result<Vec<String>, Error> {
        let most = i64::from(most);
        let id = |row: &Row| row.try_get(0).map_err(|error| unreadable(&error));
        if let Some(before) = before {
            let old = self.all(asked::OLD_RECORDS, &[&before.micros(), &most], id)?;
            if !old.is_empty() {
                return Ok(old);
            }
        }
        let Some(keep) = keep else {
            return Ok(Vec::new());
        };
        let keep = i64::try_from(keep).unwrap_or(i64::MAX);
        self.all(asked::OTHER_RECORDS, &[&keep, &most], id)
    }

    fn erase_records(&mut self, ids: &[String]) -> Result<(), Error> {
        self.execute(asked::UNLINK, &[&ids])?;
        self.execute(asked::DROP, &[&ids])?;
        Ok(())
    }

    fn put_blob(&mut self, digest: Digest, content: &[u8]) -> Result<(), Error> {
        let sql =
            "INSERT INTO blobs (tenant, digest, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        self.execute(sql, &[&bytes(&digest), &content])?;
        Ok(())
    }

    fn drop_blobs(&mut self, of: &[Digest]) -> Result<(), Error> {
        let sql = "DELETE FROM blobs WHERE tenant = $1 AND digest = ANY($2)";
        self.execute(sql, &[&digests(of)])?;
        Ok(())
    }

    fn append(&mut self, log: &str, after: u64, entries: &[String]) -> Result<bool, Error> {
        let sql = "SELECT coalesce(max(number), 0) FROM entries WHERE tenant = $1 AND log = $2";
        let last = self.one(sql, &[&log], |row| number(row, 0))?;
        if last.unwrap_or(0) != after {
            return Ok(false);
        }
        let mut last = after as i64;
        for part in messages(entries, String::len) {
            let bodies: Vec<&str> = part.iter().map(String::as_str).collect();
            let sql = "INSERT INTO entries (tenant, log, number, body) SELECT $1, $2, $3 + n.number, n.body \
                       FROM unnest($4::text[]) WITH ORDINALITY AS n (body, number)";
            self.execute(sql, &[&log, &last, &bodies])?;
            last += part.len() as i64;
        }
        Ok(true)
    }

    fn rewrite(&mut self, log: &str, entries: &[(u64, String)]) -> Result<(), Error> {
        for part in messages(entries, |(_, body)| body.len()) {
            let numbers: Vec<i64> = part.iter().map(|(number, _)| *number as i64).collect();
            let bodies: Vec<&str> = part.iter().map(|(_, body)| body.as_str()).collect();
            let sql = "UPDATE entries e SET body = n.body \
                       FROM unnest($3::bigint[], $4::text[]) AS n (number, body) \
                       WHERE e.tenant = $1 AND e.log = $2 AND e.number = n.number";
            self.execute(sql, &[&log, &numbers, &bodies])?;
        }
        Ok(())
    }

    fn put_aside(&mut self, revisions: &[RevisionId]) -> Result<(), Error> {
        let at = self.stamp()?.at.micros();
        let sql = "INSERT INTO set_aside (tenant, revision, at) \
                   SELECT $1, unnest($2::bytea[]), $3 ON CONFLICT DO NOTHING";
        self.execute(sql, &[&digests(revisions), &at])?;
        Ok(())
    }

    fn relink(
        &mut self,
        links: &[(ObjectId, ObjectId)],
        subjects: &[(ObjectId, String)],
        lossy: Option<&[ObjectId]>,
    ) -> Result<(), Error> {
        if let Some(lossy) = lossy {
            let kept: Vec<Id> = lossy.iter().map(|id| Id(*id)).collect();
            let sql = "DELETE FROM links WHERE tenant = $1 AND child <> ALL ($2::uuid[])";
            self.execute(sql, &[&kept])?;
            let sql = "DELETE FROM subjects WHERE tenant = $1 AND object <> ALL ($2::uuid[])";
            self.execute(sql, &[&kept])?;
        }
        self.link(links, subjects)
    }

    fn drop_log(&mut self, log: &str) -> Result<(), Error> {
        let sql = "DELETE FROM entries WHERE tenant = $1 AND log = $2";
        self.execute(sql, &[&log])?;
        Ok(())
    }
}

impl Rows<'_> {
    /// Keeps which object was made from which, and whom objects are about.
    fn link(
        &mut self,
        links: &[(ObjectId, ObjectId)],
        subjects: &[(ObjectId, String)],
    ) -> Result<(), Error> {
        if !links.is_empty() {
            let children: Vec<Id> = links.iter().map(|(child, _)| Id(*child)).collect();
            let parents: Vec<Id> = links.iter().map(|(_, parent)| Id(*parent)).collect();
            let sql = "INSERT INTO links (tenant, parent, child) SELECT $1, n.* \
                       FROM unnest($2::uuid[], $3::uuid[]) AS n ON CONFLICT DO NOTHING";
            self.execute(sql, &[&parents, &children])?;
        }
        if !subjects.is_empty() {
            let of: Vec<Id> = subjects.iter().map(|(id, _)| Id(*id)).collect();
            let subjects: Vec<&str> = subjects.iter().map(|(_, who)| who.as_str()).collect();
            let sql = "INSERT INTO subjects (tenant, object, subject) SELECT $1, n.* \
                       FROM unnest($2::uuid[], $3::text[]) AS n ON CONFLICT DO NOTHING";
            self.execute(sql, &[&of, &subjects])?;
        }
        Ok(())
    }

    /// Opens beliefs.
    fn open(&mut self, rows: &[&BeliefRow]) -> Result<(), Error> {
        let of: Vec<Id> = rows.iter().map(|row| Id(row.object)).collect();
        let starts: Vec<i64> = rows.iter().map(|row| row.opened.at.micros()).collect();
        let parts: Vec<i32> = rows.iter().map(|row| row.part as i32).collect();
        let opened: Vec<i64> = rows.iter().map(|row| row.opened.version as i64).collect();
        let revisions: Vec<&[u8]> = rows.iter().map(|row| bytes(&row.revision)).collect();
        let from: Vec<Option<i64>> = rows.iter().map(|row| micros(row.valid.from)).collect();
        let until: Vec<Option<i64>> = rows.iter().map(|row| micros(row.valid.until)).collect();
        let contradictions: Vec<&str> = rows.iter().map(|row| row.contradiction.term()).collect();
        let superseded: Vec<Option<Id>> =
            rows.iter().map(|row| row.superseded_by.map(Id)).collect();
        let lifecycles: Vec<&str> = rows.iter().map(|row| row.lifecycle.term()).collect();
        let ends: Vec<Option<i64>> =
            rows.iter().map(|row| row.closed).map(|end| Some(end?.at.micros())).collect();
        let closed: Vec<Option<i64>> =
            rows.iter().map(|row| row.closed).map(|end| Some(end?.version as i64)).collect();
        let sql = "INSERT INTO beliefs (tenant, object, tx_start, part, opened, revision, valid_from, \
                   valid_until, contradiction, superseded_by, lifecycle, tx_end, closed, labels) SELECT $1, n.* \
                   FROM unnest($2::uuid[], $3::bigint[], $4::integer[], $5::bigint[], $6::bytea[], \
                   $7::bigint[], $8::bigint[], $9::text[], $10::uuid[], $11::text[], $12::bigint[], \
                   $13::bigint[], $14::text[]) AS n";
        let labels: Vec<&str> = rows.iter().map(|row| &*row.labels).collect();
        let values: Values<'_> = &[
            &of,
            &starts,
            &parts,
            &opened,
            &revisions,
            &from,
            &until,
            &contradictions,
            &superseded,
            &lifecycles,
            &ends,
            &closed,
            &labels,
        ];
        self.execute(sql, values)?;
        Ok(())
    }
}
