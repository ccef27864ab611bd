//! The check of what is kept of a tenant against what was written, and the repair.

use std::collections::{BTreeMap, BTreeSet};

use tenure::object::{Authority, ObjectId, ObjectType, RevisionId, Sealer};
use tenure::time::Instant;
use tenure::{Digest, Error, ErrorKind};

use crate::rows::engine::{Change, Damage, Read};
use crate::rows::labels::labelled;
use crate::rows::notes::{WriteNote, note_on_claim};
use crate::rows::settle::Settlement;
use crate::rows::stored::read_revision;
use crate::tenant::alongside::head_after;
use crate::tenant::handle::Tenant;
use crate::tenant::index::misplaced;
use crate::tenant::store::Store;
use crate::tenant::writing::{Writing, Written};

/// The number of objects whose heads are read at once.
const HEADS: usize = 500;

/// The number of records that are listed at once.
const RECORDS: u32 = 1_000;

/// The findings of a look through everything that is kept of a tenant.
#[derive(Default)]
struct Findings {
    tenant: String,
    damaged: Vec<Damage>,
    /// The revisions that are damaged and were not set aside yet.
    revisions: BTreeSet<RevisionId>,
    /// The rows that the derived tables should hold.
    links: BTreeSet<(ObjectId, ObjectId)>,
    subjects: BTreeSet<(ObjectId, String)>,
    /// The objects of which not every revision could be read, so that derived tables may know more of them; none
    /// where the revisions were not read to their end.
    lossy: Option<BTreeSet<ObjectId>>,
    /// The objects of which a belief does not say who may see it.
    unlabelled: BTreeSet<ObjectId>,
    /// The objects whose name, head or labels are not of what is believed: id, place, and the name and the head that they
    /// should have.
    heads: Vec<(ObjectId, u64, String, RevisionId)>,
    /// The number of terms whose objects the index has wrong.
    misplaced: u64,
}

impl Store {
    /// Checks the store as a whole: that it is there, its schema, the rows of its tenants. Quick enough to be called
    /// often.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when it is not; [`ErrorKind::Unavailable`] when it cannot be reached.
    pub fn probe(&self) -> Result<(), Error> {
        self.engine().probe()
    }

    /// Everything of the file that is not as it was written. What belongs to one tenant, [`Tenant::check`] finds.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn check(&self) -> Result<Vec<Damage>, Error> {
        self.engine().check()
    }

    /// Rebuilds what follows from other rows: indexes, the index of terms, the lists of what each write changed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be written.
    pub fn rebuild(&self) -> Result<(), Error> {
        self.engine().rebuild()?;
        self.make_indexes()
    }
}

