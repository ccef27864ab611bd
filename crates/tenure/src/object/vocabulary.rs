//! The closed vocabularies. An unknown term is an error that names the nearest known one.

use std::fmt;

use serde::{Deserializer, de};

/// Declares a closed vocabulary: an enum, its terms, and how it is read and written.
macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident ($noun:literal) { $($(#[$term_doc:meta])* $variant:ident = $term:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug,
                 serde::Serialize, schemars::JsonSchema)]
        #[non_exhaustive]
        pub enum $name { $($(#[$term_doc])* #[serde(rename = $term)] $variant,)+ }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                let (terms, all) = (&[$($term,)+], $name::ALL);
                let at = $crate::object::vocabulary::term_at(from, $noun, terms)?;
                all.get(at).copied().ok_or_else(|| serde::de::Error::custom("there is no such term"))
            }
        }

        $crate::terms! { $name ($noun) { $($variant = $term,)+ } }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.term())
            }
        }
    };
}
pub(crate) use vocabulary;

/// Reads one of these terms, and returns its place among them. What is no text is said to be none: a reader of JSON would say
/// that it is no JSON.
pub(crate) fn term_at<'de, D: Deserializer<'de>>(
    from: D,
    noun: &'static str,
    terms: &'static [&'static str],
) -> Result<usize, D::Error> {
    from.deserialize_str(Term { noun, terms })
}

struct Term {
    noun: &'static str,
    terms: &'static [&'static str],
}

impl de::Visitor<'_> for Term {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a text, the {}: one of {}",
            self.noun,
            self.terms.join(", ")
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<usize, E> {
        let found = self.terms.iter().position(|term| *term == text);
        found.ok_or_else(|| E::unknown_variant(text, self.terms))
    }
}

vocabulary! {
    /// The type of an object. The first eight are the core's; the rest hold what a payload needs besides.
    ObjectType ("object type") {
        /// A preference: a way that someone likes things done.
        Preference = "preference",
        /// A fact about who someone is.
        IdentityFact = "identity_fact",
        /// Something a project settled.
        ProjectDecision = "project_decision",
        /// Text found by retrieval.
        RetrievedPassage = "retrieved_passage",
        /// A rule of the platform, the tenant or the project.
        PolicyRule = "policy_rule",
        /// A tool that the model may call.
        ToolSchema = "tool_schema",
        /// Something the system concluded.
        InferredBelief = "inferred_belief",
        /// Something the output must satisfy.
        ActionableConstraint = "actionable_constraint",
        /// An instruction block, as a seed file or a Markdown file holds it.
        Rule = "rule",
        /// One message of a conversation.
        Turn = "turn",
        /// The result of a tool.
        ToolResult = "tool_result",
        /// A summary of earlier turns.
        Checkpoint = "checkpoint",
        /// A verified result or correction.
        Outcome = "outcome",
        /// A whole document or source file.
        Artifact = "artifact",
        /// An image, a sound or a film.
        Media = "media",
        /// The state of a task.
        TaskState = "task_state",
    }
}

vocabulary! {
    /// The nine layers of state.
    Layer ("layer") {
        /// Dialogue of the active thread.
        Session = "session",
        /// Goals, plans and progress.
        Task = "task",
        /// Standards and terms of a project.
        Project = "project",
        /// Preferences and facts of a user.
        User = "user",
        /// Policy of an organisation.
        Tenant = "tenant",
        /// Documents and data.
        Corpus = "corpus",
        /// Tools and their state.
        Tool = "tool",
        /// Rules of the platform.
        Policy = "policy",
        /// An assumption of the system.
        Belief = "belief",
    }
}

vocabulary! {
    /// The sensitivity of an object. Higher terms need more clearance.
    Classification ("security classification") {
        /// For anyone.
        Public = "public",
        /// For members; what an object without a label is.
        Restricted = "restricted",
        /// For those who need it.
        Confidential = "confidential",
        /// For the named few.
        HighlyRestricted = "highly_restricted",
    }
}

