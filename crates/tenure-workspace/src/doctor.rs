//! A look at what Tenure needs to work: configuration, frame key, models, store, keys, clients. It changes nothing, makes
//! nothing, and asks nobody over a network unless it is told to.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use tenure::catalogue::Finding as Aged;
use tenure::object::Classification;
use tenure::time::Instant;
use tenure::{COMPILER, Error, ErrorKind};
use tenure_store::Store;

use crate::clients::{Client, Places, Use};
use crate::collect::claims_guidance;
use crate::frame_key::load_frame_key;
use crate::keys::{KeySet, Keys};
use crate::trust::{Believed, Kind, Thing, Trust, said_of_named};
use crate::workspace::Workspace;

/// The days after which facts about models deserve a look.
const OLD: u32 = 180;
/// The time before its end at which a key is mentioned.
const SOON: i64 = 14 * 24 * 60 * 60 * 1_000_000;
/// The time that something on this machine has to answer.
const PATIENCE: Duration = Duration::from_millis(500);
/// The variables that commands read.
const VARIABLES: [&str; 9] = [
    "TENURE_CATALOGUE",
    "TENURE_CONVERSATION",
    "TENURE_DECOMPOSER",
    "TENURE_EMBEDDER",
    "TENURE_FRAME_KEY_FILE",
    "TENURE_KEY",
    "TENURE_ORIGINALS",
    "TENURE_SCORER",
    "TENURE_STORE",
];

/// Advice about something that others can change.
const LOOK: &str = "look at it before it is used; `tenure trust --list` shows what is trusted";

/// Health of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Something will fail because of it.
    Wrong,
}

/// A finding, without secrets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The part that was looked at.
    pub part: &'static str,
    /// Health of it.
    pub health: Health,
    /// The finding, in words.
    pub what: String,
    /// Advice about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    /// Something that is as it should be.
    pub fn ok(part: &'static str, what: impl Into<String>) -> Finding {
        Finding {
            part,
            health: Health::Ok,
            what: what.into(),
            hint: None,
        }
    }

    /// Something worth knowing.
    pub fn note(part: &'static str, what: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding {
            health: Health::Note,
            hint: Some(hint.into()),
            ..Finding::ok(part, what)
        }
    }

    /// Something that is wrong.
    pub fn wrong(part: &'static str, what: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding {
            health: Health::Wrong,
            ..Finding::note(part, what, hint)
        }
    }

    /// An error, which says itself what to do where it knows.
    pub fn of(part: &'static str, error: &Error, otherwise: &str) -> Finding {
        let place = error.at.as_ref().map(|at| format!(" ({at})"));
        let what = format!("{}{}", error.what, place.unwrap_or_default());
        let expected = error.expected.as_ref();
        let hint = error
            .hint
            .clone()
            .or_else(|| expected.map(|expected| format!("{otherwise}; expected: {expected}")));
        Finding::wrong(part, what, hint.unwrap_or_else(|| otherwise.to_owned()))
    }

    /// Writes `~` for the home, which names who somebody is.
    #[must_use]
    pub fn without_home(self, home: &Path) -> Finding {
        let home = home.display().to_string();
        let short = |text: String| match home.len() {
            0 | 1 => text,
            _ => text.replace(&home, "~"),
        };
        Finding {
            what: short(self.what),
            hint: self.hint.map(short),
            ..self
        }
    }
}

/// The store that commands use.
pub enum Chosen {
    /// This URL was named, so that the store has to be there.
    Named(String),
    /// The store of the project, which is found.
    Project(Thing),
}

/// The things to look at.
pub struct Doctor {
    /// The user's places.
    pub places: Places,
    /// The store.
    pub store: Chosen,
    /// The folder in which commands look for what is found.
    pub here: PathBuf,
    /// Things that the user made or accepted.
    pub trust: Trust,
    /// The file with the user's models, where there is one.
    pub catalogue: Option<PathBuf>,
    /// The file of the frame key.
    pub frame_key: Option<PathBuf>,
    /// True if others may be asked over a network.
    pub online: bool,
    /// The time.
    pub now: Instant,
}

