//! A caller's view of what was kept for somebody: sessions, and records of compiles and requests. An operator sees all
//! of the tenant; a key of a user, what came under keys of that user; a key of a project, what is of that project. What is
//! nobody's is for operators.

use tenure::time::Instant;
use tenure::{Error, Principal};
use tenure_workspace::records::{ExchangeRecord, Line, Listed, Records};
use tenure_workspace::sessions::Opened;

use crate::context::Caller;

/// The most records that are looked through for a page.
const LOOKED_THROUGH: usize = 2_000;
/// The number that is read at once.
const CHUNK: u32 = 100;

impl Caller {
    /// Returns whether something of this user and project is the caller's.
    fn owns(&self, user: Option<&String>, project: Option<&String>) -> bool {
        let grant = &self.grant;
        let scoped = user.is_some() && (grant.user.is_none() || grant.user.as_ref() == user);
        let placed = grant.project.is_none() || grant.project.as_ref() == project;
        grant.operator || (scoped && placed)
    }

    /// Returns whether the caller may see a session.
    pub fn sees_session(&self, opened: &Opened) -> bool {
        self.owns(opened.user.as_ref(), opened.project.as_ref())
    }

    /// Returns whether the caller may see what was done for somebody: what they could have asked for themselves.
    pub fn sees(&self, principal: &Principal) -> bool {
        let grant = &self.grant;
        if principal.tenant != grant.tenant {
            return false;
        }
        grant.operator || grant.bind(principal.clone()).is_ok_and(|bound| bound == *principal)
    }

    /// Returns whether the caller may see a record.
    pub fn sees_record(&self, record: &Listed) -> bool {
        match record {
            Listed::Exchange(record) => self.sees_exchange(record),
            Listed::Compile(compile) => self.sees(&compile.principal),
            Listed::Unreadable(_) => self.grant.operator,
        }
    }

    /// Returns whether the caller may see the record of a request.
    pub fn sees_exchange(&self, record: &ExchangeRecord) -> bool {
        let compile = record.compile.as_ref();
        let asked = compile.map(|compile| self.sees(&compile.request.principal));
        if record.user.is_none() {
            // Records said no user at first: the key is known, or for whom it was compiled.
            let same_key =
                record.key.is_some() && record.key == self.key.as_deref().map(str::to_owned);
            return self.grant.operator || asked.unwrap_or(same_key);
        }
        // Objects of the store that stand in it were seen with the rights of its key, which may be more.
        let from_store = compile.is_some_and(|compile| compile.included.beside().next().is_some());
        let is_own = self.owns(record.user.as_ref(), record.project.as_ref());
        is_own && (self.grant.operator || !from_store || asked == Some(true))
    }

    /// Returns the record of a request without what only operators may know: the objects from outside that stayed out, of which some
    /// may be hidden from the caller.
    pub fn exchange_as_seen(&self, mut record: ExchangeRecord) -> ExchangeRecord {
        if let Some(compile) = record.compile.as_mut().filter(|_| !self.grant.operator) {
            compile.omitted.named.retain(|chosen| !chosen.beside);
            compile.omitted.reasons.clear();
            for chosen in &compile.omitted.named {
                let reasons = &mut compile.omitted.reasons;
                *reasons.entry(chosen.code.clone()).or_default() += 1;
            }
        }
        record
    }

    fn line_as_seen(&self, line: Line) -> Line {
        match line.what {
            Listed::Exchange(record) => Line {
                what: Listed::Exchange(Box::new(self.exchange_as_seen(*record))),
                ..line
            },
            what => Line { what, ..line },
        }
    }

    /// Returns the records behind a place that the caller may see and that are wanted, and where the next page begins.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn seen_records(
        &self,
        records: &Records<'_>,
        after: Option<(String, Instant)>,
        most: usize,
        wants: impl Fn(&Line) -> bool,
    ) -> Result<(Vec<Line>, Option<String>), Error> {
        let (mut found, mut seen, mut last) = (Vec::new(), 0, after);
        loop {
            let from = last.as_ref().map(|(id, at)| (id.as_str(), *at));
            let lines = records.lines(from, CHUNK)?;
            let is_end = lines.len() < CHUNK as usize;
            for line in lines {
                last = Some((line.id.clone(), line.at));
                seen += 1;
                if wants(&line) && self.sees_record(&line.what) {
                    found.push(self.line_as_seen(line));
                }
                if found.len() >= most || seen >= LOOKED_THROUGH {
                    let next = last.map(|(id, at)| format!("{at}/{id}"));
                    return Ok((found, next));
                }
            }
            if is_end {
                return Ok((found, None));
            }
        }
    }
}
