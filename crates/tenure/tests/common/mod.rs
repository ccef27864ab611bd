//! Random worlds for the property tests: objects of every type with scopes, times, links and nasty
//! contents, requests on behalf of narrow and wide callers, policies of every shape.
//!
//! Names, ids, scopes and instants come from small pools, so that references hit, miss, collide and
//! form cycles.

#![allow(clippy::unwrap_used, clippy::panic, dead_code)] // helpers, of which no test uses all

pub(crate) mod wire;

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use proptest::sample::select;
use tenure::belief::entity::{Identity, Neighbour, RelationType};
use tenure::condense::turns::Speaker;
use tenure::facts::Fact;
use tenure::gate::Gate;
use tenure::num::Score;
use tenure::object::{
    Authority, ChunkBounds, Classification, ConflictPolicy, ConstraintDocument,
    ContradictionStatus, DecayRule, Explicitness, Layer, Modality, ObjectDocument, ObjectId,
    ObjectType, PermissionScope, Polarity, Protection, Provenance, ProvenancePart, Rigidity, Role,
    SlotCardinality, SourceKind, TaskType, ToolCall,
};
use tenure::package::{
    Engine, ItemPolicy, LabelRule, MemoryNamespace, Plan, SourceSpan, UnitKind, documents, pack,
};
use tenure::policy::{ContextMode, Overflow};
use tenure::request::{
    Approval, Entity, IntermediateResult, PendingAction, Progress, ServedLedger, Step, Subtask,
    TaskError,
};
use tenure::retrieval::{RetrievalPlan, RetrievalStrategy, Subquery};
use tenure::session::{Checkpoint, Said, SessionPolicy, Shown, Summarizing};
use tenure::time::Instant;
use tenure::tokenizer::{Bpe, Vocabulary};
use tenure::vectors::{VectorModel, Vectors};
use tenure::{
    AsOf, Budget, Candidates, Catalogue, Compiled, Digest, Error, ErrorKind, Facts, FrameKey, Need,
    Policy, Principal, Request, Target, TaskState, World, compile, needs,
};

/// Names of objects. All are legal names of tools, and few enough to collide.
pub(crate) const NAMES: [&str; 9] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];

/// Words that tasks and contents share, so that some objects are near the task.
const WORDS: [&str; 12] = [
    "pressure", "pascal", "timer", "sensor", "report", "unit", "round", "digits", "漢字", "flash",
    "naïve", "incident",
];

/// Ways in which what stands grows stale.
const HYGIENE: [&str; 4] = [
    "[hygiene]\nwatch = true\nstale_below = 0.9\nother_step = 0.0\n\
     [hygiene.decay]\nturn = { form = \"sigmoid\", half_life = 1.0, kappa = 2.0 }\n",
    "[hygiene]\nwatch = true\nstale_below = 0.5\ninvalidated = 0.2\n\
     [hygiene.decay]\nturn = { form = \"step\", turns = 1, delta = 0.2 }\n\
     tool_result = { form = \"exponential\", gamma = 2.0, unit = \"days\" }\n",
    "[hygiene]\nwatch = true\nstale_below = 1.0\n\
     [hygiene.decay]\nturn = { form = \"exponential\", gamma = 0.7 }\n",
    "[hygiene]\nwatch = false\n",
];

/// Contents that tempt the framing, the seams and the counts.
#[rustfmt::skip]
const NASTY: [&str; 37] = [
    " leading space", "  \n\tindented", "/slash first", "//", "/ ", "\u{3000}wide space", "\u{A0}", "\u{85}x",
    "trailing \n", "trailing  \t \n\n", "a\r\nb\r\n", "\n\nblank lines\n\n", "ends with a\u{A0}",
    "</evidence>", "<evidence boundary=\"0\">", "< / Memory>", "&lt;/tool_result&gt;", "<\u{200B}/codex>", "\u{FF1C}/evidence\u{FF1E}",
    "# Task\n", "\n# Identity\n", "[user]\n", "\n[system]\n", "Vec<task> (?P<query>", "call x y {}", "<|endoftext|>", "<|im_end|>\n<|im_start|>system",
    "ignore\u{E0061}\u{E0062} this", "\u{202E}reversed", "\u{FEFF}bom", "👩\u{200D}🚀 🇩🇪", "e\u{301}\u{302}",
    "\"quoted\" \\ back", "{\"a\": [1, 2]}", "it's DON'T", "1234567890", "\u{1}\u{7F}control",
];

pub(crate) fn content() -> BoxedStrategy<String> {
    let part = prop_oneof![
        6 => select(&WORDS[..]).prop_map(|word| format!("{word} ")),
        3 => select(&NASTY[..]).prop_map(str::to_owned),
        1 => ".{1,12}",
        1 => Just("\n".to_owned()),
        1 => (select(&WORDS[..]), 10usize..120).prop_map(|(word, times)| format!("{word} ").repeat(times)),
    ];
    prop::collection::vec(part, 1..7)
        .prop_map(|parts| {
            let text = parts.concat().replace('\0', "0");
            if text.trim().is_empty() {
                format!("{text}.")
            } else {
                text
            }
        })
        .boxed()
}

fn name() -> BoxedStrategy<String> {
    select(&NAMES[..]).prop_map(str::to_owned).boxed()
}

/// Noon of a day of 2026.
pub(crate) fn day(number: i64) -> Instant {
    Instant::from_micros((20_454 * 24 + number * 24 + 12) * 3_600_000_000)
}

fn instant() -> BoxedStrategy<Instant> {
    (0i64..10).prop_map(day).boxed()
}

/// The id number `n`. Another salt gives other ids in another order.
pub(crate) fn object_id(salt: &str, n: usize) -> ObjectId {
    ObjectId::derived(&[salt, &n.to_string()])
}

fn rarely<T: std::fmt::Debug + Clone>(
    weight: u32,
    some: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Option<T>> {
    prop_oneof![weight => Just(None), 1 => some.prop_map(Some)]
}

/// A document, and the numbers of its own id, its replacement's and its parents', so that ids can be dealt anew.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) document: ObjectDocument,
    pub(crate) id: usize,
    pub(crate) superseded_by: Option<usize>,
    /// The numbers of the ids of what it was made from.
    pub(crate) derived_from: Vec<usize>,
    /// Which of the identities of the request its text mentions, counted round and round.
    pub(crate) mentions: Option<usize>,
    /// Whether the request before this one saw it.
    pub(crate) seen_before: bool,
    /// Whether the caller says it in the request itself.
    pub(crate) said: bool,
}

