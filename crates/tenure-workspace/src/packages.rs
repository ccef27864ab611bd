//! Packages of working memory, in the registry of a root: packed from its documents, kept by their ids, activated where
//! they are needed, compared with their sources.

mod files;
mod gather;
mod reading;
mod restricted;
mod sent;
mod standing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tenure::package::{
    Action, Conflict, ContextActivation, ContextPackage, LabelTable, PackageDiff, PackageEnvelope,
    Plan, PolicyResults, Retention, Shown, diff, documents, markdown, merge, pack,
};
use tenure::time::Instant;
use tenure::tokenizer::Tokenizer;
use tenure::{Digest, Error, ErrorKind, ObjectDocument, Principal};
use tenure_adapters::decide::{AskedItem, Decider};
use tenure_adapters::embed::Embedder;
use tenure_adapters::read::read_text;

use crate::index::root_of;
use crate::sources::frontmatter;
use crate::trust::{Kind, Thing, Trust};
use files::{Files, Happened, Recorded};
use gather::gather;
use reading::{Readable, activation_id, namespace_of, readable, rules_now};
use standing::{Sources, explained};

pub use files::Version;
pub use gather::Filtered;
pub use sent::{Sent, SentActivation, explain_sent};
pub use standing::Explained;

/// Things that packing and activating go by, beside the package.
pub struct Bearing<'a> {
    /// The caller, on whose behalf it is done.
    pub caller: &'a Principal,
    /// The meaning of labels.
    pub labels: &'a LabelTable,
    /// An external point that may narrow what the labels allow.
    pub decider: Option<&'a dyn Decider>,
    /// Counts tokens.
    pub tokenizer: &'a dyn Tokenizer,
    /// The time.
    pub now: Instant,
    /// Summaries that somebody supplied, by the digest of the text that each is of.
    pub summaries: &'a BTreeMap<Digest, String>,
    /// An encoder of one's own, for recipes that name it.
    pub embedder: Option<&'a dyn Embedder>,
}

impl Bearing<'_> {
    /// Asks the external point, if there is one, about what the labels leave open, and closes what it does not allow. When it
    /// cannot be asked, nothing is allowed.
    fn narrow<'i>(
        &self,
        action: Action,
        open: &mut [bool],
        item: impl Fn(usize) -> AskedItem<'i>,
    ) -> Result<(), Error> {
        let Some(decider) = self.decider else {
            return Ok(());
        };
        let asked: Vec<usize> = (0..open.len()).filter(|at| open[*at]).collect();
        let items: Vec<AskedItem<'_>> = asked.iter().map(|at| item(*at)).collect();
        let allowed = decider.decide(action, self.caller, &items).map_err(|error| {
            let what = format!("nothing is allowed: {}", error.what);
            Error {
                kind: ErrorKind::Policy,
                what,
                ..error
            }
        })?;
        for (turn, at) in asked.into_iter().enumerate() {
            open[at] = allowed.get(turn).copied().unwrap_or(false);
        }
        Ok(())
    }
}

/// The result of packing.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Packed {
    /// The package's id.
    pub id: String,
    /// The name under which its versions follow each other.
    pub name: String,
    /// Its number among them, from 1; 0 for a proposal.
    pub version: usize,
    /// True if it was not there before.
    pub is_new: bool,
    /// True if it waits for assent.
    pub is_proposal: bool,
    /// The package.
    pub package: ContextPackage,
    /// The items that their labels kept out, for the operator.
    pub filtered: Vec<Filtered>,
}

/// The result of a refresh.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Refreshed {
    /// The version that it began with.
    pub before: String,
    /// The new version.
    #[serde(flatten)]
    pub packed: Packed,
    /// The difference, item by item.
    pub diff: PackageDiff,
}

/// A name of the registry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// The title of its latest version.
    pub title: String,
    /// Its versions, the oldest first.
    pub versions: Vec<Version>,
    /// Those that wait for assent.
    pub proposals: Vec<Version>,
    /// The items of its latest version.
    pub items: usize,
    /// Their tokens.
    pub tokens: u32,
    /// The time for which it is kept.
    pub retention: Retention,
    /// Something that is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Packages that a sweep removed, and what somebody should look at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Swept {
    /// The versions that had expired, by name.
    pub expired: Vec<(String, String)>,
    /// The names whose latest version is due for review.
    pub review: Vec<String>,
}

