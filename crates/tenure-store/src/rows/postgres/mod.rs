//! The engine for a server: PostgreSQL 15 or newer.
//!
//! Each transaction gives up the rights of the login: it runs as `tenure_app`, a role that cannot log in, owns
//! nothing, and sees the rows of the one tenant that the transaction names (row-level security, forced). That wall is
//! in addition to the conditions of the statements, not a replacement.
//!
//! Connections are made when they are first needed, and looked over then: a server that is not there, or
//! a schema that is not, or not of this version, is an error of the call that needed it.

pub(crate) mod asked;
mod pool;
mod rows;
mod tls;
mod write;

use std::collections::HashMap;
use std::error::Error as _;
use std::fmt::Write as _;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use postgres::config::{ChannelBinding, Host, SslMode};
use postgres::error::{Severity, SqlState};
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::Type;
use postgres::{Client, Config, NoTls, SimpleQueryMessage};
use tenure::object::clip;
use tenure::{Error, ErrorKind};

use self::pool::{Connection, Lease, Pool};
use self::rows::Rows;
use self::tls::Tls;
use crate::rows::engine::{Engine, Read, Stamp, Watch, WriteJob};

/// The migrations, in order; the version of a schema is how many of them it has.
const MIGRATIONS: &[&str] = &[
    include_str!("0001_store.sql"),
    include_str!("0002_erasure.sql"),
    include_str!("0003_search.sql"),
    include_str!("0004_set_aside.sql"),
    include_str!("0005_index_at_write.sql"),
    include_str!("0006_claims.sql"),
    include_str!("0007_sessions.sql"),
    include_str!("0008_waiting.sql"),
    include_str!("0009_records.sql"),
];

/// The comment on the schema, up to its version.
const MARK: &str = "tenure store, version ";

/// The oldest server that will do, as it numbers itself.
const OLDEST: i32 = 15_00_00;

/// Migrations wait for each other with this key: the letters `tenure`.
const MIGRATING: i64 = 0x7465_6e75_7265;

/// The default timeout for connecting to a host, TLS and login included.
const CONNECT: Duration = Duration::from_secs(10);

/// The most logins that may be under way at once, abandoned ones included.
const MAX_LOGINS: usize = 64;

/// The default time after which a connection whose data is not acknowledged is given up.
const UNHEARD: Duration = Duration::from_secs(30);

/// The number of tries of a write that the server aborts in favour of another.
const TRIES: u32 = 5;

/// A store in a schema of a database.
pub(crate) struct Postgres {
    config: Config,
    /// The encryption of connections; `None` for plain text.
    tls: Option<Tls>,
    schema: String,
    shown: String,
    pool: Pool,
    /// Each login that is under way holds one more of it.
    logins: Arc<()>,
}