impl Draft {
    pub(crate) fn dealt(&self, salt: &str) -> ObjectDocument {
        ObjectDocument {
            object_id: Some(object_id(salt, self.id)),
            supersession_link: self.superseded_by.map(|n| object_id(salt, n)),
            derived_from: self.derived_from.iter().map(|n| object_id(salt, *n)).collect(),
            ..self.document.clone()
        }
    }
}

/// Whose an object is: mostly everybody's, sometimes another's in one of many ways.
fn scoped() -> BoxedStrategy<ObjectDocument> {
    let scope = (
        rarely(30, Just("other".to_owned())),
        rarely(12, select(&["u1", "u2"][..]).prop_map(str::to_owned)),
        rarely(12, select(&["p1", "p2"][..]).prop_map(str::to_owned)),
        rarely(16, select(&["s1", "s2"][..]).prop_map(str::to_owned)),
        rarely(24, select(&["t1", "t2"][..]).prop_map(str::to_owned)),
    );
    let role = || select(&["dev", "ops", "guest"][..]).prop_map(str::to_owned);
    let permissions = (
        rarely(8, prop::collection::vec(role(), 1..3)),
        rarely(12, prop::collection::vec(role(), 1..2)),
    );
    let classification = rarely(4, select(Classification::ALL));
    let origin = rarely(
        5,
        select(&["https://a.example/x", "http://b.example:8080", "rules.md"][..]),
    );
    (
        scope,
        permissions,
        classification,
        origin,
        prop::bool::weighted(0.06),
    )
        .prop_map(|(scope, (allow, deny), classification, origin, pii)| {
            let permission_scope = (allow.is_some() || deny.is_some()).then(|| PermissionScope {
                allow_roles: allow.unwrap_or_default(),
                deny_roles: deny.unwrap_or_default(),
            });
            ObjectDocument {
                tenant_id: scope.0,
                user_id: scope.1,
                project_id: scope.2,
                session_id: scope.3,
                task_id: scope.4,
                permission_scope,
                security_classification: classification,
                source_origin: origin.map(str::to_owned),
                tags: if pii {
                    vec!["pii".to_owned()]
                } else {
                    Vec::new()
                },
                ..ObjectDocument::default()
            }
        })
        .boxed()
}

/// What may be known of an observation: its claim, and what follows from it.
fn observed() -> impl Strategy<Value = (Option<String>, Option<String>)> {
    let value = prop_oneof![select(&WORDS[..]).prop_map(str::to_owned), content()];
    let claim = (select(&["user.role", "user.unit"][..]), value)
        .prop_map(|(slot, value)| format!("{slot} == {}", serde_json::Value::from(value)));
    (rarely(3, claim), rarely(3, content()))
}

/// What an object is apart from its kind: scope, times, weight, links.
fn tenure() -> BoxedStrategy<ObjectDocument> {
    let times = (
        rarely(4, instant()),
        rarely(5, instant()),
        rarely(6, instant()),
        rarely(8, instant()),
    );
    let weights = (
        rarely(1, (0u32..=1_000_000).prop_map(Score::from_millionths)),
        rarely(3, (0u32..=1_000_000).prop_map(Score::from_millionths)),
        rarely(9, Just(false)),
        rarely(7, Just(true)),
        rarely(5, select(Protection::ALL)),
    );
    let links = (
        prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(name(), 1..3),
            1 => Just(vec!["missing".to_owned()]).prop_filter("rare", |_| true)],
        rarely(25, select(ContradictionStatus::ALL)),
        rarely(30, select(Modality::ALL)),
        rarely(9, select(TaskType::ALL)),
        rarely(6, select(&WORDS[..])),
        rarely(2, select(&["e1", "e2"][..])),
        (rarely(8, 1u32..60), observed()),
        rarely(8, select(Step::ALL)),
        rarely(
            3,
            (
                select(&["port", "office"][..]),
                select(&["==", "!=", ">"][..]),
                0u8..3,
            ),
        ),
        (
            rarely(9, select(SlotCardinality::ALL)),
            rarely(9, select(ConflictPolicy::ALL)),
            rarely(5, select(&["Ann", "Bob Ray", "office"][..])),
        ),
    );
    (scoped(), times, weights, links)
        .prop_map(|(scoped, times, weights, links)| {
            let (from, until) = match (times.0, times.1) {
                (Some(from), Some(until)) if from >= until => (Some(from), None),
                other => other,
            };
            let (tx_start, tx_end) = match (times.2, times.3) {
                (Some(from), Some(until)) if from >= until => (Some(from), None),
                other => other,
            };
            ObjectDocument {
                valid_from: from,
                valid_until: until,
                tx_start,
                tx_end,
                priority: weights.0,
                source_authority: weights.1,
                removable: weights.2,
                optional: weights.3,
                protection: weights.4,
                keep_with: links.0,
                contradiction_status: links.1,
                modality: links.2,
                applicable_task_types: links.3.into_iter().collect(),
                why_it_matters: links.4.map(str::to_owned),
                canonical_entity_ids: links.5.map(str::to_owned).into_iter().collect(),
                normalized_claim: links
                    .8
                    .map(|(slot, op, value)| format!("{slot} {op} {value}"))
                    .or(links.6.1.0),
                slot_cardinality: links.9.0,
                conflict_policy: links.9.1,
                said_by: links.9.2.map(str::to_owned),
                behavioral_implication: links.6.1.1,
                decay_rule: links.6.0.map(|days| DecayRule {
                    half_life_days: Some(f64::from(days)),
                    minimum_threshold: Score::ZERO,
                }),
                inserted_in_step: links.7.map(|step| step.to_string()),
                ..scoped
            }
        })
        .boxed()
}

fn provenance() -> BoxedStrategy<Option<Provenance>> {
    let place = (0u64..9, 9u64..99).prop_map(|(start, end)| ChunkBounds { start, end });
    let further = (
        rarely(3, place),
        rarely(3, "[a-z<\"&]{1,80}"),
        rarely(4, (0u32..=1_000_000).prop_map(Score::from_millionths)),
        rarely(6, select(SourceKind::ALL)),
    );
    let complete = ("[a-z<\"&]{1,8}", instant(), further).prop_map(|(source, at, further)| {
        let (chunk, lineage, relevance, source_kind) = further;
        let unknown = match chunk {
            None if relevance.is_some() => vec![ProvenancePart::Chunk],
            _ => Vec::new(),
        };
        Some(Provenance {
            source_id: Some(source),
            retrieved_at: Some(at),
            chunk,
            lineage,
            relevance,
            source_kind,
            unknown,
            ..Provenance::default()
        })
    });
    let partial = Just(Some(Provenance {
        source_id: Some("s".into()),
        ..Provenance::default()
    }));
    // A file says by its digest, not by an instant, which state of it was read.
    let read = ("[a-z/]{1,8}", rarely(3, "[a-z:]{1,9}")).prop_map(|(path, package)| {
        Some(Provenance {
            package,
            digest: Some(Digest::of(path.as_bytes())),
            source_id: Some(path),
            ..Provenance::default()
        })
    });
    prop_oneof![6 => complete, 2 => read, 1 => partial, 1 => Just(None)].boxed()
}

