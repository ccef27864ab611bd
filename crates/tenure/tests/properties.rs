//! The guarantees of a compile, each as a property over random worlds. They are checked with code
//! that shares nothing with the compiler: another tokenizer, a validator of its own for messages,
//! SHA-256 from the hash crate, a trace read as data.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::wire::{legal, wire};
use crate::common::{Case, Draft, PLENTY, Run, case, compiled, oracle, payload, room, run, within};
use proptest::prelude::*;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tenure::belief::SlotClaim;
use tenure::condense::Omission;
use tenure::object::{Authority, Classification, ObjectDocument, ObjectType, Protection, Role};
use tenure::policy::{Contradictions, Derived, Order, Overflow};
use tenure::section::{Section, section_of};
use tenure::time::Position;
use tenure::trace::{EpochCause, Form, Note, Stage};
use tenure::{
    Candidates, Compiled, CountKind, Digest, ErrorKind, Item, Reason, Request, Ruling, Target,
    Unfetched, Verdict, World,
};

/// How many turns only call tools: in Anthropic's form nothing shows where such a turn begins.
fn silent(run: &Run, real: &Compiled) -> usize {
    let silent = |object: &tenure::ContextObject| {
        let revision = object.revision();
        !revision.tool_calls().is_empty() && revision.content().trim().is_empty()
    };
    let verdicts = real.trace.verdicts.iter();
    verdicts
        .zip(run.candidates.objects())
        .filter(|(verdict, object)| verdict.verdict == Ruling::Included && silent(object))
        .filter(|_| real.envelope.target != Target::OpenAiChat)
        .count()
}

/// What a chat body costs: its texts by an independent count, and what the catalogue says that the
/// provider adds around them. A message's role is one token; blocks are priced as messages.
fn recount(case: &Case, run: &Run, real: &Compiled) -> usize {
    let chat = crate::common::world(case.model).model().chat;
    let count = |text: &str| oracle(case.model, text);
    let wire = wire(real);
    let messages = wire.texts.len() + silent(run, real);
    let mut total = chat.reply as usize + messages * (chat.per_message as usize + 1);
    total += wire.texts.values().map(|text| count(text)).sum::<usize>();
    for (name, arguments) in &wire.calls {
        total += chat.per_call as usize + count(name) + count(arguments);
    }
    if !wire.tools.is_empty() {
        total += chat.tools as usize;
    }
    for tool in &wire.tools {
        total += chat.per_tool as usize + count(tool.get());
    }
    total
}

/// Whether a turn of the system stands in blocks of a model that takes it as such, where the order lets it.
fn may_lose_its_label(run: &Run, real: &Compiled) -> bool {
    let rules = run.world.model().messages.unwrap_or_default();
    let is_said = |object: &tenure::ContextObject| {
        let revision = object.revision();
        let is_system = revision.role() == Some(Role::System);
        is_system
            && revision.object_type() == ObjectType::Turn
            && !revision.content().trim().is_empty()
    };
    let in_blocks = real.envelope.target == Target::AnthropicMessages;
    let standing = included(real);
    let mut turns = standing.iter().zip(run.candidates.objects());
    in_blocks
        && rules.mid_conversation_system == Some(true)
        && turns.any(|(stands, object)| *stands && is_said(object))
}

fn items(compiled: &Compiled) -> impl Iterator<Item = &Item> {
    compiled.envelope.sections.iter().flat_map(|section| &section.items)
}

fn included(compiled: &Compiled) -> Vec<bool> {
    let standing = |verdict: &Verdict| verdict.verdict == Ruling::Included;
    compiled.trace.verdicts.iter().map(standing).collect()
}

// ---------------------------------------------------------------------------------------------
// 1. Fits, counted exactly.

