//! What is new in the middle of an epoch and need not end it: the provider has a channel of its own for it, by
//! which it stands behind all that was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::catalogue::LateForm;
use crate::object::Authority;
use crate::policy::{Order, Policy};
use crate::request::{Request, ServedLedger, Target};
use crate::section::Section;
use crate::stages::normalize::Normalized;
use crate::world::World;

/// The channels that a request may use.
#[derive(Clone, Copy)]
pub(super) struct Channels {
    /// For what the system says.
    system: bool,
    /// For tools.
    tools: bool,
}

impl Channels {
    /// As the catalogue knows them of the model, for this form of payload.
    pub(super) fn of(world: &World, policy: &Policy, request: &Request) -> Channels {
        let by_section = policy.document().order == Order::Sections;
        let model = world.model();
        let rules = model.messages.unwrap_or_default();
        let target = request.target;
        let speaks = matches!(
            target,
            Target::OpenAiChat | Target::OpenAiResponses | Target::AnthropicMessages
        );
        let system = by_section && speaks && rules.mid_conversation_system == Some(true);
        let form = model.late_tools.as_ref().map(|late| late.form);
        let takes = match form {
            Some(LateForm::AdditionalTools) => target == Target::OpenAiResponses,
            Some(LateForm::ToolAddition) => target == Target::AnthropicMessages && system,
            Some(LateForm::None) | None => false,
        };
        Channels {
            system,
            tools: by_section && takes && request.late_tools,
        }
    }

    /// The same for what stands in this floor. Where it offers no tool, one that is added changes the beginning of what
    /// the provider reads (Anthropic, Mid-conversation tool changes).
    pub(super) fn beside(
        self,
        set: &Normalized,
        ledger: &ServedLedger,
        frozen: &BTreeMap<u32, u32>,
    ) -> Channels {
        let offers = || ledger.archive || frozen.keys().any(|row| set.row(*row).is_tool());
        Channels {
            tools: self.tools && offers(),
            ..self
        }
    }

    /// Whether this row may go by one of them: a tool, or what the platform or the developer say, and of the floor's own
    /// rules what the user does. What else is new stands among the words of the user.
    pub(super) fn take(self, set: &Normalized, row: u32) -> bool {
        let found = set.row(row);
        let commands = |least: Authority| self.system && found.authority <= least;
        match found.section {
            Section::Tools => self.tools && found.is_tool(),
            Section::Identity | Section::Policy => commands(Authority::User),
            Section::Memory => commands(Authority::Developer),
            _ => false,
        }
    }
}

/// What goes by the channels, and what went.
#[derive(Clone, Default)]
pub(crate) struct Late {
    pub(crate) rows: BTreeSet<u32>,
    /// The tools that went by one and are still offered.
    pub(crate) sent_tools: Vec<Arc<str>>,
}