vocabulary! {
    /// The store's judgement on a claim. Only `clean` objects are compiled.
    ContradictionStatus ("contradiction status") {
        /// Nothing contradicts it.
        Clean = "clean",
        /// Something of equal standing contradicts it.
        Disputed = "disputed",
        /// Something of higher standing replaced it.
        Overridden = "overridden",
        /// Set aside until someone decides.
        Quarantined = "quarantined",
    }
}

vocabulary! {
    /// The judgement on a message of a session.
    MessageStatus ("status of a message") {
        /// Nothing is held against it: what a message has that was not judged.
        Clean = "clean",
        /// Set aside until someone decides.
        Quarantined = "quarantined",
        /// Taken back: it holds no more.
        Retracted = "retracted",
    }
}

vocabulary! {
    /// The decision between two claims that cannot both hold.
    Decision ("decision") {
        /// The first stands.
        First = "first",
        /// The second stands.
        Second = "second",
        /// Both stand.
        Both = "both",
        /// Neither stands.
        Neither = "neither",
    }
}

vocabulary! {
    /// The kind of an outcome.
    OutcomeKind ("kind of outcome") {
        /// A result that was verified.
        Outcome = "outcome",
        /// A correction of a mistake.
        Correction = "correction",
    }
}

vocabulary! {
    /// The state of an outcome that was proposed.
    OutcomeState ("state of an outcome") {
        /// A person is asked; it is not compiled.
        Proposed = "proposed",
        /// A person accepted it; it is compiled.
        Accepted = "accepted",
        /// A person rejected it; it is not compiled.
        Rejected = "rejected",
        /// A person withdrew it after it was accepted; it is compiled no more.
        Withdrawn = "withdrawn",
    }
}

vocabulary! {
    /// The decision of a person on an outcome.
    OutcomeDecision ("decision on an outcome") {
        /// A proposal holds: it is compiled from now on.
        Accept = "accept",
        /// A proposal does not hold.
        Reject = "reject",
        /// An accepted one holds no more.
        Withdraw = "withdraw",
    }
}

vocabulary! {
    /// The kind of what waits for a person.
    WaitingKind ("kind of what waits") {
        /// An outcome or a correction, which a person accepts or rejects.
        Outcome = "outcome",
        /// Something that was inferred, which a person accepts or rejects.
        Inferred = "inferred",
        /// An object that is too old by its own rule, of which a person says whether it holds still.
        Confirmation = "confirmation",
        /// An object that its own rule would have erased.
        Erasure = "erasure",
        /// An entity of which a person says which one it is.
        Entity = "entity",
        /// Two claims of which a person says which one stands.
        Conflict = "conflict",
        /// An object that was made from something that has changed since: it is to be made anew.
        Stale = "stale",
        /// An object that was judged along with what it was made from, which is clean again.
        Judged = "judged",
        /// A belief of which evidence is over: the next sweep lowers it, or ends it.
        Weakened = "weakened",
    }
}

vocabulary! {
    /// The decision of a person on what waits for one.
    ReviewDecision ("decision on what waits") {
        /// Do what is proposed.
        Accept = "accept",
        /// Do not do what is proposed.
        Reject = "reject",
        /// Neither, until somebody decides again: of two claims, neither is compiled.
        Hold = "hold",
        /// It holds: of an object that waits, whatever is proposed of it. So an erasure is declined.
        Confirm = "confirm",
        /// It does not hold: of an object that waits, whatever is proposed of it. So what was to be erased is retracted.
        Retract = "retract",
    }
}

impl OutcomeDecision {
    /// The state that it takes an outcome from, and the one that it leaves it in.
    pub const fn states(self) -> (OutcomeState, OutcomeState) {
        match self {
            OutcomeDecision::Accept => (OutcomeState::Proposed, OutcomeState::Accepted),
            OutcomeDecision::Reject => (OutcomeState::Proposed, OutcomeState::Rejected),
            OutcomeDecision::Withdraw => (OutcomeState::Accepted, OutcomeState::Withdrawn),
        }
    }
}

