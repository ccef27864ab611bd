//! Labels: what a word in a document's frontmatter means for who may pack it and who may read it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::Error;
use crate::compile::admitted;
use crate::input::candidates::Candidates;
use crate::input::policy::Policy;
use crate::input::request::Principal;
use crate::object::vocabulary::{Classification, vocabulary};
use crate::object::{ObjectDocument, PermissionScope};

vocabulary! {
    /// An action on an item.
    Action ("action") {
        /// To put it into a package.
        Package = "package",
        /// To read it from one.
        Read = "read",
    }
}

/// The meaning of a label.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LabelRule {
    /// The actions that it allows at all. Default: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<Action>>,
    /// The caller needs one of these roles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_roles: Vec<String>,
    /// The class that the caller must be cleared for. Default: `restricted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classification: Option<Classification>,
    /// The caller must have none of these roles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_roles: Vec<String>,
}

impl LabelRule {
    /// The rule of what cannot be read or carried: nobody may do anything.
    pub fn shut() -> LabelRule {
        LabelRule {
            actions: Some(Vec::new()),
            ..LabelRule::default()
        }
    }
}

/// The meaning of labels and of trust zones, as their owner lays it down.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LabelTable {
    /// The meaning of each label.
    pub labels: BTreeMap<String, LabelRule>,
    /// The meaning of a document without labels.
    pub unlabelled: Option<LabelRule>,
    /// The meaning of each trust zone.
    pub zones: BTreeMap<String, LabelRule>,
}

impl LabelTable {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with what is wrong.
    pub fn from_toml(text: &str, source: &str) -> Result<LabelTable, Error> {
        let read = toml::from_str(text);
        read.map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
            crate::base::error::parse_error(error.message()).at(source, line)
        })
    }

    /// The rules for a document with these labels. A label that the table does not have is for the highest class alone, so
    /// that a word that somebody mistyped opens nothing.
    pub fn rules(&self, labels: &[String]) -> Vec<LabelRule> {
        if labels.is_empty() {
            return self.unlabelled.iter().cloned().collect();
        }
        labels
            .iter()
            .map(|label| {
                let found = match label.strip_prefix("zone:") {
                    Some(zone) => self.zones.get(zone),
                    None => self.labels.get(label),
                };
                found.cloned().unwrap_or_else(|| LabelRule {
                    classification: Some(Classification::HighlyRestricted),
                    ..LabelRule::default()
                })
            })
            .collect()
    }
}

/// Returns which of several lists of rules allow an action to a caller: all rules of a list must. Who may see what is
/// judged by the stage that judges it in a compile.
///
/// # Errors
///
/// None: the objects that are asked about are well formed.
pub fn allowed(
    rules: &[Vec<LabelRule>],
    action: Action,
    caller: &Principal,
) -> Result<Vec<bool>, Error> {
    let mut allowed = vec![true; rules.len()];
    let mut owners = Vec::new();
    let mut objects = Vec::new();
    for (at, rules) in rules.iter().enumerate() {
        for (turn, rule) in rules.iter().enumerate() {
            if rule.actions.as_ref().is_some_and(|actions| !actions.contains(&action)) {
                allowed[at] = false;
            }
            let asked = ObjectDocument {
                security_classification: rule.classification,
                permission_scope: Some(PermissionScope {
                    allow_roles: rule.allow_roles.clone(),
                    deny_roles: rule.deny_roles.clone(),
                }),
                tenant_id: Some(caller.tenant.clone()),
                ..ObjectDocument::rule(format!("{at}-{turn}"), "?")
            };
            objects.push(asked.seal()?);
            owners.push(at);
        }
    }
    let candidates = Candidates::new(objects);
    let open = admitted(&Policy::preset("standard")?, caller, &candidates);
    for (object, at) in owners.into_iter().enumerate() {
        if open.binary_search(&object).is_err() {
            allowed[at] = false;
        }
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LabelTable {
        let text = "
            [labels.internal]
            classification = \"confidential\"
            [labels.board]
            allow_roles = [\"director\"]
            [labels.draft]
            actions = [\"read\"]
            [zones.partner]
            deny_roles = [\"contractor\"]
        ";
        LabelTable::from_toml(text, "labels.toml").unwrap()
    }

    fn may(labels: &[&str], action: Action, caller: &Principal) -> bool {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        allowed(&[table().rules(&labels)], action, caller).unwrap()[0]
    }

    #[test]
    fn labels_are_judged_as_objects_are() {
        let plain = Principal {
            clearance: Classification::Restricted,
            ..Principal::default()
        };
        let director = Principal {
            roles: vec!["director".into()],
            ..Principal::owner()
        };
        assert!(may(&[], Action::Read, &plain));
        assert!(
            !may(&["internal"], Action::Read, &plain)
                && may(&["internal"], Action::Read, &director)
        );
        assert!(
            !may(&["board"], Action::Read, &Principal::owner())
                && may(&["board"], Action::Read, &director)
        );
        assert!(
            !may(&["draft"], Action::Package, &director)
                && may(&["draft"], Action::Read, &director)
        );
        assert!(
            !may(&["internals"], Action::Read, &plain),
            "a label that nobody knows opens nothing"
        );
        let contractor = Principal {
            roles: vec!["contractor".into()],
            ..Principal::owner()
        };
        assert!(
            !may(&["zone:partner"], Action::Read, &contractor)
                && may(&["zone:partner"], Action::Read, &director)
        );
        assert!(!may(&["board", "zone:partner"], Action::Read, &contractor));
    }

    #[test]
    fn a_mistake_in_a_table_is_named() {
        let error =
            LabelTable::from_toml("[labels.a]\nclas = \"public\"\n", "labels.toml").unwrap_err();
        assert!(error.to_string().contains("labels.toml:2"), "{error}");
        assert!(LabelTable::from_toml("[labels.a]\nclassification = \"secret\"\n", "x").is_err());
    }
}