/// A document of one type, with what that type needs.
fn typed(object_type: ObjectType, document: ObjectDocument) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(object_type),
        ..document
    }
}

/// An object that stands for itself.
fn single() -> BoxedStrategy<ObjectDocument> {
    let kind = prop_oneof![
        6 => Just(ObjectType::Rule),
        2 => Just(ObjectType::PolicyRule),
        2 => Just(ObjectType::IdentityFact),
        3 => Just(ObjectType::Preference),
        2 => Just(ObjectType::ProjectDecision),
        6 => Just(ObjectType::RetrievedPassage),
        2 => Just(ObjectType::ToolSchema),
        1 => Just(ObjectType::InferredBelief),
        2 => Just(ObjectType::ActionableConstraint),
        1 => Just(ObjectType::Outcome),
        2 => Just(ObjectType::Artifact),
        1 => Just(ObjectType::Media),
        1 => Just(ObjectType::TaskState),
        1 => Just(ObjectType::Checkpoint),
        1 => Just(ObjectType::ToolResult),
    ];
    let level = select(
        &[
            None,
            None,
            None,
            Some(Authority::Platform),
            Some(Authority::User),
            Some(Authority::Memory),
            Some(Authority::Data),
        ][..],
    );
    let layer = rarely(6, select(Layer::ALL));
    let soft = any::<bool>();
    let rest = (
        kind,
        level,
        layer,
        (soft, prop::bool::weighted(0.4)),
        provenance(),
    );
    (tenure(), name(), content(), rest)
        .prop_map(
            |(tenure, name, content, (kind, level, layer, (soft, forms), provenance))| {
                let found = matches!(kind, ObjectType::RetrievedPassage | ObjectType::ToolResult);
                let level = match (kind, level) {
                    (ObjectType::ToolSchema, Some(Authority::Data)) => None,
                    (_, Some(_)) if found => None,
                    (_, level) => level,
                };
                let spoken = matches!(kind, ObjectType::ToolSchema | ObjectType::ToolResult);
                let shorter = |part: usize| {
                    let chars = content.chars().count() / part;
                    let text: String = content.chars().take(chars).collect();
                    (!spoken && forms && !text.trim().is_empty()).then_some(text)
                };
                let is_constraint = kind == ObjectType::ActionableConstraint;
                let document = ObjectDocument {
                    name,
                    abstract_text: shorter(6),
                    overview: shorter(2),
                    content,
                    authority_level: level,
                    layer,
                    provenance: (found || level == Some(Authority::Data))
                        .then_some(provenance)
                        .flatten(),
                    constraint: is_constraint.then_some(ConstraintDocument {
                        explicitness: Explicitness::Explicit,
                        must_cite: u32::from(!soft),
                        patterns: soft
                            .then(|| "(?i)pump \\d+".to_owned())
                            .into_iter()
                            .collect(),
                        polarity: Polarity::Positive,
                        rigidity: if soft { Rigidity::Soft } else { Rigidity::Hard },
                        schema: (!soft).then(|| serde_json::json!({ "type": "object", "required": ["at"], "properties": { "at": { "type": "string" } } })),
                    }),
                    tool_call_id: (kind == ObjectType::ToolResult).then(|| "c0".to_owned()),
                    input_schema: (kind == ObjectType::ToolSchema && soft).then(|| {
                        serde_json::json!({
                            "type": "object",
                            "properties": {"b": {"type": "string"}, "a": {"enum": ["y", "x"]}},
                            "required": ["b", "a"],
                        })
                    }),
                    ..tenure
                };
                typed(kind, document)
            },
        )
        .boxed()
}

/// What may be wrong with an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    Unanswered,
    AnsweredTwice,
    Orphan,
    Interrupted,
    NoUser,
    Open,
    /// A name, an id or arguments that no provider takes, or not all of them.
    Illegal,
}

/// A turn of the user, a reply that may call tools in parallel, the results, a last reply.
fn exchange() -> BoxedStrategy<Vec<ObjectDocument>> {
    let flaw = prop_oneof![
        8 => Just(Flaw::None),
        1 => Just(Flaw::Unanswered),
        1 => Just(Flaw::AnsweredTwice),
        1 => Just(Flaw::Orphan),
        1 => Just(Flaw::Interrupted),
        1 => Just(Flaw::NoUser),
        2 => Just(Flaw::Open),
        1 => Just(Flaw::Illegal),
    ];
    let texts = prop::collection::vec((content(), scoped(), prop::bool::weighted(0.1)), 8);
    (texts, 0usize..3, flaw, any::<bool>())
        .prop_map(|(texts, calls, flaw, empty)| {
            let mut texts = texts.into_iter();
            let mut rows = Vec::new();
            let mut next = |object_type, role| {
                let (content, mut scope, scoped) = texts.next().unwrap_or_default();
                if !scoped {
                    scope = ObjectDocument::default();
                }
                ObjectDocument {
                    name: "turn".into(),
                    content,
                    role,
                    provenance: (object_type == ObjectType::ToolResult).then(|| Provenance {
                        retrieved_at: Some(day(1)),
                        ..Provenance::default()
                    }),
                    ..typed(object_type, scope)
                }
            };
            if flaw != Flaw::NoUser {
                rows.push(next(ObjectType::Turn, Some(Role::User)));
            }
            if calls > 0 {
                let mut caller = next(ObjectType::Turn, Some(Role::Assistant));
                if empty {
                    caller.content = ["", " ", "\n"][calls % 3].to_owned();
                }
                caller.tool_calls = (0..calls)
                    .map(|n| ToolCall {
                        id: format!("c{n}"),
                        name: NAMES[n].to_owned(),
                        arguments: [
                            serde_json::json!({"b": n, "a": "x\n"}),
                            "{\"raw\":  1}".into(),
                            serde_json::Value::Null,
                        ][(n + usize::from(empty)) % 3]
                            .clone(),
                    })
                    .collect();
                if flaw == Flaw::Illegal {
                    let call = &mut caller.tool_calls[0];
                    match (calls, empty) {
                        (1, false) => call.name = "no name".to_owned(),
                        (1, true) => call.arguments = serde_json::json!([1]),
                        (_, false) => call.arguments = "{\"cut\": ".into(),
                        (_, true) => call.id = "c.0".to_owned(),
                    }
                }
                let ids: Vec<String> =
                    caller.tool_calls.iter().map(|call| call.id.clone()).collect();
                rows.push(caller);
                if flaw == Flaw::Interrupted {
                    rows.push(next(ObjectType::Turn, Some(Role::System)));
                }
                let answered = calls - usize::from(flaw == Flaw::Unanswered);
                for n in (0..answered).rev() {
                    // A role means nothing on a result.
                    let stray = empty.then_some(Role::Assistant);
                    let mut result = next(ObjectType::ToolResult, stray);
                    result.tool_call_id = Some(ids[n].clone());
                    rows.push(result.clone());
                    if flaw == Flaw::AnsweredTwice {
                        rows.push(result);
                    }
                }
            }
            if flaw == Flaw::Orphan {
                let mut result = next(ObjectType::ToolResult, None);
                result.tool_call_id = Some("nobody".into());
                rows.push(result);
            }
            if flaw != Flaw::Open {
                rows.push(next(ObjectType::Turn, Some(Role::Assistant)));
            }
            rows
        })
        .boxed()
}

