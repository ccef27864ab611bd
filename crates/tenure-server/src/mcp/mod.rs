//! The tools of an agent, over the Model Context Protocol (MCP).
//!
//! ```text
//! stdio.rs    lines of JSON-RPC: bounded, and each that is none is answered
//! http.rs     the same tools at `/mcp`, where each request stands alone
//! messages.rs what is no message, and how that is answered
//! server.rs   the protocol, which the official SDK speaks
//! calls.rs    each tool, as the verbs of the API do it
//! packages.rs packages of the folder of a process; resources.rs what is read by address; prompts.rs what users ask for
//! forms.rs    what tools take and give; their schemas
//! tools.rs    the tools, with their descriptions
//! ```
//!
//! A call is bound to one store, one caller, one registry and, where that is asked for, one session: by the options of
//! the process, or by the key and the address of a request. No tool takes a tenant, a registry or a session: what belongs
//! to another cannot be named.

// Without the feature only the list of tools is used.
#![cfg_attr(not(feature = "mcp"), allow(dead_code))]

mod calls;
mod forms;
#[cfg(feature = "mcp")]
mod http;
#[cfg(feature = "mcp")]
mod messages;
mod packages;
#[cfg(feature = "mcp")]
mod prompts;
pub(crate) mod resource;
mod resources;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "mcp")]
mod stdio;
mod tools;

use std::borrow::Cow;
use std::sync::Arc;

use tenure::object::clip;
use tenure::registry::Kind;
use tenure::{Error, ErrorKind, Principal};
use tenure_workspace::Workspace;
use tenure_workspace::clients::Handle;
use tenure_workspace::keys::Grant;
use tenure_workspace::packages::Packages;

use crate::app::App;
use crate::options::Options;
use tenure_operations::Caller;

#[cfg(feature = "mcp")]
pub(crate) use http::routes;
pub use tools::McpTool;

/// The paths of the tools, for the metrics.
pub(crate) const PATHS: &[&str] = if cfg!(feature = "mcp") {
    &[resource::PATH, resource::METADATA]
} else {
    &[]
};

/// The options of a server of tools.
pub struct McpOptions {
    /// The workspace, the store and the tenant; the rest is for servers that listen.
    pub options: Options,
    /// On whose behalf tools are called. Its tenant is that of the options.
    pub principal: Principal,
    /// Whether the caller may see past the access lists of objects, as the owner of the store does.
    pub operator: bool,
    /// The registry that is the caller's working memory. The first write makes it.
    pub registry: String,
    /// The tools that are offered.
    pub tools: Vec<McpTool>,
    /// The packages that clients read, pack and activate.
    pub packages: Option<Packages>,
    /// The handle of the conversation that a gateway keeps, where the caller names none.
    pub conversation: Option<Handle>,
}

/// The things that calls are bound to.
#[derive(Clone)]
pub(crate) struct Bound {
    app: Arc<App>,
    caller: Caller,
    principal: Principal,
    registry: String,
    tools: Vec<McpTool>,
    packages: Option<Arc<Packages>>,
    /// What leads to the conversation, where that is not known before a call.
    conversation: Option<Arc<Handle>>,
    reached: Reached,
}

/// The way in which a caller came, which says what holds beside the grant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// It started this process, so it can read the store.
    ByProcess,
    /// It showed a key to a server that has other callers, too.
    ByKey,
}

/// Refuses a label that no registry can have.
fn check_label(workspace: &Workspace, label: &str) -> Result<(), Error> {
    workspace.registries()?.create(label, Kind::Agent).map(drop)
}

impl Bound {
    fn new(options: McpOptions) -> Result<Bound, Error> {
        let McpOptions {
            options,
            mut principal,
            operator,
            registry,
            mut tools,
            packages,
            conversation,
        } = options;
        // A label that none can have is refused now, not at the first write.
        check_label(&options.workspace, &registry)?;
        let Some(store) = &options.store else {
            let what = "tools read and write a store, and there is none";
            return Err(Error::new(ErrorKind::Usage, what).expected("a store"));
        };
        store.tenant(&options.tenant)?;
        principal.tenant.clone_from(&options.tenant);
        // The list has one order, whatever the order in which it was asked for.
        tools.sort_unstable();
        tools.dedup();
        if tools.is_empty() {
            let error = Error::new(ErrorKind::Usage, "no tool is offered");
            return Err(error.expected(McpTool::names()));
        }
        let grant = Grant {
            tenant: principal.tenant.clone(),
            user: principal.user.clone(),
            project: principal.project.clone(),
            roles: principal.roles.clone(),
            clearance: Some(principal.clearance),
            origins: principal.origins.clone(),
            pii: principal.pii_authorized,
            read_only: false,
            operator,
            expires: None,
        };
        Ok(Bound {
            caller: Caller {
                tenant: principal.tenant.as_str().into(),
                key: None,
                grant: Arc::new(grant),
            },
            app: Arc::new(App::new(options)?),
            principal,
            registry,
            tools,
            packages: packages.map(Arc::new),
            conversation: conversation.map(Arc::new),
            reached: Reached::ByProcess,
        })
    }

    /// What a call is bound to: the conversation that the gateway is at now, where a handle leads to one.
    fn at_call(&self) -> Result<Cow<'_, Bound>, Error> {
        let handle = self.conversation.as_ref();
        let Some(found) = handle.map(|handle| handle.read()).transpose()?.flatten() else {
            return Ok(Cow::Borrowed(self));
        };
        if *found.tenant != *self.caller.tenant {
            let what = "the conversation of the gateway is of another tenant";
            let error = Error::new(ErrorKind::Policy, what).expected(clip(&self.caller.tenant));
            return Err(error.hint("`tenure mcp --tenant T` names the one that the gateway has"));
        }
        let mut bound = self.clone();
        bound.principal.session = Some(found.session);
        Ok(Cow::Owned(bound))
    }

    /// Whether the caller is one of several, and has what is its own alone.
    fn is_one_of_many(&self) -> bool {
        self.reached == Reached::ByKey && !self.caller.grant.operator
    }

    /// The tool of a name, where it is offered.
    fn tool(&self, name: &str) -> Result<McpTool, Error> {
        let known = self.tools.iter().find(|tool| tool.name() == name);
        known.copied().ok_or_else(|| {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
            let what = format!("there is no tool `{}`", clip(name));
            Error::input(what).expected(format!("one of {}", names.join(", ")))
        })
    }
}

/// Serves tools on standard input and output, until the input ends.
///
/// # Errors
///
/// [`ErrorKind::Usage`] without a store, in a build without the feature `mcp`, and for options that make no sense;
/// [`ErrorKind::Unavailable`] when standard input or output fails.
pub fn serve_mcp(options: McpOptions) -> Result<(), Error> {
    #[cfg(feature = "mcp")]
    return server::serve(Bound::new(options)?);
    #[cfg(not(feature = "mcp"))]
    {
        drop(options);
        Err(Error::without_feature("MCP", "mcp"))
    }
}