impl Doctor {
    /// Looks at everything, in one order.
    pub fn look(&self) -> Vec<Finding> {
        let mut found = vec![self.version()];
        found.extend(self.variables());
        found.push(self.frame_key());
        found.extend(self.models());
        found.extend(self.store());
        found.extend(self.trusted());
        found.extend(Client::ALL.into_iter().map(|client| self.client(client)));
        let home = &self.places.home;
        found.into_iter().map(|found| found.without_home(home)).collect()
    }

    fn version(&self) -> Finding {
        let version = env!("CARGO_PKG_VERSION");
        let what = format!("tenure {version}, records of compiler {COMPILER}");
        let own = std::env::current_exe().and_then(|path| path.canonicalize());
        let named = self.places.program("tenure");
        let Ok(own) = own else {
            return Finding::ok("version", what);
        };
        match named.map(|path| path.canonicalize().unwrap_or(path)) {
            None => Finding::note(
                "version",
                format!("{what}; `tenure` is in no folder of PATH"),
                format!("put {} into a folder of PATH", own.display()),
            ),
            Some(other) if other != own => Finding::note(
                "version",
                format!("{what}; `tenure` in PATH is another program"),
                format!(
                    "{} runs by its name; this is {}",
                    other.display(),
                    own.display()
                ),
            ),
            Some(_) => Finding::ok("version", what),
        }
    }

    /// The variables that say where something is, and those that nobody reads.
    fn variables(&self) -> Vec<Finding> {
        let part = "configuration";
        let mut found = Vec::new();
        let ours: BTreeMap<_, _> = std::env::vars_os()
            .filter_map(|(name, value)| {
                let name = name.into_string().ok()?;
                name.starts_with("TENURE_").then_some((name, value))
            })
            .collect();
        for (name, value) in &ours {
            if !VARIABLES.contains(&name.as_str()) {
                let near = tenure::error::nearest(name, VARIABLES);
                let hint = near.map_or_else(
                    || format!("known are {}", VARIABLES.join(", ")),
                    |near| format!("did you mean {near}?"),
                );
                found.push(Finding::note(
                    part,
                    format!("no command reads {name}"),
                    hint,
                ));
            } else if ["TENURE_EMBEDDER", "TENURE_SCORER", "TENURE_DECOMPOSER"]
                .contains(&name.as_str())
                && !Path::new(value).exists()
            {
                let what = format!("{name} names a file that is not there");
                found.push(Finding::wrong(part, what, "correct it, or unset it"));
            }
        }
        for (name, upstream) in [
            ("ANTHROPIC_BASE_URL", "anthropic"),
            ("OPENAI_BASE_URL", "openai"),
        ] {
            if let Some(value) = std::env::var_os(name) {
                let what = format!(
                    "{name} is set: clients go to {}",
                    shown_url(&value.to_string_lossy())
                );
                let hint = format!("`tenure run` takes it for the upstream `{upstream}`");
                found.push(Finding::note(part, what, hint));
            }
        }
        if found.is_empty() {
            let count = ours.len();
            let what = match count {
                0 => "no variable sets anything".to_owned(),
                _ => format!(
                    "set by variables: {}",
                    ours.into_keys().collect::<Vec<_>>().join(", ")
                ),
            };
            found.push(Finding::ok(part, what));
        }
        found
    }