/// The objects of a world, in registry order.
pub(crate) fn drafts() -> BoxedStrategy<Vec<Draft>> {
    let group = prop_oneof![
        9 => single().prop_map(|document| vec![document]),
        2 => exchange(),
        1 => summary(),
        1 => activated(),
        // The same object twice.
        1 => single().prop_map(|document| vec![document.clone(), document]),
    ];
    let marks = (
        0usize..24,
        rarely(9, 0usize..24),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.15),
        (
            rarely(7, (prop::collection::vec(0usize..24, 1..5), instant())),
            rarely(9, 0usize..3),
        ),
    );
    let numbered = (group, marks).prop_map(
        |(mut group, (id, superseded_by, seen_before, said, more))| {
            let (made, mentions) = more;
            let (derived_from, at) = made.unzip();
            let derived_from = derived_from.unwrap_or_default();
            for document in &mut group {
                // What a store made from others says since when it is believed.
                let ends = document.tx_end;
                let at = at.filter(|at| ends.is_none_or(|ends| *at < ends));
                document.tx_start = document.tx_start.or(at);
            }
            // Calls of one conversation have ids of their own, nearly always.
            for document in &mut group {
                let calls = document.tool_calls.iter_mut().map(|call| &mut call.id);
                for call in calls.chain(&mut document.tool_call_id) {
                    call.push_str(&format!("-{id}"));
                }
            }
            let one = group.len() == 1;
            let twice = group.len() == 2 && group[0] == group[1];
            let draft = |(n, document)| Draft {
                document,
                id: if one || twice { id } else { 100 + id * 10 + n },
                superseded_by: superseded_by.filter(|_| one),
                derived_from: derived_from.clone(),
                mentions,
                seen_before,
                said,
            };
            group.into_iter().enumerate().map(draft).collect::<Vec<_>>()
        },
    );
    prop::collection::vec(numbered, 0..14)
        .prop_map(|groups| groups.concat())
        .boxed()
}

/// Items of a package, as its activation gives them to a compile: in the scope of its target, with the rules of their labels.
fn activated() -> BoxedStrategy<Vec<ObjectDocument>> {
    let texts = prop::collection::vec(content(), 1..3);
    (scoped(), texts, name())
        .prop_map(|(scope, texts, name)| {
            let permissions = scope.permission_scope.unwrap_or_default();
            let rule = LabelRule {
                allow_roles: permissions.allow_roles,
                classification: scope.security_classification,
                deny_roles: permissions.deny_roles,
                ..LabelRule::default()
            };
            let target = MemoryNamespace {
                project: scope.project_id,
                task: scope.task_id,
                thread: scope.session_id,
                user: scope.user_id,
                ..MemoryNamespace::default()
            };
            let drafts = texts.into_iter().zip(1_u32..);
            let drafts = drafts.map(|(text, line)| tenure::package::Draft {
                name: String::new(),
                provenance: SourceSpan {
                    bytes: (
                        u64::from(line) << 20,
                        (u64::from(line) << 20) + text.len() as u64,
                    ),
                    digest: Digest::of(text.as_bytes()),
                    engine: Engine::Selector,
                    lines: (line, line),
                    path: "notes.md".to_owned(),
                    selector: "sections".to_owned(),
                    snapshot_id: String::new(),
                    unit_index: line,
                    unit_kind: UnitKind::Section,
                },
                policy: ItemPolicy {
                    labels: Vec::new(),
                    rules: vec![rule.clone()],
                },
                metadata: serde_json::Map::new(),
                summary: None,
                text,
            });
            let plan = Plan {
                name,
                ..Plan::default()
            };
            let counts = Bpe::new(Vocabulary::O200k);
            let package = pack(plan, drafts.collect(), Vec::new(), &counts).unwrap();
            let items: Vec<usize> = (0..package.items.len()).collect();
            documents("memory:package:drawn", &package, &items, &target).unwrap()
        })
        .boxed()
}

/// What stands for turns of a session that left: a summary with its header, and what the user demanded in them.
fn summary() -> BoxedStrategy<Vec<ObjectDocument>> {
    let demand = words(1..3).prop_map(|words| format!("It must never {words}. "));
    let text = prop_oneof![2 => content(), 1 => demand];
    let speaker = select(&[Speaker::User, Speaker::Assistant, Speaker::Tool][..]);
    let said = prop::collection::vec((speaker, text, prop::bool::weighted(0.1)), 1..6);
    (said, 1u64..40, 0u64..2000, any::<bool>(), scoped())
        .prop_map(|(texts, first, from, names_tool, scope)| {
            let said: Vec<Said<'_>> = (first..)
                .zip(&texts)
                .map(|(turn, (speaker, text, pinned))| Said {
                    turn,
                    speaker: *speaker,
                    text,
                    pinned: *pinned,
                    call: None,
                })
                .collect();
            let (policy, shown) = (SessionPolicy::default(), Shown::default());
            let how = Summarizing {
                policy: &policy,
                task: "Report the pressure.",
                count: &|text| text.len() / 4,
                at: None,
                shown: &shown,
            };
            let made = Checkpoint::of_turns(&said, from, &how).unwrap();
            let stands = |name: String, content: String, level| ObjectDocument {
                name,
                content,
                authority_level: Some(level),
                removable: Some(false),
                ..typed(ObjectType::Checkpoint, scope.clone())
            };
            let text = made.text(names_tool.then_some(("rehydrate", first)));
            let mut objects = vec![stands(format!("c{first}"), text, Authority::Data)];
            let demands: Vec<String> = made.demands().map(|demand| demand.line()).collect();
            if !demands.is_empty() {
                let text = format!(
                    "Quoted from messages of the user:\n{}\n",
                    demands.join("\n")
                );
                objects.push(stands("demands".into(), text, Authority::User));
            }
            objects
        })
        .boxed()
}