impl Postgres {
    /// A store at `postgresql://…`. Nothing is asked of the server yet.
    pub(crate) fn open(url: &str) -> Result<Postgres, Error> {
        let own = Parameters::of(url)?;
        let schema = own.schema.to_owned();
        let mut config: Config = own.rest.parse().map_err(|error| malformed(&error))?;
        if config.get_ssl_mode() != SslMode::Prefer {
            // Written in another way, it would not be ours to read.
            return Err(Error::new(
                ErrorKind::Usage,
                "the URL of the store has `sslmode` twice, or percent-encoded",
            )
            .expected("`sslmode=verify-full`, once and unencoded"));
        }
        let tls = Tls::asked(own.sslmode, own.sslrootcert)?;
        if tls.is_some() && !config.get_hosts().iter().all(|host| matches!(host, Host::Tcp(_))) {
            return Err(
                Error::new(ErrorKind::Usage, "TLS is not possible over a Unix socket")
                    .expected("a host, or `sslmode=disable`"),
            );
        }
        if config.get_channel_binding() == ChannelBinding::Require {
            return Err(Error::unsupported("`channel_binding=require`"));
        }
        config.ssl_mode(match tls {
            Some(_) => SslMode::Require,
            None => SslMode::Disable,
        });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNHEARD);
        }
        if config.get_application_name().is_none() {
            config.application_name("tenure");
        }
        let shown = shown(&config, &schema);
        Ok(Postgres {
            config,
            tls,
            schema,
            shown,
            pool: Pool::default(),
            logins: Arc::default(),
        })
    }

    /// A connection as the login itself. The client bounds how long the socket takes, and not what follows,
    /// nor can it be told to give up: so a thread does it, which ends when the server says something or hangs up.
    fn login(&self) -> Result<Client, Error> {
        let logins = Arc::clone(&self.logins);
        if Arc::strong_count(&logins) > MAX_LOGINS + 1 {
            return Err(self.broken(&format!("{MAX_LOGINS} logins wait for an answer")));
        }
        let (names, addresses) = (self.config.get_hosts(), self.config.get_hostaddrs());
        let hosts = names.len().max(addresses.len()).max(1) as u32;
        let connect = *self.config.get_connect_timeout().unwrap_or(&CONNECT);
        let limit = connect.saturating_mul(hosts);
        let (config, tls) = (self.config.clone(), self.tls.clone());
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new().name("tenure-login".into());
        let began = thread.spawn(move || {
            let connected = match tls {
                Some(tls) => config.connect(tls),
                None => config.connect(NoTls),
            };
            // Where the caller has given up waiting, this closes the connection.
            tell.send(connected).ok();
            drop(logins);
        });
        began.map_err(|error| self.broken(&format!("no thread for a login: {error}")))?;
        match told.recv_timeout(limit) {
            Ok(connected) => connected.map_err(|error| self.failed(error)),
            Err(_) => Err(self.broken(&format!("no login within {} s", limit.as_secs()))),
        }
    }

    /// A connection to a store of this version.
    fn connect(&self) -> Result<Connection, Error> {
        let mut client = self.login()?;
        let known = MIGRATIONS.len() as u32;
        match self.schema_version(&mut client)? {
            version if version == known => Ok(Connection {
                client,
                statements: HashMap::new(),
            }),
            0 => Err(
                Error::input(format!("there is no store in `{}` yet", self.shown))
                    .hint("run `tenure store migrate`"),
            ),
            version if version < known => Err(Error::input(format!(
                "the store `{}` has schema version {version}",
                self.shown
            ))
            .expected(format!("version {known}"))
            .hint("run `tenure store migrate`")),
            version => Err(self.newer(version)),
        }
    }

    /// The number of migrations that the schema has; 0 where there is no schema.
    fn schema_version(&self, client: &mut Client) -> Result<u32, Error> {
        let sql = "SELECT obj_description(to_regnamespace($1), 'pg_namespace'), \
                   EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace($1)), \
                   current_setting('server_version_num')::int, current_setting('server_encoding')";
        let rows = client
            .query_typed(sql, &[(&self.schema, Type::TEXT)])
            .map_err(|error| self.failed(error))?;
        let Some(row) = rows.first() else {
            return Ok(0);
        };
        let (server, encoding): (i32, &str) = (row.get(2), row.get(3));
        if server < OLDEST {
            return Err(Error::input(format!(
                "the server of `{}` is PostgreSQL {}",
                self.shown,
                server / 10_000
            ))
            .expected("PostgreSQL 15 or newer"));
        }
        if encoding != "UTF8" {
            return Err(
                Error::input(format!("the database of `{}` holds {encoding}", self.shown))
                    .expected("a database with the encoding UTF8"),
            );
        }
        let mark: Option<&str> = row.get(0);
        match mark.map(|mark| mark.strip_prefix(MARK).and_then(|mark| mark.parse().ok())) {
            Some(Some(version)) => Ok(version),
            None if !row.get::<_, bool>(1) => Ok(0),
            _ => Err(Error::input(format!(
                "the schema `{}` of `{}` does not belong to tenure",
                self.schema, self.shown
            ))
            .expected("a store of tenure, or a schema that is empty or does not exist yet")),
        }
    }

    fn newer(&self, version: u32) -> Error {
        Error::input(format!(
            "the store `{}` has schema version {version}",
            self.shown
        ))
        .expected(format!("at most {}", MIGRATIONS.len()))
        .hint("it was written by a newer version of tenure; use that one")
    }

    /// The settings of a transaction: who it is, whose rows it sees, and that no plan is compiled to
    /// machine code, which takes longer than any statement here.
    fn settings(&self, tenant: &str) -> String {
        format!(
            "SELECT set_config('role', 'tenure_app', true), set_config('tenure.tenant', {}, true), \
             set_config('search_path', '\"{}\"', true), set_config('jit', 'off', true);",
            quoted(tenant),
            self.schema
        )
    }

    /// A connection on which this was done. What waited in the pool may be broken: then a new one.
    fn begin<T>(
        &self,
        mut begin: impl FnMut(&mut Client) -> Result<T, postgres::Error>,
    ) -> Result<(Lease<'_>, T), Error> {
        loop {
            let mut lease = self.pool.take(|| self.connect())?;
            match begin(&mut lease.connection()?.client) {
                Ok(begun) => return Ok((lease, begun)),
                Err(error) if lease.used && is_lost(&error) => self.pool.forget(),
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// The tenants that a table names, by name. As the login itself: only the owner may; to others it would seem that there
    /// are none.
    fn listed(&self, table: &str) -> Result<Option<Vec<String>>, Error> {
        let may = format!(
            "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = '\"{}\".tenants'::regclass",
            self.schema
        );
        let (mut lease, may) = self.begin(|client| client.query_typed(&may, &[]))?;
        if !may.first().is_some_and(|row| row.get(0)) {
            lease.keep();
            return Ok(None);
        }
        let sql = format!(
            "SELECT tenant FROM \"{}\".{table} ORDER BY tenant",
            self.schema
        );
        let rows = lease
            .connection()?
            .client
            .query_typed(&sql, &[])
            .map_err(|error| self.failed(error))?;
        lease.keep();
        Ok(Some(rows.iter().map(|row| row.get(0)).collect()))
    }

    /// Runs the job once.
    fn try_write(&self, tenant: &str, job: &mut WriteJob) -> Result<(), Tried> {
        let begin = format!("BEGIN; {}", self.settings(tenant));
        let (mut lease, ()) = self.begin(|client| client.batch_execute(&begin))?;
        let connection = lease.connection()?;
        let mut rows = Rows::new(connection, self, tenant);
        let result = job(&mut rows).and_then(|()| rows.logged());
        let (stamp, trouble) = rows.finish();
        if trouble == Some(Trouble::Lost) {
            self.pool.forget();
        }
        if let Err(error) = result {
            if trouble != Some(Trouble::Lost) {
                self.roll_back(lease);
            }
            return Err(match trouble {
                Some(Trouble::GivenUp) => Tried::GivenUp(error),
                _ => Tried::Failed(error),
            });
        }
        // What a job made light of undid everything.
        if trouble.is_some() {
            return Err(self.broken("a transaction failed").into());
        }
        let client = &mut lease.connection()?.client;
        match client.batch_execute("COMMIT") {
            Ok(()) => {
                if stamp.is_none_or(|stamp| self.tell(client, tenant, stamp)) {
                    lease.keep();
                }
                Ok(())
            }
            Err(error) if is_lost(&error) => {
                self.pool.forget();
                Err(self.unknown(error).into())
            }
            Err(error) if is_given_up(&error) => Err(Tried::GivenUp(self.failed(error))),
            Err(error) => Err(self.failed(error).into()),
        }
    }

    /// Sends a notice of a write; returns whether the connection is still usable. In a transaction of its own, which
    /// waits for no disk: those that tell commit one after the other, whatever their tenants. What is not told is
    /// found by the version probe.
    fn tell(&self, client: &mut Client, tenant: &str, stamp: Stamp) -> bool {
        let told = quoted(&format!("{tenant}:{}", stamp.version));
        let tell = format!(
            "BEGIN; SET LOCAL synchronous_commit TO off; SELECT pg_notify('{}', {told}); COMMIT",
            self.schema
        );
        client.batch_execute(&tell).is_ok()
    }

    /// A tenant that has written, and of which there is no row.
    fn lost(&self, tenant: &str) -> Error {
        Error::damaged(format!(
            "the store `{}` has lost the row of the tenant `{}`",
            self.shown,
            clip(tenant)
        ))
    }

    fn roll_back(&self, mut lease: Lease<'_>) {
        // A connection on which this fails is dropped, which undoes as much.
        let connection = lease.connection();
        if connection.is_ok_and(|connection| connection.client.batch_execute("ROLLBACK").is_ok()) {
            lease.keep();
        }
    }

    fn broken(&self, what: &str) -> Error {
        let what = format!("the store `{}` cannot be reached: {what}", self.shown);
        Error::new(ErrorKind::Unavailable, what).hint("check that the server runs, and try again")
    }

    /// The connection was lost between the word to commit and the answer.
    fn unknown(&self, error: postgres::Error) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!(
                "the connection to the store `{}` was lost, and it is unknown whether the write took \
                 effect: {}",
                self.shown,
                reason(&error)
            ),
        )
        .hint("repeat the write; with an idempotency key it takes effect only once")
        .caused_by(error)
    }

    fn failed(&self, error: postgres::Error) -> Error {
        self.told(&error).caused_by(error)
    }

    /// A failure of PostgreSQL in the words of this project.
    fn told(&self, error: &postgres::Error) -> Error {
        let shown = &self.shown;
        let reason = reason(error);
        let unavailable = |what: String| Error::new(ErrorKind::Unavailable, what);
        match error.code().map_or("", SqlState::code) {
            "22021" | "22P05" => Error::input("PostgreSQL cannot store a text with a NUL character")
                .expected("texts without NUL")
                .hint("nothing was written"),
            "54000" => Error::input(format!("a text is too long for PostgreSQL: {reason}"))
                .hint("nothing was written"),
            "53100" => unavailable(format!("there is no room on the disk for the store `{shown}`"))
                .hint("nothing was written; make room and try again"),
            "53300" => unavailable(format!("the server of `{shown}` takes no more connections"))
                .hint("try again later, or raise `max_connections`"),
            "25006" => unavailable(format!("the server of `{shown}` takes no writes: {reason}"))
                .hint("nothing was written; name the primary server"),
            "28000" | "28P01" | "3D000" => {
                Error::input(format!("the server of `{shown}` refuses the login: {reason}"))
                    .hint("check the user, the password and the name of the database")
            }
            "42501" => Error::new(
                ErrorKind::Policy,
                format!("the login lacks a right in the store `{shown}`: {reason}"),
            )
            .hint(
                "who uses a store is a member of the role `tenure_app`; who migrates it owns it; an \
                 administrator makes them: CREATE ROLE tenure_app NOLOGIN; GRANT tenure_app TO user",
            ),
            "22023" if reason.contains("tenure_app") => {
                Error::input(format!("the server of `{shown}` has no role `tenure_app`"))
                    .hint("run `tenure store migrate`")
            }
            "3F000" | "42P01" | "42703" => {
                Error::input(format!("the schema of `{shown}` is not that of a store: {reason}"))
                    .hint("run `tenure store migrate`")
            }
            _ if is_lost(error) => self.broken(&reason),
            _ if is_given_up(error) => {
                unavailable(format!("the store `{shown}` gave up a write: {reason}"))
                    .hint("nothing was written; try again")
            }
            _ => unavailable(format!("the store `{shown}` failed: {reason}")),
        }
    }
}

