//! Objects that are new in the middle of an epoch and need not end it: the provider has a channel of its own for it,
//! by which it stands behind all that was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::compile::stages::Live;
use crate::input::candidates::Normalized;
use crate::input::policy::{Order, Policy};
use crate::input::request::Request;
use crate::input::served::ServedLedger;
use crate::object::Authority;
use crate::object::section::Section;
use crate::provider::catalogue::LateForm;
use crate::provider::target::Target;
use crate::write::world::World;

use super::{Wanted, spared};

/// The channels that a request may use.
#[derive(Clone)]
pub(super) struct Channels {
    /// For what the system says.
    system: bool,
    /// For tools.
    tools: bool,
    /// True if the provider refuses a tool that is defined behind a call of it.
    defined_first: bool,
    /// The new tools that a gate may turn away: it chose when the epoch began, and they wait for the next.
    pub(super) gated: BTreeSet<u32>,
    /// The new tools whose definition would stand behind a call of them.
    called: BTreeSet<u32>,
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
            defined_first: target == Target::AnthropicMessages,
            gated: BTreeSet::new(),
            called: BTreeSet::new(),
        }
    }

    /// Returns the channels beside what stands in this floor. Where it offers no tool, one that is added changes the
    /// beginning of what the provider reads (Anthropic, Mid-conversation tool changes).
    pub(super) fn beside(
        self,
        live: &Live<'_>,
        request: &Request,
        ledger: &ServedLedger,
        said: &Wanted,
        frozen: &BTreeMap<u32, u32>,
    ) -> Channels {
        let set = live.set;
        let new: Vec<u32> = live
            .rows
            .iter()
            .copied()
            .filter(|row| set.row(*row).section == Section::Tools)
            .filter(|row| {
                !frozen.contains_key(row) && said.find(set.row(*row).revision.key()).is_empty()
            })
            .collect();
        let chosen = request.gate.is_some() || request.tools.is_some();
        let mut gated: BTreeSet<u32> = new.iter().copied().collect();
        gated.retain(|row| chosen && set.row(*row).removable);
        if !gated.is_empty() {
            let spared = spared(live);
            gated.retain(|row| !spared.contains(row));
        }
        let mut behind = BTreeSet::new();
        if self.tools && self.defined_first && !new.is_empty() {
            let called = live.called();
            behind.extend(
                new.into_iter().filter(|row| {
                    set.row(*row).is_tool() && called.contains(set.object(*row).name())
                }),
            );
        }
        Channels {
            tools: self.tools
                && (ledger.archive || frozen.keys().any(|row| set.row(*row).is_tool())),
            gated,
            called: behind,
            ..self
        }
    }

    /// Returns whether this row may go by one of them: a tool, or what the platform or the developer say, and of the
    /// floor's own rules what the user does. What else is new stands among the words of the user.
    pub(super) fn take(&self, set: &Normalized, row: u32) -> bool {
        let found = set.row(row);
        let commands = |least: Authority| self.system && found.authority <= least;
        match found.section {
            Section::Tools => {
                let waits = self.gated.contains(&row) || self.called.contains(&row);
                self.tools && found.is_tool() && !waits
            }
            Section::Identity | Section::Policy => commands(Authority::User),
            Section::Memory => commands(Authority::Developer),
            _ => false,
        }
    }
}

/// The rows that go by the channels, and the tools that went.
#[derive(Clone, Default)]
pub(crate) struct Late {
    pub(crate) rows: BTreeSet<u32>,
    /// The tools that went by one and are still offered.
    pub(crate) sent_tools: Vec<Arc<str>>,
}
