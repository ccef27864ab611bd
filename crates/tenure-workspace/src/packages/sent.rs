//! Packages that come whole from their caller, without a root: no file is read and nothing is kept.

use std::collections::BTreeMap;

use tenure::package::{
    ContextActivation, ContextPackage, LabelTable, PackageEnvelope, PolicyResults, Shown,
    documents, markdown,
};
use tenure::{Error, ObjectDocument};

use super::Bearing;
use super::gather::Filtered;
use super::reading::{Readable, activation_id, namespace_of, readable};
use super::standing::{Explained, Sources, explained};

/// The most bytes that are looked through to find items in sources that are not as they were.
const MOST_LOOKED: usize = 256 << 20;

/// A package with what its labels mean now.
pub struct Sent {
    id: String,
    package: ContextPackage,
}

/// The result of activating a package that was sent.
pub struct SentActivation {
    /// The activation, as its caller may see it.
    pub activation: ContextActivation,
    /// Its items as candidates of a compile.
    pub objects: Vec<ObjectDocument>,
    /// The items that the caller may not read, for the operator.
    pub filtered: Vec<Filtered>,
}

impl Sent {
    /// A package that was checked. What its labels mean in these tables now holds beside what they meant when it was packed;
    /// an empty table says nothing.
    pub fn new(envelope: PackageEnvelope, tables: &[&LabelTable]) -> Sent {
        let PackageEnvelope { id, mut package } = envelope;
        for item in &mut package.items {
            let policy = &mut item.policy;
            let says = |table: &&&LabelTable| ***table != LabelTable::default();
            for table in tables.iter().filter(says) {
                policy.rules.extend(table.rules(&policy.labels));
            }
        }
        Sent { id, package }
    }

    /// Activates it for a target: as Markdown, and as candidates in the scope of the target. Nothing is recorded.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) for what is no target, [`ErrorKind::Policy`](tenure::ErrorKind::Policy)
    /// when the package has expired, or when the caller may read none of it.
    pub fn activate(
        &self,
        target: &str,
        shown: Shown,
        bearing: &Bearing<'_>,
    ) -> Result<SentActivation, Error> {
        let package = &self.package;
        let narrow = namespace_of(target)?;
        let nothing = BTreeMap::new();
        let Readable {
            items,
            filtered,
            diagnostics,
        } = readable(package, bearing, &mut Sources::sent(&nothing))?;
        let content = markdown(&self.id, package, &items, shown);
        let tokens = u32::try_from(bearing.tokenizer.count(&content)).unwrap_or(u32::MAX);
        Ok(SentActivation {
            objects: documents(&self.id, package, &items, &narrow)?,
            activation: ContextActivation {
                active: true,
                content,
                id: activation_id(&self.id, target, bearing.caller),
                namespace: package.namespace.narrowed(&narrow),
                package: self.id.clone(),
                policy_results: PolicyResults {
                    checked: package.items.len() as u32,
                    withheld: filtered.len() as u32,
                },
                target: target.to_owned(),
                tokens,
                diagnostics,
            },
            filtered,
        })
    }

    /// Its items as candidates of a compile for this caller, in the scope of a target.
    ///
    /// # Errors
    ///
    /// As [`Sent::activate`].
    pub fn candidates(
        &self,
        target: &str,
        bearing: &Bearing<'_>,
    ) -> Result<Vec<ObjectDocument>, Error> {
        let nothing = BTreeMap::new();
        let target = namespace_of(target)?;
        let items = readable(&self.package, bearing, &mut Sources::sent(&nothing))?.items;
        documents(&self.id, &self.package, &items, &target)
    }
}

/// Compares every item of a package with the texts of its files, by their paths. Of a file whose text is not among these,
/// nothing is said.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when too much would have to be looked through.
pub fn explain_sent(
    package: &ContextPackage,
    texts: &BTreeMap<String, String>,
) -> Result<Vec<Explained>, Error> {
    let mut sources = Sources::sent(texts);
    let mut looked = 0_usize;
    for item in &package.items {
        let span = &item.provenance;
        if let Some(text) = texts.get(&span.path)
            && !sources.is_same(span)
        {
            looked = looked.saturating_add(text.len());
        }
    }
    if looked > MOST_LOOKED {
        return Err(Error::input(
            "the items of files that have changed are too many for files of this size",
        )
        .expected(format!(
            "at most {} MiB to look through, each changed file once for each of its items",
            MOST_LOOKED >> 20
        ))
        .hint("ask about fewer files at once"));
    }
    Ok(explained(package, &mut sources))
}
