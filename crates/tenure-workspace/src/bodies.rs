//! Requests as they are sent: a provider's body, its messages, or the output of a compile.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure::cache::Sent;
use tenure::conform::{Unread, Violation, check, unread};
use tenure::request::json_error;
use tenure::wire::Format;
use tenure::{Envelope, Error, Payload, World};

use crate::transcripts;

/// The hint of an error that a named format mends.
pub const NAME_THE_TARGET: &str = "name the provider in `target`";

/// A request as text, and the envelope where a compile made it.
#[derive(Debug)]
pub struct RequestBody {
    source: String,
    text: String,
    compiled: Option<Box<Envelope>>,
    model: Option<String>,
}

/// The output of a compile, as far as it is read.
#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow)]
    envelope: Option<&'a RawValue>,
    #[serde(borrow)]
    pages: Option<&'a RawValue>,
    trace: Option<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    model: Option<String>,
}

impl RequestBody {
    /// Reads a body, bare messages, or the output of a compile. `source` is the name of the text in errors.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when a compile ended in pages, or its envelope cannot be read.
    pub fn read(text: String, source: &str) -> Result<RequestBody, Error> {
        let outcome: Option<Outcome<'_>> = serde_json::from_str(&text).ok();
        if outcome.as_ref().is_some_and(|outcome| outcome.pages.is_some()) {
            return Err(Error::input("the compile ended in pages")
                .at(source, None)
                .expected("a result with one payload"));
        }
        let envelope = outcome.as_ref().and_then(|outcome| outcome.envelope);
        let compiled = envelope
            .map(|envelope| serde_json::from_str(envelope.get()))
            .transpose()
            .map_err(|error| json_error(&error, source))?;
        let model = outcome.and_then(|outcome| outcome.trace?.model);
        Ok(RequestBody {
            source: source.to_owned(),
            text,
            compiled,
            model,
        })
    }

    /// The name of the text in errors.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The envelope, where it is the output of a compile.
    pub fn envelope(&self) -> Option<&Envelope> {
        self.compiled.as_deref()
    }

    /// The request as a cache sees it, in the format that is named or that it seems to have.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input), naming the source, when it is no request of the format.
    pub fn sent(&self, format: Option<Format>) -> Result<Sent<'_>, Error> {
        if let Some(envelope) = &self.compiled {
            return Sent::compiled(envelope, self.model.as_deref())
                .map_err(|error| error.or_at(self.source.clone(), None));
        }
        let format = format_of(format, &self.text, &self.source)?;
        Sent::body(format, &self.text).map_err(|error| self.within(error))
    }

    /// The bytes of the body.
    pub fn bytes(&self) -> &[u8] {
        self.compiled
            .as_ref()
            .and_then(|envelope| envelope.payload.as_ref())
            .map_or(self.text.as_bytes(), Payload::bytes)
    }

    /// An error of the text's own place, as one of the source.
    fn within(&self, error: Error) -> Error {
        let place = error.at.as_ref().map(|at| format!(": {}", at.source));
        let at = format!("{}{}", self.source, place.unwrap_or_default());
        error.at(at, None)
    }
}

/// Findings of a check of a body.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CheckedBody {
    /// The format whose rules it was held against.
    pub target: Format,
    /// The rules that it breaks.
    pub violations: Vec<Violation>,
    /// Rules that it could not be held against, since its kind is not known.
    pub unread: Vec<Unread>,
}

impl CheckedBody {
    /// The violations, with what is not known among them: for a face that has no other place for it.
    #[must_use]
    pub fn doubts(self) -> Vec<Violation> {
        let unread = self.unread.into_iter().map(|one| Violation {
            rule: "not_understood".to_owned(),
            at: one.at,
            what: format!("of the kind `{}`, which no rule was held against", one.kind),
        });
        self.violations.into_iter().chain(unread).collect()
    }
}

/// Checks a body, or that in the output of a compile, against the rules of its format, and with `world` against those
/// of a model. `source` is the name of the text in errors.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is no request of the format, and when none of its messages is of a
/// kind that is known.
pub fn check_body(
    text: &str,
    source: &str,
    format: Option<Format>,
    world: Option<&World>,
) -> Result<CheckedBody, Error> {
    let body = payload(text).unwrap_or(text);
    if let Some(form) = transcripts::recognise(body) {
        let name = form.name();
        return Err(
            Error::input(format!("this is a transcript of {name}, and no request"))
                .at(source, None)
                .expected("the body of a request, its messages, or the output of a compile")
                .hint("`tenure session import` reads it"),
        );
    }
    let target = format_of(format, body, source)?;
    let at = |error: Error| error.or_at(source, None);
    let violations = check(target, body, world.map(World::model)).map_err(at)?;
    let (unread, messages) = unread(target, body).map_err(at)?;
    if let Some(first) =
        unread.first().filter(|_| unread.len() >= messages && violations.is_empty())
    {
        let what = format!(
            "no message was understood: the first is of the kind `{}`",
            first.kind
        );
        return Err(Error::input(what)
            .at(format!("{source}, {}", first.at), None)
            .expected(format!("messages of {target}")));
    }
    Ok(CheckedBody {
        target,
        violations,
        unread,
    })
}

/// The format that is named, or that a body seems to have.
fn format_of(named: Option<Format>, body: &str, source: &str) -> Result<Format, Error> {
    named.or_else(|| Format::detect(body)).ok_or_else(|| {
        Error::input("the format of the messages is unknown")
            .at(source, None)
            .expected("the body of a request, its messages, or the output of a compile")
            .hint(NAME_THE_TARGET)
    })
}

/// The body in the output of a compile.
pub(crate) fn payload(text: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct Outcome<'a> {
        #[serde(borrow)]
        envelope: Envelope<'a>,
    }
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        payload: &'a RawValue,
    }
    let outcome: Outcome<'_> = serde_json::from_str(text).ok()?;
    Some(outcome.envelope.payload.get())
}
