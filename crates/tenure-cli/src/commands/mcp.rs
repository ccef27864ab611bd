//! `tenure mcp`.

// A build without the server has no tools either.
#![cfg_attr(not(feature = "server"), allow(unused_imports))]

use serde_json::json;
use tenure::{Error, ErrorKind, Principal};
#[cfg(feature = "server")]
use tenure_server::{McpOptions, McpTool, Options, serve_mcp};
use tenure_workspace::clients::Handle;
use tenure_workspace::packages::Packages;
use tenure_workspace::trust::Trust;
use tenure_workspace::{DEFAULT_MODEL, Workspace, default_frame_key_path, load_frame_key};

use super::context::labels;
use super::{flagged, note, print, print_json, speak, stores, with_models, without_key};
use crate::args::{CallerArgs, Format, McpArgs};
use crate::failure::Failure;

#[cfg(not(feature = "server"))]
pub(crate) fn run(_: &McpArgs) -> Result<(), Failure> {
    Err(Error::without_feature("MCP", "mcp").into())
}

/// Serves tools until the client leaves, or lists them.
#[cfg(feature = "server")]
pub(crate) fn run(args: &McpArgs) -> Result<(), Failure> {
    let tools: Result<Vec<McpTool>, Error> = args.tools.iter().map(|name| name.parse()).collect();
    let mut tools = flagged("--tools", tools)?;
    if tools.is_empty() {
        tools.extend(McpTool::ALL.into_iter().filter(|tool| tool.is_usual()));
    }
    tools.sort_unstable();
    tools.dedup();
    if args.list {
        return list(args, &tools);
    }
    let frame_key = match &args.frame_key {
        Some(path) => path.clone(),
        None => default_frame_key_path()?,
    };
    // What no call can do without is there before the first one.
    load_frame_key(&frame_key)?;
    let workspace = with_models(Workspace::open(&frame_key)?, &args.catalogue)?;
    let here = std::env::current_dir().map_err(|error| {
        Error::new(
            ErrorKind::Unavailable,
            format!("there is no current folder: {error}"),
        )
    })?;
    let packages = Packages::near(&here, &Trust::of_user())?;
    packages.note()?.into_iter().for_each(note);
    let mut principal = Principal::owner();
    speak(&mut principal, &args.caller)?;
    let options = McpOptions {
        options: Options {
            store: Some(stores::to_write(&args.url)?),
            tenant: args.tenant.clone(),
            originals: args.originals.clone(),
            labels: labels(None, packages.root())?,
            ..Options::new(workspace)
        },
        principal,
        operator: is_owner(&args.caller),
        registry: args.registry.clone(),
        tools,
        packages: Some(packages),
        conversation: match &args.caller.session {
            Some(_) => None,
            None => args.conversation.as_deref().map(Handle::at),
        },
    };
    Ok(serve_mcp(options)?)
}

/// Returns whether the caller is the store's owner: who is said to be less sees what that one may see.
#[cfg(feature = "server")]
fn is_owner(caller: &CallerArgs) -> bool {
    caller.user.is_none()
        && caller.project.is_none()
        && caller.roles.is_empty()
        && caller.origins.is_empty()
        && caller.clearance.is_none()
        && caller.pii.is_none()
}

/// Prints the tools and what their definitions cost in every request that offers them.
#[cfg(feature = "server")]
fn list(args: &McpArgs, tools: &[McpTool]) -> Result<(), Failure> {
    let world = without_key(&args.catalogue)?.world(DEFAULT_MODEL)?;
    let priced: Vec<_> = tools
        .iter()
        .map(|tool| {
            let definition = tool.definition();
            let tokens = world.tokenizer().count(&definition.to_string());
            (tool, definition, tokens)
        })
        .collect();
    let sum: usize = priced.iter().map(|(_, _, tokens)| tokens).sum();
    if args.format == Format::Json {
        let tools: Vec<_> = priced
            .iter()
            .map(|(_, definition, tokens)| json!({ "tool": definition, "tokens": tokens }))
            .collect();
        return print_json(&json!({ "tools": tools, "tokens": sum }));
    }
    let mut text = String::new();
    for (tool, _, tokens) in &priced {
        text += &format!("{:<10} {tokens:>5}  {}\n", tool.name(), tool.description());
    }
    text += &format!("{:<10} {sum:>5}  tokens\n", "all");
    print(&text)
}