/// The reason why a write did not happen.
enum Tried {
    /// The server gave it up for the sake of another: it may be tried again.
    GivenUp(Error),
    Failed(Error),
}

impl From<Error> for Tried {
    fn from(error: Error) -> Tried {
        Tried::Failed(error)
    }
}

/// The failure of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Lost,
    GivenUp,
    Failed,
}

impl Trouble {
    fn of(error: &postgres::Error) -> Trouble {
        match error {
            error if is_lost(error) => Trouble::Lost,
            error if is_given_up(error) => Trouble::GivenUp,
            _ => Trouble::Failed,
        }
    }
}

impl Engine for Postgres {
    fn shown(&self) -> String {
        self.shown.clone()
    }

    fn migrate(&self) -> Result<Vec<u32>, Error> {
        let mut client = self.login()?;
        let known = MIGRATIONS.len() as u32;
        if self.schema_version(&mut client)? == known {
            return Ok(Vec::new());
        }
        let sql = |client: &mut Client, text: &str| {
            let done = client.batch_execute(text);
            done.map_err(|error| self.failed(error))
        };
        // A connection that is dropped in a transaction undoes it.
        sql(
            &mut client,
            &format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATING})"),
        )?;
        // Another node may have done it meanwhile.
        let from = self.schema_version(&mut client)?;
        if from > known {
            return Err(self.newer(from));
        }
        let schema = &self.schema;
        let there = client.query_typed(
            "SELECT FROM pg_namespace WHERE nspname = $1",
            &[(schema, Type::TEXT)],
        );
        if there.map_err(|error| self.failed(error))?.is_empty() {
            sql(&mut client, &format!("CREATE SCHEMA \"{schema}\""))?;
        }
        sql(
            &mut client,
            &format!("SET LOCAL search_path TO \"{schema}\""),
        )?;
        for text in MIGRATIONS.iter().skip(from as usize) {
            sql(&mut client, text)?;
        }
        sql(
            &mut client,
            &format!("COMMENT ON SCHEMA \"{schema}\" IS '{MARK}{known}'; COMMIT"),
        )?;
        Ok((from + 1..=known).collect())
    }

    fn read(
        &self,
        tenant: &str,
        job: &mut dyn FnMut(&mut dyn Read) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {}",
            self.settings(tenant)
        );
        let (mut lease, ()) = self.begin(|client| client.batch_execute(&begin))?;
        let mut rows = Rows::new(lease.connection()?, self, tenant);
        let result = job(&mut rows);
        match rows.finish() {
            (_, Some(Trouble::Lost)) => self.pool.forget(),
            _ => self.roll_back(lease),
        }
        result
    }

    fn write(&self, tenant: &str, mut job: WriteJob) -> Result<(), Error> {
        let mut tries = 1;
        loop {
            match self.try_write(tenant, &mut job) {
                Ok(()) => return Ok(()),
                Err(Tried::GivenUp(_)) if tries < TRIES => tries += 1,
                Err(Tried::GivenUp(error) | Tried::Failed(error)) => return Err(error),
            }
        }
    }

    fn version(&self, tenant: &str) -> Result<u64, Error> {
        // Several statements in one message are one transaction, and one round trip.
        let sql = format!(
            "{} SELECT coalesce((SELECT version FROM tenants WHERE tenant = {tenant}), \
             (SELECT -1 FROM writes WHERE tenant = {tenant} LIMIT 1)) AS version",
            self.settings(tenant),
            tenant = quoted(tenant)
        );
        let (lease, messages) = self.begin(|client| client.simple_query(&sql))?;
        lease.keep();
        let version = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.try_get("version").ok().flatten(),
            _ => None,
        });
        match version {
            None => Ok(0),
            // It has no row of its own, and has written.
            Some("-1") => Err(self.lost(tenant)),
            Some(version) => version.parse().map_err(|error| self::rows::unreadable(&error)),
        }
    }

    fn probe(&self) -> Result<(), Error> {
        // Whether the schema is there, and of this version; which tenants there are is the owner's to know.
        let schema = self.schema.clone();
        let sql = "SELECT obj_description(to_regnamespace($1), 'pg_namespace')";
        let (lease, found) =
            self.begin(|client| client.query_typed(sql, &[(&schema, Type::TEXT)]))?;
        lease.keep();
        let mark = found.first().and_then(|row| row.try_get::<_, Option<String>>(0).ok().flatten());
        match mark {
            Some(mark) if mark == format!("{MARK}{}", MIGRATIONS.len()) => Ok(()),
            _ => Err(Error::damaged(format!(
                "the schema of the store `{}` is not that of version {}",
                self.shown,
                MIGRATIONS.len()
            ))),
        }
    }

    fn tenants(&self) -> Result<Vec<String>, Error> {
        self.listed("tenants")?.ok_or_else(|| {
            let shown = &self.shown;
            let what = format!("only the owner of the store `{shown}` lists its tenants");
            Error::new(ErrorKind::Policy, what)
        })
    }

    fn unsearched(&self) -> Result<Vec<String>, Error> {
        // To others it seems that there are none, and each of theirs is seen when it is searched.
        Ok(self.listed("unsearched")?.unwrap_or_default())
    }

    fn watch(&self) -> Result<Option<Box<dyn Watch>>, Error> {
        let mut client = self.login()?;
        let listen = format!("LISTEN \"{}\"", self.schema);
        client.batch_execute(&listen).map_err(|error| self.failed(error))?;
        Ok(Some(Box::new(Listening {
            client,
            shown: self.shown.clone(),
        })))
    }
}