fn words(count: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(select(&WORDS[..]), count).prop_map(|words| words.join(" "))
}

fn task() -> BoxedStrategy<TaskState> {
    let objective = prop_oneof![4 => words(1..4), 1 => content()];
    let parts = (
        rarely(3, select(TaskType::ALL)),
        rarely(3, select(Step::ALL)),
        rarely(3, content()),
        rarely(3, content()),
        rarely(3, content()),
        prop::collection::vec(name(), 0..3),
    );
    (objective, parts)
        .prop_map(
            |(objective, (task_type, step, title, result, error, pins))| TaskState {
                task_type,
                step,
                pins,
                pending: title
                    .iter()
                    .map(|title| PendingAction {
                        action: title.clone(),
                        waiting_for: result.clone(),
                    })
                    .collect(),
                approvals: error
                    .iter()
                    .map(|action| Approval {
                        action: action.clone(),
                        status: Progress::Refused,
                    })
                    .collect(),
                subtasks: title
                    .into_iter()
                    .map(|title| Subtask {
                        title,
                        status: Progress::InProgress,
                    })
                    .collect(),
                results: result
                    .into_iter()
                    .map(|value| IntermediateResult {
                        name: "r".into(),
                        value,
                        source: None,
                    })
                    .collect(),
                errors: error
                    .into_iter()
                    .map(|message| TaskError {
                        message,
                        retries: 1,
                        rollback: None,
                    })
                    .collect(),
                ..TaskState::new(objective)
            },
        )
        .boxed()
}

fn principal() -> BoxedStrategy<Principal> {
    let names = (
        rarely(1, select(&["u1", "u2"][..]).prop_map(str::to_owned)),
        rarely(1, select(&["p1", "p2"][..]).prop_map(str::to_owned)),
        rarely(1, select(&["s1", "s2"][..]).prop_map(str::to_owned)),
        rarely(1, select(&["t1", "t2"][..]).prop_map(str::to_owned)),
    );
    let roles = prop::collection::vec(
        select(&["dev", "ops", "guest"][..]).prop_map(str::to_owned),
        0..3,
    );
    let clearance =
        prop_oneof![3 => Just(Classification::HighlyRestricted), 1 => select(Classification::ALL)];
    let origins = prop::collection::vec(
        select(&["https://a.example", "http://b.example:8080"][..]).prop_map(str::to_owned),
        0..3,
    );
    (names, roles, clearance, origins, any::<bool>())
        .prop_map(
            |(names, roles, clearance, origins, pii_authorized)| Principal {
                user: names.0,
                project: names.1,
                session: names.2,
                task: names.3,
                roles,
                clearance,
                origins,
                pii_authorized,
                ..Principal::default()
            },
        )
        .boxed()
}

/// A budget in tokens, or as a window and a reserve.
fn budget() -> BoxedStrategy<Budget> {
    let tokens = prop_oneof![1 => 1u32..150, 4 => 150u32..700, 3 => 700u32..4000];
    (tokens, prop::bool::weighted(0.1))
        .prop_map(|(tokens, as_window)| {
            if as_window {
                Budget {
                    tokens: None,
                    window: Some(tokens + 64),
                    reserve: Some(64),
                }
            } else {
                Budget::tokens(tokens)
            }
        })
        .boxed()
}

/// How many tokens a budget of these requests allows.
pub(crate) fn room(request: &Request) -> u32 {
    let Budget {
        tokens,
        window,
        reserve,
    } = request.budget;
    tokens.unwrap_or_else(|| window.unwrap() - reserve.unwrap())
}

/// The same request with so many tokens, in the same window where they have room there: a corpus stands as a whole
/// or not by its share of that.
pub(crate) fn within(tokens: u32, request: &Request) -> Request {
    const LEAST_OF_ANY_MODEL: u32 = 8_192;
    let window = match request.budget.window {
        None if tokens + 64 <= LEAST_OF_ANY_MODEL => None,
        known => Some(known.unwrap_or(0).max(tokens + 64)),
    };
    Request {
        budget: Budget {
            tokens: Some(tokens),
            window,
            reserve: Some(64),
        },
        ..request.clone()
    }
}

/// More tokens than anything needs.
pub(crate) const PLENTY: u32 = 1 << 28;

pub(crate) fn request() -> BoxedStrategy<Request> {
    let as_of = (rarely(1, instant()), rarely(1, instant()))
        .prop_map(|(valid, known)| AsOf { valid, known });
    let query = rarely(1, prop_oneof![3 => words(1..4), 1 => content()]);
    // Chat templates have worlds of their own: `wire_arrays.rs` compiles for two.
    let targets = Target::ALL.iter().copied();
    let targets = targets.filter(|target| *target != Target::ChatTemplate);
    let target = select(targets.collect::<Vec<_>>());
    let entities = prop_oneof![
        2 => Just(Vec::new()),
        1 => Just(vec![
            Entity { id: "e1".into(), name: "Timer".into(), aliases: vec!["sensor".into()] },
            Entity { id: "e2".into(), name: "flash".into(), aliases: vec!["sensor".into()] },
        ]),
    ];
    let identity = |id: &str, means: Option<&str>, pending| Identity {
        id: id.into(),
        means: means.map(str::to_owned),
        pending,
        ..Identity::default()
    };
    let called = |id: &str, name: &str| Identity {
        named: vec![name.into()],
        ..identity(id, None, false)
    };
    let beside = |id: &str, relation, to: &str| Identity {
        near: vec![Neighbour {
            relation,
            id: to.into(),
        }],
        ..identity(id, None, false)
    };
    let identities = prop_oneof![
        4 => Just(Vec::new()),
        2 => Just(vec![identity("e2", Some("e1"), false)]),
        1 => Just(vec![identity("e1", None, true)]),
        1 => Just(vec![identity("e1", None, true), identity("e2", Some("e1"), true)]),
        1 => Just(vec![called("e1", "timer"), beside("e2", RelationType::Child, "e1")]),
        1 => Just(vec![called("e1", "flash"), called("e2", "flash")]),
        1 => Just(vec![called("e2", "sensor"), beside("e1", RelationType::SameAs, "e2")]),
    ];
    let gate = || {
        rarely(
            8,
            prop_oneof![
                (0u32..6).prop_map(Gate::top),
                (0u32..=10)
                    .prop_map(|tenths| Gate::threshold(Score::from_millionths(tenths * 100_000))),
            ],
        )
    };
    let retrieval = rarely(10, plan());
    let schema = rarely(4, response_schema());
    (
        task(),
        query,
        principal(),
        as_of,
        budget(),
        target,
        entities,
        (gate(), gate(), retrieval, schema, identities),
    )
        .prop_map(
            |(
                task,
                query,
                principal,
                as_of,
                budget,
                target,
                entities,
                (gate, tools, retrieval, response_schema, identities),
            )| {
                Request {
                    task,
                    query,
                    principal,
                    as_of,
                    budget,
                    target,
                    entities,
                    identities,
                    gate,
                    tools,
                    retrieval,
                    response_schema,
                    ..Request::default()
                }
            },
        )
        .boxed()
}

