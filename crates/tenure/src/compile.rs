//! The path of an object from candidate to payload, whole, in one file.
//!
//! ```text
//! collect ──► needs ──► answer ──► compile ──► record
//! (outside)   (pure)    (outside)  (pure)      (outside)
//! ```
//!
//! Each stage takes the type that the one before it gives, so that leaving one out does not compile.

pub(crate) mod envelope;
pub(crate) mod ladder;
mod links;
pub(crate) mod measure;
mod pieces;
pub(crate) mod quality;
mod reason;
mod rules;
pub mod score;
mod stages;
pub mod trace;

use self::stages::settle::{Retirement, Settled};
use crate::base::error::Error;
use crate::compile::envelope::{Compiled, Outcome};
use crate::compile::trace::Reason;
use crate::input::candidates::Candidates;
use crate::input::facts::{Asked, Facts, Needs};
use crate::input::gate::Gating;
use crate::input::outlines;
use crate::input::policy::Policy;
use crate::input::request::{Principal, Request};
use crate::write::world::World;

/// The number of this compiler. It is raised when the same inputs give other bytes, so that whoever makes a compile
/// again knows what a difference means. What was kept before it was kept is of compiler 1.
pub const COMPILER: u32 = 15;

/// Returns the facts that a compile would ask for, of settled objects only: nothing that the caller may not see ever
/// reaches an outside model.
///
/// # Errors
///
/// As [`compile`], for a request that makes no sense.
pub fn needs(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
) -> Result<Needs, Error> {
    let settled = settled(world, policy, request, candidates)?;
    let mut needs = stages::rank::needs(&settled, policy, request);
    needs.asked.extend(outline_asks(&settled, policy));
    Ok(needs)
}

/// The questions about source code, of what is settled.
fn outline_asks<'s>(
    settled: &'s Settled<'_>,
    policy: &'s Policy,
) -> impl Iterator<Item = Asked> + 's {
    outlines::needs(settled.live.set, &settled.live.rows, policy)
}

/// Of [`needs`] the questions about source code alone, for whoever has no others answered.
///
/// # Errors
///
/// As [`compile`], for a request that makes no sense.
pub fn outline_needs(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
) -> Result<Needs, Error> {
    let settled = settled(world, policy, request, candidates)?;
    Ok(Needs {
        asked: outline_asks(&settled, policy).collect(),
        ..Needs::default()
    })
}

/// Compiles candidates and a task into a payload that fits, with a verdict on every candidate.
///
/// A pure function: the same arguments give the same bytes and the same trace, on any thread, in
/// any process, on any platform. Nothing is written, asked or looked up. A missing fact has a
/// stated fallback and a note in the trace.
///
/// # Errors
///
/// [`ErrorKind::Budget`](crate::ErrorKind::Budget) when what must go in does not fit, with each item and its cost;
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when the request makes no sense, or the target takes no such tool or
/// call; [`ErrorKind::Policy`](crate::ErrorKind::Policy) when the caller has no scope, or when what must go in is
/// longer than the policy allows or misses what it needs.
///
/// ```
/// use tenure::{Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Request, World, compile};
///
/// let rule = ObjectDocument::rule("units", "Report pressure in pascal.").seal()?;
/// let world = World::for_model("gpt-4o", FrameKey::new("demo", [7; 32]))?;
/// let policy = Policy::preset("standard")?;
/// let request = Request::new("Report the pressure.", Budget::tokens(300));
/// let outcome = compile(&world, &policy, &request, &Candidates::new(vec![rule]), &Facts::none())?;
/// let envelope = &outcome.single()?.envelope;
/// assert!(envelope.total_tokens <= 300);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn compile(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
    facts: &Facts,
) -> Result<Outcome, Error> {
    let settled = settled(world, policy, request, candidates)?;

    // 5  Which epoch is this, and what does it freeze?
    let planned = stages::plan(settled, world, policy, request)?;
    // 6  How much does each object matter to the task?
    let ranked = stages::rank(planned, policy, request, facts);
    // 7  What cannot stand without what, and what small unit fits what stands?
    let rescued = stages::rescue(ranked, policy, request, facts);
    // 8  The bytes as they will stand, and their price.
    let contained = stages::contain(rescued, world, policy, request, facts)?;
    // 9  What goes in: into one payload, or into each of several.
    let pages = stages::fit(contained, world, policy, request)?;
    let compiled = pages
        .map(|page| -> Result<Compiled, Error> {
            // 10 In which order.
            let ordered = stages::order(page, policy);
            // 11 The payload, and the proof that every promise was kept.
            stages::emit(ordered, world, policy, request)
        })
        .collect::<Result<_, _>>()?;
    Ok(Outcome::of(compiled))
}

/// Returns the candidates' standing before the request's gate, the nearest first: what a compile would let pass,
/// without compiling.
///
/// # Errors
///
/// As [`compile`], for a request that makes no sense, or that has no gate.
pub fn gate(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
    facts: &Facts,
) -> Result<Gating, Error> {
    if request.gate.is_none() && request.tools.is_none() {
        return Err(Error::input("the request has no gate").expected("a `gate`, or `tools`"));
    }
    let settled = settled(world, policy, request, candidates)?;
    let planned = stages::plan(settled, world, policy, request)?;
    Ok(stages::rank::standings(planned, policy, request, facts))
}

