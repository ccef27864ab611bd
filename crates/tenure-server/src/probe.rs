//! A probe of an address: does something answer there?

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use tenure::{Error, ErrorKind};

use crate::http::{Link, Owner, Upstream};
use crate::server::cannot_run;

/// The most bytes of an answer that are read.
const MOST: usize = 4 << 20;

/// Asks an address for a path, without credentials, and returns the status of the answer and its body.
///
/// # Errors
///
/// [`ErrorKind::Unavailable`] when nothing answers in time.
pub fn probe(to: &Upstream, path: &str, patience: Duration) -> Result<(u16, Bytes), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| cannot_run(&error))?;
    let link = Link::open(to.clone(), patience)?;
    let shown = link.shown();
    let silent = |why: String| {
        let what = format!("`{shown}` does not answer: {why}");
        Error::new(ErrorKind::Unavailable, what)
    };
    let uri = link.uri(&path.parse().map_err(|_| Error::input("no path"))?)?;
    let mut request = hyper::Request::new(Full::new(Bytes::new()));
    *request.uri_mut() = uri;
    let asked = async {
        let answer = link
            .request(Owner::server(), request)
            .await
            .map_err(|error| silent(deepest(&error)))?;
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), MOST).collect().await;
        // What answers at all is there.
        Ok((status, body.map(|body| body.to_bytes()).unwrap_or_default()))
    };
    runtime.block_on(async {
        match tokio::time::timeout(patience, asked).await {
            Ok(answered) => answered,
            Err(_) => Err(silent(format!("silent for {} s", patience.as_secs_f32()))),
        }
    })
}

fn deepest(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