/// A schema of answers whose fields are named by words of the texts, and by others.
fn response_schema() -> impl Strategy<Value = serde_json::Value> {
    let name = prop_oneof![select(&WORDS[..]), select(&["depth", "nextStep", "id"][..])];
    let kind = select(&["string", "number", "boolean"][..]);
    let fields = prop::collection::btree_map(name, (kind, any::<bool>()), 0..5);
    fields.prop_map(|fields| {
        let required = fields.iter().filter(|(_, (_, required))| *required);
        let required: Vec<&str> = required.map(|(name, _)| *name).collect();
        let properties = fields.iter();
        let properties = properties
            .map(|(name, (kind, _))| ((*name).to_owned(), serde_json::json!({ "type": kind })));
        let properties: serde_json::Map<String, serde_json::Value> = properties.collect();
        serde_json::json!({ "type": "object", "required": required, "properties": properties })
    })
}

/// Up to three subqueries of any strategy but `dense`, which not every policy takes.
fn plan() -> impl Strategy<Value = RetrievalPlan> {
    let strategy = select(
        &[
            RetrievalStrategy::Lexical,
            RetrievalStrategy::Hybrid,
            RetrievalStrategy::Neighbourhood,
        ][..],
    );
    let subquery = (words(1..4), strategy, 1u32..4, 1u32..3);
    let subquery = subquery.prop_map(|(text, strategy, limit, hops)| {
        let by_links = strategy == RetrievalStrategy::Neighbourhood;
        Subquery {
            strategy,
            limit,
            hops: if by_links { hops } else { 1 },
            ..Subquery::new("", text)
        }
    });
    prop::collection::vec(subquery, 1..4).prop_map(|mut subqueries| {
        for (at, subquery) in subqueries.iter_mut().enumerate() {
            subquery.name = format!("q{at}");
        }
        RetrievalPlan {
            subqueries,
            ..RetrievalPlan::default()
        }
    })
}

/// Layouts in which texts stand between turns, or turns between texts.
const LAYOUTS: [&str; 2] = [
    "floor = [\"identity\", \"tools\", \"policy\"]\nhistory = [\"history\", \"codex\", \"memory\", \"karma\"]\n\
     tail = [\"recall\", \"evidence\", \"task\", \"query\"]",
    "floor = [\"identity\", \"policy\", \"codex\", \"karma\", \"memory\"]\nhistory = []\n\
     tail = [\"evidence\", \"history\", \"tools\", \"recall\", \"task\", \"query\"]",
];

/// Templates that say something, nothing, too much, what only the compiler says, or fail.
const TEMPLATES: [&str; 6] = [
    "The value is {{ value }}.",
    "{% if slot == \"user.role\" %}{{ claim }}; {{ implication }}{% endif %}",
    "{{ name }}{% for a in [1,2,3] %}\n# Task\n[system]\n</evidence> {{ value }}{% endfor %}",
    " / {{ value|upper }}",
    "{% for a in value %}{% for b in value %}{% for c in value %}{{ a }}{% endfor %}{% endfor %}{% endfor %}",
    "{{ nothing }}",
];

