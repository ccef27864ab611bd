//! Records with all that it takes to show them: looked up, made again, priced.

use std::collections::BTreeMap;

use tenure::cache::{self, CachePlan, Sent};
use tenure::inspect::Remedy;
use tenure::object::clip;
use tenure::trace::View;
use tenure::{Envelope, Error, ErrorKind, Reason, Trace, World};
use tenure_store::Tenant;
use tenure_workspace::Workspace;
use tenure_workspace::records::{ExchangeRecord, ExchangeReplay, Look, Records};
use tenure_workspace::sessions::Session;

use crate::compile::Compile;
use crate::read::{Found, read};
use crate::report;
use crate::weights::Attention;

/// The most remedies that a report finds by compiling: each takes about twenty compiles.
const MOST_REMEDIES: usize = 8;

/// A recorded compile that can be shown.
#[derive(Debug)]
pub struct Gathered {
    look: Look,
    id: String,
    envelope: Option<Envelope>,
    proof: Option<String>,
    plan: Option<CachePlan>,
    remedies: BTreeMap<usize, String>,
}

/// The part of a recorded compile that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// The account alone, as it is recorded.
    Account,
    /// The account with the objects of its verdicts.
    Objects,
    /// The payload, too, for which the compile is made again.
    Payload,
    /// The account with the verdict on every candidate, for which the compile is made again where the record has a brief one.
    Whole,
}

impl Gathered {
    /// A recorded compile in one of the two views.
    ///
    /// # Errors
    ///
    /// As [`Records::look`].
    pub fn of(
        workspace: &Workspace,
        records: &Records<'_>,
        id: &str,
        view: View,
        depth: Depth,
    ) -> Result<Gathered, Error> {
        let look = match depth {
            Depth::Account => records.account(id, view)?,
            Depth::Objects | Depth::Payload => records.look(id, view)?,
            Depth::Whole => records.look_whole(id, view)?,
        };
        let mut gathered = Gathered {
            look,
            id: id.to_owned(),
            envelope: None,
            proof: None,
            plan: None,
            remedies: BTreeMap::new(),
        };
        if depth == Depth::Payload {
            match records.replay(id) {
                Ok(replay) => {
                    gathered.proof = Some(replay.sentence());
                    gathered.envelope = replay.compiled.map(|compiled| compiled.envelope);
                }
                Err(error) => gathered.proof = Some(format!("not proven: {}", error.what)),
            }
            if let Some(envelope) = &gathered.envelope
                && let Ok(world) = workspace.world(&gathered.look.trace.model)
            {
                gathered.plan = plan(&world, envelope, &gathered.look.trace);
            }
        }
        Ok(gathered)
    }

    /// Finds by compiling which budget would have let in those of these verdicts for which there was no room.
    pub fn find_remedies(&mut self, records: &Records<'_>, places: &[usize]) {
        for at in places {
            let found = self.remedy(records, *at);
            self.remedies.extend(found.map(|words| (*at, words)));
        }
    }

    /// The budget that would have let in the candidate of this verdict, found by compiling.
    pub fn remedy(&self, records: &Records<'_>, at: usize) -> Option<String> {
        let verdict = self.look.trace.verdicts.get(at)?;
        let why = records.why_not(&self.look.record, &verdict.name);
        in_words(&why.ok()?.remedy)
    }

    /// The bytes of the texts of its objects.
    pub fn texts(&self) -> usize {
        self.look.objects.values().map(|object| object.revision().content().len()).sum()
    }

    /// The places of what found no room and came nearest to it.
    fn nearest(&self, most: usize) -> Vec<usize> {
        let verdicts = self.look.trace.verdicts.iter().enumerate();
        let mut wanting: Vec<_> = verdicts
            .filter(|(_, verdict)| {
                matches!(
                    verdict.reason,
                    Reason::NoRoom { .. } | Reason::OverShare { .. }
                )
            })
            .collect();
        wanting.sort_by_key(|(_, verdict)| {
            std::cmp::Reverse(verdict.score.map(|score| score.composite))
        });
        wanting.into_iter().take(most).map(|(at, _)| at).collect()
    }

