//! The log: JSON lines on the standard error, written by a thread of its own. No contents and no secrets: a
//! request is its route, not its path, and a failure of the server its own words.

use std::borrow::Cow;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tenure::{Error, ErrorKind};
use tenure_workspace::Clock;

use super::metrics::Metrics;

/// The most lines that wait: a slow reader holds no request up.
const QUEUE: usize = 4_096;

/// Returns a text from outside as it is written down: cut to `most` bytes, and marked where it was longer.
pub(crate) fn bounded(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        text.into()
    } else {
        format!("{}…", &text[..text.floor_char_boundary(most)]).into()
    }
}

/// The level of a log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
#[non_exhaustive]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Failures on the server's side.
    Error,
    /// Warnings, too.
    #[default]
    Warn,
    /// Every request, too.
    Info,
}

tenure::terms! {
    LogLevel ("log level") {
        Off = "off",
        Error = "error",
        Warn = "warn",
        Info = "info",
    }
}

/// The log of a server.
pub(crate) struct Log {
    level: LogLevel,
    clock: Clock,
    queue: Mutex<Option<SyncSender<Value>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
}

impl Log {
    /// A log of this much, written to the standard error or elsewhere.
    pub(crate) fn start(
        level: LogLevel,
        clock: Clock,
        out: Box<dyn Write + Send>,
        metrics: Arc<Metrics>,
    ) -> Result<Log, Error> {
        let (queue, thread) = match level {
            LogLevel::Off => (None, None),
            _ => {
                let (queue, lines) = sync_channel(QUEUE);
                let thread = std::thread::Builder::new()
                    .name("tenure-log".into())
                    .spawn(move || write(&lines, out))
                    .map_err(|error| {
                        let what = format!("the system gives no thread: {error}");
                        Error::new(ErrorKind::Unavailable, what)
                    })?;
                (Some(queue), Some(thread))
            }
        };
        Ok(Log {
            level,
            clock,
            queue: Mutex::new(queue),
            thread: Mutex::new(thread),
            metrics,
        })
    }

    /// Returns whether lines of this level are logged.
    pub(crate) fn takes(&self, level: LogLevel) -> bool {
        level <= self.level
    }

    /// Logs an event with its fields; those that are null are left out. Never waits.
    pub(crate) fn note(&self, level: LogLevel, event: &str, fields: Value) {
        if !self.takes(level) {
            return;
        }
        let mut line = json!({ "at": self.clock.now(), "level": level.term(), "event": event });
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = queue.as_ref().map(|queue| queue.try_send(line));
        if matches!(taken, Some(Err(_))) {
            self.metrics.untold("log");
        }
    }

    /// Waits until everything is written.
    pub(crate) fn finish(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}

fn write(lines: &Receiver<Value>, mut out: Box<dyn Write + Send>) {
    for line in lines {
        // A log that cannot be written cannot be reported either.
        let _ = writeln!(out, "{line}");
        let _ = out.flush();
    }
}

/// Lines that a log wrote, for tests to read.
#[cfg(test)]
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

#[cfg(test)]
impl Kept {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[cfg(test)]
impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tenure::time::Instant;

    use super::*;

    #[test]
    fn what_is_asked_for_is_a_line_and_the_rest_is_not() {
        let kept = Kept::default();
        let metrics = Arc::new(Metrics::new());
        let log = Log::start(
            LogLevel::Warn,
            Clock::at(Instant::from_micros(0)),
            Box::new(kept.clone()),
            metrics,
        )
        .unwrap();
        log.note(LogLevel::Info, "request", json!({ "status": 200 }));
        log.note(
            LogLevel::Error,
            "request",
            json!({ "status": 503, "key": null, "detail": "a\nb" }),
        );
        log.finish();
        let text = kept.text();
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&line["level"], &line["status"], &line["detail"]),
            (&json!("error"), &json!(503), &json!("a\nb"))
        );
        assert_eq!(line["at"], "1970-01-01T00:00:00Z");
        assert!(line.get("key").is_none());
        // After the end, nothing is taken, and nothing fails.
        log.note(LogLevel::Error, "late", json!({}));
    }

    #[test]
    fn levels_have_names() {
        for &level in LogLevel::ALL {
            assert_eq!(level.term().parse::<LogLevel>().unwrap(), level);
        }
        assert!("loud".parse::<LogLevel>().is_err());
    }
}
