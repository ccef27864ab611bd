//! The items of a package that a caller may read.

use std::collections::BTreeMap;

use tenure::package::{
    ACTIVATION_ID, Action, ContextPackage, LabelRule, LabelTable, MemoryNamespace, Standing,
    allowed,
};
use tenure::{Digest, Error, ErrorKind, Principal};
use tenure_adapters::decide::AskedItem;

use super::Bearing;
use super::gather::Filtered;
use super::standing::Sources;

/// The coordinates that a target names; none of an empty one.
pub(super) fn namespace_of(target: &str) -> Result<MemoryNamespace, Error> {
    match target {
        "" => Ok(MemoryNamespace::default()),
        target => MemoryNamespace::target(target),
    }
}

/// The id of an activation: the same for the same package, target and caller.
pub(super) fn activation_id(package: &str, target: &str, caller: &Principal) -> String {
    let caller = serde_json::json!(caller).to_string();
    let parts = [package.as_bytes(), target.as_bytes(), caller.as_bytes()];
    let digest = Digest::of_parts(parts).to_string();
    format!("{ACTIVATION_ID}{}", digest.trim_start_matches("sha256:"))
}

/// The rules of the labels that an item had and that its source has now, as the table says now, and those that its source
/// lays down itself.
pub(super) fn rules_now(
    sources: &mut Sources<'_>,
    table: &LabelTable,
    then: &[String],
    path: &str,
) -> Vec<LabelRule> {
    let own = sources.restrictions(path);
    if *table == LabelTable::default() {
        return own;
    }
    let mut rules = table.rules(then);
    rules.extend(own);
    if let Some(loaded) = sources.load(path)
        && loaded.document.labels != then
    {
        rules.extend(table.rules(&loaded.document.labels));
    }
    rules
}

/// The items of a package that a caller may read, by their places; those that they may not; what to say of their sources.
pub(super) struct Readable {
    pub(super) items: Vec<usize>,
    pub(super) filtered: Vec<Filtered>,
    pub(super) diagnostics: Vec<String>,
}

/// The items that the caller may read, then and now; those that they may not; what to say of their sources.
pub(super) fn readable(
    package: &ContextPackage,
    bearing: &Bearing<'_>,
    sources: &mut Sources<'_>,
) -> Result<Readable, Error> {
    if package.retention.expires.is_some_and(|expires| expires <= bearing.now) {
        let expires = package.retention.expires.map(|at| at.to_string()).unwrap_or_default();
        return Err(Error::new(
            ErrorKind::Policy,
            format!("`{}` expired at {expires}", package.name),
        )
        .hint(
            "pack it anew with another `expires`; `tenure context sweep` removes what has expired",
        ));
    }
    let mut standings: BTreeMap<Standing, usize> = BTreeMap::new();
    let mut rules = Vec::with_capacity(package.items.len());
    for item in &package.items {
        let mut own = item.policy.rules.clone();
        own.extend(rules_now(
            sources,
            bearing.labels,
            &item.policy.labels,
            &item.provenance.path,
        ));
        rules.push(own);
        let (standing, _) = sources.standing(&item.provenance, &item.name);
        if let Some(standing) = standing {
            *standings.entry(standing).or_default() += 1;
        }
    }
    let mut open = allowed(&rules, Action::Read, bearing.caller)?;
    bearing.narrow(Action::Read, &mut open, |at| {
        let item = &package.items[at];
        AskedItem {
            digest: item.provenance.digest,
            labels: &item.policy.labels,
            name: &item.name,
            path: &item.provenance.path,
            unit_kind: item.provenance.unit_kind,
        }
    })?;
    let (mut items, mut filtered) = (Vec::new(), Vec::new());
    for (at, (item, open)) in package.items.iter().zip(open).enumerate() {
        if open {
            items.push(at);
        } else {
            filtered.push(Filtered {
                path: item.provenance.path.clone(),
                name: item.name.clone(),
                labels: item.policy.labels.clone(),
            });
        }
    }
    if items.is_empty() && !filtered.is_empty() {
        let what = format!("the caller may read none of the {} items", filtered.len());
        return Err(Error::new(ErrorKind::Policy, what));
    }
    let told: Vec<String> = standings
        .iter()
        .filter(|(standing, _)| **standing != Standing::Same)
        .map(|(standing, count)| {
            let was = match standing {
                Standing::Moved => "stand at another place of their source now",
                Standing::Changed => "are not what their source says now",
                _ => "have no source any more",
            };
            format!("{count} of {} items {was}", package.items.len())
        })
        .collect();
    Ok(Readable {
        items,
        filtered,
        diagnostics: told,
    })
}
