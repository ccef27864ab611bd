//! Failures as HTTP: one mapping from the kinds of [`tenure::Error`] to statuses, in two bodies.
//!
//! The API answers problem details (RFC 9457). The gateway answers in the form that the providers' own
//! clients read, so that they show the message and retry as they would with the provider.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tenure::{Error, ErrorKind};

use crate::protocol::Protocol;

/// The kind of a failure that is the store's: what is kept is not what was written.
pub(crate) const DAMAGED: &str = "damaged";

/// The cause of an answer that is no success, for the log: of a failure on the server's side its own words, of the rest
/// the kind alone, since words may be the client's.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    pub(crate) kind: &'static str,
    pub(crate) detail: Option<String>,
}

/// A failure with the status that it has.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    error: Error,
    /// After how many seconds it is worth trying again.
    retry_after: Option<u64>,
}

impl Refusal {
    /// Makes a refusal by the protocol, rather than by a verb.
    pub(crate) fn new(status: StatusCode, what: impl Into<String>) -> Refusal {
        let kind = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::Policy,
            StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => ErrorKind::Conflict,
            StatusCode::NOT_FOUND => ErrorKind::NotFound,
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                ErrorKind::Unavailable
            }
            _ => ErrorKind::Input,
        };
        Refusal {
            status,
            error: Error::new(kind, what),
            retry_after: None,
        }
    }

    /// A failure of a verb that the protocol has another status for.
    pub(crate) fn with_status(status: StatusCode, error: Error) -> Refusal {
        Refusal {
            status,
            error,
            retry_after: None,
        }
    }

    /// Names the field, parameter or header that is wrong.
    #[must_use]
    pub(crate) fn at_field(self, field: impl Into<String>) -> Refusal {
        Refusal {
            error: self.error.at(field, None),
            ..self
        }
    }

    #[must_use]
    pub(crate) fn expected(self, expected: impl Into<String>) -> Refusal {
        Refusal {
            error: self.error.expected(expected),
            ..self
        }
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Refusal {
        Refusal {
            error: self.error.hint(hint),
            ..self
        }
    }

    /// Adds the time after which it is worth trying again.
    #[must_use]
    pub(crate) fn retry_after(self, wait: Duration) -> Refusal {
        let retry_after = Some(wait.as_millis().div_ceil(1_000) as u64);
        Refusal {
            retry_after,
            ..self
        }
    }

    /// The failure, for a protocol that has no statuses.
    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The problem document.
    fn problem(&self) -> Value {
        let error = &self.error;
        let mut problem = json!({
            "type": format!("urn:tenure:problem:{}", term(error.kind)),
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "kind": error.kind,
            "detail": error.what,
        });
        let more = [
            ("at", error.at.as_ref().map(|at| json!(at))),
            ("expected", error.expected.as_ref().map(|text| json!(text))),
            ("hint", error.hint.as_ref().map(|text| json!(text))),
            (
                "mandatory",
                (!error.mandatory.is_empty()).then(|| json!(error.mandatory)),
            ),
        ];
        if let Value::Object(fields) = &mut problem {
            for (name, value) in more {
                fields.extend(value.map(|value| (name.to_owned(), value)));
            }
        }
        problem
    }

    /// The form of a provider, as its own clients read it.
    pub(crate) fn for_client(&self, protocol: Protocol) -> Response {
        let code = format!("tenure_{}", term(self.error.kind));
        let message = format!("tenure: {}", self.error);
        let body = protocol.error(self.status.as_u16(), &code, &message);
        self.answer("application/json", &body)
    }

    /// The form that the client reads: a provider's where it is one of a provider's.
    pub(crate) fn at(&self, client: Option<Protocol>) -> Response {
        match client {
            Some(protocol) => self.for_client(protocol),
            None => self.problem_document(),
        }
    }

    fn problem_document(&self) -> Response {
        self.answer("application/problem+json", &self.problem())
    }

    fn answer(&self, content_type: &'static str, body: &Value) -> Response {
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        let own = self.status.is_server_error();
        response.extensions_mut().insert(Cause {
            kind: term(self.error.kind),
            detail: own.then(|| self.error.what.clone()),
        });
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"tenure\"");
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

fn term(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Usage => "usage",
        ErrorKind::Input | ErrorKind::NotFound => "input",
        ErrorKind::Budget => "budget",
        ErrorKind::Policy => "policy",
        ErrorKind::Conflict => "conflict",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::Damaged => DAMAGED,
        _ => "internal",
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let status = match error.kind {
            ErrorKind::Usage | ErrorKind::Input => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Budget => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Policy => StatusCode::FORBIDDEN,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal {
            status,
            error,
            retry_after: None,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.problem_document()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_status() {
        let status = |kind| Refusal::from(Error::new(kind, "x")).status().as_u16();
        let kinds = [
            (ErrorKind::Usage, 400),
            (ErrorKind::Input, 400),
            (ErrorKind::NotFound, 404),
            (ErrorKind::Budget, 422),
            (ErrorKind::Policy, 403),
            (ErrorKind::Conflict, 409),
            (ErrorKind::Unavailable, 503),
            (ErrorKind::Damaged, 500),
            (ErrorKind::Internal, 500),
        ];
        for (kind, expected) in kinds {
            assert_eq!(status(kind), expected, "{kind:?}");
        }
    }

    #[test]
    fn a_problem_says_what_the_error_says() {
        let error = Error::input("no such thing")
            .at("rules.md", Some(3))
            .expected("a thing")
            .hint("make one");
        let problem = Refusal::from(error).problem();
        assert_eq!(problem["type"], "urn:tenure:problem:input");
        assert_eq!(
            (&problem["status"], &problem["kind"]),
            (&json!(400), &json!("input"))
        );
        assert_eq!(problem["detail"], "no such thing");
        assert_eq!(problem["at"], json!({ "source": "rules.md", "line": 3 }));
        assert_eq!(
            (&problem["expected"], &problem["hint"]),
            (&json!("a thing"), &json!("make one"))
        );
        assert!(problem.get("mandatory").is_none());
    }
}
