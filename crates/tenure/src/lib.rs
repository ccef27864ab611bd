//! Tenure is a **context compiler** for LLM agents: typed, permissioned, dated [`ContextObject`]s
//! and one task become the exact bytes that a model sees, within the token budget, the same every
//! time, with a reason for everything that went in or stayed out.
//!
//! This crate is the pure core: it touches no clock, file, network, thread or environment. What it
//! guarantees is listed in `ARCHITECTURE.md`, each with the property test that holds it.
//!
//! # How to use it
//!
//! 1. Seal objects: [`ObjectDocument::seal`] checks the flat, published form.
//! 2. Make a [`World`]: a model, its tokenizer, the key of the frames.
//! 3. Say what you want: a [`Request`] and a [`Policy`].
//! 4. [`compile`], and read the [`Envelope`] and the [`Trace`].
//!
//! ```
//! use tenure::{Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Request, World, compile};
//! use tenure::section::Section;
//!
//! let rules = ["Report pressure in pascal.", "Round to three digits."];
//! let objects = rules.iter().enumerate().map(|(i, text)| ObjectDocument::rule(format!("rule-{i}"), *text).seal());
//! let candidates = Candidates::new(objects.collect::<Result<_, _>>()?);
//!
//! let world = World::for_model("gpt-4o", FrameKey::new("demo", [7; 32]))?;
//! let policy = Policy::preset("standard")?;
//! let request = Request::new("Report the pressure.", Budget::tokens(400));
//!
//! let outcome = compile(&world, &policy, &request, &candidates, &Facts::none())?;
//! let compiled = outcome.single()?;
//! let text = compiled.envelope.payload.as_ref().unwrap().as_str();
//! assert!(text.contains("Report pressure in pascal.\n"));
//! assert_eq!(compiled.envelope.total_tokens as usize, world.tokenizer().count(text));
//! assert!(compiled.envelope.section(Section::Memory).is_some());
//! # Ok::<(), tenure::Error>(())
//! ```

mod base;
pub mod belief;
pub mod cache;
mod compile;
pub mod condense;
mod input;
pub mod inspect;
pub mod object;
pub mod package;
mod provider;
mod rank;
pub mod registry;
pub mod schema;
pub mod session;
mod write;

pub use base::{digest, error, num, text, time, tokenizer};
pub use compile::{score, trace};
pub use input::{facts, gate, policy, request, retrieval};
pub use object::section;
pub use provider::{answer, catalogue, conform, wire};
pub use rank::{allocate, passages, ranker, vectors};

pub use base::digest::Digest;
pub use base::error::{Error, ErrorKind};
pub use base::key::FrameKey;
pub use base::tokenizer::{CountKind, Tokenizer};
pub use compile::envelope::{
    Compiled, ENVELOPE_VERSION, Envelope, Item, Outcome, Part, Payload, Pending, Proposal,
    SectionReport, Span,
};
pub use compile::trace::{CompileRecord, Reason, Ruling, Trace, Verdict};
pub use compile::{COMPILER, admitted, compile, gate, needs, outline_needs, stale, visible};
pub use condense::pointer::{PointerId, pointer_id, pointer_line};
pub use input::candidates::{Candidates, Nearest, Passage, PassageLayer, Passages, Unfetched};
pub use input::facts::{Fact, Facts, Need, Needs, Without};
pub use input::policy::Policy;
pub use input::request::{AsOf, Budget, Principal, Request, Target, TaskState};
pub use object::{ContextObject, ObjectDocument};
pub use provider::catalogue::{Catalogue, Model};
pub use provider::template::ChatTemplate;
pub use write::world::World;
