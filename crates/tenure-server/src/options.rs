//! What a server is made from.

mod bounds;
mod mode;

use std::path::PathBuf;

use tenure::answer::OutputFault;
use tenure::object::LOCAL_TENANT;
use tenure_store::Store;
use tenure_workspace::Workspace;

use crate::http::Upstream;
use crate::jwt::Jwt;
use crate::telemetry::log::LogLevel;
use crate::telemetry::quality::Threshold;

pub use self::bounds::Limits;
pub use self::mode::Mode;

/// What a server is made from.
pub struct Options {
    /// The address and port; port 0 picks one.
    pub listen: String,
    /// The verbs, the models and the frame key.
    pub workspace: Workspace,
    /// Where objects, records and keys are; without one, nothing is recorded.
    pub store: Option<Store>,
    /// Whose requests they are while there are no keys.
    pub tenant: String,
    /// Where the gateway forwards to.
    pub upstreams: Vec<Upstream>,
    /// The issuers whose tokens are accepted, beside the keys of the store.
    pub jwt: Vec<Jwt>,
    /// What the gateway does.
    pub mode: Mode,
    /// Whether a request that cannot be made to fit is refused, instead of going on as it came.
    pub fail_closed: bool,
    /// Answers with these faults do not go to the client, where they are not streamed and the gateway compiles.
    pub rejects: Vec<OutputFault>,
    /// The names that the server is called by, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// What is too much.
    pub limits: Limits,
    /// The file that the audit log is appended to.
    pub audit: Option<PathBuf>,
    /// The folder that keeps the originals of what a compile condenses with loss. Where none is named, the store
    /// does that a compile reads, or else the user's own folder.
    pub originals: Option<PathBuf>,
    /// How much is logged on the standard error.
    pub log: LogLevel,
    /// The collector that gets traces, over OTLP: a URL.
    pub otlp: Option<Upstream>,
    /// What payloads are held to.
    pub thresholds: Vec<Threshold>,
}

impl Options {
    /// A server on loopback without a store and without upstreams.
    pub fn new(workspace: Workspace) -> Options {
        Options {
            listen: "127.0.0.1:7878".into(),
            workspace,
            store: None,
            tenant: LOCAL_TENANT.into(),
            upstreams: Vec::new(),
            jwt: Vec::new(),
            mode: Mode::Observe,
            fail_closed: false,
            rejects: Vec::new(),
            hosts: Vec::new(),
            limits: Limits::default(),
            audit: None,
            originals: None,
            log: LogLevel::Off,
            otlp: None,
            thresholds: Vec::new(),
        }
    }
}
