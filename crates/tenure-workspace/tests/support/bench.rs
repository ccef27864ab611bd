//! A workspace, a model and a store in a folder of its own, as tests of sessions and relayed requests need them.

use std::path::Path;

use serde_json::Value;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Candidates, FrameKey, Policy, Request, World};
use tenure_store::{Store, Tenant};
use tenure_workspace::relay::Relaying;
use tenure_workspace::sessions::{Session, SessionCompiled, SessionJob};
use tenure_workspace::{Gathered, Workspace};

pub(crate) const NOW: Instant = at(0);

/// The instant this many seconds after [`NOW`].
pub(crate) const fn at(seconds: i64) -> Instant {
    Instant::from_micros(1_790_000_000_000_000 + seconds * 1_000_000)
}

pub(crate) fn workspace() -> Workspace {
    Workspace::new(FrameKey::new("test", [7; 32])).unwrap()
}

/// A workspace with these models over the catalogue, TOML.
pub(crate) fn workspace_with(folder: &Path, models: &str) -> Workspace {
    let path = folder.join("models.toml");
    std::fs::write(&path, models).unwrap();
    workspace().load_catalogue(&path).unwrap()
}

/// A workspace with the model `mine`: as this one, with a window of this many tokens.
pub(crate) fn workspace_like(folder: &Path, model: &str, window: u32) -> Workspace {
    let mine = format!("extends = \"{model}\", window = {window}, reserve = 500");
    workspace_with(folder, &format!("models.mine = {{ {mine} }}\n"))
}

/// A tenant of the store in this folder.
pub(crate) fn tenant(folder: &Path, name: &str) -> Tenant {
    let store = Store::sqlite(&folder.join("store.db")).unwrap();
    store.tenant(name).unwrap()
}

/// A request without side context or session, at [`NOW`].
pub(crate) fn relaying<'a>(format: Format, model: &'a str, body: &'a str) -> Relaying<'a> {
    Relaying {
        format,
        model,
        body,
        key: "key",
        owner: (None, None),
        session: None,
        now: NOW,
        side: None,
        window: None,
        counted: false,
        max_answer: None,
    }
}

/// A tenant whose sessions are compiled for gpt-4o, with nothing but their own messages.
pub(crate) struct SessionBench {
    _folder: tempfile::TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) world: World,
    pub(crate) policy: Policy,
    pub(crate) tenant: Tenant,
    pub(crate) beside: Gathered,
}

impl SessionBench {
    pub(crate) fn new() -> SessionBench {
        let folder = tempfile::tempdir().unwrap();
        let workspace = workspace();
        SessionBench {
            tenant: tenant(folder.path(), "local"),
            world: workspace.world("gpt-4o").unwrap(),
            policy: Policy::preset("standard").unwrap(),
            workspace,
            beside: Gathered::of_sources(Candidates::new(Vec::new())),
            _folder: folder,
        }
    }

    pub(crate) fn compile(&self, session: &mut Session, request: &Request) -> SessionCompiled {
        let job = SessionJob {
            world: &self.world,
            policy: &self.policy,
            request,
            beside: &self.beside,
            instructions: true,
            now: at(9_000),
        };
        self.workspace.compile_session(session, &job).unwrap()
    }

    /// The entries of a session's log.
    pub(crate) fn entries(&self, session: &str) -> Vec<Value> {
        let log = format!("session/{session}");
        let entries = self.tenant.entries(&log, 0).unwrap();
        let entries = entries.iter().map(|(_, body)| serde_json::from_str(body).unwrap());
        entries.collect()
    }
}
