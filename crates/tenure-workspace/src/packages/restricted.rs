//! Rules of a document on who may see it, as rules of its items: a package carries it on, or does not hold the
//! document.

use std::path::Path;

use tenure::ObjectDocument;
use tenure::object::Classification;
use tenure::package::LabelRule;

use crate::sources::markdown::Split;
use crate::sources::{Formats, check_text};

/// The rules that a document lays down. One that is an object, or has the frontmatter of one, says its class and its roles; where it says
/// more (whose it is, when it holds, that it is personal data), or what it says cannot be read, nobody may have it.
pub(super) fn restrictions(path: &str, text: &str) -> Vec<LabelRule> {
    let (formats, path) = (Formats::standard(), Path::new(path));
    let read = if formats.knows(path) {
        formats.parse_data(path, "document", text, Split::Never).ok()
    } else {
        None
    };
    let mut rules: Vec<LabelRule> = match read {
        Some(read) => read.iter().filter_map(|one| rule_of(&one.document)).collect(),
        None if check_text(path, text).is_err() => vec![LabelRule::shut()],
        None => Vec::new(),
    };
    rules.dedup();
    rules
}

fn rule_of(document: &ObjectDocument) -> Option<LabelRule> {
    let is_whose = [
        &document.tenant_id,
        &document.user_id,
        &document.project_id,
        &document.session_id,
        &document.task_id,
    ];
    let is_dated = document.valid_from.is_some() || document.valid_until.is_some();
    let is_personal = !document.subjects.is_empty() || document.tags.iter().any(|tag| tag == "pii");
    if is_whose.iter().any(|one| one.is_some()) || is_dated || is_personal {
        return Some(LabelRule::shut());
    }
    let class = document.security_classification;
    let scope = document.permission_scope.clone().unwrap_or_default();
    let rule = LabelRule {
        actions: None,
        allow_roles: scope.allow_roles,
        classification: class.filter(|class| *class > Classification::Restricted),
        deny_roles: scope.deny_roles,
    };
    (rule != LabelRule::default()).then_some(rule)
}
