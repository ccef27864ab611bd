//! Replay: a stored compile made again, and what that proves.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use tenure::inspect::{WhyNot, why_not};
use tenure::object::{Sealer, Status};
use tenure::section::Section;
use tenure::trace::InputDigests;
use tenure::{
    Candidates, ChatTemplate, Compiled, Digest, Error, ErrorKind, Facts, ObjectDocument, Policy,
    Request, Trace, World,
};
use tenure_store::Tenant;

use super::{Inputs, Records, StoreRef, StoredRecord, used, with_bucket};
use crate::stored::merge;

/// The proof that a replay gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The payload has the recorded digest, and so has everything that the compile depended on.
    Whole,
    /// The payload has the recorded digest. Something that did not change it is no longer as it was.
    Payload,
    /// Objects were erased since. Every other piece stands as it stood.
    Rest,
    /// Objects were erased since. Some other pieces could not be shown to stand as they stood.
    Partial,
    /// Another compiler made it, whose bytes are its own: nothing is proven, whether they are the same or not.
    OtherCompiler,
}

/// A compile made again.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The proof.
    pub proof: Proof,
    /// The number of candidates that were erased since.
    pub erased: usize,
    /// The pieces that stand as they stood.
    pub proven: Vec<String>,
    /// The pieces that do not.
    pub unproven: Vec<String>,
    /// The compile; none where another compiler made it and this one cannot.
    pub compiled: Option<Compiled>,
    /// The record.
    pub record: StoredRecord,
}

/// A recorded compile, made again.
struct Repeated {
    world: World,
    /// The number of its candidates that were erased since.
    erased: usize,
    compiled: Compiled,
}

/// The inputs of a recorded compile.
struct Prepared {
    world: World,
    policy: Policy,
    candidates: Arc<Candidates>,
}

/// The prefix of an erased object's name.
const ERASED: &str = "erased-";

/// The identity of a piece of a payload: its revision, place and form give its bytes.
type PieceKey = (
    Section,
    String,
    Option<Digest>,
    u32,
    Option<tenure::trace::Form>,
);

fn pieces(envelope: &tenure::Envelope) -> Vec<PieceKey> {
    let items = envelope.sections.iter().flat_map(|section| {
        section.items.iter().map(|item| {
            let name = item.name.to_string();
            (section.name, name, item.revision, item.tokens, item.form)
        })
    });
    items.collect()
}

