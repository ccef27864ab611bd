//! Tells a page of new records, as events that a server sends. It looks at the store by itself, so that no request waits.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use tokio::sync::mpsc::{Receiver, channel};

use super::access::{Fault, Visit, cookie};
use crate::api::tenant;
use crate::error::Refusal;

/// The time between two looks at the store.
const EVERY: Duration = Duration::from_secs(2);
/// The number of looks after which a page asks anew.
const LOOKS: usize = 1_800;
/// The most records that are told of after one look.
const MOST: u32 = 50;

/// Events as they come.
struct Events(Receiver<&'static str>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let event = self.0.poll_recv(context);
        event.map(|event| event.map(|event| Ok(Frame::data(Bytes::from_static(event.as_bytes())))))
    }
}

pub(super) async fn live(visit: Visit, headers: HeaderMap) -> Result<Response, Fault> {
    let (told, events) = channel(8);
    let shown = cookie(&headers).map(str::to_owned);
    tokio::spawn(async move {
        let mut last = None;
        let visit = std::sync::Arc::new(visit);
        for _ in 0..LOOKS {
            // A key that was revoked since sees no more.
            let app = &visit.app;
            let known = app.access.caller(shown.as_deref(), app.now()).await;
            if !matches!(known, Ok(Some(_))) || app.is_stopping() {
                let _ = told.send("event: end\ndata: \n\n").await;
                return;
            }
            let (looking, since) = (std::sync::Arc::clone(&visit), last.clone());
            let looked = crate::blocking(move || newest(&looking, since.as_deref())).await;
            if let Ok((newest, count)) = looked {
                last = newest;
                for _ in 0..count {
                    if told.send("event: request\ndata: \n\n").await.is_err() {
                        return;
                    }
                }
            }
            // A comment shows whether anybody still listens.
            if told.send(": \n\n").await.is_err() {
                return;
            }
            tokio::time::sleep(EVERY).await;
        }
    });
    let content_type = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok((content_type, Body::new(Events(events))).into_response())
}

/// The newest record, and the number of those since that one that the reader may see; 0 where nothing was known before.
fn newest(visit: &Visit, since: Option<&str>) -> Result<(Option<String>, usize), Refusal> {
    let tenant = tenant(&visit.app, &visit.caller)?;
    let listed = tenant.records(MOST)?;
    let newest = listed.first().map(|(id, _)| id.clone()).or_else(|| Some(String::new()));
    let Some(since) = since else {
        return Ok((newest, 0));
    };
    let records = visit.app.workspace.records(&tenant);
    let mut count = 0;
    for (id, _) in listed.iter().take_while(|(id, _)| id != since) {
        let line = records.listed(id)?;
        count += usize::from(line.is_some_and(|line| visit.caller.sees_record(&line)));
    }
    Ok((newest, count))
}