    /// The compile, to be shown.
    pub fn compile(&self) -> Compile<'_> {
        Compile {
            envelope: Some(self.envelope.as_ref().unwrap_or(&self.look.record.envelope)),
            record: Some(&self.look.record.record),
            request: Some(&self.look.record.inputs.request),
            proof: self.proof.clone(),
            objects: self.look.objects.clone(),
            remedies: self.remedies.clone(),
            cache: self.plan.as_ref(),
            ..Compile::of(self.id.clone(), &self.look.trace)
        }
    }

    /// Its payload, where it was made again.
    pub fn envelope(&self) -> Option<&Envelope> {
        self.envelope.as_ref()
    }

    /// Its trace.
    pub fn trace(&self) -> &Trace {
        &self.look.trace
    }
}

fn in_words(remedy: &Remedy) -> Option<String> {
    match remedy {
        Remedy::Budget { tokens } => {
            Some(format!("a budget of {tokens} tokens (found by compiling)"))
        }
        Remedy::Change { what } => Some(what.clone()),
        _ => None,
    }
}

/// The effect of the model's cache on a payload; none where there is no payload.
fn plan(world: &World, envelope: &Envelope, trace: &Trace) -> Option<CachePlan> {
    let sent = Sent::compiled(envelope, Some(&trace.model)).ok()?;
    cache::plan(world, &sent, &cache::Options::default(), None).ok()
}

/// The compile of a request that was made again.
pub fn compile_of(replay: &ExchangeReplay) -> Option<Compile<'_>> {
    Some(Compile {
        envelope: replay.envelope.as_ref(),
        proof: Some(replay.sentence()),
        ..Compile::of(replay.record.record_id.clone(), replay.trace.as_ref()?)
    })
}

/// A request's place in its conversation, from 1, and the request before it.
///
/// # Errors
///
/// As [`Records::conversation`].
pub fn before(
    records: &Records<'_>,
    record: &ExchangeRecord,
) -> Result<(Option<usize>, Option<ExchangeRecord>), Error> {
    let Some(session) = &record.session else {
        return Ok((None, None));
    };
    let talk = records.conversation(Some(session))?;
    let mut requests = talk.map(|talk| talk.requests).unwrap_or_default();
    let at = requests.iter().position(|known| known.record_id == record.record_id);
    let before = at.and_then(|at| at.checked_sub(1)).map(|at| requests.swap_remove(at));
    Ok((at.map(|at| at + 1), before))
}

/// The attention that a payload got, of a file of weights.
fn attended(
    weights: Option<&str>,
    envelope: Option<&Envelope>,
) -> Result<Option<Attention>, Error> {
    let Some(weights) = weights else {
        return Ok(None);
    };
    let envelope = envelope.ok_or_else(|| {
        Error::input("there is no payload that weights could be laid over")
            .expected("the output of a compile, or a record that can be made again")
    })?;
    Attention::read(weights, envelope).map(Some)
}

/// The report of a text: a trace, or the output of a compile. `named` is the name of its file; `weights` are laid over the
/// payload, of several over the first.
///
/// # Errors
///
/// As [`read`] and [`Attention::read`].
pub fn report_text(
    workspace: &Workspace,
    named: &str,
    text: &str,
    weights: Option<&str>,
) -> Result<String, Error> {
    let found = read(text)?;
    let first = found.first().and_then(|found| found.envelope.as_ref());
    let attention = attended(weights, first)?;
    let plans: Vec<Option<CachePlan>> = found
        .iter()
        .map(|Found { trace, envelope }| {
            let world = workspace.world(&trace.model).ok()?;
            plan(&world, envelope.as_ref()?, trace)
        })
        .collect();
    let mut compiles: Vec<Compile<'_>> = found
        .iter()
        .zip(&plans)
        .map(|(found, plan)| Compile {
            envelope: found.envelope.as_ref(),
            cache: plan.as_ref(),
            ..Compile::of(named, &found.trace)
        })
        .collect();
    if let Some(first) = compiles.first_mut() {
        first.attention = attention.as_ref();
    }
    Ok(report::of_compiles(&compiles))
}

