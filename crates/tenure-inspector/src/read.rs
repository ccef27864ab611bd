//! Reading what a report is made of: a trace, or the output of a compile.

use serde::Deserialize;
use serde_json::value::RawValue;
use tenure::{Compiled, Envelope, Error, Trace};

/// The part of a file that is about one payload.
#[derive(Clone, Debug)]
pub struct Found {
    /// The account.
    pub trace: Trace,
    /// The result, where the file has it.
    pub envelope: Option<Envelope>,
}

impl From<Compiled> for Found {
    fn from(compiled: Compiled) -> Found {
        Found {
            trace: compiled.trace,
            envelope: Some(compiled.envelope),
        }
    }
}

/// The output of a compile, of one payload or of several.
#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow, default)]
    trace: Option<&'a RawValue>,
    #[serde(borrow, default)]
    envelope: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pages: Vec<Page<'a>>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    trace: &'a RawValue,
    #[serde(borrow)]
    envelope: &'a RawValue,
}

/// Reads a trace, the traces of several pages, or what `tenure compile --format json` prints.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the place of the fault: it is cut off, of another version, or
/// something else.
pub fn read(text: &str) -> Result<Vec<Found>, Error> {
    let text = text.trim_start_matches('\u{FEFF}');
    if let Err(error) = serde_json::from_str::<&RawValue>(text) {
        let what = if error.is_eof() {
            "the trace is cut off"
        } else {
            "the trace is no JSON"
        };
        return Err(expected(Error::input(format!("{what}: {error}"))));
    }
    if text.trim_start().starts_with('[') {
        let traces: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| {
            expected(Error::input(format!("the traces cannot be read: {error}")))
        })?;
        if traces.is_empty() {
            return Err(expected(Error::input("there is no trace")));
        }
        let traces = traces.into_iter().map(|raw| of(raw.get(), None));
        return traces.collect();
    }
    let output: Option<Output<'_>> = serde_json::from_str(text).ok();
    match output {
        Some(output) if !output.pages.is_empty() => output
            .pages
            .iter()
            .map(|page| of(page.trace.get(), Some(page.envelope.get())))
            .collect(),
        Some(Output {
            trace: Some(trace),
            envelope,
            ..
        }) => Ok(vec![of(trace.get(), envelope.map(RawValue::get))?]),
        _ => Ok(vec![of(text, None)?]),
    }
}

fn of(trace: &str, envelope: Option<&str>) -> Result<Found, Error> {
    let trace = Trace::from_json(trace).map_err(expected)?;
    let envelope = envelope.map(|envelope| {
        serde_json::from_str(envelope).map_err(|error| {
            expected(Error::input(format!(
                "the envelope beside the trace cannot be read: {error}"
            )))
        })
    });
    Ok(Found {
        trace,
        envelope: envelope.transpose()?,
    })
}

fn expected(error: Error) -> Error {
    error.hint("a trace is what `tenure compile --trace FILE` or `--format json` writes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_trace_is_refused_with_what_it_is() {
        let why = |text: &str| read(text).unwrap_err().to_string();
        assert!(why("{\"version\":1,\"input_di").contains("cut off"));
        assert!(why("").contains("cut off"));
        assert!(why("<html>").contains("no JSON"));
        assert!(why("[]").contains("no trace"));
        assert!(
            why("{}").contains("hint") || why("{}").contains("missing"),
            "{}",
            why("{}")
        );
    }
}