impl Records<'_> {
    /// Makes a recorded compile again from what the store holds, and compares.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such record; [`ErrorKind::Input`] when something that it needs is gone without
    /// an erasure; [`ErrorKind::Internal`] when nothing was erased and the payload is another.
    pub fn replay(&self, id: &str) -> Result<Replay, Error> {
        let record = self.get(id)?;
        let made = self.make_again(&record);
        if record.record.compiler != tenure::COMPILER {
            let made = made.ok();
            return Ok(Replay {
                proof: Proof::OtherCompiler,
                erased: made.as_ref().map_or(0, |made| made.erased),
                proven: Vec::new(),
                unproven: Vec::new(),
                compiled: made.map(|made| made.compiled),
                record,
            });
        }
        compare(record, made?)
    }

    fn make_again(&self, record: &StoredRecord) -> Result<Repeated, Error> {
        let Prepared {
            world,
            policy,
            candidates,
        } = self.prepared(record)?;
        let mut request = record.inputs.request.clone();
        request.dry_run = false;
        let facts = self.facts_of(record, &request, &candidates)?;
        let verdicts = record.record.trace.candidates();
        let erased = verdicts.saturating_sub(candidates.len());
        let outcome = tenure::compile(&world, &policy, &request, &candidates, &facts)?;
        let compiled = outcome.compiled().nth(record.page as usize).cloned().ok_or_else(|| {
            Error::input(format!(
                "the compile no longer has a page {}",
                record.page + 1
            ))
        })?;
        Ok(Repeated {
            world,
            erased,
            compiled,
        })
    }

    /// The whole account of a recorded compile: where the record has a brief one, the compile is made again.
    ///
    /// # Errors
    ///
    /// As [`Records::replay`]; [`ErrorKind::Input`] when what is made again has another account, such as one of another
    /// compiler, or one without what was erased since.
    pub fn whole<'r>(&self, record: &'r StoredRecord) -> Result<Cow<'r, Trace>, Error> {
        let trace = &record.record.trace;
        let Some(rest) = &trace.rest else {
            return Ok(Cow::Borrowed(trace));
        };
        let made = self.make_again(record)?.compiled.trace;
        if made.digest() == rest.whole {
            return Ok(Cow::Owned(made));
        }
        let left: u32 = rest.reasons.values().map(|left| left.candidates).sum();
        Err(Error::input(format!(
            "the record has a brief account, and the compile cannot be made again: of {left} of {} candidates only their \
             number is known",
            trace.candidates()
        ))
        .hint("`tenure replay` says what has changed since"))
    }

    /// The answers of the outside, and those that the built-in table gives again.
    fn facts_of(
        &self,
        record: &StoredRecord,
        request: &Request,
        candidates: &Candidates,
    ) -> Result<Facts, Error> {
        let Inputs { facts, without, .. } = &record.inputs;
        self.workspace.answer_again(facts, *without, request, candidates)
    }

    /// The inputs of a recorded compile, as far as they are there.
    fn prepared(&self, record: &StoredRecord) -> Result<Prepared, Error> {
        let inputs = &record.inputs;
        let trace = &record.record.trace;
        let policy = self.policy_of(record)?;
        let mut world =
            self.workspace.world(inputs.request.model.as_deref().unwrap_or(&trace.model))?;
        if let Some((text, beside)) = inputs.template {
            let text = template_text(self.tenant, text)?;
            let beside = beside.map(|beside| template_text(self.tenant, beside));
            let template = ChatTemplate::read(&text, beside.transpose()?.as_deref())?;
            world = world.with_template(template);
        }
        Ok(Prepared {
            world,
            policy,
            candidates: self.candidates_of(record)?,
        })
    }

    /// The policy of a record.
    pub(super) fn policy_of(&self, record: &StoredRecord) -> Result<Policy, Error> {
        let document = blob(self.tenant, record.inputs.policy)?.ok_or_else(|| {
            Error::input("the policy of the record was erased").expected("its policy")
        })?;
        let document = serde_json::from_slice(&document).map_err(|error| {
            Error::input(format!("the recorded policy cannot be read: {error}"))
                .hint("it may be of another version of tenure")
        })?;
        Policy::seal(document)
    }

    /// Explains why the candidate of this name of a recorded compile is in or out, and what would have let it in.
    ///
    /// # Errors
    ///
    /// As [`Records::replay`], and [`ErrorKind::Input`] when no candidate has the name.
    pub fn why_not(&self, record: &StoredRecord, name: &str) -> Result<WhyNot, Error> {
        let Prepared {
            world,
            policy,
            candidates,
        } = self.prepared(record)?;
        let request = &record.inputs.request;
        let facts = self.facts_of(record, request, &candidates)?;
        let trace = match record.record.trace.verdict(name) {
            Some(_) => Cow::Borrowed(&record.record.trace),
            None => self.whole(record)?,
        };
        why_not(&world, &policy, request, &candidates, &facts, &trace, name)
    }

    /// The candidates that a record names, as far as they are there.
    pub(super) fn candidates_of(&self, record: &StoredRecord) -> Result<Arc<Candidates>, Error> {
        let inputs = &record.inputs;
        let mut sealer = Sealer::default();
        let mut sources = Vec::with_capacity(inputs.sources.len());
        for source in &inputs.sources {
            let Some(body) = blob(self.tenant, source.object)? else {
                continue;
            };
            let mut document: ObjectDocument = serde_json::from_slice(&body).map_err(|error| {
                Error::input(format!("a recorded object cannot be read: {error}"))
            })?;
            document.asked = source.asked;
            let mut object = sealer.seal(document)?;
            if let Some(access) = &source.access {
                let status = Status {
                    access: Some(Arc::clone(access)),
                    ..object.status().clone()
                };
                object = Arc::new(object.judged(status, *object.usage()));
            }
            let object = match &source.overrides {
                Some(overrides) => Arc::new(object.with_overrides(overrides.clone())),
                None => object,
            };
            sources.push((object, source.said));
        }
        let runs = sources.chunk_by(|(_, one), (_, next)| one == next);
        let layers = runs.map(|run| {
            let objects = run.iter().map(|(object, _)| Arc::clone(object)).collect();
            Arc::new(match run {
                [(_, true), ..] => Candidates::new(objects).said(),
                _ => Candidates::new(objects),
            })
        });
        let sources = Candidates::layered(layers).with_unfetched(inputs.unfetched.clone());
        let Some(store) = &inputs.store else {
            return Ok(Arc::new(sources));
        };
        of_store(self.tenant, store, sources)
    }
}

