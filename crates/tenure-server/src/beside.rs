//! A server beside one client: it answers for as long as the client runs, and ends with it.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tenure::{Error, ErrorKind};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::server::{Server, cannot_run, runtime};
use crate::telemetry::tally::Tally;

/// The end of a client, and what went through the gateway until then.
#[derive(Debug)]
pub struct Ended {
    /// The status of the client's process.
    pub status: ExitStatus,
    /// Tally of what went through.
    pub tally: Tally,
}

impl Server {
    /// Starts the command, answers until its process has ended, and lets what is under way come to its end. Signals that
    /// tell this process to stop are passed on to it; those that a terminal sends reach both already.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when the command cannot be started; [`ErrorKind::Unavailable`] when the system gives no
    /// threads.
    pub fn run_beside(self, command: &mut Command) -> Result<Ended, Error> {
        let telemetry = Arc::clone(&self.gateway.app.telemetry);
        let runtime = runtime()?;
        let status = runtime.block_on(async {
            let signals = Signals::new().map_err(|error| cannot_run(&error))?;
            let child = command.spawn().map_err(|error| not_started(command, &error))?;
            let (stop, stopped) = oneshot::channel();
            let client = async {
                let status = watched(child, signals).await;
                // The server has ended on its own, where nobody waits any more.
                let _ = stop.send(());
                status
            };
            let server = self.serve(async {
                let _ = stopped.await;
            });
            let (status, served) = tokio::join!(client, server);
            served?;
            status.map_err(|error| cannot_run(&error))
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        let status = status?;
        let tally = telemetry.tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Ended { status, tally })
    }
}

fn not_started(command: &Command, error: &io::Error) -> Error {
    let program = command.get_program().display();
    Error::new(
        ErrorKind::NotFound,
        format!("`{program}` cannot be started: {error}"),
    )
}

/// Waits for the end of a process, and passes signals on to it meanwhile.
async fn watched(mut child: Child, mut signals: Signals) -> io::Result<ExitStatus> {
    let id = child.id();
    let mut ended: JoinHandle<io::Result<ExitStatus>> =
        tokio::task::spawn_blocking(move || child.wait());
    loop {
        tokio::select! {
            biased;
            status = &mut ended => return status.map_err(io::Error::other)?,
            signal = signals.next() => pass_on(id, signal),
        }
    }
}

#[cfg(unix)]
use self::on_unix::{Signals, pass_on};

#[cfg(unix)]
mod on_unix {
    use std::io::{self, IsTerminal as _};

    use rustix::process::{Pid, Signal, kill_process};
    use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

    /// The signals that tell a process to stop.
    pub(super) struct Signals {
        interrupt: Stream,
        quit: Stream,
        hangup: Stream,
        terminate: Stream,
    }

    impl Signals {
        pub(super) fn new() -> io::Result<Signals> {
            Ok(Signals {
                interrupt: signal(SignalKind::interrupt())?,
                quit: signal(SignalKind::quit())?,
                hangup: signal(SignalKind::hangup())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }

        pub(super) async fn next(&mut self) -> Signal {
            tokio::select! {
                _ = self.interrupt.recv() => Signal::INT,
                _ = self.quit.recv() => Signal::QUIT,
                _ = self.hangup.recv() => Signal::HUP,
                _ = self.terminate.recv() => Signal::TERM,
            }
        }
    }

    /// Passes a signal on. What a key of the terminal sends goes to all processes of the group, and a client that gets it
    /// twice takes it for a second press.
    pub(super) fn pass_on(id: u32, signal: Signal) {
        let is_a_key = signal == Signal::INT || signal == Signal::QUIT;
        if is_a_key && io::stdin().is_terminal() {
            return;
        }
        if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            // One that has ended meanwhile needs none.
            let _ = kill_process(id, signal);
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals)
    }

    /// Takes what the console sends, which reaches the client, too.
    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

#[cfg(not(unix))]
fn pass_on(_: u32, (): ()) {}
