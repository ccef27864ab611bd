//! The body of a request, whole.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Body as _;

use crate::error::Refusal;

/// What is made room for before a body has come.
const MAX_ROOM: usize = 1 << 20;

/// The body of a request, no larger than it may be, from a client that keeps sending.
pub(crate) async fn whole_body(
    mut body: Body,
    most: usize,
    silence: Duration,
) -> Result<Bytes, Refusal> {
    let too_large = || {
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large")
            .expected(format!("at most {most} bytes"))
    };
    let announced = body.size_hint().lower();
    if announced > most as u64 {
        return Err(too_large());
    }
    let mut first = Bytes::new();
    let mut whole: Vec<u8> = Vec::new();
    loop {
        let frame = tokio::time::timeout(silence, body.frame()).await;
        let frame = frame.map_err(|_| {
            Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                "the request's body does not come",
            )
        })?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| {
            let what = format!("the request's body breaks off: {error}");
            Refusal::new(StatusCode::BAD_REQUEST, what)
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + whole.len() + data.len() > most {
            return Err(too_large());
        }
        // A body of one piece is not copied.
        if first.is_empty() && whole.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.reserve(
                usize::try_from(announced)
                    .unwrap_or(0)
                    .clamp(first.len() + data.len(), MAX_ROOM),
            );
            whole.extend_from_slice(&first);
            first = Bytes::new();
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.into()
    })
}
