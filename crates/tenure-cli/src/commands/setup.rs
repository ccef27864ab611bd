//! `tenure setup`: an agent's own configuration.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use tenure::{Error, ErrorKind};
use tenure_workspace::clients::{
    Client, GATEWAY, KEY_VARIABLE, Places, Plan, Wanted, Way, check_key, codex_is_signed_in,
};

use super::{flagged, print};
use crate::args::SetupArgs;
use crate::failure::{Failure, printable, warning};

/// Shows the change, asks, and writes it.
pub(crate) fn run(args: &SetupArgs) -> Result<(), Failure> {
    let client: Client = args.client.parse()?;
    let places = Places::of_process()?;
    let plan = if args.undo {
        Plan::undo(&places, client)?
    } else {
        let ways = ways(args);
        if !args.force && !places.has(client) {
            return Err(not_installed(client, &places).into());
        }
        Plan::setup(&places, client, &ways, &wanted(args, &ways)?)?
    };
    for note in &plan.notes {
        warning(note);
    }
    if plan.is_nothing() {
        anstream::eprintln!("{} is set up so already: nothing to do", client.term());
        return Ok(());
    }
    for change in &plan.changes {
        print(&printable(&change.diff()))?;
        if let Some(file) = &change.leads_to {
            let file = file.display().to_string();
            anstream::eprintln!("note: it is a link; {} is written", printable(&file));
        }
    }
    if args.dry_run {
        return Ok(());
    }
    if !args.yes && !plan.changes.is_empty() && !agreed()? {
        anstream::eprintln!("nothing was written");
        return Ok(());
    }
    let copies = plan.apply(&places)?;
    for copy in copies {
        anstream::eprintln!("what it was: {}", printable(&copy.display().to_string()));
    }
    told(args, client, &places);
    Ok(())
}

fn told(args: &SetupArgs, client: Client, places: &Places) {
    let name = client.term();
    if args.undo {
        anstream::eprintln!("{name}: undone");
        return;
    }
    anstream::eprintln!("{name}: set up; `tenure setup {name} --undo` takes it out again");
    if args.gateway && client == Client::Codex && codex_is_signed_in(places) {
        warning(super::run::SIGNED_IN);
    }
    if args.gateway {
        let url = address(args);
        anstream::eprintln!(
            "note: {name} works only while the gateway runs at {}: `tenure serve`, or `tenure doctor` for what is missing",
            printable(&url)
        );
    }
}

fn ways(args: &SetupArgs) -> Vec<Way> {
    let mut ways = Vec::new();
    if args.gateway {
        ways.push(Way::Gateway);
    }
    if args.mcp || !args.gateway {
        ways.push(Way::Mcp);
    }
    ways
}

fn address(args: &SetupArgs) -> String {
    let url = args.url.as_deref().unwrap_or(GATEWAY).trim_end_matches('/');
    url.strip_suffix("/v1").unwrap_or(url).to_owned()
}

fn wanted(args: &SetupArgs, ways: &[Way]) -> Result<Wanted, Error> {
    let gateway = address(args);
    if ways.contains(&Way::Gateway) {
        check_address(&gateway)?;
    }
    if ways.contains(&Way::Mcp) && !serves_tools() {
        return Err(Error::without_feature("MCP", "mcp"));
    }
    let command = std::env::current_exe()
        .map_err(|error| Error::input(format!("this program has no path: {error}")))?
        .into_os_string()
        .into_string()
        .map_err(|_| {
            Error::input("the path of this program is no UTF-8, which a configuration needs")
        })?;
    let key = args
        .gateway
        .then(|| args.key.clone().or_else(|| std::env::var(KEY_VARIABLE).ok()))
        .flatten()
        .filter(|key| !key.is_empty());
    if let Some(key) = &key {
        flagged("--key", check_key(key))?;
    }
    let store = args.store.iter().flat_map(|url| ["--store".to_owned(), url.clone()]);
    Ok(Wanted {
        gateway,
        command,
        arguments: std::iter::once("mcp".to_owned()).chain(store).collect(),
        key,
    })
}

#[cfg(feature = "server")]
fn serves_tools() -> bool {
    tenure_server::SERVES_MCP
}

#[cfg(not(feature = "server"))]
fn serves_tools() -> bool {
    false
}

#[cfg(feature = "server")]
fn check_address(url: &str) -> Result<(), Error> {
    super::flagged("--url", url.parse::<tenure_server::Upstream>())
        .map(drop)
        .map_err(|error| error.expected("the gateway's address, such as http://127.0.0.1:7878"))
}

#[cfg(not(feature = "server"))]
fn check_address(_: &str) -> Result<(), Error> {
    Err(Error::without_feature("a gateway", "server"))
}

fn not_installed(client: Client, places: &Places) -> Error {
    let (name, program) = (client.term(), client.program());
    let folder = places.folder(client).display().to_string();
    Error::not_found(format!(
        "{name} is not installed: there is no `{program}` in PATH, and no {folder}"
    ))
    .hint("install it first; --force writes its configuration all the same")
}

/// Asks whether to write, which only a person at a terminal can say.
fn agreed() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let what = "nothing was written: nobody at a terminal can be asked";
        return Err(Error::new(ErrorKind::Usage, what)
            .hint("--yes writes without asking, --dry-run only shows")
            .into());
    }
    anstream::eprint!("Write this? [y/N] ");
    io::stderr().flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let answer = line.trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