/// The registry of packages of a root.
pub struct Packages {
    root: PathBuf,
    files: Files,
}

/// Assent of somebody to a new version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Assent<'a> {
    Open,
    By(&'a str),
}

impl Packages {
    /// The registry of this root, which is named and so believed. Nothing is made until something is kept.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such folder, [`ErrorKind::Policy`] when a link leads to its packages.
    pub fn of(root: &Path) -> Result<Packages, Error> {
        Packages::opened(root, None)
    }

    /// The registry that is found at this root, where the user made or accepted it.
    ///
    /// # Errors
    ///
    /// As [`Packages::of`]; [`ErrorKind::Policy`] when it is not trusted.
    pub fn found(root: &Path, trust: &Trust) -> Result<Packages, Error> {
        Packages::opened(root, Some(trust.clone()))
    }

    fn opened(root: &Path, trust: Option<Trust>) -> Result<Packages, Error> {
        let root = root_of(root)?;
        let packages = Packages {
            files: Files::of(&root, trust),
            root,
        };
        packages.files.believed()?;
        Ok(packages)
    }

    /// The registry that `folder` is in: that of the nearest folder above it that has one, or else its own.
    ///
    /// # Errors
    ///
    /// As [`Packages::found`].
    pub fn near(folder: &Path, trust: &Trust) -> Result<Packages, Error> {
        let real = root_of(folder)?;
        Packages::found(Thing::near(&real, Kind::Packages).base(), trust)
    }

    /// Something that the user of a registry that was found should know.
    ///
    /// # Errors
    ///
    /// As [`Packages::found`].
    pub fn note(&self) -> Result<Option<&str>, Error> {
        self.files.believed()
    }

    /// The root, with its links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a file or folder within the root, as recipes name it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] for one outside.
    pub fn name_of(&self, path: &Path) -> Result<String, Error> {
        crate::index::scan::within(&self.root, path).map(|(_, name)| name)
    }

    /// Packs what the recipes of a plan find, and keeps it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when nothing is found, [`ErrorKind::Policy`] when the caller may pack none of it,
    /// [`ErrorKind::Unavailable`] when the registry cannot be written.
    pub fn pack(&self, plan: Plan, bearing: &Bearing<'_>) -> Result<Packed, Error> {
        // One that is kept under another name is still refreshed.
        ContextPackage::check_name(&plan.name)?;
        let (package, filtered) = self.packed(plan, bearing)?;
        let kept = self.keep(package, bearing.now, Assent::Open)?;
        Ok(Packed { filtered, ..kept })
    }

    fn packed(
        &self,
        plan: Plan,
        bearing: &Bearing<'_>,
    ) -> Result<(ContextPackage, Vec<Filtered>), Error> {
        let found = gather((&self.root, self.files.trust()), &plan.recipes, bearing)?;
        let package = pack(plan, found.drafts, found.diagnostics, bearing.tokenizer)?;
        if package.items.is_empty() {
            let least = package.cut.iter().map(|cut| cut.tokens).min().unwrap_or(0);
            return Err(
                Error::new(ErrorKind::Budget, "the budget has room for no item")
                    .expected(format!("at least {least} tokens and one item")),
            );
        }
        Ok((package, found.filtered))
    }

