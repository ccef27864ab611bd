//! `tenure doctor`: what is wrong, and what to do.

// A build without the server asks nobody.
#![cfg_attr(not(feature = "server"), allow(unused_imports, dead_code))]

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use serde_json::json;
use tenure::Error;
use tenure_workspace::clients::Places;
use tenure_workspace::doctor::{Chosen, Doctor, Finding, Health};
use tenure_workspace::trust::Trust;
use tenure_workspace::{Clock, default_catalogue_path, default_frame_key_path};

use super::{flagged, print, print_json, stores};
use crate::args::{DoctorArgs, Format};
use crate::failure::{Failure, printable};

/// The time that an upstream has to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Prints what is found, and fails where something is wrong.
pub(crate) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let listen: SocketAddr = flagged(
        "--listen",
        args.listen.parse().map_err(|_| {
            Error::input("no address to listen on")
                .expected("ADDRESS:PORT, such as 127.0.0.1:7878 or [::1]:7878")
        }),
    )?;
    let upstreams = if args.upstreams.is_empty() {
        vec![
            "anthropic=https://api.anthropic.com".to_owned(),
            "openai=https://api.openai.com".to_owned(),
        ]
    } else {
        args.upstreams.clone()
    };
    let upstreams = flagged("--upstream", upstreams_of(&upstreams, args.online))?;
    let places = Places::of_process()?;
    let home = places.home.clone();
    let doctor = Doctor {
        places,
        store: match &args.url.store {
            Some(url) => Chosen::Named(url.clone()),
            None => Chosen::Project(stores::project()?),
        },
        here: std::env::current_dir().unwrap_or_default(),
        trust: Trust::of_user(),
        catalogue: args.catalogue.catalogue.clone().or_else(default_catalogue_path),
        frame_key: args.frame_key.clone().or_else(|| default_frame_key_path().ok()),
        online: args.online,
        now: Clock::machine().now(),
    };
    let mut found = doctor.look();
    found.push(port(listen).without_home(&home));
    found.extend(upstreams);
    let wrong: Vec<&Finding> = found.iter().filter(|found| found.health == Health::Wrong).collect();
    match args.format {
        Format::Json => print_json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "features": features(),
            "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            "wrong": wrong.len(),
            "findings": found,
        }))?,
        Format::Text => print(&text(&found))?,
    }
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(Error::input(format!("{}: {}", one.part, one.what)).into()),
        [one, rest @ ..] => {
            let rest = match rest.len() {
                1 => "and one more thing is wrong".to_owned(),
                rest => format!("and {rest} more things are wrong"),
            };
            Err(Error::input(format!("{}: {}; {rest}", one.part, one.what)).into())
        }
    }
}

/// The Cargo features of this build.
fn features() -> Vec<&'static str> {
    let all = [
        ("server", cfg!(feature = "server")),
        ("http", cfg!(feature = "http")),
        ("code", cfg!(feature = "code")),
        ("tokenizer-json", cfg!(feature = "tokenizer-json")),
        ("mcp", cfg!(feature = "mcp")),
        ("postgres", cfg!(feature = "postgres")),
        ("onnx", cfg!(feature = "onnx")),
    ];
    all.into_iter()
        .filter(|(_, is_built)| *is_built)
        .map(|(name, _)| name)
        .collect()
}

fn text(found: &[Finding]) -> String {
    let mut text = String::new();
    for found in found {
        let mark = match found.health {
            Health::Ok => "ok",
            Health::Note => "note",
            Health::Wrong => "WRONG",
        };
        let what = printable(&found.what).replace('\n', " ");
        let _ = writeln!(text, "{mark:<5}  {:<13}  {what}", found.part);
        if let Some(hint) = &found.hint {
            let _ = writeln!(text, "{:<22}→ {}", "", printable(hint).replace('\n', " "));
        }
    }
    text
}

/// Looks whether a server could listen there, or does.
fn port(listen: SocketAddr) -> Finding {
    let part = "port";
    let error = match TcpListener::bind(listen) {
        Ok(_) => return Finding::ok(part, format!("{listen} is free")),
        Err(error) => error,
    };
    if error.kind() != std::io::ErrorKind::AddrInUse {
        let what = format!("{listen} cannot be listened on: {error}");
        return Finding::wrong(part, what, "name another address with --listen");
    }
    match serving(listen) {
        Some(version) if version == env!("CARGO_PKG_VERSION") => Finding::ok(
            part,
            format!("a server of this version answers at {listen}"),
        ),
        Some(version) => Finding::note(
            part,
            format!("a server of version {version} answers at {listen}"),
            "start it again with this program",
        ),
        None => Finding::wrong(
            part,
            format!("{listen} is taken by another program"),
            "end that one, or serve with --listen at another port",
        ),
    }
}

/// Returns the version of the server at an address of this machine, where it is one of ours.
#[cfg(feature = "server")]
fn serving(at: SocketAddr) -> Option<String> {
    let ip = if at.ip().is_unspecified() {
        "127.0.0.1".to_owned()
    } else {
        at.ip().to_string()
    };
    let ip = if ip.contains(':') {
        format!("[{ip}]")
    } else {
        ip
    };
    let to = format!("http://{ip}:{}", at.port()).parse().ok()?;
    let (_, body) = tenure_server::probe(&to, "/openapi.json", Duration::from_secs(1)).ok()?;
    let described: serde_json::Value = serde_json::from_slice(&body).ok()?;
    let info = &described["info"];
    let is_ours = info["title"].as_str().is_some_and(|title| title.contains("Tenure"));
    is_ours.then(|| info["version"].as_str().unwrap_or_default().to_owned())
}

#[cfg(not(feature = "server"))]
fn serving(_: SocketAddr) -> Option<String> {
    None
}

/// Looks at the upstreams; asks them where that is wanted.
#[cfg(feature = "server")]
fn upstreams_of(texts: &[String], online: bool) -> Result<Vec<Finding>, Error> {
    let part = "upstream";
    let look = |text: &String| {
        let to: tenure_server::Upstream = text.parse()?;
        if !online {
            return Ok(Finding::ok(
                part,
                format!("{text}, not asked (--online asks it)"),
            ));
        }
        Ok(match tenure_server::probe(&to, "/v1/models", PATIENCE) {
            Ok((status, _)) if status < 500 => {
                Finding::ok(part, format!("{text} answers ({status} without a key)"))
            }
            Ok((status, _)) => Finding::note(
                part,
                format!("{text} answers {status}"),
                "its provider has a fault; try again later",
            ),
            Err(error) => Finding::of(
                part,
                &error,
                "check the address, the network and its proxy; --upstream-ca of `tenure serve` trusts an authority of your own",
            ),
        })
    };
    texts.iter().map(look).collect()
}

#[cfg(not(feature = "server"))]
fn upstreams_of(_: &[String], _: bool) -> Result<Vec<Finding>, Error> {
    let what = "this build has no gateway";
    Ok(vec![Finding::note(
        "upstream",
        what,
        "build it with the feature `server`",
    )])
}