/// A connection that hears of writes.
struct Listening {
    client: Client,
    shown: String,
}

impl Watch for Listening {
    fn next(&mut self, timeout: Duration) -> Result<Option<(String, u64)>, Error> {
        let heard = self.client.notifications().timeout_iter(timeout).next();
        let lost = |reason: &str| {
            let what = format!(
                "the store `{}` no longer sends notices of writes: {reason}",
                self.shown
            );
            Error::new(ErrorKind::Unavailable, what)
                .hint("subscribe again, and check the version of everything that was read before")
        };
        match heard {
            Err(error) => Err(lost(&reason(&error))),
            Ok(None) if self.client.is_closed() => Err(lost("the connection is gone")),
            Ok(None) => Ok(None),
            Ok(Some(told)) => {
                let told = told.payload().rsplit_once(':');
                Ok(told
                    .and_then(|(tenant, version)| Some((tenant.to_owned(), version.parse().ok()?))))
            }
        }
    }
}

/// Returns whether the connection is of no more use.
fn is_lost(error: &postgres::Error) -> bool {
    let broken = error
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(|source| source.kind() != std::io::ErrorKind::InvalidInput);
    let severity = error.as_db_error().and_then(|error| error.parsed_severity());
    error.is_closed() || broken || matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

/// Returns whether the server aborted a transaction in favour of another.
fn is_given_up(error: &postgres::Error) -> bool {
    [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ]
    .iter()
    .any(|code| error.code() == Some(code))
}

/// The server's message, or the fault of the connection to it.
fn reason(error: &postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// A text as an expression: in hexadecimal digits, so that nothing in it can end it.
fn quoted(text: &str) -> String {
    let mut hex = String::with_capacity(2 * text.len());
    for byte in text.bytes() {
        // This cannot fail: writing to a string.
        write!(hex, "{byte:02x}").ok();
    }
    format!("convert_from(decode('{hex}', 'hex'), 'UTF8')")
}

/// The parameters of a URL that Tenure reads itself, and the rest of it.
struct Parameters<'u> {
    rest: String,
    schema: &'u str,
    sslmode: Option<&'u str>,
    sslrootcert: Option<&'u str>,
}

impl<'u> Parameters<'u> {
    fn of(url: &'u str) -> Result<Parameters<'u>, Error> {
        let mut own = Parameters {
            rest: url.to_owned(),
            schema: "tenure",
            sslmode: None,
            sslrootcert: None,
        };
        let Some((place, parameters)) = url.rsplit_once('?') else {
            return Ok(own);
        };
        let mut others = Vec::new();
        for parameter in parameters.split('&') {
            match parameter.split_once('=') {
                Some(("schema", named)) => own.schema = named,
                Some(("sslmode", mode)) if own.sslmode.is_none() => own.sslmode = Some(mode),
                Some(("sslrootcert", path)) => own.sslrootcert = Some(path),
                _ => others.push(parameter),
            }
        }
        let plain = |c: char| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit();
        let schema = own.schema;
        if schema.is_empty() || schema.len() > 63 || !schema.chars().all(plain) {
            return Err(Error::new(
                ErrorKind::Usage,
                "the URL of the store names an invalid schema",
            )
            .expected("`schema=NAME` with small letters, digits and `_`"));
        }
        own.rest = format!("{place}?{}", others.join("&"));
        Ok(own)
    }
}

/// A URL that cannot be read. Of the URL itself nothing is said: it may hold a password.
fn malformed(error: &postgres::Error) -> Error {
    let reason = error.source().map(ToString::to_string).unwrap_or_default();
    let plain = |c: char| c == ' ' || c == '`' || c == '_' || c.is_ascii_lowercase();
    let reason = match reason.as_str() {
        "" => String::new(),
        reason if reason.chars().all(plain) => format!(": {reason}"),
        _ => String::new(),
    };
    Error::new(
        ErrorKind::Usage,
        format!("the URL of the store cannot be read{reason}"),
    )
    .expected("`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, special characters as `%40`")
}

/// The address of the store, without the login.
fn shown(config: &Config, schema: &str) -> String {
    let mut hosts = Vec::new();
    let mut at = String::new();
    for (place, host) in config.get_hosts().iter().enumerate() {
        let ports = config.get_ports();
        let port = ports.get(place).or(ports.first()).copied().unwrap_or(5432);
        match host {
            // A password with an `@` in it may have gone astray.
            Host::Tcp(name) => {
                let name = name.rsplit_once('@').map_or(name.as_str(), |(_, name)| name);
                hosts.push(format!("{name}:{port}"));
            }
            #[cfg(unix)]
            Host::Unix(folder) => at = format!("?host={}&port={port}", folder.display()),
        }
    }
    if schema != "tenure" {
        let sign = if at.is_empty() { '?' } else { '&' };
        at.push_str(&format!("{sign}schema={schema}"));
    }
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgresql://{}/{database}{at}", hosts.join(","))
}
