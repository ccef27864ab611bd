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
//! let objects = rules.iter().enumerate().map(|(i, text)| ObjectDocument::new(format!("rule-{i}"), *text).seal());
//! let candidates = Candidates::new(objects.collect::<Result<_, _>>()?);
//!
//! let world = World::for_model("gpt-4o", FrameKey::new("demo", [7; 32]))?;
//! let policy = Policy::preset("standard")?;
//! let request = Request::new("Report the pressure.", Budget::tokens(400));
//!
//! let outcome = compile(&world, &policy, &request, &candidates, &Facts::none())?;
//! let compiled = outcome.single()?;
//! let text = std::str::from_utf8(compiled.envelope.payload.as_ref().unwrap().bytes()).unwrap();
//! assert!(text.contains("Report pressure in pascal.\n"));
//! assert_eq!(compiled.envelope.total_tokens as usize, world.tokenizer().count(text));
//! assert!(compiled.envelope.section(Section::Memory).is_some());
//! # Ok::<(), tenure::Error>(())
//! ```

pub mod allocate;
pub mod cache;
mod candidates;
pub mod catalogue;
mod compile;
pub mod condense;
pub mod conform;
pub mod digest;
mod envelope;
pub mod error;
pub mod facts;
mod frame;
pub mod gate;
mod imitation;
pub mod inspect;
mod key;
mod links;
pub mod num;
pub mod object;
mod outlines;
mod piece;
mod pieces;
mod pointer;
pub mod policy;
pub mod ranker;
pub mod registry;
mod render;
pub mod request;
pub mod retrieval;
pub mod schema;
pub mod score;
pub mod section;
mod served;
pub mod session;
mod span;
mod stages;
mod stance;
mod target;
mod task;
mod template;
pub mod text;
pub mod time;
pub mod tokenizer;
pub mod trace;
pub mod vectors;
pub mod wire;
mod world;

pub use candidates::{Candidates, Unfetched};
pub use catalogue::{Catalogue, Model};
pub use compile::{COMPILER, admitted, compile, gate, needs, outline_needs, visible};
pub use digest::Digest;
pub use envelope::{
    Compiled, ENVELOPE_VERSION, Envelope, Item, Outcome, Part, Payload, Pending, Proposal,
    SectionReport, Span,
};
pub use error::{Error, ErrorKind};
pub use facts::{Fact, Facts, Need, Needs};
pub use key::FrameKey;
pub use object::{ContextObject, ObjectDocument};
pub use pointer::{PointerId, pointer_id, pointer_line};
pub use policy::Policy;
pub use request::{AsOf, Budget, Principal, Request, Target, TaskState};
pub use template::ChatTemplate;
pub use tokenizer::{CountKind, Tokenizer};
pub use trace::{CompileRecord, Reason, Ruling, Trace, Verdict};
pub use world::World;
