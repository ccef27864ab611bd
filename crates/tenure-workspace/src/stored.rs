//! Candidates of a store together with those of files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::belief::entity::Identity;
use tenure::error::unknown_name;
use tenure::object::{Authority, ObjectId, Status, clip};
use tenure::time::Instant;
use tenure::{Candidates, Error, Policy, Request, Unfetched};
use tenure_store::{Resident, Store, Tenant};

use crate::identities::identities;
use crate::logs::{blocks_at, labels};

/// Opens a store that is there: a file that is missing is not made.
///
/// # Errors
///
/// As [`Store::open`]; [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when there is no such file.
pub fn existing_store(url: &str) -> Result<Store, Error> {
    let path = url.strip_prefix("sqlite://").filter(|path| !path.is_empty());
    match path.filter(|path| !Path::new(path).is_file()) {
        Some(path) => Err(Error::not_found(format!("there is no store `{path}`"))),
        None => Store::open(url),
    }
}

/// Candidates, and where they are from: enough to gather the same ones again.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// All of them: those of files first, then those of the store.
    pub candidates: Arc<Candidates>,
    /// The number of those that are of files.
    pub(crate) sources: usize,
    pub(crate) unfetched: Vec<Unfetched>,
    /// The registry of the store that some of the sources are of.
    pub(crate) registry: Option<RegistryRef>,
    pub(crate) stored: Option<StoredPart>,
}

/// The part that was read of a store.
#[derive(Clone, Debug)]
pub(crate) struct StoredPart {
    pub(crate) tenant: Tenant,
    pub(crate) version: u64,
    pub(crate) known: Option<Instant>,
    pub(crate) latest: Option<Instant>,
    /// The store's objects that a file replaced.
    pub(crate) replaced: Vec<ObjectId>,
    /// All that was read, where more may be asked of it once the session is known.
    pub(crate) resident: Option<Arc<Resident>>,
}

impl Gathered {
    /// Candidates of files alone.
    pub fn of_sources(candidates: Candidates) -> Gathered {
        Gathered {
            sources: candidates.len(),
            unfetched: candidates.unfetched().to_vec(),
            registry: None,
            candidates: Arc::new(candidates),
            stored: None,
        }
    }

    /// The resident beliefs, behind these candidates of files.
    pub fn over(
        sources: Candidates,
        tenant: &Tenant,
        resident: &Resident,
        known: Option<Instant>,
    ) -> Gathered {
        let (count, unfetched) = (sources.len(), sources.unfetched().to_vec());
        let (candidates, replaced) = merge(sources, resident.candidates());
        Gathered {
            candidates,
            sources: count,
            unfetched,
            registry: None,
            stored: Some(StoredPart {
                tenant: tenant.clone(),
                version: resident.version(),
                known,
                latest: resident.latest(),
                replaced,
                resident: None,
            }),
        }
    }

    /// Keeps at hand all that was read of the store.
    pub(crate) fn holding(mut self, resident: Arc<Resident>) -> Gathered {
        if let Some(stored) = &mut self.stored {
            stored.resident = Some(resident);
        }
        self
    }

    /// The meanings of entities' ids to the principal of this request, who may be of a session by now: objects of it
    /// are theirs. None where they are as the request has them.
    pub(crate) fn identities_for(
        &self,
        policy: &Policy,
        request: &Request,
    ) -> Option<Vec<Identity>> {
        let resident = self.stored.as_ref()?.resident.as_ref()?;
        Some(identities(resident, &self.candidates, policy, request))
    }

    /// The objects of a store as a record names them.
    pub(crate) fn recorded(candidates: Arc<Candidates>) -> Gathered {
        Gathered {
            candidates,
            sources: 0,
            unfetched: Vec::new(),
            registry: None,
            stored: None,
        }
    }

    /// These, but for their tools: who runs them is not the agent that asks.
    #[must_use]
    pub fn without_tools(&self) -> Gathered {
        Gathered {
            candidates: without_tools(&self.candidates),
            ..self.clone()
        }
    }

    /// Notes the registry that some of the sources are of: the record of a compile says it.
    #[must_use]
    pub fn with_registry(self, registry: Option<RegistryRef>) -> Gathered {
        Gathered { registry, ..self }
    }

    /// Up to when a compile knows that looks from now: this instant, or the store's newest write where the
    /// clock of the store is ahead of this machine's.
    pub fn known_at(&self, now: Instant) -> Instant {
        self.stored
            .as_ref()
            .and_then(|stored| stored.latest)
            .map_or(now, |latest| latest.max(now))
    }
}

/// A registry of a store, as it stands or stood at an entry of its log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryRef {
    /// Its label.
    pub label: String,
    /// The number of the entry; where it is asked for without one, the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
}

