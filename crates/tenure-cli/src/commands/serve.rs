//! `tenure serve`, and the keys that a server asks for.

#[cfg(feature = "server")]
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tenure::object::Classification;
#[cfg(feature = "server")]
use tenure::package::LabelTable;
use tenure::time::Instant;
use tenure::{Error, ErrorKind};
#[cfg(feature = "server")]
use tenure_server::{Jwt, Limits, Mode, Options, Server, Sweeping, Upstream};
#[cfg(feature = "server")]
use tenure_store::HardDelete;
use tenure_workspace::clients::Handle;
use tenure_workspace::keys::{Grant, Key, Keys};
#[cfg(feature = "server")]
use tenure_workspace::trust::{Kind, Thing, said_of_named};
use tenure_workspace::{Clock, Workspace, default_frame_key_path, load_frame_key, read_text};

use super::instant;
#[cfg(feature = "server")]
use super::note;
use super::stores;
use super::{flagged, print, print_json, with_models, with_relevance};
use crate::args::{
    Format, KeysArgs, KeysCommand, KeysCreateArgs, KeysListArgs, KeysRevokeArgs, ServeArgs,
};
use crate::failure::{Failure, cell};

/// The most days that records are kept for, but for always: a hundred years.
#[cfg(feature = "server")]
const MOST_DAYS: u64 = 36_525;

#[cfg(not(feature = "server"))]
pub(crate) fn serve(_: &ServeArgs) -> Result<(), Failure> {
    Err(Error::without_feature("server", "server").into())
}

/// Answers until the process is told to stop.
#[cfg(feature = "server")]
pub(crate) fn serve(args: &ServeArgs) -> Result<(), Failure> {
    let (server, store) = bound(args, Beside::default())?;
    // Where the log goes, each line is one of it.
    let started = json!({
        "at": Clock::machine().now(), "level": "info", "event": "store", "store": store,
    });
    anstream::eprintln!("{started}");
    print(&format!("{}\n", server.url()))?;
    Ok(server.run()?)
}

/// The options that a server gets when `tenure run` starts an agent with it.
#[cfg(feature = "server")]
#[derive(Default)]
pub(super) struct Beside {
    /// A key that opens this server alone.
    pub(super) own_key: Option<String>,
    /// The handle of the conversation that its gateway is at.
    pub(super) conversation: Option<Handle>,
}

/// Makes the server that the arguments describe, with the address of its store.
#[cfg(feature = "server")]
pub(super) fn bound(args: &ServeArgs, beside: Beside) -> Result<(Server, Option<String>), Failure> {
    let upstreams = args.upstreams.iter().map(|text| text.parse());
    let mut upstreams: Vec<Upstream> = flagged("--upstream", upstreams.collect())?;
    if let Some(path) = &args.upstream_ca {
        let pem = read_text(path)?;
        let trusting: Result<_, Error> =
            upstreams.into_iter().map(|upstream| upstream.trusting(&pem)).collect();
        upstreams = trusting.map_err(|error| error.or_at(path.display().to_string(), None))?;
    }
    let mode: Mode = flagged("--mode", args.mode.parse())?;
    let frame_key = match &args.frame_key {
        Some(path) => path.clone(),
        None => default_frame_key_path()?,
    };
    if mode != Mode::Observe {
        // What no request can be compiled without is there before the first one.
        load_frame_key(&frame_key)?;
    }
    let workspace = with_models(Workspace::open(&frame_key)?, &args.catalogue)?;
    let workspace = with_relevance(workspace, &args.relevance)?;
    let store = if args.no_store {
        None
    } else {
        Some(stores::to_write(&args.url)?)
    };
    let limits = Limits::default()
        .with_body(args.max_body)
        .with_upstream(Duration::from_secs(args.upstream_timeout))
        .with_drain(Duration::from_secs(args.drain))
        .with_rate(args.rate);
    let options = Options {
        listen: args.listen.clone(),
        store,
        tenant: args.tenant.clone(),
        upstreams,
        jwt: args.jwt.iter().map(|path| Jwt::open(path)).collect::<Result<_, _>>()?,
        mode,
        fail_closed: args.fail_closed,
        rejects: flagged(
            "--reject",
            args.rejects.iter().map(|text| text.parse()).collect(),
        )?,
        resolvers: args.resolvers.clone(),
        own_proposals: args.own_proposals,
        hosts: args.hosts.clone(),
        limits,
        audit: args.audit.clone(),
        log: flagged("--log", args.log.parse())?,
        otlp: args.otlp.as_deref().map(|url| flagged("--otlp", url.parse())).transpose()?,
        thresholds: flagged(
            "--quality",
            args.thresholds.iter().map(|text| text.parse()).collect(),
        )?,
        sweeps: sweeping(args)?,
        keep_records: keep_records(args)?,
        originals: args.originals.clone(),
        warm: args.warm,
        labels: match (&args.labels, &args.packages) {
            (Some(path), _) => super::context::labels_of(path)?,
            (None, Some(folder)) => super::context::labels(None, folder)?,
            (None, None) => LabelTable::default(),
        },
        packages: args.packages.as_deref().map(named_packages),
        own_key: beside.own_key,
        conversation: beside.conversation,
        ..Options::new(workspace)
    };
    let store = options.store.as_ref().map(tenure_store::Store::shown);
    Ok((Server::bind(options)?, store))
}