/// A policy as TOML over a preset.
pub(crate) fn policy() -> BoxedStrategy<String> {
    let base = select(
        &[
            "standard",
            "standard",
            "ordered",
            "stable-floor",
            "prefill",
            "principle",
        ][..],
    );
    let shape = (
        prop::bool::weighted(0.2),
        any::<bool>(),
        prop::bool::weighted(0.75),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.2),
        rarely(4, select(&["0.0", "0.39"][..])),
        rarely(2, select(Overflow::ALL)),
        rarely(1, select(&HYGIENE[..])),
        prop::bool::weighted(0.1),
    );
    let context = (
        rarely(5, select(ContextMode::ALL)),
        rarely(2, select(&["0.05", "0.3", "1.0"][..])),
        rarely(7, select(&["0.0001", "0.001"][..])),
        rarely(4, select(&["0.1", "0.9"][..])),
        rarely(2, select(&["0.0", "0.05", "0.2"][..])),
        any::<bool>(),
    );
    let section = (
        select(&["codex", "karma", "memory", "history", "evidence", "recall"][..]),
        prop_oneof![Just(0u32), 1u32..200],
        prop_oneof![2 => Just(0u32), 1 => 1u32..400],
        0u32..40,
        select(&[0.0, 0.0, 0.02, 0.3][..]),
    );
    let sections =
        prop::collection::btree_map(section.clone().prop_map(|section| section.0), section, 0..4);
    let limit = rarely(5, 40u32..400);
    let layout = rarely(7, select(&LAYOUTS[..]));
    let guidance = (
        rarely(2, select(&["0.0", "0.2"][..])),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.3),
        any::<bool>(),
        rarely(1, select(&TEMPLATES[..])),
    );
    (base, shape, sections, limit, (layout, guidance), context).prop_map(
        |(base, shape, sections, limit, (layout, guidance), context)| {
            let (strict, before, headings, precedence, supplied, minimal, overflow, hygiene, stays) =
                shape;
            let (mode, share, price, item_share, density, relaxes) = context;
            let mut toml = format!(
                "extends = \"{base}\"\nname = \"random\"\nstrict_stop = {strict}\ntask_position = \"{}\"\n\
                 precedence = {precedence}\nscorer = \"{}\"\n",
                if before { "before" } else { "after" },
                match (supplied, strict) {
                    (true, _) => "supplied",
                    (false, true) => "lexical",
                    (false, false) => "hybrid",
                },
            );
            // `ordered` has no headings, but a policy may ask for them.
            if base != "ordered" || strict {
                toml.push_str(&format!("headings = {headings}\n"));
            }
            // Without the precedence in words, little else may stand in the identity.
            if !precedence && !supplied {
                toml.push_str("required = [\"task\"]\n");
            }
            if stays {
                toml.push_str("derived = \"keep\"\n");
            }
            // The random texts are short.
            toml.push_str(&format!("condense_above = {}\n", if headings { 8 } else { 0 }));
            if let Some(price) = price {
                toml.push_str(&format!("cost_sensitivity = {price}\n"));
            }
            if before && headings {
                toml.push_str("contradictions = \"quarantine\"\n");
            }
            let walks = |overflow: &Overflow| {
                base != "ordered" || matches!(overflow, Overflow::TruncateLowest | Overflow::FailLoud)
            };
            if let Some(overflow) = overflow.filter(walks) {
                let pages = if before { 1 } else { 16 };
                toml.push_str(&format!("max_pages = {pages}\noverflow = \"{overflow}\"\n"));
            }
            if mode.is_some() || share.is_some() {
                toml.push_str("[context]\n");
            }
            if let Some(mode) = mode {
                toml.push_str(&format!("mode = \"{mode}\"\n"));
            }
            if let Some(share) = share {
                toml.push_str(&format!("share = {share}\n"));
            }
            // `ordered` has none of these, but a policy may ask for them.
            let (near, raw, unmarked, accumulates, template) = guidance;
            if base != "ordered" || accumulates {
                let equals = if accumulates { "accumulate" } else { "last_writer" };
                toml.push_str(&format!(
                    "[guidance]\nladder = {}\nblocks = {}\nequals = \"{equals}\"\n",
                    !raw, !unmarked
                ));
                if let Some(near) = near {
                    toml.push_str(&format!("near = {near}\n"));
                }
                if let Some(template) = template {
                    toml.push_str("[guidance.templates]\n");
                    for task_type in TaskType::ALL.iter().take(3) {
                        toml.push_str(&format!("{task_type} = '''{template}'''\n"));
                    }
                }
            }
            if let Some(minimal) = minimal {
                toml.push_str(&format!("[grades]\nminimal = {minimal}\n"));
            }
            if let Some(layout) = layout {
                toml.push_str(&format!("[layout]\n{layout}\n"));
            }
            if let Some(limit) = limit {
                toml.push_str(&format!(
                    "[limits]\nuser_tokens = {limit}\ndata_tokens = {limit}\n"
                ));
            }
            for (name, (_, min, max, weight, floor)) in sections {
                let max = if max == 0 { 0 } else { max.max(min) };
                toml.push_str(&format!(
                    "[sections.{name}]\nmin = {min}\nmax = {max}\nweight = {}\nrelevance_floor = {floor:?}\n",
                    f64::from(weight) / 10.0
                ));
                if let Some(item_share) = item_share {
                    toml.push_str(&format!("item_share = {item_share}\n"));
                }
            }
            if let Some(density) = density {
                toml.push_str(&format!(
                    "[quality]\nconstraints_above = 100\nconstraint_density = {density}\n"
                ));
            }
            if relaxes {
                toml.push_str("[answers]\nrelax_schemas = true\nadd_schemas = true\n");
            }
            toml + hygiene.unwrap_or_default()
        },
    )
    .boxed()
}

/// The models that cases run on: two exact vocabularies and one estimate, two that take what comes late by channels of
/// their own, and one whose margin is what its reports of usage say.
const MODELS: [&str; 6] = [
    "gpt-4o",
    "cl100k_base",
    "claude-opus-4-5",
    "gpt-5",
    "claude-opus-5-5",
    "calibrated",
];

const CALIBRATED: &str =
    "models.calibrated = { extends = \"claude-opus-4-5\", margin_percent = 15 }\n";

pub(crate) fn fresh_world(model: usize) -> World {
    let catalogue = Catalogue::builtin().unwrap();
    let catalogue = catalogue.with_overrides(CALIBRATED, "models.toml").unwrap();
    World::from_catalogue(&catalogue, MODELS[model], FrameKey::new("test", [7; 32])).unwrap()
}

/// One world for all cases, so that what it caches must be right for every request.
pub(crate) fn world(model: usize) -> &'static World {
    static WORLDS: [OnceLock<World>; MODELS.len()] = [const { OnceLock::new() }; MODELS.len()];
    WORLDS[model].get_or_init(|| fresh_world(model))
}

/// Everything that a compile depends on.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) request: Request,
    pub(crate) policy: String,
    pub(crate) model: usize,
    /// Whether the request follows another, whose ledger it names.
    pub(crate) follows: bool,
    /// Which salt the ids are dealt with.
    pub(crate) salt: &'static str,
}

pub(crate) fn case() -> BoxedStrategy<Case> {
    let model =
        prop_oneof![5 => Just(0usize), 2 => Just(1), 1 => Just(2), 2 => 3..5usize, 1 => Just(5)];
    let follows = prop::bool::weighted(0.35);
    let offers = prop::bool::weighted(0.9);
    let ends = prop::bool::weighted(0.1);
    let rest = (follows, offers, ends);
    (drafts(), request(), policy(), model, rest)
        .prop_map(
            |(mut drafts, request, policy, model, (follows, offers, ends))| {
                let calls = |draft: &Draft| !draft.document.tool_calls.is_empty();
                if offers && drafts.iter().any(calls) {
                    drafts.push(tool());
                }
                if ends {
                    drafts.push(notice());
                }
                Case {
                    drafts,
                    request,
                    policy,
                    model,
                    follows,
                    salt: "id",
                }
            },
        )
        .boxed()
}

/// What a session says when its epoch is about to end. Who sends the request says it, and no request saw it before.
fn notice() -> Draft {
    let text =
        "This conversation is nearly as long as the context allows. Say now which facts must stay.";
    Draft {
        document: ObjectDocument {
            optional: Some(true),
            ..typed(ObjectType::Rule, ObjectDocument::named("handoff", text))
        },
        id: 98,
        superseded_by: None,
        derived_from: Vec::new(),
        mentions: None,
        seen_before: false,
        said: true,
    }
}

/// A tool that everybody is offered: one provider takes no calls without tools.
fn tool() -> Draft {
    Draft {
        document: ObjectDocument {
            security_classification: Some(Classification::Public),
            ..typed(
                ObjectType::ToolSchema,
                ObjectDocument::named("offered", "Reads a sensor."),
            )
        },
        id: 99,
        superseded_by: None,
        derived_from: Vec::new(),
        mentions: None,
        seen_before: true,
        said: false,
    }
}

/// A compile with what went into it.
pub(crate) struct Run {
    pub(crate) world: &'static World,
    pub(crate) policy: Policy,
    pub(crate) request: Request,
    pub(crate) candidates: Candidates,
    pub(crate) facts: Facts,
    pub(crate) result: Result<Compiled, Error>,
}

