//! Long work, said on a terminal: one line on standard error, which goes when the work is done. Where standard error
//! is none, nothing is said.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The times of a line: when it first stands, and how often it changes.
#[derive(Clone, Copy)]
struct Pace {
    first: Duration,
    next: Duration,
}

const PACE: Pace = Pace {
    first: Duration::from_millis(700),
    next: Duration::from_millis(200),
};

/// Work that may take long. While it is kept, a line says so; dropping it rubs the line out.
pub(crate) struct Working {
    line: Option<(Arc<Line>, JoinHandle<()>)>,
}

impl Working {
    /// Begins work, which the words name.
    pub(crate) fn on(what: &'static str) -> Working {
        let stderr = std::io::stderr();
        if stderr.is_terminal() {
            Working::told_to(what, stderr, PACE)
        } else {
            Working { line: None }
        }
    }

    fn told_to(what: &'static str, out: impl Write + Send + 'static, pace: Pace) -> Working {
        let line = Arc::new(Line {
            state: Mutex::new(State {
                what,
                done: 0,
                of: 0,
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let shown = Arc::clone(&line);
        let thread = std::thread::Builder::new().spawn(move || shown.show(out, pace));
        Working {
            // Without a thread the work goes on unseen.
            line: thread.ok().map(|thread| (line, thread)),
        }
    }

    /// Says how much is done: `of` is 0 where it is not known.
    pub(crate) fn count(&self, done: usize, of: usize) {
        if let Some((line, _)) = &self.line {
            let mut state = line.state();
            (state.done, state.of) = (done, of);
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((line, thread)) = self.line.take() {
            line.state().is_over = true;
            line.changed.notify_all();
            let _ = thread.join();
        }
    }
}

struct Line {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    what: &'static str,
    done: usize,
    of: usize,
    is_over: bool,
}

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the line from time to time until the work is over.
    fn show(&self, mut out: impl Write, pace: Pace) {
        let started = Instant::now();
        let mut wait = pace.first;
        let mut is_shown = false;
        let mut state = self.state();
        loop {
            let woken = self.changed.wait_timeout_while(state, wait, |state| !state.is_over);
            state = woken.map_or_else(|error| error.into_inner().0, |(state, _)| state);
            if state.is_over {
                break;
            }
            // A terminal that is gone is nobody's loss.
            let _ = write!(out, "\r{}\x1b[K", state.said(started.elapsed()));
            let _ = out.flush();
            (is_shown, wait) = (true, pace.next);
        }
        if is_shown {
            let _ = write!(out, "\r\x1b[K");
            let _ = out.flush();
        }
    }
}

impl State {
    fn said(&self, elapsed: Duration) -> String {
        let State { what, done, of, .. } = self;
        let seconds = elapsed.as_secs();
        match (done, of) {
            (0, 0) => format!("{what} … {seconds} s"),
            (done, 0) => format!("{what} … {done}, {seconds} s"),
            (done, of) => format!("{what} … {done} of {of}, {seconds} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Screen {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        /// Waits until this is on the screen.
        fn wait_for(&self, what: &str) {
            let started = Instant::now();
            while !self.text().contains(what) {
                let text = self.text();
                assert!(started.elapsed().as_secs() < 20, "{what:?} not in {text:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    const SOON: Pace = Pace {
        first: Duration::from_millis(1),
        next: Duration::from_millis(1),
    };

    #[test]
    fn long_work_is_said_and_rubbed_out() {
        let screen = Screen::default();
        let working = Working::told_to("reading files", screen.clone(), SOON);
        screen.wait_for("\rreading files … 0 s\x1b[K");
        working.count(3, 0);
        screen.wait_for("\rreading files … 3, 0 s\x1b[K");
        working.count(3, 9);
        screen.wait_for("\rreading files … 3 of 9, 0 s\x1b[K");
        drop(working);
        let text = screen.text();
        assert!(text.ends_with("\x1b[K\r\x1b[K"), "{text:?}");
        assert!(!text.contains('\n'), "{text:?}");
    }

    #[test]
    fn short_work_is_not_said() {
        let screen = Screen::default();
        let pace = Pace {
            first: Duration::from_secs(3600),
            ..SOON
        };
        drop(Working::told_to("reading files", screen.clone(), pace));
        assert_eq!(screen.text(), "");
    }
}
