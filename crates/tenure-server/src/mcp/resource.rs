//! The tools as a protected resource (RFC 9728): where they stand, and who issues the tokens that they take.

use axum::http::{HeaderMap, header};

/// The path of the tools.
pub(crate) const PATH: &str = "/mcp";
/// The path of what says who issues tokens for them, by its rule: `/.well-known/…` before their own path.
pub(crate) const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

/// The address of a path of this server, as the client of a request names it. Behind what ends TLS, the scheme is the
/// one that it says; a client that says it itself tells itself alone.
pub(crate) fn address(headers: &HeaderMap, path: &str) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = match text("x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    let host = text(header::HOST.as_str()).unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// The challenge to a client that showed no valid token, where tokens are taken.
pub(crate) fn challenge(headers: &HeaderMap, has_shown: bool) -> String {
    let metadata = address(headers, METADATA);
    let error = if has_shown {
        ", error=\"invalid_token\""
    } else {
        ""
    };
    format!("Bearer realm=\"tenure\"{error}, resource_metadata=\"{metadata}\"")
}