    fn frame_key(&self) -> Finding {
        let part = "frame key";
        let Some(path) = &self.frame_key else {
            let hint = "set XDG_STATE_HOME or HOME, or name a file with --frame-key";
            return Finding::wrong(part, "there is no path for it", hint);
        };
        if path.symlink_metadata().is_err() {
            let above = path.ancestors().skip(1).find(|folder| folder.exists());
            let can = above.is_some_and(|folder| {
                folder
                    .metadata()
                    .is_ok_and(|found| found.is_dir() && !found.permissions().readonly())
            });
            if can {
                return Finding::ok(part, "not there yet: the first compile makes it");
            }
            let what = format!("not there, and {} cannot be made", path.display());
            return Finding::wrong(part, what, "name a writable file with --frame-key");
        }
        if let Err(error) = load_frame_key(path) {
            let hint =
                "restore it from a copy: without it, pointers of earlier payloads lead nowhere";
            return Finding::of(part, &error, hint);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = path.metadata().map(|found| found.permissions().mode());
            if mode.is_ok_and(|mode| mode & 0o077 != 0) {
                return Finding::wrong(
                    part,
                    format!("others may read {}", path.display()),
                    format!("chmod 600 {}", path.display()),
                );
            }
        }
        Finding::ok(part, "there, and its owner's alone")
    }

    fn models(&self) -> Vec<Finding> {
        let part = "catalogue";
        let workspace = Workspace::without_key().and_then(|workspace| match &self.catalogue {
            Some(path) => workspace.load_catalogue(path),
            None => Ok(workspace),
        });
        let workspace = match workspace {
            Ok(workspace) => workspace,
            Err(error) => {
                return vec![Finding::of(part, &error, "correct the file of your models")];
            }
        };
        let count = workspace.catalogue().names().count();
        let own = match &self.catalogue {
            Some(path) => format!(", with those of {}", path.display()),
            None => String::new(),
        };
        let what = format!("{count} models{own}");
        let aged = workspace.catalogue().audit(self.now, OLD);
        let is_old = |found: &&Aged| matches!(found, Aged::Stale { .. });
        vec![match aged.iter().filter(is_old).count() {
            0 => Finding::ok(part, what),
            old => Finding::note(
                part,
                format!("{what}; {old} facts are older than {OLD} days"),
                "`tenure models check` lists them",
            ),
        }]
    }

    fn store(&self) -> Vec<Finding> {
        let part = "store";
        let (url, believed) = match &self.store {
            Chosen::Named(url) => (url.clone(), None),
            Chosen::Project(thing) => {
                let url = format!("sqlite://{}", thing.path().display());
                match self.trust.check(thing) {
                    Ok(believed) => (url, believed),
                    Err(error) => return vec![Finding::of(part, &error, LOOK)],
                }
            }
        };
        let is_file = url.starts_with("sqlite://");
        if !is_file && !self.online && url.contains("://") {
            let hint = "--online asks it";
            return vec![Finding::note(
                part,
                "it is on a server, which was not asked",
                hint,
            )];
        }
        let path = url.strip_prefix("sqlite://").map(PathBuf::from);
        if let Some(path) = path.as_ref().filter(|path| !path.exists()) {
            let what = format!("there is no store {}", path.display());
            return vec![if matches!(self.store, Chosen::Named(_)) {
                Finding::wrong(part, what, "`tenure store migrate --store URL` makes one")
            } else {
                Finding::ok(part, format!("{what} yet: the first write makes it"))
            }];
        }
        let mut found = Vec::new();
        let opened = match (&believed, &path) {
            (Some(Believed { mark, note, .. }), Some(path)) => {
                found.extend(note.iter().map(|said| Finding::note(part, said, LOOK)));
                mark.map_or_else(
                    || Store::open_to_read(&url),
                    |mark| Store::marked_to_read(path, mark),
                )
            }
            _ => {
                let said = path.as_deref().and_then(said_of_named);
                let hint = "it was named, and so it is used";
                found.extend(said.map(|said| Finding::note(part, said, hint)));
                Store::open_to_read(&url)
            }
        };
        let store = match opened.and_then(|store| store.probe().map(|()| store)) {
            Ok(store) => store,
            Err(error) => {
                let hint = match error.kind {
                    ErrorKind::Unavailable => "is its server running, and its disk there?",
                    _ => {
                        "`tenure store check` says more; `tenure store migrate` brings it up to date"
                    }
                };
                found.push(Finding::of(part, &error, hint));
                return found;
            }
        };
        let by = believed.map_or("", |_| ", which you made or accepted");
        found.push(Finding::ok(part, format!("{}{by}", store.shown())));
        match Keys::of(&store).and_then(|keys| keys.load()) {
            Ok(keys) => {
                found.extend(self.keys(&keys));
                found.push(clearance(&store, &keys, self.now));
            }
            Err(error) => found.push(Finding::of(
                "keys",
                &error,
                "`tenure store check` says more",
            )),
        }
        found
    }