impl Tenant {
    /// Reads everything that is kept of the tenant, and says what of it is not as it was written. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn check(&self) -> Result<Vec<Damage>, Error> {
        let findings = self.read(|rows| Ok(look(rows, &self.name)))?;
        Ok(findings.damaged)
    }

    /// The objects that come from the web, or were made from what does, and may command or guide all the same: they state
    /// an authority above data, or were written before what comes from the web was data unless it says otherwise. Their revisions keep it; each is
    /// named with its authority. What is damaged is left to [`Tenant::check`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn trusted_from_the_web(&self) -> Result<Vec<(String, Authority)>, Error> {
        let mut found = BTreeMap::new();
        self.read(|rows| {
            let mut sealer = Sealer::default();
            rows.each_ever(&mut |row, body| {
                if row.closed.is_none()
                    && let Ok(object) = read_revision(&mut sealer, row.revision, body)
                    && object.revision().is_from_the_web()
                    && object.revision().authority_level() < Authority::Data
                    // Nothing makes data of these.
                    && !matches!(
                        object.revision().object_type(),
                        ObjectType::Turn | ObjectType::ToolSchema
                    )
                {
                    let level = object.revision().authority_level();
                    found.insert(row.object, (object.name().to_owned(), level));
                }
                Ok(())
            })
        })?;
        Ok(found.into_values().collect())
    }

    /// The objects whose claims take part in no settlement, since they cannot be compared with others, each with the
    /// reason. What is damaged is left to [`Tenant::check`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn unparsed_claims(&self) -> Result<Vec<(String, String)>, Error> {
        self.noted_claims(|note| match note {
            WriteNote::ClaimNotParsed { why } => Some(why),
            _ => None,
        })
    }

    /// The objects whose claims name nobody and nothing that they are about, so that they contradict no other. What is
    /// damaged is left to [`Tenant::check`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn claims_about_nobody(&self) -> Result<Vec<String>, Error> {
        let found =
            self.noted_claims(|note| (note == WriteNote::ClaimAboutNobody).then_some(()))?;
        Ok(found.into_iter().map(|(name, ())| name).collect())
    }

    /// The names of the objects whose claims have such a note, each with what is `wanted` of it.
    fn noted_claims<T>(
        &self,
        wanted: impl Fn(WriteNote) -> Option<T>,
    ) -> Result<Vec<(String, T)>, Error> {
        let mut found = BTreeMap::new();
        self.read(|rows| {
            let mut sealer = Sealer::default();
            rows.each_held(None, &mut |_, row, body| {
                if body.contains("\"normalized_claim\"")
                    && let Ok(object) = read_revision(&mut sealer, row.revision, body)
                    && let Some(note) = note_on_claim(&object).and_then(&wanted)
                {
                    found.insert(row.object, (object.name().to_owned(), note));
                }
                Ok(())
            })
        })?;
        Ok(found.into_values().collect())
    }

    /// Rebuilds the derived tables of the tenant, and sets damaged revisions aside: their rows stay as they are, and
    /// are left out from then on. No revision is rewritten. What the derived tables say of an object of which something
    /// is damaged stays, so that an erasure still reaches it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when the tenant's own row is lost or altered; [`ErrorKind::Unavailable`] when the
    /// store cannot be written.
    pub fn repair(&self, writing: &Writing) -> Result<Written, Error> {
        let tenant = std::sync::Arc::clone(&self.name);
        let written = self.once(writing, "repair", Digest::of(b"repair"), move |rows| {
            let findings = look(rows, &tenant);
            let revisions: Vec<RevisionId> = findings.revisions.into_iter().collect();
            rows.put_aside(&revisions)?;
            let links: Vec<_> = findings.links.into_iter().collect();
            let subjects: Vec<_> = findings.subjects.into_iter().collect();
            let lossy = findings.lossy.map(|ids| ids.into_iter().collect::<Vec<_>>());
            rows.relink(&links, &subjects, lossy.as_deref())?;
            if !findings.heads.is_empty() {
                rows.change(&Change {
                    objects: findings.heads,
                    ..Change::default()
                })?;
            }
            if findings.misplaced > 0 {
                rows.set_unsearched()?;
            }
            Ok(Vec::new())
        })?;
        self.make_index_unless_damaged()?;
        Ok(written)
    }
}

/// Looks at one kind of thing.
type Check<R> = fn(&mut R, &mut Findings) -> Result<(), Error>;

/// Looks at one kind of thing after the other: where one cannot be read to its end, the next still may.
fn look<R: Read + ?Sized>(rows: &mut R, tenant: &str) -> Findings {
    let mut findings = Findings {
        tenant: tenant.to_owned(),
        ..Findings::default()
    };
    let kinds: [(&str, Check<R>); 8] = [
        ("tenant", tenant_row),
        ("revision", revisions),
        ("derived", derived),
        ("derived", heads),
        ("derived", index),
        ("text", texts),
        ("log", logs),
        ("record", records),
    ];
    for (what, kind) in kinds {
        if let Err(error) = kind(rows, &mut findings) {
            findings.add(what, error.what, false);
        }
    }
    for damage in &mut findings.damaged {
        damage.tenant = Some(tenant.to_owned());
    }
    findings
}

impl Findings {
    fn add(&mut self, what: &str, which: String, repairable: bool) {
        self.damaged.push(Damage {
            tenant: None,
            what: what.into(),
            which,
            repairable,
        });
    }
}

/// The tenant's own row, and the line of each of its versions.
fn tenant_row<R: Read + ?Sized>(rows: &mut R, findings: &mut Findings) -> Result<(), Error> {
    let version = rows.version()?;
    rows.key()?;
    let log = rows.log(0, u32::MAX)?;
    let lines = log.iter().map(|write| write.stamp.version);
    if !lines.eq(1..=version) {
        let which = format!("the log of writes has {} lines of {version}", log.len());
        findings.add("tenant", which, false);
    }
    Ok(())
}