vocabulary! {
    /// The rule for a claim of an object that meets another one which cannot hold beside it.
    ConflictPolicy ("conflict policy") {
        /// They are compared: authority, begin, source, confidence. What an object has that states none.
        Protocols = "protocols",
        /// It gives way to any other, of whatever authority; of two that do, the protocols decide.
        GiveWay = "give_way",
        /// Of two of equal authority neither stands until somebody decides.
        Ask = "ask",
    }
}

vocabulary! {
    /// The eight questions that every object answers, by itself or by its type.
    Question ("question") {
        /// Its users, and the place where it holds.
        Scope = "scope",
        /// Its origin.
        Source = "source",
        /// Its right to command.
        Authority = "authority",
        /// The time for which it holds.
        Lifespan = "lifespan",
        /// The tasks for which it is of use.
        RelevanceCondition = "relevance_condition",
        /// The place that newer versions come from.
        UpdatePath = "update_path",
        /// Its fate when something contradicts it.
        ConflictPolicy = "conflict_policy",
        /// Its fate when it is of no more use.
        RetirementRule = "retirement_rule",
    }
}

vocabulary! {
    /// The rule for an object that is no longer of use.
    RetirementRule ("retirement rule") {
        /// Kept, not compiled.
        Archive = "archive",
        /// Erased.
        HardDelete = "hard_delete",
        /// Found only by retrieval.
        DemoteToArchival = "demote_to_archival",
        /// The user is asked.
        TriggerUserConfirmation = "trigger_user_confirmation",
    }
}

vocabulary! {
    /// The stage in the life of a stored object.
    Lifecycle ("lifecycle status") {
        /// It may be compiled.
        Active = "active",
        /// A person is asked whether it holds; until then it is not compiled.
        AwaitingConfirmation = "awaiting_confirmation",
        /// Found only by retrieval.
        Demoted = "demoted",
        /// Kept, not compiled.
        Archived = "archived",
    }
}

vocabulary! {
    /// The kind of work a task is.
    TaskType ("task type") {
        /// Writing code.
        CodeGeneration = "code_generation",
        /// Reporting on data.
        AnalyticalReporting = "analytical_reporting",
        /// Getting data out of documents.
        DataExtraction = "data_extraction",
        /// Driving other systems.
        SystemOrchestration = "system_orchestration",
    }
}

vocabulary! {
    /// The protection of an object's text.
    Protection ("protection") {
        /// Not at all.
        None = "none",
        /// First in its section while the section's minimum allows.
        Pinned = "pinned",
        /// Only its full form, or a pointer to it.
        Verbatim = "verbatim",
    }
}

vocabulary! {
    /// The kind of an object's author.
    AuthorKind ("author") {
        /// It was there at the start.
        Seed = "seed",
        /// The agent wrote it.
        Agent = "agent",
        /// The program around the agent wrote it.
        Orchestrator = "orchestrator",
    }
}

vocabulary! {
    /// The modality of an object's content.
    Modality ("modality") {
        /// Text.
        Text = "text",
        /// An image.
        Image = "image",
        /// Sound.
        Audio = "audio",
        /// Film.
        Video = "video",
        /// Rows, records, tables.
        Structured = "structured",
    }
}

vocabulary! {
    /// The kind of a memory.
    MemoryKind ("memory kind") {
        /// Of this session.
        Session = "session",
        /// Of an earlier run.
        Episodic = "episodic",
        /// A fact.
        Semantic = "semantic",
        /// A way of doing things.
        Procedural = "procedural",
    }
}

vocabulary! {
    /// The number of values that a claim's slot holds at once.
    SlotCardinality ("slot cardinality") {
        /// One.
        Single = "single",
        /// Any number.
        Multiple = "multiple",
    }
}

vocabulary! {
    /// The explicitness of a constraint: stated or shown.
    Explicitness ("explicitness") {
        /// Stated.
        Explicit = "explicit",
        /// Shown by example.
        Implicit = "implicit",
    }
}