/// The objects that were read of a store, behind these sources.
pub(super) fn of_store(
    tenant: &Tenant,
    store: &StoreRef,
    sources: Candidates,
) -> Result<Arc<Candidates>, Error> {
    let known = store.known.unwrap_or(store.at);
    let resident = tenant.load_for_replay(known, store.at)?;
    let (merged, _) = merge(sources, resident.candidates());
    if store.buckets.is_empty() && store.used.is_empty() {
        return Ok(merged);
    }
    let used: BTreeMap<u64, u8> = used::read(&store.used)
        .ok_or_else(|| Error::damaged("how much its objects had been used cannot be read"))?
        .into_iter()
        .collect();
    Ok(Arc::new(merged.filter_map(|_, object| {
        let id = object.revision().object_id();
        let placed = resident.place_of(id).and_then(|place| used.get(&place));
        Some(match placed.or_else(|| store.buckets.get(&id)) {
            Some(bucket) => with_bucket(object, *bucket),
            None => Arc::clone(object),
        })
    })))
}

impl Replay {
    /// The proof, in a line.
    pub fn sentence(&self) -> String {
        let compiled = self.compiled.as_ref();
        let now = compiled.and_then(|compiled| compiled.envelope.payload_digest);
        let digest = now.map_or_else(String::new, |digest| digest.to_string());
        match self.proof {
            Proof::Whole => {
                format!("proven: the payload and all its inputs are as recorded, {digest}")
            }
            Proof::Payload => format!(
                "proven: the payload is as recorded, {digest}; something that did not change it is not ({} erased)",
                self.erased
            ),
            Proof::Rest | Proof::Partial => format!(
                "{} of the candidates erased since: this is not the payload that was sent; {} of its other \
                 {} pieces stand as they stood",
                self.erased,
                self.proven.len(),
                self.proven.len() + self.unproven.len()
            ),
            Proof::OtherCompiler => {
                let is_same = now.is_some() && now == self.record.record.trace.payload_digest;
                format!(
                    "not proven: compiler {} made it, and this is compiler {}; the payload {} as recorded",
                    self.record.record.compiler,
                    tenure::COMPILER,
                    if is_same { "is still" } else { "is not" },
                )
            }
        }
    }

    /// The proof and the payload, for programs.
    pub fn to_json(&self, id: &str) -> serde_json::Value {
        let envelope = self.compiled.as_ref().map(|compiled| &compiled.envelope);
        serde_json::json!({
            "record_id": id,
            "proof": self.proof,
            "compiler": self.record.record.compiler,
            "payload_digest": envelope.and_then(|envelope| envelope.payload_digest),
            "recorded_digest": self.record.record.trace.payload_digest,
            "erased": self.erased,
            "proven": self.proven,
            "unproven": self.unproven,
            "payload": envelope.and_then(|envelope| envelope.payload.as_ref()),
        })
    }
}