    /// Keeps a package as the next version of its name. One that is reviewed becomes a proposal, unless it is the first.
    fn keep(
        &self,
        package: ContextPackage,
        now: Instant,
        assent: Assent<'_>,
    ) -> Result<Packed, Error> {
        let envelope = PackageEnvelope::of(package)?;
        let held = self.files.hold()?;
        let mut named = self.files.named(&envelope.package.name)?;
        let latest = named.versions.last();
        let is_same = latest.is_some_and(|latest| latest.id == envelope.id);
        let is_reviewed = match latest {
            None => false,
            Some(latest) => {
                let latest = self.files.package(&latest.id);
                envelope.package.reviewed || latest.is_ok_and(|latest| latest.package.reviewed)
            }
        };
        let is_proposal = is_reviewed && !is_same && assent == Assent::Open;
        self.files.keep(&envelope)?;
        let version = Version {
            id: envelope.id.clone(),
            at: now,
            by: match assent {
                Assent::Open => None,
                Assent::By(who) => Some(who.to_owned()),
            },
        };
        if is_proposal {
            if !named.proposals.iter().any(|known| known.id == envelope.id) {
                named.proposals.push(version);
                self.files.set_named(&named)?;
            }
        } else if !is_same {
            named.proposals.retain(|known| known.id != envelope.id);
            named.versions.push(version);
            self.files.set_named(&named)?;
        }
        drop(held);
        Ok(Packed {
            id: envelope.id,
            name: named.name,
            version: if is_proposal { 0 } else { named.versions.len() },
            is_new: !is_same,
            is_proposal,
            package: envelope.package,
            filtered: Vec::new(),
        })
    }

    /// The package that a name, an id, the beginning of one, or a file means.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is none, [`ErrorKind::Damaged`] when it is not as it was packed.
    pub fn find(&self, reference: &str) -> Result<PackageEnvelope, Error> {
        if reference.ends_with(".json") && Path::new(reference).is_file() {
            return PackageEnvelope::read(&read_text(Path::new(reference))?, reference);
        }
        self.files.package(&self.files.resolve(reference)?)
    }

    /// The names of the registry with what is known of each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when a list of versions is not as it was written.
    pub fn list(&self) -> Result<Vec<Listed>, Error> {
        let mut listed = Vec::new();
        for named in self.files.names()? {
            let Some(latest) = named.versions.last() else {
                continue;
            };
            let read = self.files.package(&latest.id);
            let (package, note) = match read {
                Ok(read) => (Some(read.package), None),
                Err(error) => (None, Some(error.what)),
            };
            let of = package.as_ref();
            listed.push(Listed {
                title: of.map(|package| package.title.clone()).unwrap_or_default(),
                items: of.map_or(0, |package| package.items.len()),
                tokens: of.map_or(0, ContextPackage::tokens),
                retention: of.map(|package| package.retention).unwrap_or_default(),
                name: named.name,
                versions: named.versions,
                proposals: named.proposals,
                note,
            });
        }
        Ok(listed)
    }

    /// The activations that claim their place, and with `all` those that have ended, too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when one is not as it was written.
    pub fn activations(&self, all: bool) -> Result<Vec<ContextActivation>, Error> {
        let recorded = self.files.activations()?;
        let wanted = recorded.iter().filter(|recorded| all || recorded.is_active());
        Ok(wanted.map(Recorded::bare).collect())
    }

    /// Compares every item with its source as it is now.
    pub fn explain(&self, package: &ContextPackage) -> Vec<Explained> {
        explained(package, &mut Sources::of_root(&self.root))
    }

    /// Asks a package's recipes again and keeps what they find now as its next version.
    ///
    /// # Errors
    ///
    /// As [`Packages::pack`]; [`ErrorKind::Input`] for a package without recipes.
    pub fn refresh(
        &self,
        before: &PackageEnvelope,
        bearing: &Bearing<'_>,
    ) -> Result<Refreshed, Error> {
        let old = &before.package;
        if old.retrieval_recipes.is_empty() {
            return Err(Error::input(format!(
                "`{}` has no recipes to ask again",
                old.name
            )));
        }
        let plan = Plan {
            name: old.name.clone(),
            title: old.title.clone(),
            intent: old.intent.clone(),
            namespace: old.namespace.clone(),
            budget: old.budget.clone(),
            recipes: old.retrieval_recipes.clone(),
            retention: old.retention,
            reviewed: old.reviewed,
        };
        let (mut package, filtered) = self.packed(plan, bearing)?;
        package.merged_from = old.merged_from.clone();
        let diff = diff(old, &package);
        let kept = self.keep(package, bearing.now, Assent::Open)?;
        Ok(Refreshed {
            before: before.id.clone(),
            packed: Packed { filtered, ..kept },
            diff,
        })
    }

