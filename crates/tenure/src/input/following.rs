//! The rules of a policy for what does not stand beside another, and for what was made from it.

use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// The effect of claims that cannot both hold.
    Contradictions ("contradictions rule") {
        /// They stand as they are.
        Keep = "keep",
        /// Of two on one slot, only the one that stands is compiled.
        Settle = "settle",
        /// Settle, and quarantine the one that higher authority overrides.
        Quarantine = "quarantine",
    }
}

vocabulary! {
    /// The effect of a change on what was made from the changed object.
    Derived ("derived rule") {
        /// It stands as it was made.
        Keep = "keep",
        /// It is stale, and not compiled.
        Follow = "follow",
    }
}

/// The rule of a policy that does not say one.
pub(crate) fn made() -> Derived {
    Derived::Keep
}

/// Returns whether derived objects stand as they were made, as they did before they could follow: then nothing is written.
pub(crate) fn is_made(rule: &Derived) -> bool {
    *rule == Derived::Keep
}

/// The rule of a policy that does not say one.
pub(crate) fn kept() -> Contradictions {
    Contradictions::Keep
}

/// Returns whether contradictions are kept, as they were before they could be settled: then nothing is written.
pub(crate) fn is_kept(rule: &Contradictions) -> bool {
    *rule == Contradictions::Keep
}

vocabulary! {
    /// The end of a dispute about an object that must stand, where nothing says which of two claims does.
    DisputedRules ("rule for disputed rules") {
        /// The compile fails and names both.
        Refuse = "refuse",
        /// The one that was known before stays, and the compile fails where that is not known.
        Earlier = "earlier",
    }
}

#[expect(clippy::derivable_impls)] // the vocabulary derives for itself
impl Default for DisputedRules {
    fn default() -> DisputedRules {
        DisputedRules::Refuse
    }
}

impl DisputedRules {
    pub(crate) fn refuses(&self) -> bool {
        *self == DisputedRules::Refuse
    }
}