/// The folder of packages that was named; what its user should know is said.
#[cfg(feature = "server")]
fn named_packages(folder: &Path) -> PathBuf {
    let said = said_of_named(&Thing::of(folder, Kind::Packages).path());
    if let Some(said) = said {
        note(&format!("the packages: {said}"));
    }
    folder.to_owned()
}

/// The schedule of sweeps that the arguments name.
#[cfg(feature = "server")]
fn sweeping(args: &ServeArgs) -> Result<Option<Sweeping>, Error> {
    if args.sweep_every == "off" {
        return Ok(None);
    }
    let seconds = args
        .sweep_every
        .parse::<u64>()
        .ok()
        .filter(|seconds| (1..=Limits::LONGEST.as_secs()).contains(seconds))
        .ok_or_else(|| {
            let what = format!(
                "`{}` is no time between two sweeps",
                cell(&args.sweep_every)
            );
            let longest = Limits::LONGEST.as_secs();
            Error::new(ErrorKind::Usage, what)
                .or_at("--sweep-every", None)
                .expected(format!("1 to {longest} seconds, or off"))
        })?;
    let hard_delete = if args.sweep_hard_delete {
        HardDelete::Done
    } else {
        HardDelete::Proposed
    };
    let every = Duration::from_secs(seconds);
    Ok(Some(Sweeping { every, hard_delete }))
}

/// Returns the time for which records are kept, as the arguments say.
#[cfg(feature = "server")]
fn keep_records(args: &ServeArgs) -> Result<Option<Duration>, Error> {
    if args.keep_records == "off" {
        return Ok(None);
    }
    let days = args
        .keep_records
        .parse::<u64>()
        .ok()
        .filter(|days| (1..=MOST_DAYS).contains(days))
        .ok_or_else(|| {
            let what = format!("`{}` is no number of days", cell(&args.keep_records));
            Error::new(ErrorKind::Usage, what)
                .or_at("--keep-records", None)
                .expected(format!("1 to {MOST_DAYS} days, or off"))
        })?;
    Ok(Some(Duration::from_secs(days * 24 * 60 * 60)))
}

/// Does what the subcommand says.
pub(crate) fn keys(args: &KeysArgs) -> Result<(), Failure> {
    match &args.command {
        KeysCommand::Create(args) => create(args),
        KeysCommand::List(args) => list(args),
        KeysCommand::Revoke(args) => revoke(args),
    }
}

fn create(args: &KeysCreateArgs) -> Result<(), Failure> {
    let clearance = args
        .clearance
        .as_deref()
        .map(|class| flagged("--clearance", class.parse::<Classification>()));
    let expires = args.expires.as_deref().map(|text| instant(text, "--expires"));
    let grant = Grant {
        tenant: args.tenant.clone(),
        user: args.user.clone(),
        project: args.project.clone(),
        roles: args.roles.clone(),
        origins: args.origins.clone(),
        clearance: clearance.transpose()?,
        pii: args.pii,
        operator: args.operator,
        read_only: args.read_only,
        expires: expires.transpose()?,
    };
    let keys = Keys::of(&stores::to_write(&args.url)?)?;
    let (key, shown) = keys.create(grant, Clock::machine().now())?;
    if args.format == Format::Json {
        return print_json(&json!({ "id": key.id, "key": shown, "grant": key.grant }));
    }
    anstream::eprintln!(
        "note: this is the only time that the key is shown; its id is {}",
        key.id
    );
    print(&format!("{shown}\n"))
}

fn list(args: &KeysListArgs) -> Result<(), Failure> {
    let set = Keys::of(&stores::existing(&args.url, "tenure keys create")?)?.load()?;
    let now = Clock::machine().now();
    if args.format == Format::Json {
        let shown = set.iter().map(|key| shown(key, now));
        return print_json(&shown.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for key in set.iter() {
        let grant = &key.grant;
        let mut may = Vec::new();
        may.extend(grant.user.iter().map(|user| format!("user {}", cell(user))));
        may.extend(grant.project.iter().map(|project| format!("project {}", cell(project))));
        may.extend(grant.roles.iter().map(|role| format!("role {}", cell(role))));
        may.extend(grant.clearance.iter().map(|class| format!("clearance {class}")));
        may.extend(grant.pii.then(|| "pii".to_owned()));
        may.extend(grant.operator.then(|| "operator".to_owned()));
        may.extend(grant.expires.iter().map(|expires| format!("until {expires}")));
        text.push_str(&format!(
            "{}  {:<8}  {:<20}  {}\n",
            key.id,
            state(key, now),
            cell(&grant.tenant),
            may.join(", ")
        ));
    }
    print(&text)
}

fn revoke(args: &KeysRevokeArgs) -> Result<(), Failure> {
    let keys = Keys::of(&stores::existing(&args.url, "tenure keys create")?)?;
    let now = Clock::machine().now();
    let key = keys.revoke(&args.id, now)?;
    match args.format {
        Format::Json => print_json(&shown(&key, now)),
        Format::Text => print(&format!("{}: revoked\n", key.id)),
    }
}

fn state(key: &Key, now: Instant) -> &'static str {
    match (key.revoked, key.is_valid(now)) {
        (Some(_), _) => "revoked",
        (None, true) => "valid",
        (None, false) => "expired",
    }
}

fn shown(key: &Key, now: Instant) -> serde_json::Value {
    json!({
        "id": key.id,
        "state": state(key, now),
        "grant": key.grant,
        "created": key.created,
        "revoked": key.revoked,
    })
}