fn fits_counted_exactly(case: &Case) -> Result<(), TestCaseError> {
    let run = case.run();
    let dry_request = Request {
        dry_run: true,
        ..run.request.clone()
    };
    let dry = run.with(&dry_request);
    let Ok(real) = &run.result else {
        prop_assert_eq!(dry.unwrap_err(), run.result.unwrap_err());
        return Ok(());
    };
    let envelope = &real.envelope;
    prop_assert!(envelope.total_tokens <= envelope.budget);
    prop_assert_eq!(envelope.budget, room(&run.request));
    for section in &envelope.sections {
        let sum: u32 = section.items.iter().map(|item| item.tokens).sum();
        prop_assert_eq!(sum, section.tokens);
    }
    let sum: u32 = envelope.sections.iter().map(|section| section.tokens).sum();
    prop_assert_eq!(sum + envelope.overhead_tokens, envelope.total_tokens);
    prop_assert_eq!(real.trace.total_tokens, envelope.total_tokens);

    let total = envelope.total_tokens as usize;
    let (counted, exact) = match run.request.target {
        Target::Text => {
            prop_assert_eq!(envelope.overhead_tokens, 0);
            (oracle(case.model, payload(real)), CountKind::Exact)
        }
        _ => (recount(case, &run, real), CountKind::Published),
    };
    if run.world.tokenizer().kind() == CountKind::Exact && !may_lose_its_label(&run, real) {
        prop_assert_eq!(total, counted, "{}", payload(real));
        prop_assert_eq!(envelope.count, exact);
    } else {
        prop_assert!(total >= counted);
        prop_assert_eq!(envelope.count, CountKind::Bounded);
    }

    let dry = dry.unwrap();
    prop_assert!(dry.envelope.payload.is_none() && dry.envelope.payload_digest.is_none());
    prop_assert_eq!(dry.envelope.total_tokens, envelope.total_tokens);
    prop_assert_eq!(dry.envelope.overhead_tokens, envelope.overhead_tokens);
    prop_assert_eq!(dry.envelope.injection_surface, envelope.injection_surface);
    prop_assert_eq!(&dry.envelope.served, &envelope.served);
    prop_assert_eq!(&dry.trace.verdicts, &real.trace.verdicts);
    prop_assert_eq!(&dry.trace.allocations, &real.trace.allocations);
    prop_assert_eq!(&dry.trace.notes, &real.trace.notes);
    prop_assert_eq!(dry.envelope.sections.len(), envelope.sections.len());
    let told = |item: &Item| (item.name.clone(), item.revision, item.tokens);
    prop_assert!(items(&dry).map(told).eq(items(real).map(told)));
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// 2. Byte-identical.

/// The same candidates, cut at these places.
fn layered(candidates: &Candidates, cuts: &[usize]) -> Candidates {
    let objects = candidates.objects().iter().cloned();
    let objects: Vec<_> = objects.zip(candidates.which_are_said()).collect();
    let mut layers = Vec::new();
    let mut from = 0;
    for until in cuts.iter().copied().chain([objects.len()]) {
        let until = until.clamp(from, objects.len());
        layers.push(Arc::new(crate::common::said_or_not(&objects[from..until])));
        from = until;
    }
    Candidates::layered(layers).with_unfetched(candidates.unfetched().to_vec())
}

fn byte_identical(case: &Case) -> Result<(), TestCaseError> {
    let run = case.run();
    let same = |world: &World, candidates: &Candidates| {
        compiled(world, &run.policy, &run.request, candidates, &run.facts)
    };
    let seen = |result: Result<Compiled, tenure::Error>| {
        result.map(|compiled| {
            let trace = serde_json::to_string(&compiled.trace).unwrap();
            let envelope = serde_json::to_string(&compiled.envelope).unwrap();
            (payload(&compiled).to_owned(), trace, envelope)
        })
    };
    let expected = seen(run.result.clone());
    prop_assert_eq!(&seen(same(run.world, &run.candidates)), &expected);
    prop_assert_eq!(
        &seen(same(
            &crate::common::fresh_world(case.model),
            &case.candidates()
        )),
        &expected
    );
    // In how many layers the candidates come is not seen.
    for cuts in [
        vec![case.candidates().len() / 2],
        vec![1, 1, 4],
        vec![0, 3, 9],
    ] {
        prop_assert_eq!(
            &seen(same(run.world, &layered(&case.candidates(), &cuts))),
            &expected
        );
    }
    // Several threads start at once on a world and candidates that have cached nothing yet.
    let world = crate::common::fresh_world(case.model);
    let candidates = case.candidates();
    #[allow(clippy::disallowed_methods)] // threads of the test, not of the crate
    let from_threads = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..3).map(|_| scope.spawn(|| seen(same(&world, &candidates)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for result in from_threads {
        prop_assert_eq!(&result, &expected);
    }

    // What the texts mention is told of them, and changes nothing else.
    let mut silent = run.request.clone();
    for one in &mut silent.identities {
        one.mentioned_by.clear();
    }
    match (run.with(&silent), &run.result) {
        (Ok(silent), Ok(own)) => {
            prop_assert_eq!(payload(&silent), payload(own));
            let mut verdicts = own.trace.verdicts.clone();
            for verdict in &mut verdicts {
                verdict.mentions.clear();
            }
            prop_assert_eq!(&silent.trace.verdicts, &verdicts);
        }
        (silent, own) => prop_assert_eq!(silent.err(), own.as_ref().err().cloned()),
    }

    // Ids are names: dealt anew, in another order, they change no byte.
    let other = Case {
        salt: "another",
        ..case.clone()
    };
    match (other.run().result, &run.result) {
        (Ok(other), Ok(own)) => {
            prop_assert_eq!(payload(&other), payload(own));
            prop_assert_eq!(&other.trace.verdicts, &own.trace.verdicts);
        }
        (other, own) => prop_assert_eq!(other.err(), own.as_ref().err().cloned()),
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// 3. Conservation.

fn conservation(case: &Case) -> Result<(), TestCaseError> {
    let run = case.run();
    let Ok(real) = &run.result else { return Ok(()) };
    let objects = run.candidates.objects();
    let verdicts = &real.trace.verdicts;
    prop_assert_eq!(verdicts.len(), objects.len());
    let mut standing: BTreeMap<_, i32> = BTreeMap::new();
    for (verdict, object) in verdicts.iter().zip(objects) {
        prop_assert_eq!(&*verdict.name, object.revision().name());
        prop_assert_eq!(verdict.verdict, verdict.reason.ruling());
        if verdict.verdict == Ruling::Included {
            let key = (object.revision().id(), verdict.section, verdict.tokens);
            *standing.entry(key).or_default() += 1;
        }
    }
    for section in &real.envelope.sections {
        prop_assert_eq!(section.zone, run.policy.zone(section.name));
        for item in &section.items {
            match item.revision {
                Some(id) => *standing.entry((id, section.name, item.tokens)).or_default() -= 1,
                None => prop_assert!(item.name.starts_with('@')),
            }
        }
    }
    prop_assert!(standing.values().all(|count| *count == 0), "{:?}", standing);

    let stages = &real.trace.stages;
    prop_assert!(stages.iter().map(|report| report.stage).eq(Stage::ALL.iter().copied()));
    prop_assert_eq!(stages[0].entered as usize, objects.len());
    prop_assert!(
        stages.windows(2).all(|pair| pair[0].left == pair[1].entered),
        "{:?}",
        stages
    );
    let count = included(real).into_iter().filter(|included| *included).count();
    prop_assert_eq!(stages[stages.len() - 1].left as usize, count);

    no_claims_collide(&run, real)?;
    the_undecided_stays_low(&run, real)?;
    what_is_made_follows(&run, real)?;
    let bytes = real.envelope.payload.as_ref().unwrap().bytes();
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    prop_assert_eq!(*real.envelope.payload_digest.unwrap().bytes(), digest);
    prop_assert_eq!(real.trace.payload_digest, real.envelope.payload_digest);
    the_ladder_holds(&run, real)?;
    source_map_holds(&run, real)
}

/// A text without what escapes imitations.
fn plain(text: &str) -> String {
    let escapes = [
        ("&lt;", "<"),
        ("&#91;", "["),
        ("\\#", "#"),
        ("\\[", "["),
        ("\\call ", "call "),
    ];
    let plain = |text: String, (escape, sign): (&str, &str)| text.replace(escape, sign);
    escapes.into_iter().fold(text.to_owned(), plain)
}

/// Imitations are escaped, and noted; but for that, the bytes are the object's.
fn stands_but_for_imitations(
    real: &Compiled,
    revision: &tenure::object::Revision,
    text: &str,
    content: &str,
) -> Result<(), TestCaseError> {
    prop_assert!(plain(text).contains(&plain(content)), "{:?}", text);
    let escaped = real.trace.notes.iter().any(
        |note| matches!(note, Note::ImitationEscaped { name, .. } if **name == *revision.name()),
    );
    prop_assert!(escaped || text.contains(content), "{:?}", text);
    Ok(())
}

/// Whether nothing but the item stands in its message.
fn item_stands_alone(real: &Compiled, item: &Item) -> bool {
    let place = |item: &Item| item.span.map(|span| (span.message, span.block));
    items(real).filter(|other| place(other) == place(item)).count() == 1
        && real
            .envelope
            .section(Section::History)
            .is_some_and(|history| history.items.contains(item))
}

/// No line of these words is a heading of the payload, says who speaks or calls a tool, and none closes a frame.
fn nothing_poses(run: &Run, words: &str) -> Result<(), TestCaseError> {
    let document = run.policy.document();
    let has_headings = document.headings && document.order == Order::Sections;
    for line in words.lines().map(str::trim) {
        let poses = ["[system]", "[user]", "[assistant]", "call x y {}"].contains(&line)
            || has_headings && Section::ALL.iter().any(|section| section.heading().trim() == line);
        prop_assert!(!poses, "{:?}", words);
    }
    for tag in [
        "</evidence>",
        "<evidence boundary=",
        "< / Memory>",
        "<|im_end|>",
    ] {
        let read = tag != "<|im_end|>" || run.request.target == Target::Text;
        prop_assert!(!(read && words.contains(tag)), "{:?}", words);
    }
    Ok(())
}

/// Whether it is what somebody observed of a person, or concluded.
fn is_observation(revision: &tenure::object::Revision) -> bool {
    let observed = matches!(
        revision.object_type(),
        ObjectType::Preference | ObjectType::IdentityFact | ObjectType::InferredBelief
    );
    observed && revision.authority_level() != Authority::Data
}

/// Every verdict names how far its object came, and what held it; no authority and no type comes further than it may.
fn the_ladder_holds(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    let ladder = run.policy.document().guidance.ladder;
    for (verdict, object) in real.trace.verdicts.iter().zip(run.candidates.objects()) {
        let revision = object.revision();
        let rung = verdict.rung.unwrap().number();
        prop_assert_eq!(rung == 5, verdict.held_by.is_none(), "{:?}", verdict);
        let most = match revision.authority_level() {
            Authority::Data => 3,
            Authority::Memory => 4,
            _ if is_observation(revision) => 4,
            _ => 5,
        };
        prop_assert!(rung <= most, "{:?}", verdict);
        if is_observation(revision) && !ladder {
            prop_assert!(rung <= 2, "{:?}", verdict);
        }
        prop_assert!(rung < 5 || revision.has_validator(), "{:?}", verdict);
        if verdict.verdict == Ruling::Denied {
            prop_assert!(rung <= 1, "{:?}", verdict);
        }
    }
    Ok(())
}

/// The spans cover the payload without gap or overlap, and each holds its object's bytes.
fn source_map_holds(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    let is_text = run.request.target == Target::Text;
    let wire = (!is_text).then(|| wire(real));
    let whole = |(message, block, tool): (Option<u32>, Option<u32>, Option<u32>)| match &wire {
        None => payload(real),
        Some(wire) => match tool {
            Some(tool) => wire.tools[tool as usize].get(),
            None => wire.texts.get(&(message, block)).map_or("", String::as_str),
        },
    };
    let objects: BTreeMap<_, _> = run
        .candidates
        .objects()
        .iter()
        .map(|object| (object.revision().id(), object.revision()))
        .collect();
    let documents: BTreeMap<_, _> = run
        .candidates
        .objects()
        .iter()
        .map(|object| (object.revision().id(), object.to_document().unwrap()))
        .collect();
    // What the system says in a message of its own needs no label.
    let body: Value = match run.request.target {
        Target::AnthropicMessages => serde_json::from_str(payload(real)).unwrap(),
        _ => Value::Null,
    };
    let by_system = |message: u32| body["messages"][message as usize]["role"] == "system";
    let mut tiles: BTreeMap<_, Vec<(u32, u32)>> = BTreeMap::new();
    for item in items(real) {
        let span = item.span.unwrap();
        let place = (span.message, span.block, span.tool);
        tiles.entry(place).or_default().push((span.start, span.end));
        let text = whole(place);
        let text = text.get(span.start as usize..span.end as usize);
        prop_assert!(text.is_some(), "{:?}", item);
        let text = text.unwrap();
        let Some(revision) = item.revision.map(|id| objects[&id]) else {
            continue;
        };
        // What of it stands: the content, or a shorter form.
        let document = documents[&item.revision.unwrap()].clone();
        let content = match item.form {
            None => document.content,
            Some(form) => {
                let condensed = &real.trace.condensed;
                let said = condensed.iter().any(|condensed| {
                    condensed.name == item.name
                        && condensed.form == form
                        && condensed.to == item.tokens
                        && condensed.to < condensed.from
                });
                prop_assert!(said, "{:?}", item);
                match form {
                    Form::Abstract => document.abstract_text.unwrap(),
                    Form::Overview => document.overview.unwrap(),
                    // What a condensation keeps is its own business.
                    _ => continue,
                }
            }
        };
        if revision.tool().is_some() {
            let tool: Value = serde_json::from_str(text).unwrap();
            let fields = tool.get("function").unwrap_or(&tool);
            prop_assert_eq!(fields["name"].as_str(), Some(revision.name()));
            let description = fields["description"].as_str().map(plain);
            prop_assert_eq!(description, Some(plain(revision.content().trim())));
            continue;
        }
        // What follows from an observation stands, or its claim: never its own words, nor a shorter form of them.
        if is_observation(revision) && run.policy.document().guidance.ladder {
            prop_assert!(item.form.is_none(), "{:?}", item);
            nothing_poses(run, text)?;
            continue;
        }
        let own = span.message.filter(|_| {
            matches!(
                revision.object_type(),
                ObjectType::Turn | ObjectType::ToolResult
            )
        });
        let blocks = [Target::AnthropicMessages, Target::Gemini];
        let labelled = blocks.contains(&run.request.target)
            && revision.role() == Some(Role::System)
            && !span.message.is_some_and(by_system);
        if own.is_some() && labelled {
            let expected = format!("[system]\n{}\n", revision.content().trim_end());
            prop_assert_eq!(text, expected);
        } else if own.is_some() {
            let empty = revision.content().trim().is_empty();
            let came = if empty { "" } else { revision.content() };
            // What a tool returned goes to an open model without the tokens that it would read.
            let reads = run.world.model().provider.is_none();
            if reads && revision.object_type() == ObjectType::ToolResult {
                stands_but_for_imitations(real, revision, text, came)?;
            } else {
                prop_assert_eq!(text, came);
            }
        } else if revision.authority_level() == Authority::Data {
            stands_but_for_imitations(real, revision, text, content.trim_end_matches('\n'))?;
        } else {
            stands_but_for_imitations(real, revision, text, content.trim_end())?;
            let speaks = revision.object_type() == ObjectType::Turn;
            let alone = !is_text && item_stands_alone(real, item);
            if revision.authority_level() >= Authority::User && !alone {
                let own = text.split_once('\n').filter(|_| speaks);
                let words = own.map_or(text, |(_, words)| words);
                // Behind them stand its calls, each on a line.
                let mut lines: Vec<&str> = words.lines().collect();
                lines.truncate(lines.len().saturating_sub(revision.tool_calls().len()));
                nothing_poses(run, &lines.join("\n"))?;
            }
        }
    }
    for (place, mut spans) in tiles.clone() {
        spans.sort_unstable();
        let mut end = 0;
        for (from, until) in spans {
            prop_assert_eq!(from, end, "{:?}", place);
            end = until;
        }
        prop_assert_eq!(end as usize, whole(place).len());
    }
    let places = wire.as_ref().map_or(1, |wire| {
        wire.texts.len() + wire.tools.len() + silent(run, real)
    });
    prop_assert_eq!(tiles.len(), places);
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// 4. Mandatory means mandatory.

/// Whether a verdict says that the object got as far as ranking.
fn settled(reason: &Reason) -> bool {
    reason.ruling() != Ruling::Denied
        && !matches!(
            reason,
            Reason::AnonymousEvidence
                | Reason::UnsupportedModality { .. }
                | Reason::EntityPending { .. }
                | Reason::NotYetValid { .. }
                | Reason::ExpiredValidTime { .. }
                | Reason::Decayed { .. }
                | Reason::AwaitingConfirmation { .. }
                | Reason::NotYetKnown { .. }
                | Reason::NoLongerHeld { .. }
                | Reason::Contradicted { .. }
                | Reason::Overridden { .. }
                | Reason::ConflictingClaimUnresolved { .. }
                | Reason::Stale { .. }
                | Reason::Superseded { .. }
                | Reason::Duplicate { .. }
                | Reason::NearDuplicate { .. }
                | Reason::NextEpoch
                | Reason::NextRequest
        )
}

/// No two claims stand in a payload that cannot both hold at the instant asked for.
fn no_claims_collide(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    if run.policy.document().contradictions == Contradictions::Keep {
        return Ok(());
    }
    let objects = run.candidates.objects().iter().zip(included(real));
    let standing = objects.filter(|(_, included)| *included);
    let claims: Vec<_> = standing
        .filter_map(|(object, _)| {
            let (mut entities, claim) = SlotClaim::of(object)?;
            // Which ids mean one, without the compiler's own table.
            for known in &run.request.identities {
                let Some(means) = &known.means else { continue };
                for entity in entities.iter_mut().filter(|id| **id == known.id) {
                    entity.clone_from(means);
                }
            }
            Some((object, (entities, claim)))
        })
        .collect();
    for (at, (one, (entities, ours))) in claims.iter().enumerate() {
        for (other, (theirs_of, theirs)) in &claims[at + 1..] {
            let same = entities.iter().any(|entity| theirs_of.contains(entity))
                && ours.claim.slot() == theirs.claim.slot()
                && one.revision().object_id() != other.revision().object_id();
            let judged = ours.against(theirs).filter(|judged| {
                let inside = |at| judged.window.locate(at) == Position::Inside;
                run.request.as_of.valid.is_none_or(inside)
            });
            prop_assert!(!same || judged.is_none(), "{:?} {:?}", ours, theirs);
        }
    }
    Ok(())
}

/// What was made from something that the caller may see stands only while nothing that it was made from was written after it
/// or is judged; what was inferred, while some of it is clean.
fn what_is_made_follows(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    if run.policy.document().derived == Derived::Keep {
        return Ok(());
    }
    let verdicts = real.trace.verdicts.iter().zip(run.candidates.objects());
    // Those whose parts came as far as the stage that asks.
    let admitted = verdicts.clone().filter(|(verdict, _)| {
        let stages = verdict.reason.stages();
        stages != [Stage::Admit] && stages != [Stage::Resolve]
    });
    let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (verdict, object) in admitted {
        let id = object.revision().object_id();
        parts.entry(id).or_default().push((verdict, object));
    }
    for (verdict, object) in verdicts {
        let revision = object.revision();
        let own = object.status().transaction.from;
        let (Ruling::Included, Some(own)) = (verdict.verdict, own) else {
            let is_stale = matches!(verdict.reason, Reason::Stale { .. });
            prop_assert!(own.is_some() || !is_stale, "{:?}", verdict);
            continue;
        };
        let parents = revision.derived_from().iter();
        let parents = parents.filter(|id| **id != revision.object_id());
        let parents = parents.filter_map(|id| parts.get(id));
        let is_down = |parts: &Vec<(&Verdict, _)>| {
            let mut each = parts.iter();
            each.all(|(verdict, _)| {
                matches!(
                    verdict.reason,
                    Reason::Contradicted { .. } | Reason::Stale { .. }
                )
            })
        };
        let is_inferred = revision.object_type() == ObjectType::InferredBelief;
        let is_over = |parts: &Vec<(&Verdict, _)>| {
            let mut each = parts.iter();
            each.all(|(verdict, _)| {
                matches!(
                    verdict.reason,
                    Reason::ExpiredValidTime { .. } | Reason::Decayed { .. }
                )
            })
        };
        let holds = |parts: &Vec<_>| !is_down(parts) && !is_over(parts);
        let is_held = is_inferred && parents.clone().any(holds);
        for parts in parents.clone() {
            let mut written = parts.iter().map(|(_, object)| object.status().transaction.from);
            let is_later = written.any(|from| from.is_some_and(|from| own < from));
            prop_assert!(is_held || !is_down(parts), "{:?}", verdict);
            prop_assert!(is_held || !is_later, "{:?}", verdict);
        }
        let any = parents.clone().next().is_some();
        prop_assert!(!any || !parents.clone().all(is_over), "{:?}", verdict);
    }
    Ok(())
}

/// What is about an entity that nobody has decided holds nothing on rungs 4 and 5, and no object of the platform or the
/// developer is about it; what the registry says of merged ids is told of each verdict.
fn the_undecided_stays_low(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    let identities = &run.request.identities;
    let said = |id: &String| identities.iter().find(|one| one.id == *id);
    for (verdict, object) in real.trace.verdicts.iter().zip(run.candidates.objects()) {
        let revision = object.revision();
        let (ids, _) = revision.names();
        if verdict.verdict == Ruling::Denied {
            prop_assert!(verdict.canonical_entity_ids.is_empty());
            prop_assert!(verdict.mentions.is_empty());
            continue;
        }
        let mentioned = identities.iter().filter(|one| one.mentioned_by.contains(&revision.id()));
        let mentioned = mentioned.map(|one| one.means.as_ref().unwrap_or(&one.id).clone());
        let mentioned: BTreeSet<String> = mentioned.collect();
        prop_assert!(verdict.mentions.iter().eq(&mentioned), "{:?}", verdict);
        let mut canonical: Vec<String> = Vec::new();
        for id in ids {
            let means = said(id).and_then(|one| one.means.clone());
            let means = means.unwrap_or_else(|| id.clone());
            if !canonical.contains(&means) {
                canonical.push(means);
            }
        }
        if canonical == ids {
            canonical.clear();
        }
        prop_assert_eq!(&verdict.canonical_entity_ids, &canonical);
        let pending = ids.iter().any(|id| said(id).is_some_and(|one| one.pending));
        let is_said = matches!(
            revision.object_type(),
            ObjectType::Turn | ObjectType::ToolResult | ObjectType::Checkpoint
        );
        if !pending || is_said {
            continue;
        }
        if verdict.verdict == Ruling::Included {
            prop_assert!(
                revision.authority_level() >= Authority::User,
                "{:?}",
                verdict
            );
            let rung = verdict.rung.unwrap();
            prop_assert!(rung.number() < 4, "{:?}", verdict);
        }
        let noted = real.trace.notes.iter().any(|note| {
            matches!(note, Note::EntityUndecided { names, .. } if names.contains(&verdict.name))
        });
        let left_before = matches!(
            verdict.reason,
            Reason::AnonymousEvidence | Reason::UnsupportedModality { .. }
        );
        prop_assert!(noted || left_before, "{:?}", verdict);
    }
    Ok(())
}

fn has_corpus(run: &Run) -> bool {
    let mut objects = run.candidates.objects().iter();
    objects.any(|object| section_of(object.revision()) == Section::Codex)
}

fn mandatory_means_mandatory(case: &Case) -> Result<(), TestCaseError> {
    let run = case.run();
    match &run.result {
        Ok(real) => what_must_stand_stands(&run, real),
        Err(error) if error.kind == ErrorKind::Budget => each_is_named_with_its_cost(&run, error),
        // What may not go in, at no budget.
        Err(error) if !error.mandatory.is_empty() => {
            prop_assert_eq!(error.kind, ErrorKind::Policy);
            match run.unbounded() {
                // With another strategy for a corpus, a gate has other objects before it, and something else may
                // be missing.
                Ok(real) => prop_assert!(real.trace.plan.context.is_some(), "{}", error),
                Err(again) if run.request.gate.is_some() || run.request.tools.is_some() => {
                    prop_assert_ne!(again.kind, ErrorKind::Internal, "{}", again);
                }
                Err(again) if has_corpus(&run) => {
                    prop_assert_eq!(
                        (again.kind, &again.mandatory),
                        (error.kind, &error.mandatory)
                    );
                }
                Err(again) => prop_assert_eq!(&again, error),
            }
            Ok(())
        }
        Err(_) => Ok(()),
    }
}

/// What may stand for a near-duplicate: what is in, or got no room either.
fn stands_or_waits(reason: &Reason) -> bool {
    reason.ruling() == Ruling::Included
        || matches!(
            reason,
            Reason::NoRoom { .. }
                | Reason::OverShare { .. }
                | Reason::NotWorthItsCost { .. }
                | Reason::OnPage { .. }
                | Reason::Deferred { .. }
        )
}

fn what_must_stand_stands(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    let objects = run.candidates.objects();
    if real.trace.plan.cause == EpochCause::Kept {
        // The same revision may have been served more than once.
        let mut missing: BTreeMap<_, i32> = BTreeMap::new();
        for id in run.request.served.iter().flat_map(|ledger| &ledger.floor) {
            *missing.entry(*id).or_default() += 1;
        }
        for item in items(real) {
            if let Some(count) = item.revision.and_then(|id| missing.get_mut(&id)) {
                *count -= 1;
            }
        }
        prop_assert!(missing.values().all(|count| *count <= 0), "{:?}", missing);
    }
    for (verdict, object) in real.trace.verdicts.iter().zip(objects) {
        let revision = object.revision();
        let standing = verdict.verdict == Ruling::Included;
        if standing {
            for name in revision.keep_with() {
                let has = items(real).any(|item| *item.name == **name);
                prop_assert!(has, "`{}` stands without `{}`", verdict.name, name);
            }
        }
        let doubled = matches!(
            verdict.reason,
            Reason::Duplicate { .. } | Reason::NearDuplicate { .. }
        );
        if let Reason::NearDuplicate { of, .. } = &verdict.reason {
            let named = real.trace.verdicts.iter().filter(|other| other.name == *of);
            let mut reasons = named.map(|other| &other.reason);
            prop_assert!(reasons.any(stands_or_waits), "{:?}", verdict);
        }
        // A rule that is data binds nobody, whoever may not remove it.
        let is_rule = matches!(
            revision.object_type(),
            ObjectType::Rule | ObjectType::PolicyRule | ObjectType::ActionableConstraint
        );
        let binds = !is_rule || revision.authority_level() != Authority::Data;
        let protected = binds && !object.is_removable() && !revision.is_optional();
        prop_assert!(!doubled || !protected, "{:?}", verdict);
        if !settled(&verdict.reason) || standing {
            continue;
        }
        // A turn out of its exchange is no turn; anything else would have failed the compile.
        let fixed = verdict.section.tier().is_fixed() || (binds && !revision.is_removable());
        let torn = matches!(
            verdict.reason,
            Reason::OrphanToolResult | Reason::UnansweredToolCall
        );
        // A gate chooses among tools, but not among those that their author protects.
        let gated = matches!(verdict.reason, Reason::GatedOut { .. })
            && verdict.section == Section::Tools
            && object.is_removable();
        let torn = torn && !protected;
        prop_assert!(
            !fixed || revision.is_optional() || torn || gated,
            "{:?}",
            verdict
        );
    }
    Ok(())
}

/// With room for everything, what was mandatory is exactly what the error named, at those prices.
fn each_is_named_with_its_cost(run: &Run, error: &tenure::Error) -> Result<(), TestCaseError> {
    if error.what.contains("the evidence needs more than") {
        return Ok(());
    }
    let total: u64 = error.mandatory.iter().map(|item| u64::from(item.tokens)).sum();
    prop_assert_ne!(total, 0);
    if error.what.contains("fail_loud") || error.what.contains("that a page has for it") {
        // It names what was left out, or too long for a page, instead.
        return Ok(());
    }
    let real = match run.unbounded() {
        Ok(real) => real,
        // A required section in which nothing stands at any budget.
        Err(again) => {
            // Or a section's own maximum, which fails loudly at any budget, too.
            let loud = again.kind == ErrorKind::Budget && again.what.contains("fail_loud");
            // Or a call without a tool, by a turn that needs a document that only stands where the
            // corpus is whole.
            let other = matches!(again.kind, ErrorKind::Policy | ErrorKind::Input);
            prop_assert!(loud || other, "{}", again);
            return Ok(());
        }
    };
    prop_assert!(total > u64::from(room(&run.request)), "{}", error);
    let mut named: Vec<_> = error
        .mandatory
        .iter()
        .filter(|item| !item.name.starts_with('@'))
        .map(|item| (item.name.as_str(), item.section, item.tokens))
        .collect();
    let mut must: Vec<_> = real
        .trace
        .verdicts
        .iter()
        .filter(|verdict| matches!(verdict.reason, Reason::Mandatory { .. }))
        .map(|verdict| (&*verdict.name, verdict.section.term(), verdict.tokens))
        .collect();
    let mut with_closures = must.clone();
    with_closures.extend(
        real.trace
            .verdicts
            .iter()
            .filter(|verdict| matches!(verdict.reason, Reason::KeptWith { .. }))
            .map(|verdict| (&*verdict.name, verdict.section.term(), verdict.tokens)),
    );
    named.sort_unstable();
    must.sort_unstable();
    with_closures.sort_unstable();
    // With room for everything a corpus stands whole, which must not be in less.
    if real.trace.plan.context.is_some() {
        return Ok(());
    }
    let plenty = real.trace.allocations.iter().all(|report| report.allocated == report.demand);
    if run.policy.document().order == Order::Sections && plenty {
        prop_assert_eq!(named, with_closures);
    } else {
        // Where objects are chosen one by one, what the elastic bring along is `kept_with` too.
        prop_assert!(must.iter().all(|item| named.contains(item)));
        prop_assert!(named.iter().all(|item| with_closures.contains(item)));
    }
    let added = error.mandatory.iter().filter(|item| item.name.starts_with('@'));
    let added: u64 = added.map(|item| u64::from(item.tokens)).sum();
    let least: u64 = items(&real)
        .filter(|item| item.revision.is_none() && &*item.name != "@heading")
        .map(|item| u64::from(item.tokens))
        .sum();
    prop_assert!(added >= least);
    Ok(())
}

/// An optional object that no budget of these requests and no limit of these policies holds.
fn huge(words: usize, kind: ObjectType) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(kind),
        optional: Some(true),
        provenance: Some(tenure::object::Provenance {
            source_id: Some("huge".into()),
            retrieved_at: Some(crate::common::day(1)),
            ..Default::default()
        }),
        ..ObjectDocument::named("huge", "pressure ".repeat(words))
    }
}

/// What is longer than the policy allows changes nothing for the others. In registry order, neither
/// does what is longer than the budget. Relevance is supplied: a lexical score depends on every
/// object that the caller sees, as it should.
fn the_oversized_starve_nobody(
    case: &Case,
    kind: ObjectType,
    front: bool,
    over_limit: bool,
) -> Result<(), TestCaseError> {
    let (words, limits) = if over_limit {
        (700, "[limits]\nuser_tokens = 600\ndata_tokens = 600\n")
    } else {
        (4200, "")
    };
    let toml = case
        .policy
        .replace("scorer = \"lexical\"", "scorer = \"supplied\"")
        .replace("scorer = \"hybrid\"", "scorer = \"supplied\"")
        .replace("condense_above = 8", "condense_above = 0");
    let toml = match toml.find("[limits]") {
        Some(from) => {
            let end = toml[from + 1..].find('[').map_or(toml.len(), |end| from + 1 + end);
            format!("{}{limits}{}", &toml[..from], &toml[end..])
        }
        None => format!("{toml}{limits}"),
    };
    let policy = tenure::Policy::from_toml(&toml).unwrap();
    let strict = policy.document().strict_stop
        || policy.overflow(case.request.task.class()) == Overflow::FailLoud;
    // A document of the corpus that is too long keeps the rest from standing as a whole.
    if kind == ObjectType::Artifact && policy.document().order == Order::Sections {
        return Ok(());
    }
    if !over_limit && (policy.document().order == Order::Sections || strict) {
        return Ok(());
    }
    let world = crate::common::world(case.model);
    // Before a gate, and before the questions of a plan, everything takes a place.
    let request = Request {
        served: None,
        gate: None,
        tools: None,
        retrieval: None,
        ..case.request()
    };
    let mut objects = case.candidates().objects().to_vec();
    objects.retain(|object| object.revision().name() != "n0");
    // Every object has its fact, so that nobody's score depends on the others.
    let own = |candidates: &Candidates| {
        let mut facts = tenure::Facts::none();
        for asked in tenure::needs(world, &policy, &request, candidates).unwrap().asked {
            let key = candidates.objects()[asked.candidate].revision().content_digest().key();
            let score = tenure::num::Score::from_millionths((key % 1_000_001) as u32);
            facts.insert(&asked.need, tenure::Fact::Relevance { score });
        }
        facts
    };
    let without = Candidates::new(objects.clone());
    let place = if front { 0 } else { objects.len() };
    objects.insert(place, crate::common::sealed(huge(words, kind)));
    let with = Candidates::new(objects);
    let without = compiled(world, &policy, &request, &without, &own(&without));
    let with = compiled(world, &policy, &request, &with, &own(&with));
    match (without, with) {
        (Ok(without), Ok(with)) => {
            let mut changed = included(&with);
            prop_assert!(!changed.remove(place), "{:?}", with.trace.verdicts[place]);
            prop_assert_eq!(included(&without), changed);
            prop_assert_eq!(payload(&without), payload(&with));
        }
        (without, with) => prop_assert_eq!(without.err(), with.err()),
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// 5. No leak.

fn no_leak(case: &Case) -> Result<(), TestCaseError> {
    let run = case.run();
    let objects = run.candidates.objects();
    // A failing compile tells no verdicts: ask for them with room for everything.
    let told = match (&run.result, run.unbounded()) {
        (Ok(real), _) => real.clone(),
        (Err(_), Ok(real)) => real,
        (Err(_), Err(_)) => return Ok(()),
    };
    let denied = |at: &usize| told.trace.verdicts[*at].verdict == Ruling::Denied;
    let visible = |at: usize, object: &Arc<_>| (!denied(&at)).then(|| Arc::clone(object));
    let visible = run.candidates.filter_map(visible);
    let facts = crate::common::facts(run.world, &run.policy, &run.request, &visible);
    prop_assert_eq!(&facts, &run.facts);
    // Vectors of what the caller may not see change nothing, either, unless the caller says the same.
    let needs = tenure::needs(run.world, &run.policy, &run.request, &visible);
    let asked = needs.into_iter();
    let asked = asked.flat_map(|needs| {
        let parts = run.facts.subqueries(&needs.query).to_vec();
        needs.further.into_iter().chain(parts).chain([needs.query])
    });
    let asked: Vec<Digest> = asked.map(|text| Digest::of(text.as_bytes())).collect();
    let mut more = run.facts.clone();
    let seen = |text: &Digest| {
        if asked.contains(text) {
            return true;
        }
        let mut known = run.facts.vectors().iter();
        let shown = || visible.objects().iter().map(|object| object.revision().content_digest());
        known.any(|vectors| vectors.get(text).is_some()) || shown().any(|shown| shown == *text)
    };
    let all = objects.iter().map(|object| object.revision().content_digest());
    let hidden = crate::common::vectors(all.filter(|text| !seen(text)));
    if !more.vectors().is_empty() {
        let hidden = Arc::new(hidden);
        more.add_vectors(Arc::clone(&hidden)).unwrap();
        more.add_beside(hidden).unwrap();
    }
    let told_more = compiled(run.world, &run.policy, &run.request, &run.candidates, &more);
    prop_assert_eq!(told_more.as_ref().ok(), run.result.as_ref().ok());
    let narrow = compiled(run.world, &run.policy, &run.request, &visible, &facts);
    match (&run.result, &narrow) {
        (Ok(wide), Ok(narrow)) => {
            prop_assert_eq!(&wide.envelope, &narrow.envelope);
            prop_assert_eq!(payload(wide), payload(narrow));
            let view = |compiled: &Compiled, candidates| {
                serde_json::to_string(&compiled.trace.caller_view(
                    &run.policy,
                    &run.request.principal,
                    candidates,
                ))
                .unwrap()
            };
            prop_assert_eq!(view(wide, &run.candidates), view(narrow, &visible));
        }
        (wide, narrow) => prop_assert_eq!(wide.as_ref().err(), narrow.as_ref().err()),
    }
    // Of what was not fetched, the caller is told what they may see.
    let principal = &run.request.principal;
    let left = |object: &Arc<_>| Unfetched {
        labels: Some(Arc::clone(object)),
        ..Unfetched::new("an object", "archived")
    };
    let open = tenure::admitted(&run.policy, principal, &Candidates::new(objects.to_vec()));
    let view = |unfetched: Vec<Unfetched>| {
        let mut trace = told.trace.clone();
        trace.unfetched.clone_from(&unfetched);
        let same = |_, object: &Arc<_>| Some(Arc::clone(object));
        let candidates = run.candidates.filter_map(same).with_unfetched(unfetched);
        let view = trace.caller_view(&run.policy, principal, &candidates);
        serde_json::to_string(&view).unwrap()
    };
    let shown = open.iter().map(|at| left(&objects[*at])).collect();
    prop_assert_eq!(view(objects.iter().map(left).collect()), view(shown));
    Ok(())
}

/// What the caller says in the request itself is never denied to the caller, whatever labels it has. The wall between
/// tenants stands, and what is said opens nothing that is not: the same objects, unsaid, are judged as ever.
fn what_is_said_is_seen(case: &Case) -> Result<(), TestCaseError> {
    let run = case.run();
    let told = match (&run.result, run.unbounded()) {
        (Ok(real), _) => real.clone(),
        (Err(_), Ok(real)) => real,
        (Err(_), Err(_)) => return Ok(()),
    };
    let unsaid = Candidates::new(run.candidates.objects().to_vec());
    let stored = tenure::admitted(&run.policy, &run.request.principal, &unsaid);
    let said = run.candidates.which_are_said();
    for (at, (verdict, said)) in told.trace.verdicts.iter().zip(said).enumerate() {
        let denied = verdict.verdict == Ruling::Denied;
        if said {
            prop_assert!(!denied || verdict.reason == Reason::OtherTenant)
        } else {
            prop_assert_eq!(denied, !stored.contains(&at), "{:?}", verdict)
        }
    }
    // Who says it is part of what the compile depends on.
    let mixed = run.candidates.which_are_said().any(|said| said);
    prop_assert_eq!(mixed, run.candidates.digest() != unsaid.digest());
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// 7. Monotone.

fn monotone(case: &Case, more: u32) -> Result<(), TestCaseError> {
    let run = case.run();
    let Ok(small) = &run.result else {
        return Ok(());
    };
    every_no_room_is_true(&run, small)?;
    let larger = within(room(&run.request) + more, &run.request);
    let large = match run.with(&larger) {
        Ok(large) => large,
        // What was left to retrieval is wanted now, and not all of it fits.
        Err(error) => {
            let loud = run.policy.overflow(run.request.task.class()) == Overflow::FailLoud;
            let wanted = small.trace.strategy == Some(tenure::request::Strategy::Retrieve);
            prop_assert!(
                loud && wanted && error.kind == ErrorKind::Budget,
                "{}",
                error
            );
            return Ok(());
        }
    };
    every_no_room_is_true(&run, &large)?;
    // With more in the payload, its constraints may be looked at that were not before.
    if [small, &large].into_iter().any(|compiled| loosened(compiled).next().is_some()) {
        return Ok(());
    }
    let sections = |compiled: &Compiled| -> BTreeMap<Section, u32> {
        let reports = compiled.trace.allocations.iter();
        reports.map(|report| (report.section, report.allocated)).collect()
    };
    let near_alone = |compiled: &Compiled| compiled.trace.plan.rules.map(|rules| rules.near_alone);
    if small.trace.strategy != large.trace.strategy || near_alone(small) != near_alone(&large) {
        // Another strategy is another epoch, and with all rules more is asked for.
        return Ok(());
    }
    let (less, more) = (sections(small), sections(&large));
    // Deferred evidence claims nothing.
    let deferred = |compiled: &Compiled| {
        let verdicts = &compiled.trace.verdicts;
        verdicts.iter().any(|verdict| matches!(verdict.reason, Reason::Deferred { .. }))
    };
    prop_assert!(deferred(small) || !deferred(&large));
    prop_assert!(deferred(small) || less.keys().eq(more.keys()));
    for (section, less) in &less {
        prop_assert!(
            *less <= more[section],
            "{}: {} > {}",
            section,
            less,
            more[section]
        );
    }
    no_worse_choice(&run, small, &large)
}

/// The places of the soft constraints that left because constraints were too many.
fn loosened(compiled: &Compiled) -> impl Iterator<Item = usize> + '_ {
    let verdicts = compiled.trace.verdicts.iter().enumerate();
    let left =
        verdicts.filter(|(_, verdict)| matches!(verdict.reason, Reason::TooManyConstraints { .. }));
    left.map(|(at, _)| at)
}

/// Only soft constraints that nothing demands leave, the least important first; where the limit is not kept, none of them
/// is left, and the trace says so.
fn constraints_are_few(case: &Case) -> Result<(), TestCaseError> {
    let run = case.run();
    let Ok(real) = &run.result else { return Ok(()) };
    let objects = run.candidates.objects();
    let is_soft = |at: usize| {
        let revision = objects[at].revision();
        let constraint = revision.constraint();
        let constraint = constraint.filter(|_| revision.authority_level() != Authority::Data);
        constraint.is_some_and(|constraint| constraint.rigidity == tenure::object::Rigidity::Soft)
    };
    let needs = objects.iter().flat_map(|object| object.revision().keep_with());
    let needs: BTreeSet<&str> = needs.map(|name| &**name).collect();
    let verdicts = real.trace.verdicts.iter().enumerate();
    let free = verdicts.filter(|(at, verdict)| verdict.reason == Reason::Fits && is_soft(*at));
    let free = free.filter(|(at, _)| !needs.contains(objects[*at].name()));
    let free: Vec<usize> = free.map(|(at, _)| at).collect();
    let is_page = real.envelope.part.is_some();
    for at in loosened(real) {
        prop_assert!(is_soft(at));
        let stays = free.iter().map(|at| objects[*at].priority()).min();
        prop_assert!(is_page || stays.is_none_or(|least| objects[at].priority() <= least));
    }
    let quality = &real.trace.quality;
    prop_assert_eq!(quality.len(), tenure::policy::QualityMetric::ALL.len());
    let limits = run.policy.document().quality.unwrap();
    let is_dense = |note: &Note| matches!(note, Note::DenseConstraints { .. });
    let told = real.trace.notes.iter().any(is_dense);
    for measured in quality {
        let (class, tokens) = (run.request.task.class(), real.trace.total_tokens);
        let bounds = limits.bounds(measured.metric, class, tokens);
        prop_assert_eq!(measured.missed, !bounds.hold(measured.value));
        prop_assert_eq!(&*measured.definition, measured.metric.definition());
        if measured.metric == tenure::policy::QualityMetric::ConstraintDensity {
            prop_assert!(!measured.missed || told, "{:?}", measured);
            prop_assert!(!measured.missed || is_page || free.is_empty());
        }
    }
    Ok(())
}

/// A schema is asked for as it came, but that fields of which nothing speaks may be null; and while an epoch lasts they
/// stay the same.
fn schemas_force_nothing(case: &Case) -> Result<(), TestCaseError> {
    let run = case.run();
    let Ok(real) = &run.result else { return Ok(()) };
    let settings = run.policy.document().answers;
    let asked = real.envelope.response_schema.as_ref();
    let Some(own) = &run.request.response_schema else {
        prop_assert!(settings.add_schemas || asked.is_none());
        return Ok(());
    };
    let Some(asked) = asked else {
        return Err(TestCaseError::fail("the schema is lost"));
    };
    prop_assert_eq!(&asked["required"], &own["required"]);
    let relaxed = real.envelope.served.relaxed.clone().unwrap_or_default();
    prop_assert!(settings.relax_schemas || relaxed.is_empty());
    for (name, field) in own["properties"].as_object().into_iter().flatten() {
        let is_same = asked["properties"][name] == *field;
        prop_assert_eq!(is_same, !relaxed.contains(name), "{}", name);
        let required = own["required"].as_array().unwrap();
        prop_assert!(is_same || required.contains(&Value::from(name.as_str())));
    }
    // Whatever is said next.
    let next = Request {
        served: Some(real.envelope.served.clone()),
        ..run.request.clone()
    };
    if let Ok(after) = run.with(&next)
        && after.trace.plan.cause == EpochCause::Kept
        && real.trace.plan.cause != EpochCause::Kept
    {
        prop_assert_eq!(
            &after.envelope.response_schema,
            &real.envelope.response_schema
        );
        prop_assert_eq!(
            &after.envelope.served.relaxed,
            &real.envelope.served.relaxed
        );
    }
    Ok(())
}

/// In rank order, at the first object that only one of two choices took for its own sake, the larger allocation has it.
/// What flowed back is on top of the allocation, so only sections without it in the smaller choice count, and only worlds
/// in which nothing pulls objects into other sections.
fn no_worse_choice(run: &Run, small: &Compiled, large: &Compiled) -> Result<(), TestCaseError> {
    // Of several pages, none is a choice: together they hold everything.
    if small.envelope.part.is_some() || large.envelope.part.is_some() {
        return Ok(());
    }
    let objects = run.candidates.objects();
    if objects.iter().any(|object| !object.revision().keep_with().is_empty()) {
        return Ok(());
    }
    let verdicts = &small.trace.verdicts;
    let (small_in, large_in) = (included(small), included(large));
    // What another brings along is no choice of its own.
    let differs = |at: &usize| {
        let is_brought = |compiled: &Compiled| {
            matches!(compiled.trace.verdicts[*at].reason, Reason::KeptWith { .. })
        };
        small_in[*at] != large_in[*at] && !is_brought(small) && !is_brought(large)
    };
    let pins = &run.request.task.pins;
    let standing = |at: &usize| {
        let protection = objects[*at].revision().protection();
        if protection == Protection::Pinned || pins.contains(&objects[*at].name().to_owned()) {
            0
        } else if protection == Protection::Verbatim {
            1
        } else {
            2
        }
    };
    let mut queues: Vec<Vec<usize>> = Vec::new();
    if run.policy.document().order == Order::Registry {
        queues.push((0..objects.len()).collect());
    } else {
        for report in small.trace.allocations.iter().filter(|report| report.flow_back == 0) {
            let mut queue: Vec<usize> = (0..objects.len())
                .filter(|at| verdicts[*at].section == report.section)
                .filter(|at| verdicts[*at].score.is_some())
                .collect();
            if report.section == Section::History {
                // From the latest, and behind those what the history can do without: what is left out says of what
                // class it is, and of two choices that differ in an object one leaves it out.
                let loss = |at: &usize| {
                    let reasons =
                        [small, large].map(|compiled| &compiled.trace.verdicts[*at].reason);
                    reasons.into_iter().find_map(|reason| match reason {
                        Reason::NoRoom { class, .. } => Some(class.map(Reverse)),
                        _ => None,
                    })
                };
                queue.reverse();
                // Of what is longer than its share nothing says it.
                if queue.iter().filter(|at| differs(at)).any(|at| loss(at).is_none()) {
                    continue;
                }
                // Of what is stale the least worth its tokens leaves first.
                let eviction = |at: &usize| {
                    let full = |compiled: &Compiled| {
                        let mut condensed = compiled.trace.condensed.iter();
                        let condensed = condensed.find(|one| one.candidate as usize == *at);
                        let tokens = compiled.trace.verdicts[*at].tokens;
                        condensed.map_or(tokens, |one| one.from)
                    };
                    match loss(at).flatten() {
                        Some(Reverse(Omission::Stale)) => {
                            verdicts[*at].score.unwrap().eviction(full(small))
                        }
                        _ => 0,
                    }
                };
                queue.sort_by_key(|at| (standing(at), loss(at).flatten(), eviction(at)));
            } else {
                queue.sort_by_key(|at| {
                    let score = verdicts[*at].score.unwrap();
                    let revision = objects[*at].revision();
                    (
                        standing(at),
                        score.grade,
                        Reverse(score.composite),
                        (revision.content_digest().key() >> 64) as u64,
                        revision.name().to_owned(),
                        *at,
                    )
                });
            }
            queues.push(queue);
        }
    }
    for queue in queues {
        if let Some(at) = queue.into_iter().find(differs) {
            prop_assert!(large_in[at], "{:?}", verdicts[at]);
        }
    }
    Ok(())
}

fn every_no_room_is_true(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    let by_rank = run.policy.document().order == Order::Sections;
    let cascades = run.policy.overflow(run.request.task.class()) == Overflow::CascadeCompress;
    for (verdict, object) in real.trace.verdicts.iter().zip(run.candidates.objects()) {
        match &verdict.reason {
            Reason::OverShare { needed, share } => prop_assert!(needed > share),
            Reason::NotWorthItsCost { needed, worth } => {
                let reports = &real.trace.allocations;
                let section = verdict.section;
                let report = reports.iter().find(|report| report.section == section);
                prop_assert!(report.unwrap().used + needed > *worth);
            }
            _ => {}
        }
        let Reason::NoRoom {
            needed,
            left,
            displaced_by,
            ..
        } = &verdict.reason
        else {
            continue;
        };
        prop_assert!(needed > left, "{:?}", verdict);
        if let Some(name) = displaced_by {
            prop_assert!(items(real).any(|item| item.name == *name), "{:?}", verdict);
        }
        // Tools bring what offering them costs, turns bring their exchange.
        // In registry order the numbers are those of the object's own turn.
        let alone = object.revision().keep_with().is_empty()
            && ![Section::History, Section::Tools].contains(&verdict.section);
        let opens = real.envelope.section(verdict.section).is_none();
        let shortens = |object: &tenure::ContextObject| {
            let document = object.to_document().unwrap();
            let has_forms = document.abstract_text.is_some() || document.overview.is_some();
            cascades && (has_forms || run.policy.document().condense_above > 0)
        };
        // What is new in an epoch may bring a message of its own.
        let late = real.trace.plan.cause == EpochCause::Kept && run.policy.freezes(verdict.section);
        // It may be the first under its authority's mark.
        let document = run.policy.document();
        let marks = document.guidance.blocks && document.headings;
        if by_rank && alone && !opens && !shortens(object) && !late && !marks {
            // A unit that is attached brings what it is attached to, where that is not in, with what that is kept with
            // and the heading that it opens. Nothing else costs more than its own tokens.
            let objects = run.candidates.objects();
            let mut all = objects.iter();
            let keeps = all.any(|object| !object.revision().keep_with().is_empty());
            // What has shorter forms comes in the shortest, and its verdict has the tokens of the full one: what it says
            // that it needs is the cost of that form, but what is near to another says none.
            let shorter = |host: &Verdict, own: u32| match host.reason {
                Reason::NoRoom { needed, .. }
                | Reason::OverShare { needed, .. }
                | Reason::NotWorthItsCost { needed, .. } => own == needed,
                Reason::NearDuplicate { .. } => (1..host.tokens).contains(&own),
                _ => false,
            };
            let brings = |(host, object): (&Verdict, &Arc<tenure::ContextObject>)| {
                let own = needed.checked_sub(verdict.tokens);
                let rest = own.and_then(|own| own.checked_sub(host.tokens));
                let opens = real.envelope.section(host.section).is_none();
                let whole = rest.is_some_and(|rest| rest == 0 || opens || keeps);
                host.verdict != Ruling::Included
                    && !std::ptr::eq(host, verdict)
                    && host.tokens > 0
                    && (whole || shortens(object) && own.is_some_and(|own| shorter(host, own)))
            };
            let may_bring = run.policy.document().rescue.most > 0;
            let brings = may_bring && real.trace.verdicts.iter().zip(objects).any(brings);
            prop_assert!(*needed == verdict.tokens || brings, "{:?}", verdict);
        }
        prop_assert!(*needed >= verdict.tokens || cascades);
        let unspent = real.envelope.budget - real.envelope.total_tokens;
        let kept_for_the_part = real.envelope.part.is_some();
        if by_rank && !kept_for_the_part && run.policy.section(verdict.section).max == 0 {
            prop_assert_eq!(*left, unspent, "{:?}", verdict);
        }
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// Pages, deferral, forms, utilisation.

/// A case with passages of its own, and room for all but a part of its evidence.
fn paginated(case: &Case, passages: usize, share: u32) -> Option<Run> {
    let toml = format!(
        "max_pages = 64\noverflow = \"paginate\"\n{}",
        without_overflow(&case.policy)
    );
    // In registry order there are no pages.
    let policy = tenure::Policy::from_toml(&toml).ok()?;
    let mut objects = case.candidates().objects().to_vec();
    for at in 0..passages {
        let passage = ObjectDocument {
            object_type: Some(ObjectType::RetrievedPassage),
            security_classification: Some(Classification::Public),
            provenance: Some(tenure::object::Provenance {
                source_id: Some("manual".into()),
                retrieved_at: Some(crate::common::day(1)),
                ..Default::default()
            }),
            ..rule(&format!("page {at}"), 4 + at * 3)
        };
        objects.push(crate::common::sealed(passage));
    }
    let request = Request {
        context: Some(tenure::policy::ContextMode::Retrieve),
        served: None,
        gate: None,
        tools: None,
        ..case.request()
    };
    let world = crate::common::world(case.model);
    let whole = run(
        world,
        policy.clone(),
        within(PLENTY, &request),
        Candidates::new(objects.clone()),
    );
    let real = whole.result.ok()?;
    let evidence = real.envelope.section(Section::Evidence)?.tokens;
    let room = real.envelope.total_tokens - evidence * share / 100;
    Some(run(
        world,
        policy,
        within(room, &request),
        Candidates::new(objects),
    ))
}

fn pages(run: &Run) -> Option<Vec<Compiled>> {
    let outcome = tenure::compile(
        run.world,
        &run.policy,
        &run.request,
        &run.candidates,
        &run.facts,
    );
    match outcome {
        Ok(tenure::Outcome::Pages { pages }) => Some(pages),
        _ => None,
    }
}

/// Every page fits and is whole; together they hold what one payload with room for everything would;
/// all but the evidence and the line that names the part stands the same on each.
fn pages_cover_the_evidence(case: &Case, passages: usize, share: u32) -> Result<(), TestCaseError> {
    let Some(run) = paginated(case, passages, share) else {
        return Ok(());
    };
    let Some(pages) = pages(&run) else {
        return Ok(());
    };
    // With more room there are no more pages.
    let wider = run.with(&within(room(&run.request) + 50, &run.request)).unwrap();
    let of = wider.envelope.part.map_or(1, |part| part.of as usize);
    prop_assert!(of <= pages.len(), "{} > {}", of, pages.len());
    prop_assert!(pages.len() > 1);
    let unbounded = run.unbounded().unwrap();
    let mut covered = vec![false; run.candidates.len()];
    for (at, page) in pages.iter().enumerate() {
        let part = page.envelope.part.unwrap();
        prop_assert_eq!(
            (part.number as usize, part.of as usize),
            (at + 1, pages.len())
        );
        prop_assert!(page.envelope.total_tokens <= page.envelope.budget);
        let stays = |page: &Compiled| -> Vec<bool> {
            let verdicts = page.trace.verdicts.iter();
            verdicts
                .map(|verdict| {
                    verdict.section == Section::Evidence || verdict.verdict == Ruling::Included
                })
                .collect()
        };
        if stays(page) == stays(&pages[0]) {
            // Which fields of an answer may be null follows from the evidence of the page.
            let served = |page: &Compiled| tenure::request::ServedLedger {
                relaxed: None,
                ..page.envelope.served.clone()
            };
            prop_assert_eq!(served(page), served(&pages[0]));
        }
        let named = format!("part: {} of {};", at + 1, pages.len());
        prop_assert!(payload(page).contains(&named));
        for (row, verdict) in page.trace.verdicts.iter().enumerate() {
            covered[row] |= verdict.verdict == Ruling::Included;
            if let Reason::OnPage { page } = verdict.reason {
                prop_assert!(included(&pages[page as usize - 1])[row]);
            }
        }
        // What comes with one page's evidence need not have room on the others.
        let brought = |name: &str| {
            let verdicts = pages.iter().filter_map(|page| page.trace.verdict(name));
            let mut reasons = verdicts.map(|verdict| &verdict.reason);
            reasons.any(|reason| matches!(reason, Reason::KeptWith { .. }))
        };
        let rest = |compiled: &Compiled| -> Vec<(String, u32)> {
            items(compiled)
                .filter(|item| item.revision.is_some() && !brought(&item.name))
                .filter(|item| {
                    let verdict = compiled.trace.verdict(&item.name).unwrap();
                    verdict.section != Section::Evidence
                })
                .map(|item| (item.name.to_string(), item.tokens))
                .collect()
        };
        let doubled = |page: &Compiled| {
            let names: BTreeSet<_> =
                page.trace.verdicts.iter().map(|verdict| &verdict.name).collect();
            names.len() < page.trace.verdicts.len()
        };
        if !doubled(page) {
            prop_assert_eq!(rest(page), rest(&pages[0]));
        }
        source_map_holds(&run, page)?;
    }
    for (row, verdict) in unbounded.trace.verdicts.iter().enumerate() {
        let max = run.policy.section(Section::Evidence).max;
        let evidence = verdict.verdict == Ruling::Included && verdict.section == Section::Evidence;
        prop_assert!(!evidence || max > 0 || covered[row], "{:?}", verdict);
    }
    Ok(())
}

/// The policy without its own choice of an overflow policy.
fn without_overflow(toml: &str) -> String {
    let lines = toml
        .lines()
        .filter(|line| !line.starts_with("overflow") && !line.starts_with("max_pages"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Either everything fits, or no evidence stands that need not, and all of it is named as pending.
fn deferral_is_all_or_nothing(case: &Case) -> Result<(), TestCaseError> {
    let toml = format!(
        "overflow = \"defer_retrieval\"\n{}",
        without_overflow(&case.policy)
    );
    let policy = tenure::Policy::from_toml(&toml);
    let Ok(policy) = policy else {
        return Ok(()); // In registry order there is nothing to defer.
    };
    let run = run(
        crate::common::world(case.model),
        policy,
        case.request(),
        case.candidates(),
    );
    let outcome = tenure::compile(
        run.world,
        &run.policy,
        &run.request,
        &run.candidates,
        &run.facts,
    );
    match outcome {
        Ok(tenure::Outcome::Deferred { compiled, pending }) => {
            let verdicts = &compiled.trace.verdicts;
            let waiting = verdicts
                .iter()
                .filter(|verdict| matches!(verdict.reason, Reason::Deferred { .. }));
            let names: Vec<_> = waiting.map(|verdict| verdict.name.clone()).collect();
            prop_assert!(!names.is_empty());
            prop_assert_eq!(
                names,
                pending.iter().map(|pending| pending.name.clone()).collect::<Vec<_>>()
            );
            for verdict in verdicts.iter().filter(|verdict| verdict.section == Section::Evidence) {
                let stands_or_lost = matches!(verdict.reason, Reason::Fits | Reason::NoRoom { .. });
                prop_assert!(!stands_or_lost);
            }
        }
        Ok(tenure::Outcome::Complete(compiled)) => {
            let deferred = |verdict: &Verdict| matches!(verdict.reason, Reason::Deferred { .. });
            prop_assert!(!compiled.trace.verdicts.iter().any(deferred));
        }
        Ok(_) => prop_assert!(false, "pages"),
        Err(_) => {}
    }
    Ok(())
}

/// A plain rule of so many words, each a token or two.
fn rule(name: &str, words: usize) -> ObjectDocument {
    let text: String =
        (0..words.max(1)).map(|at| format!("pressure {} ", (at * 7919) % 97)).collect();
    ObjectDocument::named(name, text.trim())
}

/// The step on which each of these objects stands, in rank order: -1 out, 0 its abstract, 1 its overview, 2 whole. Each has
/// so many words in its abstract, so many more in its overview, and so many more in all.
fn steps(sizes: &[(u8, u8, u8)], kind: ObjectType, tokens: u32) -> Vec<i32> {
    let objects = sizes.iter().enumerate().map(|(at, (shortest, middle, full))| {
        let words = |n: u8| usize::from(n);
        let name = format!("r{at}");
        let of = |n: usize| rule(&name, n).content;
        let (first, second) = (words(*shortest), words(*shortest) + words(*middle));
        crate::common::sealed(ObjectDocument {
            object_type: Some(kind),
            priority: tenure::num::Score::new(1.0 - at as f64 / 64.0),
            abstract_text: Some(of(first)),
            overview: Some(of(second)),
            provenance: (kind == ObjectType::RetrievedPassage).then(|| {
                tenure::object::Provenance {
                    source_id: Some(name.clone()),
                    retrieved_at: Some(crate::common::day(1)),
                    ..Default::default()
                }
            }),
            ..rule(&name, second + words(*full))
        })
    });
    let section = "item_share = 1.0\nrelevance_floor = 0.0\n\
        factors = { relevance = 0.0, authority = 0.0, freshness = 0.0, utility = 1.0, economy = 0.0, confidence = 0.0 }\n";
    let policy = tenure::Policy::from_toml(&format!(
        "headings = false\nprecedence = false\nrequired = [\"task\"]\n[grades]\nminimal = 0.0\n\
         [sections.memory]\n{section}[sections.evidence]\n{section}"
    ))
    .unwrap();
    let run = run(
        crate::common::world(0),
        policy,
        Request::new("pressure", tenure::Budget::tokens(tokens)),
        Candidates::new(objects.collect()),
    );
    let real = run.result.unwrap();
    let step = |verdict: &Verdict| {
        let form = real.trace.condensed.iter().find(|condensed| condensed.name == verdict.name);
        match (verdict.verdict, form.map(|condensed| condensed.form)) {
            (Ruling::Included, Some(Form::Abstract)) => 0,
            (Ruling::Included, Some(_)) => 1,
            (Ruling::Included, None) => 2,
            _ => -1,
        }
    };
    real.trace.verdicts.iter().map(step).collect()
}

/// Breadth before depth: compared by who is in, then by who stands a step longer, then two, all in
/// rank order, more room never makes a worse choice.
fn breadth_before_depth(
    sizes: &[(u8, u8, u8)],
    tokens: u32,
    more: u32,
) -> Result<(), TestCaseError> {
    let of = |tokens| steps(sizes, ObjectType::Rule, tokens);
    let (small, large) = (of(tokens), of(tokens + more));
    let ladder = |steps: &[i32]| -> Vec<bool> {
        (0..3).flat_map(|least| steps.iter().map(move |step| *step >= least)).collect()
    };
    prop_assert!(ladder(&small) <= ladder(&large), "{:?} {:?}", small, large);
    // Nobody is left out for somebody's longer form while the abstracts of those before fit.
    if let Some(out) = small.iter().position(|step| *step < 0) {
        let before = small[..out].iter();
        prop_assert!(before.clone().all(|step| *step >= 0));
    }
    Ok(())
}

/// Depth before breadth in the evidence: compared by the step of the nearest, then of the next, more room never makes a
/// worse choice.
fn depth_before_breadth(
    sizes: &[(u8, u8, u8)],
    tokens: u32,
    more: u32,
) -> Result<(), TestCaseError> {
    let of = |tokens| steps(sizes, ObjectType::RetrievedPassage, tokens);
    let (small, large) = (of(tokens), of(tokens + more));
    prop_assert!(small <= large, "{:?} {:?}", small, large);
    Ok(())
}

/// With more to choose from than fits, none of it large, little room is left over.
fn uses_the_budget(sizes: &[u16], kinds: &[u8], budget: u32) -> Result<(), TestCaseError> {
    let most = budget / 50;
    let mut objects = Vec::new();
    let mut total = 0u32;
    for (at, (size, kind)) in sizes.iter().zip(kinds).cycle().enumerate() {
        if total > budget + budget / 5 {
            break;
        }
        // Words of three tokens; framed evidence costs 60 more.
        let evidence = kind % 3 == 0 && most > 100;
        let words =
            u32::from(*size) % (most.saturating_sub(if evidence { 80 } else { 12 }) / 4).max(1);
        let text: String = (0..=words)
            .map(|word| format!("pressure {} ", (word * 31 + at as u32) % 97))
            .collect();
        let document = ObjectDocument {
            object_type: evidence.then_some(ObjectType::RetrievedPassage),
            layer: (kind % 3 == 1).then_some(tenure::object::Layer::User),
            provenance: evidence.then(|| tenure::object::Provenance {
                source_id: Some("s".into()),
                retrieved_at: Some(crate::common::day(1)),
                ..Default::default()
            }),
            ..ObjectDocument::named(format!("o{at}"), format!("{at} {}", text.trim()))
        };
        total += crate::common::world(0).price(&document.content) + if evidence { 40 } else { 0 };
        objects.push(crate::common::sealed(document));
    }
    // All of them say the one word of the task, which tells nothing.
    let policy = tenure::Policy::from_toml(
        "[guidance]\nnear = 0.0\n[sections.evidence]\nrelevance_floor = 0.0\n",
    )
    .unwrap();
    let request = Request::new("pressure", tenure::Budget::tokens(budget));
    let run = run(
        crate::common::world(0),
        policy,
        request,
        Candidates::new(objects),
    );
    let real = run.result.unwrap();
    let longest = real.trace.verdicts.iter().map(|verdict| verdict.tokens).max().unwrap();
    prop_assert!(longest <= most, "{} of {}", longest, most);
    let relevant: u32 = real
        .trace
        .verdicts
        .iter()
        .filter(|verdict| verdict.score.is_some())
        .map(|verdict| verdict.tokens)
        .sum();
    prop_assert!(relevant >= budget + budget / 5);
    let used = f64::from(real.envelope.total_tokens) / f64::from(budget);
    prop_assert!((0.95..=1.0).contains(&used), "{}", used);
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// Epochs.

/// The bytes up to the end of what an epoch freezes, by the source map.
fn floor(compiled: &Compiled, policy: &tenure::Policy) -> String {
    let end = compiled
        .envelope
        .sections
        .iter()
        .filter(|section| policy.freezes(section.name))
        .flat_map(|section| &section.items)
        .filter(|item| !item.late)
        .filter_map(|item| item.span)
        .filter(|span| span.tool.is_none())
        .map(|span| (span.message, span.block, span.end as usize))
        .max();
    let Some((message, block, end)) = end else {
        return String::new();
    };
    if compiled.envelope.target == Target::Text {
        return payload(compiled)[..end].to_owned();
    }
    let texts = wire(compiled).texts;
    let before = texts.range(..(message, block)).map(|(_, text)| text.as_str());
    let mut floor: Vec<&str> = before.collect();
    floor.push(&texts[&(message, block)][..end]);
    floor.join("|")
}

fn tools(compiled: &Compiled) -> Vec<String> {
    if compiled.envelope.target == Target::Text {
        return Vec::new();
    }
    let tools = wire(compiled).tools;
    tools.iter().map(|tool| tool.get().to_owned()).collect()
}

/// A call after the first: new memory at the end, a new query, a little more room.
fn next_call(
    case: &Case,
    first: &Run,
    served: tenure::request::ServedLedger,
) -> (Request, Candidates) {
    let mut objects = Vec::new();
    for text in [
        "The sensor drifts by one pascal.",
        "Report the timer in digits.",
    ] {
        let new = ObjectDocument {
            priority: tenure::num::Score::new(0.9),
            security_classification: Some(Classification::Public),
            ..ObjectDocument::named(format!("new {text}"), text)
        };
        objects.push(crate::common::sealed(new));
    }
    let request = Request {
        query: Some("pascal sensor timer, next".into()),
        served: Some(served),
        ..within(room(&first.request) + 200, &first.request)
    };
    let layers = [case.candidates(), Candidates::new(objects)].map(Arc::new);
    (request, Candidates::layered(layers))
}

fn epochs(case: &Case, gone: prop::sample::Index) -> Result<(), TestCaseError> {
    let case = Case {
        follows: false,
        ..case.clone()
    };
    let first = case.run();
    let Ok(before) = &first.result else {
        return Ok(());
    };
    prop_assert_eq!(before.trace.plan.cause, EpochCause::First);
    let served = before.envelope.served.clone();
    let (request, candidates) = next_call(&case, &first, served.clone());
    let facts = crate::common::facts(first.world, &first.policy, &request, &candidates);
    let Ok(after) = compiled(first.world, &first.policy, &request, &candidates, &facts) else {
        return Ok(());
    };
    let cause = after.trace.plan.cause;
    prop_assert_eq!(cause, EpochCause::Kept);
    // Documents come and go in a codex that no epoch freezes.
    let strategy = if first.policy.freezes(Section::Codex) {
        served.strategy
    } else {
        after.envelope.served.strategy
    };
    let expected = tenure::request::ServedLedger {
        strategy,
        ..served.clone()
    };
    prop_assert_eq!(&after.envelope.served, &expected);
    let policy = &first.policy;
    prop_assert_eq!(floor(before, policy), floor(&after, policy));
    if policy.freezes(Section::Tools) {
        prop_assert_eq!(tools(before), tools(&after));
    }
    let sections = after.envelope.sections.iter();
    let late = sections.flat_map(|section| &section.items);
    let late: Vec<_> = late.filter(|item| item.late).collect();
    for verdict in &after.trace.verdicts[case.drafts.len()..] {
        // What the developer says goes by the provider's channel, where it has one.
        let by_channel = late.iter().any(|item| item.name == verdict.name);
        let left = verdict.verdict != tenure::Ruling::Included;
        let rules = first.world.model().messages.unwrap_or_default();
        if left && rules.mid_conversation_system == Some(true) {
            continue;
        }
        let expected = if first.policy.freezes(Section::Memory) && !by_channel {
            Section::Recall
        } else {
            Section::Memory
        };
        prop_assert_eq!(verdict.section, expected);
    }
    // What stood outside the floor stays in its section.
    for (was, is) in before.trace.verdicts.iter().zip(&after.trace.verdicts) {
        let outside = !first.policy.freezes(was.section);
        prop_assert!(!outside || was.section == is.section, "{:?} {:?}", was, is);
    }

    // A policy with another digest ends the epoch.
    let changed = format!("version = \"9.9.9\"\n{}", case.policy);
    let changed = tenure::Policy::from_toml(&changed).unwrap();
    let ample = within(PLENTY, &request);
    let facts = crate::common::facts(first.world, &changed, &ample, &candidates);
    if let Ok(after) = compiled(first.world, &changed, &ample, &candidates, &facts) {
        prop_assert_eq!(after.trace.plan.cause, EpochCause::SettingsChanged);
        prop_assert_eq!(after.envelope.served.epoch, served.epoch + 1);
    }

    // So does the loss of anything that was served in the floor.
    if served.floor.is_empty() {
        return Ok(());
    }
    let lost = served.floor[gone.index(served.floor.len())];
    let stays = |_, object: &Arc<tenure::ContextObject>| {
        (object.revision().id() != lost).then(|| Arc::clone(object))
    };
    let candidates = candidates.filter_map(stays);
    let facts = crate::common::facts(first.world, &first.policy, &ample, &candidates);
    if let Ok(after) = compiled(first.world, &first.policy, &ample, &candidates, &facts) {
        prop_assert_eq!(after.trace.plan.cause, EpochCause::FrozenGone);
    }
    Ok(())
}

/// What the tails of an epoch hold of a section stays within its maximum, however many requests there are; and
/// a request that is the same as before adds none of it.
fn an_epoch_has_one_share(case: &Case) -> Result<(), TestCaseError> {
    let case = Case {
        follows: false,
        ..case.clone()
    };
    let (world, policy) = (crate::common::world(case.model), case.policy());
    if policy.document().order != Order::Sections {
        return Ok(());
    }
    let candidates = case.candidates();
    let mut request = case.request();
    let mut spent: BTreeMap<Section, u32> = BTreeMap::new();
    for query in [
        "pascal",
        "sensor",
        "sensor",
        "timer digits",
        "report the valve",
    ] {
        let again = request.served.is_some() && request.query.as_deref() == Some(query);
        request.query = Some(query.into());
        let facts = crate::common::facts(world, &policy, &request, &candidates);
        let Ok(sent) = compiled(world, &policy, &request, &candidates, &facts) else {
            return Ok(());
        };
        if request.served.is_some() && sent.trace.plan.cause != EpochCause::Kept {
            return Ok(());
        }
        let mut ledger = sent.envelope.served.clone();
        ledger.chosen_for = Some(request.asked());
        for at in [Section::Evidence, Section::Recall] {
            let Some(section) = sent.envelope.section(at) else {
                continue;
            };
            // Several objects may have one name, so each is judged by its own verdict.
            let verdicts = sent.trace.verdicts.iter().zip(candidates.objects());
            let stand = verdicts.filter(|(verdict, _)| {
                verdict.section == at && verdict.verdict == Ruling::Included
            });
            let stand: Vec<_> = stand.collect();
            let chosen = stand.iter().filter(|(verdict, _)| verdict.reason == Reason::Fits);
            let tokens: u32 = chosen.map(|(verdict, _)| verdict.tokens).sum();
            let is_own = |(_, object): &(&Verdict, &Arc<tenure::ContextObject>)| {
                object.revision().scope().session.is_some()
            };
            prop_assert!(!again || tokens == 0 || stand.iter().any(is_own));
            let spent = spent.entry(at).or_default();
            *spent += tokens;
            let max = policy.section(at).max;
            prop_assert!(max == 0 || *spent <= max, "{:?}: {} > {}", at, spent, max);
            ledger.said.extend(section.items.iter().filter_map(|item| item.revision));
        }
        request.served = Some(ledger);
    }
    Ok(())
}

/// What was served keeps the epoch only while it can stand: when something that a frozen object
/// must not stand without is gone, the epoch ends instead of the compile failing.
fn any_loss_is_survived(case: &Case, gone: prop::sample::Index) -> Result<(), TestCaseError> {
    let case = Case {
        follows: false,
        ..case.clone()
    };
    let first = case.run();
    let Ok(before) = &first.result else {
        return Ok(());
    };
    if first.candidates.is_empty() {
        return Ok(());
    }
    let gone = gone.index(first.candidates.len());
    let stays = |at, object: &Arc<_>| (at != gone).then(|| Arc::clone(object));
    let candidates = first.candidates.filter_map(stays);
    let request = Request {
        served: Some(before.envelope.served.clone()),
        ..first.request.clone()
    };
    let again = run(first.world, first.policy, request, candidates);
    match &again.result {
        Ok(real) => what_must_stand_stands(&again, real),
        Err(_) => Ok(()),
    }
}

fn keeps_nothing_together(case: Case) -> Case {
    let drafts = case.drafts.into_iter().map(|draft| Draft {
        document: ObjectDocument {
            keep_with: Vec::new(),
            ..draft.document
        },
        ..draft
    });
    Case {
        drafts: drafts.collect(),
        ..case
    }
}

proptest! {
    #[test]
    fn p1_fits_counted_exactly(case in case()) {
        fits_counted_exactly(&case)?;
    }

    #[test]
    fn p2_byte_identical(case in case()) {
        byte_identical(&case)?;
    }

    #[test]
    fn p3_conservation(case in case()) {
        conservation(&case)?;
    }

    #[test]
    fn p4_mandatory_means_mandatory(case in case()) {
        mandatory_means_mandatory(&case)?;
    }

    #[test]
    fn p4_the_oversized_starve_nobody(
        case in case(),
        kind in prop::sample::select(&[ObjectType::Rule, ObjectType::RetrievedPassage, ObjectType::Artifact, ObjectType::PolicyRule][..]),
        front in any::<bool>(),
        over_limit in any::<bool>(),
    ) {
        the_oversized_starve_nobody(&case, kind, front, over_limit)?;
    }

    #[test]
    fn p5_no_leak(case in case()) {
        no_leak(&case)?;
    }

    #[test]
    fn p5_what_is_said_is_seen(case in case()) {
        what_is_said_is_seen(&case)?;
    }

    #[test]
    fn p7_monotone(case in case(), more in 1u32..300) {
        monotone(&case, more)?;
        monotone(&keeps_nothing_together(case), more)?;
    }

    #[test]
    fn constraints_are_as_few_as_the_policy_wants(case in case()) {
        constraints_are_few(&case)?;
    }

    #[test]
    fn schemas_of_answers_force_nothing(case in case()) {
        schemas_force_nothing(&case)?;
    }

    #[test]
    fn p8_legal(mut case in case()) {
        for target in Target::ALL.iter().copied().filter(|target| target.format().is_some()) {
            case.request.target = target;
            let run = case.run();
            if let Ok(real) = &run.result {
                legal(&run, real)?;
            }
        }
    }

    #[test]
    fn pages_together_hold_the_evidence(
        case in case(), passages in 2usize..9, share in 5u32..95,
    ) {
        pages_cover_the_evidence(&case, passages, share)?;
    }

    #[test]
    fn evidence_waits_as_a_whole(case in case()) {
        deferral_is_all_or_nothing(&case)?;
    }

    #[test]
    fn p7_breadth_before_depth(
        sizes in prop::collection::vec((1u8..6, 3u8..20, 5u8..40), 1..12),
        tokens in 60u32..1500,
        more in 1u32..120,
    ) {
        breadth_before_depth(&sizes, tokens, more)?;
    }

    #[test]
    fn p7_depth_before_breadth_in_the_evidence(
        sizes in prop::collection::vec((1u8..6, 3u8..20, 5u8..40), 1..12),
        tokens in 60u32..1500,
        more in 1u32..120,
    ) {
        depth_before_breadth(&sizes, tokens, more)?;
    }

    #[test]
    fn the_budget_is_used(
        sizes in prop::collection::vec(1u16..2000, 40),
        kinds in prop::collection::vec(any::<u8>(), 37),
        budget in 1500u32..16_000,
    ) {
        uses_the_budget(&sizes, &kinds, budget)?;
    }

    #[test]
    fn epochs_keep_the_floor(case in case(), gone in any::<prop::sample::Index>()) {
        epochs(&case, gone)?;
    }

    #[test]
    fn epochs_have_one_share(case in case()) {
        an_epoch_has_one_share(&case)?;
    }

    #[test]
    fn epochs_survive_any_loss(case in case(), gone in any::<prop::sample::Index>()) {
        any_loss_is_survived(&case, gone)?;
    }
}

/// The property of pages speaks of many that have them.
#[test]
fn pages_are_made() {
    let mut runner = TestRunner::deterministic();
    let mut made = 0;
    for number in 0..200 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let run = paginated(&case, 2 + number % 7, 5 + number as u32 % 90);
        made += usize::from(run.as_ref().and_then(pages).is_some());
    }
    assert!(made >= 15, "{made} of 200");
}

/// The properties hold for worlds in which everything happens: each reason is somebody's verdict,
/// each kind of failure and each cause of an epoch occurs.
#[test]
fn the_worlds_are_rich() {
    let mut missing: BTreeSet<&str> = EXPECTED.into();
    let mut runner = TestRunner::deterministic();
    for _ in 0..40_000 {
        let run = case().new_tree(&mut runner).unwrap().current().run();
        match &run.result {
            Ok(real) => {
                missing.remove(real.trace.plan.cause.term());
                missing.remove(real.trace.strategy.unwrap().term());
                for condensed in &real.trace.condensed {
                    missing.remove(condensed.form.term());
                }
                for verdict in &real.trace.verdicts {
                    missing.remove(verdict.reason.code());
                    if !verdict.mentions.is_empty() {
                        missing.remove("mentions");
                    }
                }
                if real.trace.allocations.iter().any(|report| report.flow_back > 0) {
                    missing.remove("flow_back");
                }
                if real.envelope.target == Target::AnthropicMessages {
                    let history = real.envelope.section(Section::History);
                    let names = history.iter().flat_map(|history| &history.items);
                    for item in names.map(|item| &*item.name) {
                        missing.remove(match item {
                            "@heading" => "opening",
                            "@closing" => "closing",
                            _ => "",
                        });
                    }
                }
            }
            Err(error) => {
                let failures = [
                    ("required", "the policy requires"),
                    ("budget", "must go in, but"),
                    ("refused", "must go in and cannot"),
                    ("fail_loud", "says fail_loud"),
                    ("pages", "the evidence needs more than"),
                    ("long_page", "that a page has for it"),
                    ("disputed", "contradicts it: nothing says which stands"),
                    ("two_tools", "two tools are named"),
                    ("no_tool", "but no tool is sure to be offered"),
                    ("illegal_name", "calls a tool named"),
                ];
                let known = failures.iter().find(|(_, part)| error.what.contains(part));
                missing.remove(known.unwrap_or_else(|| panic!("{error}")).0);
            }
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("never seen: {missing:?}");
}

#[rustfmt::skip]
const EXPECTED: [&str; 64] = [
    // Reasons.
    "mandatory", "fits", "kept_with", "attached", "other_tenant", "other_user", "other_project", "other_session",
    "other_task", "role_missing", "role_denied", "classified", "other_origin", "personal_data",
    "anonymous_evidence", "unsupported_modality", "not_yet_valid", "expired_valid_time", "not_yet_known",
    "no_longer_held", "contradicted", "stale", "superseded", "duplicate", "near_duplicate", "not_applicable", "not_near_task",
    "below_floor",
    "gated_out", "not_retrieved", "irrelevant_to_active_task", "closure_missing", "orphan_tool_result",
    "unanswered_tool_call", "over_limit", "no_room", "next_epoch", "after_stop",
    "over_share", "not_worth_its_cost", "deferred", "left_to_retrieval",
    // Strategies and forms.
    "full", "documents", "retrieve", "abstract", "overview", "condensed",
    // What texts mention.
    "mentions",
    // Epochs and allocations.
    "first", "kept", "floor_grew", "flow_back",
    // Failures.
    "required", "budget", "refused", "fail_loud", "long_page", "disputed", "two_tools", "no_tool", "illegal_name",
    // What keeps messages legal.
    "opening", "closing",
];