    /// Makes a proposal the latest version of its name, on somebody's word.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such proposal.
    pub fn accept(&self, reference: &str, by: &str, now: Instant) -> Result<Packed, Error> {
        // A name means its latest proposal.
        let waiting = self.files.named(reference)?.proposals.pop();
        let id = match waiting {
            Some(waiting) => waiting.id,
            None => self.files.resolve(reference)?,
        };
        let envelope = self.files.package(&id)?;
        let named = self.files.named(&envelope.package.name)?;
        if !named.proposals.iter().any(|known| known.id == envelope.id) {
            return Err(Error::not_found(format!("`{reference}` is no proposal"))
                .hint("`tenure context list` names the proposals"));
        }
        self.keep(envelope.package, now, Assent::By(by))
    }

    /// Keeps a package that somebody else packed, under its own name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when it is not what its id names, [`ErrorKind::Input`] for another version.
    pub fn import(&self, text: &str, source: &str, now: Instant) -> Result<Packed, Error> {
        let read = PackageEnvelope::read(text, source)?;
        ContextPackage::check_name(&read.package.name)
            .map_err(|error| error.or_at(source, None))?;
        self.keep(read.package, now, Assent::Open)
    }

    /// Puts packages together and keeps the result.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] for fewer than two; as [`Packages::find`].
    pub fn merge(
        &self,
        name: &str,
        references: &[String],
        tokenizer: &dyn Tokenizer,
        now: Instant,
    ) -> Result<(Packed, Vec<Conflict>), Error> {
        ContextPackage::check_name(name)?;
        let found: Vec<(String, ContextPackage)> = references
            .iter()
            .map(|reference| self.find(reference))
            .map(|read| read.map(|read| (read.id, read.package)))
            .collect::<Result<_, _>>()?;
        let (merged, conflicts) = merge(name, &found, tokenizer)?;
        Ok((self.keep(merged, now, Assent::Open)?, conflicts))
    }

    /// Activates a package for a target: as Markdown, and as a record that [`Packages::candidates`] reads.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when it has expired, or when the caller may read none of it; [`ErrorKind::Unavailable`] when
    /// the registry cannot be written.
    pub fn activate(
        &self,
        envelope: &PackageEnvelope,
        target: &str,
        shown: Shown,
        bearing: &Bearing<'_>,
    ) -> Result<(ContextActivation, Vec<Filtered>), Error> {
        let narrow = namespace_of(target)?;
        let package = &envelope.package;
        let Readable {
            items,
            filtered,
            diagnostics,
        } = readable(package, bearing, &mut Sources::of_root(&self.root))?;
        let content = markdown(&envelope.id, package, &items, shown);
        let id = activation_id(&envelope.id, target, bearing.caller);
        let held = self.files.hold()?;
        // The package is kept with its activation, wherever it came from.
        self.files.keep(envelope)?;
        let mut recorded = self.files.activation(&id)?.unwrap_or_else(|| Recorded {
            id: id.clone(),
            package: envelope.id.clone(),
            target: target.to_owned(),
            namespace: package.namespace.narrowed(&narrow),
            caller: bearing.caller.clone(),
            history: Vec::new(),
        });
        if !recorded.is_active() {
            recorded.history.push(Happened {
                at: bearing.now,
                active: true,
            });
            self.files.set_activation(&recorded)?;
        }
        drop(held);
        let tokens = u32::try_from(bearing.tokenizer.count(&content)).unwrap_or(u32::MAX);
        let activation = ContextActivation {
            content,
            tokens,
            policy_results: PolicyResults {
                checked: package.items.len() as u32,
                withheld: filtered.len() as u32,
            },
            diagnostics,
            ..recorded.bare()
        };
        Ok((activation, filtered))
    }

    /// Ends an activation, or all of a target. What was sent stays as it was; further compiles do not have its items. One
    /// that has ended stays so.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such activation.
    pub fn deactivate(
        &self,
        reference: &str,
        now: Instant,
    ) -> Result<Vec<ContextActivation>, Error> {
        // Where there is none, nothing is made to look for it.
        self.meant(reference)?;
        let held = self.files.hold()?;
        let mut ended = Vec::new();
        for mut recorded in self.meant(reference)? {
            if recorded.is_active() {
                recorded.history.push(Happened {
                    at: now,
                    active: false,
                });
                self.files.set_activation(&recorded)?;
            }
            ended.push(recorded.bare());
        }
        drop(held);
        Ok(ended)
    }