impl RegistryRef {
    /// The registry of a tenant that a text names: the one that is labelled so, else `LABEL@ENTRY`. Only where
    /// `names_others` says so does an error name the registries that there are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is none;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn find(tenant: &Tenant, text: &str, names_others: bool) -> Result<RegistryRef, Error> {
        let labels = labels(tenant)?;
        let is_label = |text: &str| labels.iter().any(|label| **label == *text);
        let (label, entry) = match text.rsplit_once('@') {
            Some((label, entry)) if !is_label(text) => {
                let number = entry.parse().map_err(|_| {
                    Error::input(format!("`{}` is not an entry of a log", clip(entry)))
                        .expected("LABEL or LABEL@ENTRY, such as main@17")
                })?;
                (label, Some(number))
            }
            _ => (text, None),
        };
        if is_label(label) {
            let label = label.to_owned();
            return Ok(RegistryRef { label, entry });
        }
        Err(if names_others {
            unknown_name("registry", label, labels.iter().map(|label| &**label))
        } else {
            Error::input(format!("unknown registry `{}`", clip(label)))
        })
    }

    /// The objects of the registry, in its order, and the entry that was read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when its log has no such entry;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn read(&self, tenant: &Tenant) -> Result<ReadRegistry, Error> {
        let (blocks, entry) = blocks_at(tenant, &self.label, self.entry)?;
        Ok(ReadRegistry {
            blocks: Arc::new(Candidates::new(blocks)),
            read: RegistryRef {
                label: self.label.clone(),
                entry: Some(entry),
            },
        })
    }

    /// Checks that it may be used where a request looks from an instant: registries have no clock, so an entry must
    /// be named.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when none is.
    pub fn check(&self, looks_back: bool) -> Result<(), Error> {
        if !looks_back || self.entry.is_some() {
            return Ok(());
        }
        let what = format!(
            "the state of `{}` at an instant is unknown",
            clip(&self.label)
        );
        Err(Error::input(what).expected("an entry of its log, such as main@17"))
    }
}

/// The content of a registry of a store.
#[derive(Clone, Debug)]
pub struct ReadRegistry {
    blocks: Arc<Candidates>,
    /// The registry, with the entry that was read.
    pub read: RegistryRef,
}

impl ReadRegistry {
    /// Its objects behind these sources. Where a source has the same object, it stands.
    pub fn behind(&self, sources: Candidates) -> Candidates {
        let (merged, _) = merge(sources, &self.blocks);
        Candidates::layered([merged])
    }
}

/// Candidates without their tools.
fn without_tools(candidates: &Arc<Candidates>) -> Arc<Candidates> {
    match candidates.tools() {
        [] => Arc::clone(candidates),
        _ => Arc::new(candidates.filter_map(|_, object| {
            let is_tool = object.revision().tool().is_some();
            (!is_tool).then(|| Arc::clone(object))
        })),
    }
}

/// Candidates of sources, then these but for what the sources stand for. A source stands for no object that commands with more
/// authority than it has: whoever may see both is told which of them holds.
pub(crate) fn merge(
    sources: Candidates,
    stored: &Arc<Candidates>,
) -> (Arc<Candidates>, Vec<ObjectId>) {
    if sources.is_empty() && sources.unfetched().is_empty() {
        return (Arc::clone(stored), Vec::new());
    }
    let own: BTreeMap<ObjectId, Authority> = sources
        .objects()
        .iter()
        .map(|object| {
            let revision = object.revision();
            (revision.object_id(), revision.authority_level())
        })
        .collect();
    let mut unfetched = [sources.unfetched(), stored.unfetched()].concat();
    let (mut replaced, mut outranked) = (Vec::new(), BTreeSet::new());
    for object in stored.objects() {
        let (id, authority) = (
            object.revision().object_id(),
            object.revision().authority_level(),
        );
        let Some(source) = own.get(&id) else { continue };
        if authority <= Authority::Developer && authority < *source {
            outranked.insert(id);
        } else {
            unfetched.push(Unfetched {
                what: object.name().to_owned(),
                why: "a source has the same object".into(),
                labels: Some(Arc::clone(object)),
            });
            replaced.push(id);
        }
    }
    let own: BTreeSet<ObjectId> = replaced.iter().copied().collect();
    let sources = if outranked.is_empty() {
        sources
    } else {
        sources.filter_map(|_, object| {
            let is_outranked = outranked.contains(&object.revision().object_id());
            Some(if is_outranked {
                let status = Status {
                    outranked: true,
                    ..object.status().clone()
                };
                Arc::new(object.judged(status, *object.usage()))
            } else {
                Arc::clone(object)
            })
        })
    };
    let rest = if replaced.is_empty() {
        Arc::clone(stored)
    } else {
        Arc::new(stored.filter_map(|_, object| {
            let stays = !own.contains(&object.revision().object_id());
            stays.then(|| Arc::clone(object))
        }))
    };
    let merged = Candidates::layered([Arc::new(sources), rest]);
    (Arc::new(merged.with_unfetched(unfetched)), replaced)
}
