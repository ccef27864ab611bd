//! A compile as a whole: the answers of the outside, the originals that it points to, its record.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use serde::Serialize;
use tenure::cache::Explanation;
use tenure::inspect::{WhyNot, why_not};
use tenure::trace::View;
use tenure::{Candidates, Error, Facts, Outcome, Policy, Request, Trace, World};
use tenure_store::Tenant;

use crate::originals::Originals;
use crate::records::Recording;
use crate::sessions::{Session, SessionJob, SessionReport};
use crate::stored::Gathered;
use crate::workspace::Workspace;

/// A compile that is ready: [`Workspace::prepare`] makes it, [`Workspace::run`] does it.
pub struct Job {
    /// The model.
    pub world: Arc<World>,
    /// The policy.
    pub policy: Policy,
    /// The request, with its instants and its model.
    pub request: Request,
    /// The candidates.
    pub gathered: Gathered,
    /// The tenant that keeps the record, and the originals if no folder is named.
    pub tenant: Option<Tenant>,
    /// The folder where originals are kept that the payload points to; without one, the tenant's store, or else the
    /// user's own folder.
    pub originals: Option<PathBuf>,
    /// True if a record is kept, which needs a tenant.
    pub record: bool,
    /// The view of the traces that are returned. A record is always the operator's.
    pub view: View,
}

impl Job {
    /// The candidates.
    pub fn candidates(&self) -> &Candidates {
        &self.gathered.candidates
    }
}

/// The result of a compile, and the records that were kept of it. Its JSON form is printed by `tenure compile
/// --format json`.
#[derive(Debug, Serialize)]
pub struct Done {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The ids of the records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub record_ids: Vec<String>,
    /// The state of the session, for a session's compile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionReport>,
    /// The cache's prediction for it after the call before, where that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Explanation>,
}

impl Workspace {
    /// **answer**, **compile** and **record**, in this order.
    ///
    /// # Errors
    ///
    /// As [`tenure::compile`], [`Workspace::keep_originals`] and [`Records::keep`](crate::records::Records::keep).
    pub fn run(&self, job: &Job) -> Result<Done, Error> {
        let (world, policy, request) = (&*job.world, &job.policy, &job.request);
        let facts = self.answer(world, policy, request, job.candidates())?;
        let started = Clock::now();
        let outcome = tenure::compile(world, policy, request, job.candidates(), &facts)?;
        self.finish(job, outcome, &facts, started.elapsed())
    }

    /// Runs the next request of a session: the objects that the job gathered are added to its messages.
    /// Afterwards the job holds the compiled inputs: the request with what was served, and the session's objects
    /// before the others.
    ///
    /// # Errors
    ///
    /// As [`Workspace::compile_session`], [`Workspace::keep_originals`] and [`Records::keep`](crate::records::Records::keep).
    pub fn run_session(&self, session: &mut Session, job: &mut Job) -> Result<Done, Error> {
        let started = Clock::now();
        let compiled = self.compile_session(
            session,
            &SessionJob {
                world: &job.world,
                policy: &job.policy,
                request: &job.request,
                beside: &job.gathered,
                instructions: true,
                now: self.clock().now(),
            },
        )?;
        (job.request, job.gathered) = (compiled.request, compiled.gathered);
        let latency = started.elapsed();
        let done = self.finish(job, compiled.outcome, &compiled.facts, latency)?;
        Ok(Done {
            session: Some(compiled.session),
            ..done
        })
    }

    /// Explains why an object of a compile is in or out, and what would have let it in. `trace` is the operator's; the end
    /// of a name will do where no other has it: `docx` for `skills/docx`.
    ///
    /// # Errors
    ///
    /// As [`tenure::inspect::why_not`].
    pub fn why_not(&self, job: &Job, trace: &Trace, name: &str) -> Result<WhyNot, Error> {
        let (world, policy, request) = (&*job.world, &job.policy, &job.request);
        let facts = self.answer(world, policy, request, job.candidates())?;
        let names = trace.verdicts.iter().map(|verdict| &*verdict.name);
        let name = whole_name(names, name);
        why_not(
            world,
            policy,
            request,
            job.candidates(),
            &facts,
            trace,
            name,
        )
    }

    /// Keeps what a payload points to and the record that is wanted, and shows the caller no more than they may see.
    fn finish(
        &self,
        job: &Job,
        mut outcome: Outcome,
        facts: &Facts,
        latency: Duration,
    ) -> Result<Done, Error> {
        let (world, policy, request) = (&*job.world, &job.policy, &job.request);
        let points = outcome.compiled().map(|compiled| &compiled.trace).any(|trace| {
            let mut condensed = trace.condensed.iter();
            !trace.evicted.is_empty() || condensed.any(|one| one.pointer.is_some())
        });
        if !request.dry_run && points {
            // Everything that the payload points to must be there before the payload is read.
            let originals = Originals::chosen(job.originals.as_deref(), job.tenant.clone())?;
            self.keep_originals(&originals, &outcome, job.candidates())?;
        }
        let mut record_ids = Vec::new();
        if let Some(tenant) = job.tenant.as_ref().filter(|_| job.record) {
            let recording = Recording {
                outcome: &outcome,
                request,
                policy,
                template: world.template(),
                gathered: &job.gathered,
                facts,
                compiled_at: self.clock().now(),
                latency,
            };
            record_ids = self.records(tenant).keep(&recording)?;
        }
        if job.view == View::Caller {
            for compiled in outcome.compiled_mut() {
                let principal = &request.principal;
                compiled.trace = compiled.trace.caller_view(policy, principal, job.candidates());
            }
        }
        Ok(Done {
            outcome,
            record_ids,
            session: None,
            cache: None,
        })
    }
}

/// The name that a short form means: itself where there is such a name, else the only one that ends with `/` and it.
pub(crate) fn whole_name<'n>(names: impl Iterator<Item = &'n str>, given: &'n str) -> &'n str {
    let mut ends = None;
    for name in names {
        if name == given {
            return given;
        }
        if name.strip_suffix(given).is_some_and(|before| before.ends_with('/')) {
            match ends {
                None => ends = Some(name),
                Some(one) if one == name => {}
                Some(_) => return given,
            }
        }
    }
    ends.unwrap_or(given)
}

#[cfg(test)]
mod tests {
    use super::whole_name;

    #[test]
    fn the_end_of_a_name_will_do_where_no_other_has_it() {
        let names = [
            "skills/docx",
            "skills/pdf",
            "old/pdf",
            "guide",
            "a/guide",
            "x-docx",
        ];
        let whole = |given| whole_name(names.into_iter(), given);
        assert_eq!(whole("docx"), "skills/docx");
        assert_eq!(whole("pdf"), "pdf");
        assert_eq!(whole("old/pdf"), "old/pdf");
        assert_eq!(whole("guide"), "guide");
        assert_eq!(whole(""), "");
        // Several revisions of one name are one name.
        assert_eq!(whole_name(["a/b", "a/b"].into_iter(), "b"), "a/b");
    }
}
