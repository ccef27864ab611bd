//! The body of a request, whole.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;

use crate::error::Refusal;

/// The most room that is made before a body has come, in bytes.
const MAX_ROOM: usize = 1 << 20;

/// The longest that a client may go on sending what is refused: one that is cut off while it sends does not read why.
const LEAVE: Duration = Duration::from_secs(5);

/// The body of a request, no larger than it may be, from a client that keeps sending.
pub(crate) async fn whole_body(
    headers: &HeaderMap,
    mut body: Body,
    most: usize,
    silence: Duration,
) -> Result<Bytes, Refusal> {
    let announced = body.size_hint().lower();
    if announced > most as u64 {
        // A client that waits to be told to send it is not told so.
        if !headers.contains_key(header::EXPECT) {
            let_go(body);
        }
        return Err(too_large(most));
    }
    let mut first = Bytes::new();
    let mut whole: Vec<u8> = Vec::new();
    loop {
        let frame = tokio::time::timeout(silence, body.frame()).await.map_err(|_| {
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
            let_go(body);
            return Err(too_large(most));
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

fn too_large(most: usize) -> Refusal {
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large")
        .expected(format!("at most {most} bytes"))
}

/// Takes what a client still sends, while it is answered, and keeps nothing of it.
fn let_go(mut body: Body) {
    tokio::spawn(async move {
        let rest = async { while let Some(Ok(_)) = body.frame().await {} };
        let _ = tokio::time::timeout(LEAVE, rest).await;
    });
}