vocabulary! {
    /// The polarity of a constraint: it asks or forbids.
    Polarity ("polarity") {
        /// It asks.
        Positive = "positive",
        /// It forbids.
        Negative = "negative",
    }
}

vocabulary! {
    /// The rigidity of a constraint: it may be relaxed or not.
    Rigidity ("rigidity") {
        /// Never.
        Hard = "hard",
        /// It may be relaxed when the policy says so.
        Soft = "soft",
    }
}

vocabulary! {
    /// The speaker of a turn.
    Role ("role") {
        /// The platform or developer.
        System = "system",
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

vocabulary! {
    /// The protocol of a tool.
    Protocol ("tool protocol") {
        /// The provider's own function calling.
        Function = "function",
        /// Model Context Protocol.
        Mcp = "mcp",
        /// JSON-RPC.
        JsonRpc = "json_rpc",
        /// gRPC.
        Grpc = "grpc",
    }
}

vocabulary! {
    /// The usual duration of a tool's calls.
    TimeoutClass ("timeout class") {
        /// Well under a second.
        Fast = "fast",
        /// Seconds.
        Medium = "medium",
        /// Minutes.
        Slow = "slow",
    }
}

vocabulary! {
    /// The step of the agent's loop.
    Step ("step") {
        /// Deciding what to do.
        Plan = "plan",
        /// Doing it.
        Act = "act",
        /// Checking that it worked.
        Verify = "verify",
        /// Judging how good it is.
        Critique = "critique",
        /// Mending it.
        Repair = "repair",
        /// Making it final.
        Commit = "commit",
    }
}

vocabulary! {
    /// A part of the provenance of evidence that its author may not know.
    ProvenancePart ("part of a provenance") {
        /// The quality of the source.
        Authority = "authority",
        /// The place in the source.
        Chunk = "chunk",
        /// The query and strategy that found it.
        Lineage = "lineage",
        /// The relevance that the retriever gave it.
        Relevance = "relevance",
    }
}

vocabulary! {
    /// The kind of source that something comes from. No kind gives authority or trust.
    SourceKind ("source kind") {
        /// The platform or the developer: instruction files, seed libraries, tools.
        Developer = "developer",
        /// A person: what they said, want or decided.
        User = "user",
        /// The system that has the last word on its subject, such as the personnel system.
        SystemOfRecord = "system_of_record",
        /// A file, a document, a record of another system.
        Document = "document",
        /// The result of a tool.
        Tool = "tool",
        /// The agent: what it said, concluded, or made from other objects.
        Agent = "agent",
        /// A page of the web, or what was made from one.
        Web = "web",
        /// A message of a mailbox, or what was made from one.
        Mail = "mail",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hint_lowers_a_class() {
        assert_eq!(
            crate::base::error::A_CLASS,
            Classification::HighlyRestricted.term()
        );
        for class in [
            "secret",
            "top_secret",
            "restricted_high",
            "Confidential",
            "publik",
            "highly-restricted",
        ] {
            let error = class.parse::<Classification>().unwrap_err();
            assert_eq!(error.hint, None, "{class}");
            let all = "one of public, restricted, confidential, highly_restricted";
            assert_eq!(error.expected.as_deref(), Some(all));
            let read = serde_json::from_value::<Classification>(class.into()).unwrap_err();
            assert_eq!(
                crate::base::error::parse_error(&read.to_string()).hint,
                None,
                "{class}"
            );
        }
    }

    #[test]
    fn an_unknown_term_names_the_nearest() {
        let error = "retrieved_pasage".parse::<ObjectType>().unwrap_err();
        assert_eq!(
            error.hint.as_deref(),
            Some("did you mean `retrieved_passage`?")
        );
        assert!("zzz".parse::<Layer>().unwrap_err().hint.is_none());
        for term in ObjectType::ALL {
            assert_eq!(term.term().parse::<ObjectType>().as_ref(), Ok(term));
            assert_eq!(serde_json::to_string(term).unwrap(), format!("\"{term}\""));
        }
    }
}
