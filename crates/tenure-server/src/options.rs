//! The options of a server.

mod bounds;
mod mode;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure::answer::OutputFault;
use tenure::object::{LOCAL_TENANT, clip};
use tenure::package::LabelTable;
use tenure::{Error, ErrorKind};
use tenure_store::{HardDelete, Store};
use tenure_workspace::Workspace;
use tenure_workspace::clients::Handle;
use tenure_workspace::packages::Packages;

use crate::http::Upstream;
use crate::jwt::Jwt;
use crate::telemetry::log::LogLevel;
use crate::telemetry::quality::Threshold;

pub use self::bounds::Limits;
pub use self::mode::Mode;

/// The schedule of sweeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sweeping {
    /// The time from one to the next, at least a second.
    pub every: Duration,
    /// Fate of objects whose rule is to be erased.
    pub hard_delete: HardDelete,
}

/// The options that a server is made from.
pub struct Options {
    /// The address and port; port 0 picks one.
    pub listen: String,
    /// The verbs, the models and the frame key.
    pub workspace: Workspace,
    /// The store of objects, records and keys; without one, nothing is recorded.
    pub store: Option<Store>,
    /// The tenant of all requests while there are no keys.
    pub tenant: String,
    /// The upstreams that the gateway forwards to.
    pub upstreams: Vec<Upstream>,
    /// The issuers whose tokens are accepted, besides the keys of the store.
    pub jwt: Vec<Jwt>,
    /// The mode of the gateway.
    pub mode: Mode,
    /// True if a request that cannot be made to fit is refused, instead of going on as it came.
    pub fail_closed: bool,
    /// Answers with these faults do not go to the client, where they are not streamed and the gateway compiles.
    pub rejects: Vec<OutputFault>,
    /// The roles whose users decide between claims that cannot both hold, as far as they may see both; without any, operators
    /// alone do.
    pub resolvers: Vec<String>,
    /// True if reviewers decide on what they proposed themselves.
    pub own_proposals: bool,
    /// The names that the server is called by, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The limits of sizes and times.
    pub limits: Limits,
    /// The file that the audit log is appended to.
    pub audit: Option<PathBuf>,
    /// The folder that keeps the originals of what a compile condenses with loss. Where none is named, the store
    /// that a compile reads keeps them, or else the user's own folder.
    pub originals: Option<PathBuf>,
    /// True if what the first query of each tenant would wait for is read when the server starts.
    pub warm: bool,
    /// The meaning of the labels of packages, for every caller: it narrows what a package says of itself.
    pub labels: LabelTable,
    /// The level of the log on the standard error.
    pub log: LogLevel,
    /// The collector that gets traces, over OTLP: a URL.
    pub otlp: Option<Upstream>,
    /// The thresholds that payloads are held to.
    pub thresholds: Vec<Threshold>,
    /// The schedule by which what has become too old in the store is retired; none for no such sweeps.
    pub sweeps: Option<Sweeping>,
    /// Time for which records of compiles and requests are kept; none for as long as the store is.
    pub keep_records: Option<Duration>,
    /// The handle by which the tools of the agent beside it find the conversation that the gateway is at.
    pub conversation: Option<Handle>,
    /// A key that opens this server alone, and is in no store: that of an agent which is started with it.
    pub own_key: Option<String>,
    /// The folder whose packages operators of the server's own tenant pack and activate at `/mcp`.
    pub packages: Option<PathBuf>,
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
            resolvers: Vec::new(),
            own_proposals: false,
            hosts: Vec::new(),
            limits: Limits::default(),
            audit: None,
            originals: None,
            warm: false,
            labels: LabelTable::default(),
            log: LogLevel::Off,
            otlp: None,
            thresholds: Vec::new(),
            sweeps: None,
            keep_records: None,
            conversation: None,
            own_key: None,
            packages: None,
        }
    }

    /// Checks that what is asked for can be done.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] for a mode without what it needs, and for a name that is none.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.mode != Mode::Observe && self.store.is_none() {
            let mode = self.mode.term();
            let what = format!("the gateway mode `{mode}` keeps sessions, and there is no store");
            return Err(Error::new(ErrorKind::Usage, what).expected("a store"));
        }
        if self.mode == Mode::Observe && !self.rejects.is_empty() {
            let what = "the gateway mode `observe` alters no answer, so it rejects none";
            return Err(Error::new(ErrorKind::Usage, what).expected("the mode `fit` or `full`"));
        }
        self.hosts.iter().try_for_each(|host| check_host(host))?;
        if let Some(store) = &self.store {
            // A name that cannot be a tenant's is refused now, not at each request.
            store.tenant(&self.tenant)?;
        }
        Ok(())
    }
}

/// The options that requests look at.
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) fail_closed: bool,
    pub(crate) rejects: Vec<OutputFault>,
    pub(crate) resolvers: Arc<[String]>,
    pub(crate) own_proposals: bool,
    pub(crate) hosts: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) originals: Option<PathBuf>,
    pub(crate) labels: LabelTable,
    pub(crate) warm: bool,
    pub(crate) conversation: Option<Handle>,
    /// The server's own tenant, and the packages of its folder: for the tools of agents.
    #[cfg_attr(not(feature = "mcp"), allow(dead_code))]
    pub(crate) tenant: String,
    #[cfg_attr(not(feature = "mcp"), allow(dead_code))]
    pub(crate) packages: Option<Arc<Packages>>,
}

/// Refuses a name that a `Host` header never has.
fn check_host(name: &str) -> Result<(), Error> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    if !name.is_empty() && name.chars().all(is_part) {
        return Ok(());
    }
    let what = format!("`{}` is no name of a host", clip(name));
    let error = Error::new(ErrorKind::Usage, what).expected("a name such as tenure.example.com");
    Err(match name.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => {
            error.hint("leave the port out: the server is called by this name at any port")
        }
        _ => error,
    })
}
