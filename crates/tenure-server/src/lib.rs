//! The HTTP face of Tenure: an API over the workspace's verbs, and a gateway that stands between agents
//! and their providers.
//!
//! ```text
//! connection ──► guard ──► api/       the workspace's verbs, as JSON
//!  (server.rs)  (guard.rs) gateway/   forwarded, and recorded off the path
//!                          status.rs  health, metrics, the description of the API
//! ```
//!
//! A server is embedded in a few lines; `tenure serve` is no more than that:
//!
//! ```no_run
//! use tenure_server::{Options, Server, Upstream};
//! use tenure_store::Store;
//! use tenure_workspace::Workspace;
//!
//! let options = Options {
//!     store: Some(Store::open("sqlite://agent.db")?),
//!     upstreams: vec!["openai=https://api.openai.com".parse()?],
//!     ..Options::new(Workspace::open_default()?)
//! };
//! let server = Server::bind(options)?;
//! println!("{}", server.url());
//! server.run()?;
//! # Ok::<(), tenure::Error>(())
//! ```
//!
//! Work that blocks (the store, a compile) runs on threads for that; records of exchanges are counted and stored by a
//! thread of its own, behind a queue that drops records rather than holds requests up.

mod access;
mod accounting;
mod api;
mod app;
mod arriving;
mod beside;
mod body;
mod cache;
mod caches;
mod erasure;
mod error;
mod gateway;
mod guard;
mod heads;
mod http;
#[cfg(feature = "inspector")]
mod inspect;
mod jwt;
mod mcp;
mod options;
mod probe;
mod protocol;
mod rates;
mod server;
mod slow_client;
mod status;
mod sweeps;
mod tasks;
mod telemetry;
mod warm;
mod work;

pub use beside::Ended;
pub use http::Upstream;
pub use jwt::Jwt;
pub use mcp::{McpOptions, McpTool, serve_mcp};
pub use options::{Limits, Mode, Options, Sweeping};
pub use probe::probe;
pub use server::Server;
pub use telemetry::log::LogLevel;
pub use telemetry::quality::Threshold;
pub use telemetry::tally::Tally;
pub use tenure::answer::OutputFault;
pub(crate) use work::blocking;

/// Returns the refusal of a request whose task ended without an answer.
pub(crate) fn failed() -> error::Refusal {
    tenure::Error::new(tenure::ErrorKind::Internal, "the request failed")
        .hint("this is a bug in tenure; please report it with the request")
        .into()
}

/// True if this build serves tools over MCP.
pub const SERVES_MCP: bool = cfg!(feature = "mcp");

/// The description of the API: OpenAPI 3.1, as the server has it at `/openapi.json`.
pub fn openapi() -> serde_json::Value {
    api::document()
}