    /// The activations that an id, the beginning of one, or a target means.
    fn meant(&self, reference: &str) -> Result<Vec<Recorded>, Error> {
        let mut of_target = self.files.activations()?;
        of_target.retain(|recorded| recorded.target == reference && !reference.is_empty());
        if !of_target.is_empty() {
            return Ok(of_target);
        }
        let id = self.files.resolve_activation(reference)?;
        let recorded = self.files.activation(&id)?;
        let missing = || Error::not_found(format!("there is no activation `{id}`"));
        Ok(vec![recorded.ok_or_else(missing)?])
    }

    /// The objects of an activation, or of all that a target has, for a compile on behalf of this caller: data in the scope of
    /// the target, with the class and the roles of their labels then and now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is none, [`ErrorKind::Policy`] when it has ended or its package has expired.
    pub fn candidates(
        &self,
        reference: &str,
        bearing: &Bearing<'_>,
    ) -> Result<Vec<ObjectDocument>, Error> {
        let meant = self.meant(reference)?;
        let active: Vec<&Recorded> = meant.iter().filter(|recorded| recorded.is_active()).collect();
        if active.is_empty() {
            return Err(Error::new(
                ErrorKind::Policy,
                format!("the activation `{reference}` has ended"),
            )
            .hint("`tenure context activate` begins it again"));
        }
        let mut sources = Sources::of_root(&self.root);
        let mut all = Vec::new();
        for recorded in active {
            let mut envelope = self.files.package(&recorded.package)?;
            let items = readable(&envelope.package, bearing, &mut sources)?.items;
            let target = namespace_of(&recorded.target)?;
            for item in &mut envelope.package.items {
                // What a label means now holds beside what it meant: a stage that sees one object sees both.
                let now = rules_now(
                    &mut sources,
                    bearing.labels,
                    &item.policy.labels,
                    &item.provenance.path,
                );
                item.policy.rules.extend(now);
            }
            all.extend(documents(&envelope.id, &envelope.package, &items, &target)?);
        }
        Ok(all)
    }

    /// Removes the versions that have expired, and says what is due for review. With `dry`, removes nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the registry cannot be written.
    pub fn sweep(&self, now: Instant, dry: bool) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        if self.files.names()?.is_empty() {
            return Ok(swept);
        }
        let held = self.files.hold()?;
        for mut named in self.files.names()? {
            let before = named.clone();
            let mut expired = Vec::new();
            for version in named.versions.iter().chain(&named.proposals) {
                let read = self.files.package(&version.id).ok();
                let expires = read.and_then(|read| read.package.retention.expires);
                if expires.is_some_and(|expires| expires <= now) {
                    expired.push(version.id.clone());
                }
            }
            named.versions.retain(|version| !expired.contains(&version.id));
            named.proposals.retain(|version| !expired.contains(&version.id));
            if let Some(latest) = named.versions.last() {
                let read = self.files.package(&latest.id).ok();
                let review = read.and_then(|read| read.package.retention.review);
                if review.is_some_and(|review| review <= now) {
                    swept.review.push(named.name.clone());
                }
            }
            if !dry && named != before {
                self.files.set_named(&named)?;
                for id in &expired {
                    self.files.remove(id)?;
                }
            }
            swept.expired.extend(expired.into_iter().map(|id| (named.name.clone(), id)));
        }
        drop(held);
        Ok(swept)
    }
}

/// Reads a manifest, in JSON if its name ends so and else in YAML, for [`tenure::package::plan_of`].
///
/// # Errors
///
/// [`ErrorKind::Input`] with the line of what is not YAML.
pub fn manifest_of(text: &str, path: &Path) -> Result<serde_json::Value, Error> {
    let shown = path.display().to_string();
    if path.extension().is_some_and(|ending| ending == "json") {
        let read = serde_json::from_str(text);
        return read.map_err(|error| tenure::error::json_error(&error, &shown));
    }
    frontmatter::check_depth(text).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(shown.clone(), line)
    })?;
    let read = frontmatter::mapping(text).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        let what = error.what.replace("the frontmatter", "the manifest");
        Error { what, ..error }.at(shown, line)
    })?;
    Ok(serde_json::Value::Object(read.fields))
}