/// Every revision that was ever believed, by its digest; what it says is derived is noted.
fn revisions<R: Read + ?Sized>(rows: &mut R, findings: &mut Findings) -> Result<(), Error> {
    let aside = rows.set_aside()?;
    let mut sealer = Sealer::default();
    let mut seen: BTreeMap<ObjectId, bool> = BTreeMap::new();
    let mut lossy = BTreeSet::new();
    let tenant = findings.tenant.clone();
    rows.each_ever(&mut |row, body| {
        let tenant = tenant.as_str();
        let held = seen.entry(row.object).or_default();
        *held |= row.closed.is_none();
        match read_revision(&mut sealer, row.revision, body) {
            Ok(object) => {
                let revision = object.revision();
                let parents = revision.derived_from().iter();
                findings.links.extend(parents.map(|parent| (row.object, *parent)));
                let labels = labelled(&mut sealer, tenant, row.object, &row.labels, None);
                if !labels.is_ok_and(|labels| labels.access() == object.access()) {
                    let which = format!("who may see the object {}", row.object);
                    findings.add("rows", which, false);
                    findings.unlabelled.insert(row.object);
                }
                let subjects = revision.subjects().iter();
                findings.subjects.extend(subjects.map(|who| (row.object, who.clone())));
            }
            Err(error) if error.kind == ErrorKind::Damaged => {
                lossy.insert(row.object);
                let is_new = !aside.contains(&row.revision);
                if is_new && findings.revisions.insert(row.revision) {
                    let which = format!("{} of the object {}", row.revision, row.object);
                    findings.add("revision", which, true);
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    let objects: BTreeSet<ObjectId> = rows.objects()?.into_iter().map(|(_, id)| id).collect();
    for id in seen.keys().filter(|id| !objects.contains(id)) {
        findings.add("rows", format!("the object {id} has no row"), false);
    }
    for id in objects.iter().filter(|id| !seen.contains_key(id)) {
        findings.add(
            "rows",
            format!("nothing was ever believed of the object {id}"),
            false,
        );
        lossy.insert(*id);
    }
    findings.lossy = Some(lossy);
    // By its id and by its name, each is found.
    let ids: Vec<ObjectId> = objects.into_iter().collect();
    let standing = rows.standing(&ids)?;
    for (id, held) in &seen {
        let Some(standing) = standing.get(id) else {
            continue;
        };
        if standing.beliefs.is_empty() == *held {
            let which = format!("what is believed of the object {id} is not found");
            findings.add("derived", which, true);
        }
        if !rows.named(&standing.name)?.contains(id) {
            findings.add(
                "derived",
                format!("the object {id} is missing in the index of names"),
                true,
            );
        }
    }
    Ok(())
}

/// Compares the links between objects and their subjects with what the revisions say.
fn derived<R: Read + ?Sized>(rows: &mut R, findings: &mut Findings) -> Result<(), Error> {
    let Some(lossy) = findings.lossy.clone() else {
        return Ok(());
    };
    // What a damaged revision said is not known: of its object, more may be kept.
    let is_kept = |found: Vec<ObjectId>, expected: &BTreeSet<ObjectId>| {
        let found: BTreeSet<ObjectId> = found.into_iter().collect();
        expected.is_subset(&found) && found.difference(expected).all(|id| lossy.contains(id))
    };
    let mut children: BTreeMap<ObjectId, BTreeSet<ObjectId>> = BTreeMap::new();
    for (child, parent) in &findings.links {
        children.entry(*parent).or_default().insert(*child);
    }
    for (_, id) in rows.objects()? {
        if !is_kept(
            rows.children(&[id])?,
            &children.remove(&id).unwrap_or_default(),
        ) {
            let which = format!("what was made from the object {id}");
            findings.add("derived", which, true);
        }
    }
    let mut about: BTreeMap<&str, BTreeSet<ObjectId>> = BTreeMap::new();
    for (id, subject) in &findings.subjects {
        about.entry(subject).or_default().insert(*id);
    }
    let mut wrong = 0;
    for (subject, ids) in about {
        wrong += usize::from(!is_kept(rows.about(subject)?, &ids));
    }
    if wrong > 0 {
        findings.add("derived", format!("what is about {wrong} people"), true);
    }
    Ok(())
}

/// Compares the name, the head and the labels of each object with what is believed of it. What is damaged is left out.
fn heads<R: Read + ?Sized>(rows: &mut R, findings: &mut Findings) -> Result<(), Error> {
    let Some(lossy) = &findings.lossy else {
        return Ok(());
    };
    let damaged = lossy | &findings.unlabelled;
    let tenant = findings.tenant.clone();
    let objects = rows.objects()?.into_iter().map(|(_, id)| id);
    let ids: Vec<ObjectId> = objects.filter(|id| !damaged.contains(id)).collect();
    let mut sealer = Sealer::default();
    for ids in ids.chunks(HEADS) {
        let mut bodies = rows.heads(ids)?;
        for (id, standing) in rows.standing(ids)? {
            let head = head_after(&standing, &Settlement::default());
            let mut all = standing.beliefs.iter();
            let other = all.find(|row| row.revision == head && head != standing.head);
            let body = match other {
                Some(row) => rows.bodies(&[row])?.remove(&head),
                None => bodies.remove(&id),
            };
            let Ok(object) = read_revision(&mut sealer, head, &body.unwrap_or_default()) else {
                continue;
            };
            let labels =
                rows.head_labels(Ok(id))?.pop().map_or_else(|| "".into(), |(_, labels)| labels);
            let labels = labelled(&mut sealer, &tenant, id, &labels, None);
            if head != standing.head
                || object.name() != standing.name
                || !labels.is_ok_and(|labels| labels.access() == object.access())
            {
                let which = format!("the object {id} is found by what is not believed of it now");
                findings.add("derived", which, true);
                let name = object.name().to_owned();
                findings.heads.push((id, standing.place, name, head));
            }
        }
    }
    Ok(())
}

fn index<R: Read + ?Sized>(rows: &mut R, findings: &mut Findings) -> Result<(), Error> {
    let Some(lossy) = &findings.lossy else {
        return Ok(());
    };
    let wrong = misplaced(rows, lossy)?;
    findings.misplaced = wrong;
    if wrong > 0 {
        let which = format!("the index of terms is wrong for {wrong} terms");
        findings.add("derived", which, true);
    }
    Ok(())
}

fn texts<R: Read + ?Sized>(rows: &mut R, findings: &mut Findings) -> Result<(), Error> {
    for digest in rows.blobs()? {
        let bytes = rows.blob(digest)?;
        if bytes.is_none_or(|bytes| Digest::of(&bytes) != digest) {
            findings.add("text", digest.to_string(), false);
        }
    }
    Ok(())
}

fn logs<R: Read + ?Sized>(rows: &mut R, findings: &mut Findings) -> Result<(), Error> {
    for (log, last) in rows.logs()? {
        match rows.entries(&log, 1..u64::MAX) {
            Ok(entries) if entries.iter().map(|(number, _)| *number).eq(1..=last) => {}
            Ok(entries) => {
                let which = format!("`{log}` has {} entries of {last}", entries.len());
                findings.add("log", which, false);
            }
            Err(error) => findings.add("log", format!("`{log}`: {}", error.what), false),
        }
    }
    Ok(())
}

fn records<R: Read + ?Sized>(rows: &mut R, findings: &mut Findings) -> Result<(), Error> {
    let mut last: Option<(String, Instant)> = None;
    loop {
        let after = last.as_ref().map(|(id, at)| (id.as_str(), *at));
        let listed = rows.records(after, RECORDS)?;
        for (id, _) in &listed {
            match rows.record(id) {
                Ok(Some(_)) => {}
                Ok(None) => findings.add("record", format!("`{id}` is not found"), false),
                Err(error) => findings.add("record", format!("`{id}`: {}", error.what), false),
            }
        }
        if listed.len() < RECORDS as usize {
            return Ok(());
        }
        last = listed.into_iter().last();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tenure::ObjectDocument;

    use super::*;
    use crate::tenant::writing::Put;

    #[test]
    fn a_head_that_is_believed_no_more_is_found_and_mended() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("store.db").display());
        let tenant = Store::open(&url).unwrap().tenant("acme").unwrap();
        let put = |user: Option<&str>, content: &str| {
            let document = ObjectDocument {
                user_id: user.map(str::to_owned),
                object_id: Some(ObjectId::from_bits(7)),
                ..ObjectDocument::named(content, content)
            };
            let put = vec![Put::new(document)];
            tenant.put(put, &Writing::default()).unwrap().objects[0].revision
        };
        let (old, new) = (put(None, "old").unwrap(), put(Some("eve"), "new"));
        assert_eq!(tenant.check().unwrap(), []);
        let id = ObjectId::from_bits(7);
        let state = || {
            tenant.read(|rows| {
                let standing = rows.standing(&[id])?.remove(&id).unwrap();
                let (_, labels) = rows.head_labels(Ok(id))?.remove(0);
                Ok((standing.head, standing.name, labels))
            })
        };
        let right = state().unwrap();
        assert_eq!((Some(right.0), &*right.1), (new, "new"));
        let quietly = Writing::default();
        let set = tenant.once(&quietly, "judge", Digest::of(b""), move |rows| {
            let place = rows.standing(&[id])?[&id].place;
            rows.change(&Change {
                objects: vec![(id, place, "old".into(), old)],
                ..Change::default()
            })?;
            Ok(Vec::new())
        });
        set.unwrap();
        let wrong = state().unwrap();
        assert_eq!((wrong.0, &*wrong.1), (old, "old"));
        assert!(right.2.contains("eve") && !wrong.2.contains("eve"));
        let found = tenant.check().unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].repairable);
        tenant.repair(&quietly).unwrap();
        assert_eq!(tenant.check().unwrap(), []);
        assert_eq!(state().unwrap(), right);
    }
}