    /// Looks at what else is found here, and whether it is believed.
    fn trusted(&self) -> Vec<Finding> {
        let part = "trust";
        let packages = Thing::near(&self.here, Kind::Packages);
        let mut found = Vec::new();
        for thing in [
            Thing::of(packages.base(), Kind::Labels),
            packages,
            Thing::of(&self.here, Kind::Index),
            Thing::of(&self.here, Kind::Manifest),
        ] {
            // That documents are data is believed unasked.
            if thing.kind() == Kind::Manifest && !claims_guidance(&thing.path()) {
                continue;
            }
            let path = thing.path();
            found.extend(match self.trust.check(&thing) {
                Ok(None) => None,
                Ok(Some(Believed {
                    note: Some(said), ..
                })) => Some(Finding::note(part, said, LOOK)),
                Ok(Some(_)) => {
                    let what = format!("{}, which you made or accepted", path.display());
                    Some(Finding::ok(part, what))
                }
                Err(error) => Some(Finding::of(part, &error, LOOK)),
            });
        }
        found
    }

    fn keys(&self, keys: &KeySet) -> Vec<Finding> {
        let part = "keys";
        let valid: Vec<_> = keys.iter().filter(|key| key.is_valid(self.now)).collect();
        let all = keys.iter().count();
        let mut found = Vec::new();
        for key in &valid {
            let left = key.grant.expires.map(|end| end.micros() - self.now.micros());
            if left.is_some_and(|left| left < SOON) {
                let end = key.grant.expires.map(|end| end.to_string()).unwrap_or_default();
                found.push(Finding::note(
                    part,
                    format!("the key {} expires at {end}", key.id),
                    format!(
                        "`tenure keys create --tenant {}` makes another",
                        key.grant.tenant
                    ),
                ));
            }
        }
        found.push(match (all, valid.len()) {
            (0, _) => Finding::ok(
                part,
                "none: a server answers this machine alone, to anybody on it",
            ),
            (all, 0) => Finding::wrong(
                part,
                format!("none of {all} is valid any more: a server refuses everybody"),
                "`tenure keys create --tenant T` makes one",
            ),
            (all, valid) => Finding::ok(part, format!("{valid} of {all} valid")),
        });
        found
    }

    fn client(&self, client: Client) -> Finding {
        let part = "client";
        let name = client.term();
        let again = format!("tenure setup {name}");
        let used = match Use::of(&self.places, client) {
            Ok(used) => used,
            Err(error) => {
                let found = Finding::of(
                    part,
                    &error,
                    "correct the file: the client cannot read it either",
                );
                return Finding {
                    what: format!("{name}: {}", found.what),
                    ..found
                };
            }
        };
        if !used.installed {
            return Finding::ok(part, format!("{name}: not installed"));
        }
        if let Some(command) = &used.command {
            let is_there = if Path::new(command).is_absolute() {
                Path::new(command).is_file()
            } else {
                self.places.program(command).is_some()
            };
            if !is_there {
                return Finding::wrong(
                    part,
                    format!("{name} starts `{command}` for tools, which is not there"),
                    format!("`{again} --mcp` names this program, `{again} --undo` none"),
                );
            }
        }
        if let Some(url) = &used.gateway
            && let Some(address) = on_this_machine(url)
            && TcpStream::connect_timeout(&address, PATIENCE).is_err()
        {
            return Finding::wrong(
                part,
                format!(
                    "{name} sends its requests to {}, where nobody answers",
                    shown_url(url)
                ),
                format!("start the gateway (`tenure serve`), or `{again} --undo`"),
            );
        }
        let ways = match (&used.command, &used.gateway) {
            (None, None) => "does not use Tenure".to_owned(),
            (Some(_), None) => "has its tools".to_owned(),
            (None, Some(url)) => format!("sends its requests to {}", shown_url(url)),
            (Some(_), Some(url)) => {
                format!(
                    "has its tools, and sends its requests to {}",
                    shown_url(url)
                )
            }
        };
        Finding::ok(part, format!("{name} {ways}"))
    }
}