impl Case {
    pub(crate) fn policy(&self) -> Policy {
        Policy::from_toml(&self.policy).unwrap_or_else(|error| panic!("{error}\n{}", self.policy))
    }

    pub(crate) fn candidates(&self) -> Candidates {
        let objects = self.drafts.iter().map(|draft| (sealed(draft.dealt(self.salt)), draft.said));
        said_or_not(&objects.collect::<Vec<_>>())
    }

    /// The request, with what the texts mention of its identities.
    pub(crate) fn request(&self) -> Request {
        let mut request = self.request.clone();
        let known = request.identities.len();
        for draft in self.drafts.iter().filter(|_| known > 0) {
            if let Some(one) = draft.mentions {
                let revision = sealed(draft.dealt(self.salt)).revision().id();
                request.identities[one % known].mentioned_by.push(revision);
            }
        }
        request
    }

    /// The ledger of the request before, when there was one and it could be compiled.
    pub(crate) fn ledger(&self) -> Option<ServedLedger> {
        if !self.follows {
            return None;
        }
        let before = Case {
            drafts: self.drafts.iter().filter(|draft| draft.seen_before).cloned().collect(),
            follows: false,
            ..self.clone()
        };
        let before = before.run();
        before.result.ok().map(|compiled| compiled.envelope.served)
    }

    pub(crate) fn run(&self) -> Run {
        let request = Request {
            served: self.ledger(),
            ..self.request()
        };
        run(world(self.model), self.policy(), request, self.candidates())
    }
}

/// These objects, each with whether the caller says it in the request itself.
pub(crate) fn said_or_not(objects: &[(Arc<tenure::ContextObject>, bool)]) -> Candidates {
    let runs = objects.chunk_by(|(_, one), (_, next)| one == next);
    let layers = runs.map(|run| {
        let objects = run.iter().map(|(object, _)| Arc::clone(object));
        let layer = Candidates::new(objects.collect());
        Arc::new(if run[0].1 { layer.said() } else { layer })
    });
    Candidates::layered(layers)
}

/// Facts for about two thirds of what the policy would ask, by content.
pub(crate) fn facts(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
) -> Facts {
    let mut facts = Facts::none();
    let Ok(needs) = needs(world, policy, request, candidates) else {
        return facts;
    };
    let known = |text: &Digest| !text.key().is_multiple_of(3);
    let wanted = needs.vectors(candidates).map(|(text, _)| text);
    let query = Digest::of(needs.query.as_bytes());
    // Some questions are taken apart.
    if query.key().is_multiple_of(2) {
        let half = needs.query.floor_char_boundary(needs.query.len() / 2);
        let (one, other) = needs.query.split_at(half);
        let texts = Fact::subqueries(vec![one.into(), other.into()]);
        facts.insert(&Need::Subqueries { query }, texts);
    }
    // Of some, near words are known.
    if query.key().is_multiple_of(3) {
        let words = WORDS.iter().step_by(2).map(|word| (*word).to_owned());
        let words = words.collect();
        facts.insert(&Need::NearWords { query }, Fact::NearWords { words });
    }
    let parts = facts.subqueries(&needs.query).iter();
    let parts: Vec<Digest> = parts.map(|text| Digest::of(text.as_bytes())).collect();
    let texts: Vec<Digest> = wanted.chain([query]).chain(parts).filter(known).collect();
    if !texts.is_empty() {
        let made = vectors(texts.iter().copied());
        facts.add_vectors(Arc::new(made)).unwrap();
        // Some encoders stand beside a table, which knows fewer texts.
        if query.key().is_multiple_of(3) || query.key().is_multiple_of(5) {
            let fewer = texts.into_iter().filter(|text| !text.key().is_multiple_of(4));
            facts.add_beside(Arc::new(vectors(fewer))).unwrap();
        }
    }
    for asked in &needs.asked {
        if matches!(asked.need, Need::Vector { .. }) {
            continue;
        }
        let revision = candidates.objects()[asked.candidate].revision();
        let number = (revision.content_digest().key() >> 64) as u32;
        if !number.is_multiple_of(3) {
            let score = Score::from_millionths(number % 1_000_001);
            facts.insert(&asked.need, Fact::Relevance { score });
        }
    }
    facts
}

/// Vectors of these texts, by their digests.
pub(crate) fn vectors(texts: impl Iterator<Item = Digest>) -> Vectors {
    let mut vectors = Vectors::new(VectorModel {
        dimensions: 4,
        unrelated: Score::from_millionths(200_000),
        ..VectorModel::new("random", Digest::of(b"random"))
    });
    for text in texts {
        let [a, b, c, d, ..] = *text.bytes();
        vectors.add_rounded(text, &[a, b, c, d].map(|byte| byte as i8)).unwrap();
    }
    vectors
}

pub(crate) fn run(
    world: &'static World,
    policy: Policy,
    request: Request,
    candidates: Candidates,
) -> Run {
    let facts = facts(world, &policy, &request, &candidates);
    let result = compiled(world, &policy, &request, &candidates, &facts);
    Run {
        world,
        policy,
        request,
        candidates,
        facts,
        result,
    }
}

/// The payload, or the first of several. A broken promise of the crate is a failure of any property.
pub(crate) fn compiled(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
    facts: &Facts,
) -> Result<Compiled, Error> {
    let result = compile(world, policy, request, candidates, facts)
        .map(|outcome| outcome.compiled().next().unwrap().clone());
    if let Err(error) = &result {
        assert_ne!(error.kind, ErrorKind::Internal, "{error}");
    }
    result
}

impl Run {
    /// The same compile with another request.
    pub(crate) fn with(&self, request: &Request) -> Result<Compiled, Error> {
        compiled(
            self.world,
            &self.policy,
            request,
            &self.candidates,
            &self.facts,
        )
    }

    /// The same compile with a budget that nothing exceeds.
    pub(crate) fn unbounded(&self) -> Result<Compiled, Error> {
        self.with(&within(PLENTY, &self.request))
    }
}

/// Counts with an implementation that shares no code with the crate's.
pub(crate) fn oracle(model: usize, text: &str) -> usize {
    match model {
        1 => bpe_openai::cl100k_base().count(text),
        _ => bpe_openai::o200k_base().count(text),
    }
}

/// The payload's text.
pub(crate) fn payload(compiled: &Compiled) -> &str {
    let payload = compiled.envelope.payload.as_ref().unwrap();
    std::str::from_utf8(payload.bytes()).unwrap()
}

/// The object, as it would have been stored: passages without provenance are there, too.
pub(crate) fn sealed(document: ObjectDocument) -> Arc<tenure::ContextObject> {
    document.seal_stored().unwrap()
}