fn template_text(tenant: &Tenant, digest: Digest) -> Result<String, Error> {
    let text = blob(tenant, digest)?.ok_or_else(|| {
        Error::input("the chat template of the record was erased").expected("its chat template")
    })?;
    String::from_utf8(text)
        .map_err(|error| Error::input(format!("the recorded chat template is not text: {error}")))
}

/// A text that a record names; nothing where it was erased.
pub(super) fn blob(tenant: &Tenant, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
    let found = tenant.blob(digest)?;
    if found.is_none() && !tenant.is_tombstone(digest)? {
        return Err(Error::input(format!(
            "an input of the record is missing in the store: {digest}"
        )));
    }
    Ok(found)
}

/// Holds what was made again against what was recorded.
fn compare(record: StoredRecord, made: Repeated) -> Result<Replay, Error> {
    let Repeated {
        world,
        erased,
        compiled,
    } = made;
    let trace = &record.record.trace;
    let envelope = &compiled.envelope;
    let same_payload = envelope.payload_digest == trace.payload_digest
        || trace.payload_digest.is_none() && envelope.sections == record.envelope.sections;
    let whole = trace.rest.as_ref().map(|rest| rest.whole);
    let same_account = whole.is_none_or(|whole| whole == compiled.trace.digest());
    if !same_payload && erased == 0 {
        return Err(differs(&world, &record, &compiled));
    }
    let now: BTreeSet<PieceKey> = pieces(envelope).into_iter().collect();
    let before = pieces(&record.envelope);
    // What the compiler adds to a section goes with the last object of it.
    let own = |name: &str| name.starts_with('@') || name.starts_with(ERASED);
    let left: BTreeSet<Section> =
        before.iter().filter(|piece| !own(&piece.1)).map(|piece| piece.0).collect();
    let mut proven = Vec::new();
    let mut unproven = Vec::new();
    for piece in before {
        let name = piece.1.clone();
        if now.contains(&piece) {
            proven.push(name);
        } else if !name.starts_with(ERASED) && (left.contains(&piece.0) || !own(&name)) {
            unproven.push(name);
        }
    }
    let proof = match (same_payload, erased) {
        (true, _) if compiled.trace.input_digest == trace.input_digest && same_account => {
            Proof::Whole
        }
        (true, _) => Proof::Payload,
        (false, _) if unproven.is_empty() => Proof::Rest,
        (false, _) => Proof::Partial,
    };
    Ok(Replay {
        proof,
        erased,
        proven,
        unproven,
        compiled: Some(compiled),
        record,
    })
}

/// The inputs of a compile that differ.
pub(super) fn differing(before: &InputDigests, now: &InputDigests) -> Vec<&'static str> {
    let inputs = [
        ("policy", before.policy, now.policy),
        ("request", before.request, now.request),
        ("candidates", before.candidates, now.candidates),
        ("facts", before.facts, now.facts),
        ("world", before.world, now.world),
    ];
    let differing = inputs.into_iter().filter(|(_, before, now)| before != now);
    differing.map(|(name, ..)| name).collect()
}

/// The error of a replay that gave other bytes: it names the inputs that differ.
fn differs(world: &World, record: &StoredRecord, compiled: &Compiled) -> Error {
    let differing = differing(&record.record.trace.inputs, &compiled.trace.inputs);
    if differing.is_empty() {
        return Error::new(
            ErrorKind::Internal,
            "the same inputs gave a payload that differs from the recorded one",
        )
        .hint("this is a bug in tenure; please report it with the record");
    }
    let error = Error::input(format!(
        "the compile cannot be repeated: its {} {} changed",
        differing.join(" and "),
        if differing.len() == 1 { "is" } else { "are" },
    ));
    if differing.contains(&"world") {
        return error.expected(format!(
            "the model catalogue and the frame key of the record; this world has the model `{}` and the key `{}`",
            world.model_name(),
            world.frame_key().id()
        ));
    }
    error
}