/// Finds the keys that see less than their tenant has.
fn clearance(store: &Store, keys: &KeySet, now: Instant) -> Finding {
    let part = "clearance";
    let mut most: BTreeMap<&str, Classification> = BTreeMap::new();
    let mut short = Vec::new();
    for key in keys.iter().filter(|key| key.is_valid(now)) {
        let tenant = key.grant.tenant.as_str();
        if !most.contains_key(tenant) {
            let highest = store.tenant(tenant).and_then(|tenant| {
                let resident = tenant.load()?;
                let objects = resident.candidates().objects().iter();
                let classes = objects.map(|object| object.access().classification);
                Ok(classes.max().unwrap_or(Classification::Public))
            });
            match highest {
                Ok(highest) => drop(most.insert(tenant, highest)),
                Err(error) => return Finding::of(part, &error, "`tenure store check` says more"),
            }
        }
        let highest = most.get(tenant).copied().unwrap_or(Classification::Public);
        let cleared = key.grant.clears();
        if cleared < highest {
            short.push(format!("{} ({cleared}; its tenant has {highest})", key.id));
        }
    }
    match short.as_slice() {
        [] => Finding::ok(part, "every key sees every class that its tenant has"),
        _ => Finding::note(
            part,
            format!("keys that see less than there is: {}", short.join(", ")),
            "where that is not meant, make a key with `--clearance CLASS`",
        ),
    }
}

/// Returns the address of a URL that is on this machine.
fn on_this_machine(url: &str) -> Option<SocketAddr> {
    let rest = url.strip_prefix("http://")?;
    let authority = rest.split('/').next()?;
    let named = match authority.rsplit_once(':') {
        Some((_, port)) if !port.ends_with(']') => authority.to_owned(),
        _ => format!("{authority}:80"),
    };
    // A name of another machine would be asked for over the network.
    let is_local = named.starts_with("localhost:");
    let address = if is_local {
        named.to_socket_addrs().ok()?.next()
    } else {
        named.parse().ok()
    };
    address.filter(|address| address.ip().is_loopback())
}

/// Returns a URL without what may be a password.
fn shown_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    match (scheme, path) {
        ("", _) => "(an address that cannot be read)".to_owned(),
        (scheme, "") => format!("{scheme}://{host}"),
        (scheme, path) => format!("{scheme}://{host}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_their_secrets() {
        for (url, shown) in [
            ("http://127.0.0.1:7878", "http://127.0.0.1:7878"),
            ("https://ada:hush@h:1/v1?key=hush#hush", "https://h:1/v1"),
            ("hush", "(an address that cannot be read)"),
            ("https://ada:hu@sh@h/", "https://h"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }

    #[test]
    fn only_what_is_on_this_machine_is_asked() {
        let on = |url| on_this_machine(url).map(|address| address.port());
        assert_eq!(on("http://127.0.0.1:7878/v1"), Some(7878));
        assert_eq!(on("http://localhost:99"), Some(99));
        assert_eq!(on("http://[::1]:7/"), Some(7));
        for other in [
            "http://10.0.0.1:80",
            "https://127.0.0.1",
            "http://example.com",
            "x",
        ] {
            assert_eq!(on(other), None, "{other}");
        }
    }
}