/// The places of the candidates that the caller may see and that hold at the instants asked for, however old: what may
/// be searched on the caller's behalf.
///
/// # Errors
///
/// As [`compile`], for a request that makes no sense.
pub fn visible(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
) -> Result<Vec<usize>, Error> {
    let waived = Retirement::Waived;
    let settled = settled_with(world, policy, request, candidates, waived)?;
    Ok(settled.live.rows.iter().map(|row| *row as usize).collect())
}

/// The places of the candidates that a principal may see, whatever holds of them and whether or not they could stand
/// in a payload: what of a store may be shown on the principal's behalf.
///
/// ```
/// use tenure::object::Classification;
/// use tenure::{Candidates, ObjectDocument, Policy, Principal};
/// let mut closed = ObjectDocument::rule("pay", "What Ana earns.");
/// closed.user_id = Some("ana".into());
/// let open = ObjectDocument::rule("units", "Report pascal.");
/// let candidates = Candidates::new(vec![closed.seal()?, open.seal()?]);
/// let policy = Policy::preset("standard")?;
/// let clearance = Classification::Restricted;
/// let bob = Principal { user: Some("bob".into()), clearance, ..Principal::default() };
/// assert_eq!(tenure::admitted(&policy, &bob, &candidates), [1]);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn admitted(policy: &Policy, principal: &Principal, candidates: &Candidates) -> Vec<usize> {
    let request = Request {
        principal: principal.clone(),
        ..Request::default()
    };
    let stages::admit::Admitted(live) =
        stages::admit(stages::normalize(candidates), policy, &request);
    // Who may see an object is judged before what is wrong with it.
    (0..candidates.len())
        .filter(|at| {
            let verdict = live.verdicts.get(*at).and_then(Option::as_ref);
            matches!(
                verdict,
                None | Some(Reason::AnonymousEvidence | Reason::UnsupportedModality { .. })
            )
        })
        .collect()
}

/// The places of the candidates that a compile leaves out since what they were made from has changed, each with the place of
/// that: of those that the caller may see.
///
/// # Errors
///
/// As [`compile`], for what the store damaged and would have to go in.
///
/// ```
/// use tenure::{Candidates, ObjectDocument, Policy, Request};
/// let at = |day: &str| Some(day.parse().unwrap());
/// let mut notes = ObjectDocument::rule("notes", "Pump 7 runs at 40 bar.");
/// notes.tx_start = at("2026-03-02");
/// let notes = notes.seal()?;
/// let mut summary = ObjectDocument::rule("summary", "Pump 7: 30 bar.");
/// summary.tx_start = at("2026-03-01");
/// summary.derived_from = vec![notes.revision().object_id()];
/// let candidates = Candidates::new(vec![notes, summary.seal()?]).said();
/// let policy = Policy::preset("standard")?;
/// assert_eq!(tenure::stale(&policy, &Request::default(), &candidates)?, [(1, 0)]);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn stale(
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
) -> Result<Vec<(usize, usize)>, Error> {
    let admitted = stages::admit(stages::normalize(candidates), policy, request);
    let resolved = stages::resolve(admitted, request);
    let settled = stages::settle(resolved, policy, request, Retirement::Applies)?;
    let each = settled.stale.into_iter();
    Ok(each.map(|(at, of)| (at as usize, of as usize)).collect())
}

/// The first four stages: what the caller may see and what holds at the instants asked for, where that is settled for all that
/// must stand.
fn settled<'a>(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &'a Candidates,
) -> Result<Settled<'a>, Error> {
    let mut settled = settled_with(world, policy, request, candidates, Retirement::Applies)?;
    settled.disputed.take().map_or(Ok(settled), Err)
}

fn settled_with<'a>(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &'a Candidates,
    retirement: Retirement,
) -> Result<Settled<'a>, Error> {
    request.validate()?;
    if let Some(plan) = &request.retrieval {
        plan.suits(policy)?;
    }
    names_match(world, request)?;
    world.takes(request.target)?;

    // 1  Candidates become rows.
    let normalized = stages::normalize(candidates);
    // 2  What may the caller see?
    let admitted = stages::admit(normalized, policy, request);
    // 3  Which entities do they speak of?
    let resolved = stages::resolve(admitted, request);
    // 4  What holds at the instants asked for?
    stages::settle(resolved, policy, request, retirement)
}

/// A request may name the model and the frame key that it was made for.
fn names_match(world: &World, request: &Request) -> Result<(), Error> {
    let pairs = [
        ("model", &request.model, world.model_name()),
        ("frame key", &request.frame_key, world.frame_key().id()),
    ];
    for (what, asked, present) in pairs {
        if let Some(asked) = asked
            && asked != present
        {
            return Err(
                Error::input(format!("the request names the {what} `{asked}`"))
                    .expected(format!("`{present}`, which this world has")),
            );
        }
    }
    Ok(())
}
