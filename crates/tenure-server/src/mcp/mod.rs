//! The tools of an agent, over the Model Context Protocol (MCP).
//!
//! ```text
//! stdio.rs    lines of JSON-RPC: bounded, and each that is none is answered
//! server.rs   the protocol, which the official SDK speaks
//! calls.rs    each tool, as the verbs of the API do it
//! forms.rs    what tools take and give; their schemas
//! tools.rs    the tools, with their descriptions
//! ```
//!
//! A server is bound to one store, one caller, one registry and, where it is asked to, one session. No tool takes a
//! tenant, a registry or a session: what belongs to another cannot be named.

// Without the feature only the list of tools is used.
#![cfg_attr(not(feature = "mcp"), allow(dead_code))]

mod calls;
mod forms;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "mcp")]
mod stdio;
mod tools;

use std::sync::Arc;

use tenure::object::clip;
use tenure::registry::Kind;
use tenure::{Error, ErrorKind, Principal};
use tenure_workspace::keys::Grant;

use crate::app::App;
use crate::caller::Caller;
use crate::options::Options;

pub use tools::McpTool;

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
}

/// The things that calls are bound to.
pub(crate) struct Bound {
    app: Arc<App>,
    caller: Caller,
    principal: Principal,
    registry: String,
    tools: Vec<McpTool>,
}

impl Bound {
    fn new(options: McpOptions) -> Result<Bound, Error> {
        let McpOptions {
            options,
            mut principal,
            operator,
            registry,
            mut tools,
        } = options;
        // A label that none can have is refused now, not at the first write.
        options
            .workspace
            .registries()?
            .create(&registry, Kind::Agent)?;
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
        })
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
