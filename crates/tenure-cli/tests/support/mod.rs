//! A folder in which the real binary runs.

#![allow(clippy::unwrap_used, dead_code)] // helpers, of which no test uses all

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Bench {
    pub(crate) folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Bench {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            .env_remove("TENURE_FRAME_KEY_FILE")
            .env_remove("TENURE_CATALOGUE")
            .env_remove("TENURE_ORIGINALS")
            .env_remove("TENURE_STORE")
            .env_remove("TENURE_EMBEDDER")
            .env_remove("TENURE_SCORER")
            .env_remove("TENURE_DECOMPOSER")
            .env_remove("ORT_DYLIB_PATH")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The output of a call that is given this on standard input.
    pub(crate) fn fed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Output {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        child.wait_with_output().unwrap()
    }

    /// The output of a call that ends well, as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The output of a call that ends well.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    /// A call that ends with `code`, prints nothing but a message, and the message.
    pub(crate) fn refused(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
        assert!(
            output.stdout.is_empty(),
            "{args:?}: {}",
            text(&output.stdout)
        );
        assert!(!message.contains("panicked"), "{message}");
        let is_told = message.contains("error:") || message.contains("{\"error\":");
        assert!(is_told, "{message}");
        message
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A `tenure serve` in a process of its own, which is killed when this is dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Serving {
    /// One on a port that it picks itself.
    pub(crate) fn start(bench: &Bench, args: &[&str]) -> Serving {
        Serving::with(bench, args, Stdio::null())
    }

    /// The same, whose standard error goes there.
    pub(crate) fn with(bench: &Bench, args: &[&str], errors: Stdio) -> Serving {
        let args = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
        let mut child = bench.command(&args).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let mut url = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut url).unwrap();
        let address = url.trim_end().strip_prefix("http://").unwrap();
        Serving {
            address: address.parse().unwrap(),
            child,
        }
    }

    /// Ends it without a chance to tidy up.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