/// The report of a session of which no request is recorded: its messages and summaries.
fn imported(workspace: &Workspace, tenant: &Tenant, id: &str) -> Result<String, Error> {
    let none = || {
        Error::not_found(format!("`{}` is no record, and no session", clip(id)))
            .hint("`tenure log --list` and `tenure store records` list them")
    };
    let items = workspace.records(tenant).items_of_session(id, None)?.ok_or_else(none)?;
    let session = Session::find(tenant.clone(), id)?.ok_or_else(none)?;
    Ok(report::of_session(id, &items, session.checkpoints()))
}

/// The report of a record of a store, or of a session of which requests are recorded. Of a request that cannot be made
/// again, the reason is in the page.
///
/// # Errors
///
/// [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when there is neither;
/// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached; and as
/// [`Attention::read`].
pub fn report_stored(
    workspace: &Workspace,
    tenant: &Tenant,
    id: &str,
    weights: Option<&str>,
) -> Result<String, Error> {
    let records = workspace.records(tenant);
    let catalogue = workspace.catalogue();
    if tenant.record(id)?.is_none() {
        let Some(talk) = records.conversation(Some(id))? else {
            return imported(workspace, tenant, id);
        };
        if weights.is_some() {
            return Err(
                Error::input("weights are of one payload, and this is a conversation")
                    .expected("the id of a record"),
            );
        }
        let replay = talk
            .requests
            .iter()
            .rev()
            .find(|record| record.compile.is_some())
            .and_then(|record| records.replay_exchange(&record.record_id).ok());
        let compile = replay.as_ref().and_then(compile_of);
        // What the gateway only looked at may go by a name that no session could have.
        let kept = match Session::find(tenant.clone(), id) {
            Err(error) if error.kind == ErrorKind::Input => None,
            kept => kept?,
        };
        let checkpoints = kept.map(|session| session.checkpoints().to_vec());
        return Ok(report::of_talk(
            &talk,
            &checkpoints.unwrap_or_default(),
            catalogue,
            compile.as_ref(),
        ));
    }
    if let Some(record) = records.exchange(id)? {
        let (_, before) = before(&records, &record)?;
        let replay = records.replay_exchange(id);
        let fault = replay.as_ref().err().map(|error| error.what.clone());
        let compile = replay.as_ref().ok().and_then(compile_of);
        let envelope = compile.as_ref().and_then(|compile| compile.envelope);
        let attention = attended(weights, envelope)?;
        let compile = compile.map(|compile| Compile {
            attention: attention.as_ref(),
            ..compile
        });
        let items = records.items(&record)?;
        let proof = replay.as_ref().map(ExchangeReplay::sentence);
        let sent = replay.as_ref().ok().and_then(|replay| replay.body.as_deref());
        let body = proof.as_deref().ok().zip(sent).filter(|_| compile.is_none());
        return Ok(report::of_exchange(
            (&record, &items),
            before.as_ref(),
            catalogue,
            compile.as_ref(),
            body,
            fault.as_deref(),
        ));
    }
    let mut gathered = Gathered::of(workspace, &records, id, View::Operator, Depth::Payload)?;
    let nearest = gathered.nearest(MOST_REMEDIES);
    gathered.find_remedies(&records, &nearest);
    let attention = attended(weights, gathered.envelope())?;
    Ok(report::of_compiles(&[Compile {
        attention: attention.as_ref(),
        ..gathered.compile()
    }]))
}
