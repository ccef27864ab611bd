//! `tenure run`: an agent, and the gateway beside it.

// A build without the server has no gateway either.
#![cfg_attr(not(feature = "server"), allow(unused_imports, dead_code))]

use std::fmt::Write as _;
use std::process::{Command, ExitStatus};

use tenure::{Error, ErrorKind};
#[cfg(feature = "server")]
use tenure_server::{Ended, Tally};
use tenure_workspace::clients::{
    Agent, Beside, GATEWAY, Handle, Launch, Places, Use, check_key, codex_is_signed_in,
};
use tenure_workspace::keys::random_key;

use super::flagged;
use super::models::grouped;
use crate::args::{RunArgs, ServeArgs};
use crate::failure::{Failure, cell, warning};

/// Remark where Codex would send a login that goes to another address.
pub(super) const SIGNED_IN: &str = "codex is signed in with ChatGPT: such requests go to an address of their own, and cannot go through the gateway; it would need OPENAI_API_KEY";
/// The seconds that requests may take once the agent has ended.
const DRAIN: u64 = 5;

#[cfg(not(feature = "server"))]
pub(crate) fn run(_: RunArgs) -> Result<(), Failure> {
    Err(Error::without_feature("a gateway", "server").into())
}

/// Starts the gateway and the agent, and ends as the agent does.
#[cfg(feature = "server")]
pub(crate) fn run(args: RunArgs) -> Result<(), Failure> {
    let RunArgs {
        client,
        arguments,
        key,
        mut serve,
    } = args;
    let agent: Agent = client.parse()?;
    let places = Places::of_process()?;
    let key = key.filter(|key| !key.is_empty());
    if let Some(key) = &key {
        flagged("--key", check_key(key))?;
    }
    // One that is not installed is named before anything is made.
    let nowhere = Beside {
        url: GATEWAY.to_owned(),
        ..Beside::default()
    };
    let missing = Launch::of(agent, &places, &nowhere, arguments.clone())?
        .needs
        .filter(|name| std::env::var_os(name).is_none());
    if missing.is_some() && codex_is_signed_in(&places) {
        let error = Error::new(ErrorKind::Unavailable, SIGNED_IN);
        return Err(error
            .hint("set OPENAI_API_KEY; or run codex by itself: `tenure setup codex` gives it the tools")
            .into());
    }
    if serve.upstreams.is_empty() {
        serve.upstreams = upstreams(agent, &places)?;
    }
    serve.drain = serve.drain.min(DRAIN);
    // Only these keep conversations that its tools could be asked about.
    let keeps = serve.mode != "observe";
    let handle = keeps.then(Handle::make).transpose()?;
    // The folder of the handle goes when this ends.
    let (handle, _folder) = handle.unzip();
    let path = handle.as_ref().map(|handle| handle.path().to_owned());
    let own = random_key()?;
    let beside = super::serve::Beside {
        own_key: Some(own.clone()),
        conversation: handle,
    };
    let (server, store) = super::serve::bound(&serve, beside)?;
    let key = match key {
        _ if !server.is_locked() => None,
        None => Some(own),
        Some(key) => {
            // Of a token the issuer knows, and says so at the first request.
            if !key.contains('.') && !server.knows_key(&key) {
                let error = Error::new(ErrorKind::Policy, "the key opens nothing in this store");
                return Err(error
                    .hint("`tenure keys list` shows those that there are; without --key the client has one for this run")
                    .into());
            }
            Some(key)
        }
    };
    let gateway = Beside {
        url: server.url(),
        key,
        handle: path,
    };
    let launch = Launch::of(agent, &places, &gateway, arguments)?;
    if let Some(missing) = missing {
        warning(&format!(
            "{client} reads the key of its provider from {missing}, which is not set"
        ));
    }
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments);
    command.envs(launch.variables);
    let Ended { status, tally } = server.run_beside(&mut command)?;
    anstream::eprint!("{}", told(&tally, &serve, store.as_deref()));
    match code(status) {
        0 => Ok(()),
        code => Err(Failure::Ended(code)),
    }
}

/// Returns where the agent's requests would go without the gateway: where its settings or variables say, or else to its
/// provider.
fn upstreams(agent: Agent, places: &Places) -> Result<Vec<String>, Error> {
    // What `tenure setup` has put there is a gateway itself, which may not run.
    let own = |url: &String| !url.starts_with(GATEWAY);
    let settings = match agent {
        Agent::Claude => Use::of(places, agent.client())?.gateway.filter(own),
        _ => None,
    };
    let addresses = agent.addresses().iter().map(|(name, variable)| {
        let named = std::env::var(variable).ok().filter(own);
        let url = settings
            .clone()
            .or(named.filter(|url| !url.is_empty()))
            .unwrap_or_else(|| format!("https://api.{name}.com"));
        format!("{name}={url}")
    });
    Ok(addresses.collect())
}

/// Returns the code of an exit, as shells have it: of one that a signal ended, 128 and its number.
fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    let code = status.code().unwrap_or(1);
    // A code that does not fit is a failure all the same.
    u8::try_from(code & 0xff).map_or(1, |low| if code != 0 && low == 0 { 1 } else { low })
}

/// Returns what went through, for people.
#[cfg(feature = "server")]
fn told(tally: &Tally, serve: &ServeArgs, store: Option<&str>) -> String {
    let plural = if tally.requests == 1 { "" } else { "s" };
    let mut text = format!(
        "tenure: {} request{plural} in {}\n",
        grouped(tally.requests),
        cell(&serve.mode)
    );
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "  {name:<8} {what}");
    };
    line(
        "tokens",
        format!(
            "{} saved, {} added",
            grouped(tally.saved),
            grouped(tally.added)
        ),
    );
    for sentence in tally.net().sentences() {
        line("cost", sentence);
    }
    match tally.cached_share() {
        Some(share) => line(
            "cache",
            format!(
                "{:.1} % of {} tokens read from the provider's cache; {} in answers",
                share * 100.0,
                grouped(tally.input),
                grouped(tally.output)
            ),
        ),
        None => line("cache", "the provider reported no usage".to_owned()),
    }
    let faults: Vec<String> = tally
        .faults
        .iter()
        .map(|(what, count)| format!("{} {}", grouped(*count), cell(what)))
        .collect();
    line(
        "faults",
        if faults.is_empty() {
            "none".to_owned()
        } else {
            faults.join(", ")
        },
    );
    if tally.requests == 0 {
        let what = "no request came: does it ask another provider, or none?";
        line("note", what.to_owned());
    }
    match store {
        Some(store) if tally.requests > 0 => {
            line(
                "records",
                format!("`tenure log --last`, in {}", cell(store)),
            );
        }
        _ => {}
    }
    text
}
