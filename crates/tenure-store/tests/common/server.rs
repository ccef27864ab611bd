//! A PostgreSQL server of one's own, in a temporary folder, reached over a Unix socket. It ends with the
//! process that started it, however that ends: its shell waits for the other end of a pipe.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};

/// The password of both logins. No message may hold it.
pub(crate) const PASSWORD: &str = "hush-4711";

/// Starts the server, and waits for a word: how it is to end. Without one, all of it goes.
const KEEPER: &str = r#"
for try in $(seq 100); do
  "$1/postgres" -D "$2/data" -k "$2" >>"$2/log" 2>&1 & pid=$!
  sleep 0.1
  kill -0 $pid 2>/dev/null && break # a server that was killed may still hold its memory
done
read -r word
case $word in
  stop) kill -INT $pid ;;
  kill) kill -KILL $pid ;;
  *) kill -QUIT $pid ;;
esac
wait $pid
[ -n "$word" ] || rm -rf "$2"
"#;

pub(crate) struct Server {
    programs: PathBuf,
    folder: PathBuf,
    user: Option<(u32, u32)>,
    port: u16,
    keeper: Mutex<Option<Child>>,
}

impl Server {
    /// The one that the tests of a process share.
    pub(crate) fn shared() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| Server::start("fsync = off"))
    }

    /// One that a test may stop, with this line among its settings.
    pub(crate) fn start(setting: &str) -> Server {
        Server::start_at(5432, setting, &[])
    }

    /// One that is reached over TCP at this port, too, with these files beside its data.
    pub(crate) fn start_at(port: u16, setting: &str, files: &[(&str, &str)]) -> Server {
        let programs = programs();
        let user = unprivileged();
        let folder = tempfile::Builder::new().prefix("tenure-pg-").tempdir().unwrap().keep();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&folder, Some(uid), Some(gid)).unwrap();
        }
        let server = Server {
            programs,
            folder,
            user,
            port,
            keeper: Mutex::new(None),
        };
        // The folder is the user's own, so it is made by that user.
        let password = "umask 077; printf '%s' \"$2\" >\"$1/password\"";
        server.run(
            Command::new("sh")
                .args(["-c", password, "sh"])
                .arg(&server.folder)
                .arg(PASSWORD),
        );
        server.run(
            Command::new(server.programs.join("initdb"))
                .arg("-D")
                .arg(server.folder.join("data"))
                .args(["-U", "admin", "-A", "scram-sha-256", "--pwfile"])
                .arg(server.folder.join("password"))
                .args(["-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]),
        );
        for (name, text) in files {
            let write = "umask 077; printf '%s' \"$3\" >\"$1/data/$2\"";
            let mut command = Command::new("sh");
            server.run(command.args(["-c", write, "sh"]).arg(&server.folder).args([name, text]));
        }
        let settings = "printf '%s\\n' \"listen_addresses = ''\" 'max_connections = 100' \"$2\" >>\"$1/data/postgresql.conf\"";
        let mut command = Command::new("sh");
        server.run(
            command
                .args(["-c", settings, "sh"])
                .arg(&server.folder)
                .arg(format!("port = {port}\n{setting}")),
        );
        server.resume();
        // Who owns the stores is no administrator.
        let sql = format!("CREATE ROLE owner LOGIN CREATEDB CREATEROLE PASSWORD '{PASSWORD}'");
        server.administrator("postgres").batch_execute(&sql).unwrap();
        server
    }

    fn run(&self, command: &mut Command) {
        let output = self.as_user(command).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?} failed: {said}");
    }

    fn as_user<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command.current_dir("/")
    }

    /// Starts the server again.
    pub(crate) fn resume(&self) {
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "sh"]).arg(&self.programs).arg(&self.folder);
        // A key that interrupts the tests is not for it: it ends when they do.
        let keeper = self
            .as_user(&mut command)
            .process_group(0)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        *self.keeper.lock().unwrap() = Some(keeper.unwrap());
        let patience = Instant::now() + Duration::from_secs(60);
        while let Err(error) = self.login("postgres") {
            if Instant::now() > patience {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                panic!("the server does not start: {error}\n{log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server: `stop`, or `kill` without any chance to tidy up.
    pub(crate) fn end(&self, how: &str) {
        let mut keeper = self.keeper.lock().unwrap().take().unwrap();
        writeln!(keeper.stdin.take().unwrap(), "{how}").unwrap();
        keeper.wait().unwrap();
    }

    fn login(&self, database: &str) -> Result<Client, postgres::Error> {
        let mut config = Config::new();
        config
            .host_path(&self.folder)
            .port(self.port)
            .user("admin")
            .password(PASSWORD)
            .dbname(database);
        config.connect(NoTls)
    }

    /// A connection that may do anything.
    pub(crate) fn administrator(&self, database: &str) -> Client {
        self.login(database).unwrap()
    }

    pub(crate) fn create(&self, database: &str) {
        let sql = format!("CREATE DATABASE {database} OWNER owner");
        self.administrator("postgres").batch_execute(&sql).unwrap();
    }

    /// The URL of a database, as the owner of the stores.
    pub(crate) fn url(&self, database: &str) -> String {
        self.url_as("owner", database)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    pub(crate) fn url_as(&self, user: &str, database: &str) -> String {
        let folder = self.folder.display();
        let port = self.port;
        format!("postgresql://{user}:{PASSWORD}@/{database}?host={folder}&port={port}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without a word, the keeper ends the server and removes its folder.
        if let Some(mut keeper) = self.keeper.lock().unwrap().take() {
            drop(keeper.stdin.take());
            keeper.wait().ok();
        }
    }
}

/// Where the newest server program is.
fn programs() -> PathBuf {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<(u32, PathBuf)> = installed
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            Some((version, path.join("bin")))
        })
        .collect();
    versions.sort();
    if let Some((_, programs)) = versions.pop() {
        return programs;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).find(|folder| folder.join("initdb").exists());
    found.unwrap_or_else(|| {
        panic!("there is no PostgreSQL server program: install the Debian package `postgresql`")
    })
}

/// Whom the server runs as, which refuses to run as root.
fn unprivileged() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt as _;
    let probe = tempfile::NamedTempFile::new().unwrap();
    if probe.as_file().metadata().unwrap().uid() != 0 {
        return None;
    }
    let users = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap_or_default();
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let line =
        line.expect("root needs the user `postgres`: install the Debian package `postgresql`");
    let mut numbers = line.split(':').skip(2).map(|number| number.parse().unwrap());
    Some((numbers.next().unwrap(), numbers.next().unwrap()))
}
