//! OpenAI-compatible endpoints: where they are, the key, and how they are asked.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use tenure::object::clip;
use tenure::{Error, ErrorKind};
use tenure_store::tls;
use tokio::task::JoinSet;

/// An endpoint.
#[derive(Clone)]
pub(crate) struct Api {
    uri: Uri,
    /// Name in errors of what it gives.
    gives: &'static str,
    key: Option<HeaderValue>,
    timeout: Duration,
}

/// An endpoint's answer to one body.
pub(crate) enum Answer {
    /// This.
    Given(Bytes),
    /// That its provider's filter of contents refuses what was asked: it is that body's fault.
    Filtered(Error),
}

/// The codes by which providers say that a filter of contents refused a request.
const FILTERS: [&str; 2] = ["content_filter", "content_policy_violation"];

/// Returns the inside of a fence of Markdown, where all of the text is one.
pub(crate) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"))
        .map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner))
}

/// Seconds that an endpoint has to answer, unless the settings say otherwise.
pub(crate) fn timeout() -> u64 {
    30
}

impl Api {
    /// Makes the endpoint of `path` below `url`; `key_env` names the variable that holds the key, of which `variable`
    /// gives the value.
    pub(crate) fn new(
        url: &str,
        path: &str,
        gives: &'static str,
        key_env: Option<&str>,
        timeout_s: u64,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Api, Error> {
        let refused = |what: String, expected: &str| Err(Error::input(what).expected(expected));
        // What may hold a secret is not repeated.
        if url.contains(['?', '#']) {
            return refused(
                "the `url` has a `?` or a `#`".into(),
                "scheme, host and path; the key in a variable, named by `key_env`",
            );
        }
        let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
        let authority = behind.split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return refused(
                "the `url` holds a password".into(),
                "the key in a variable, named by `key_env`",
            );
        }
        let base = url.trim_end_matches('/');
        let uri = format!("{base}/{path}").parse::<Uri>().ok();
        let Some(uri) = uri.filter(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
        }) else {
            let what = format!("`url = \"{}\"` cannot be asked", clip(url));
            return refused(what, "a URL such as `http://127.0.0.1:8080/v1`");
        };
        if !(1..=3_600).contains(&timeout_s) {
            return refused(format!("`timeout_s = {timeout_s}`"), "1 to 3600 seconds");
        }
        let key = match key_env {
            None => None,
            Some(name) => {
                let value = variable(name).filter(|value| !value.trim().is_empty());
                let header = value
                    .and_then(|key| HeaderValue::try_from(format!("Bearer {}", key.trim())).ok());
                let Some(mut header) = header else {
                    let what = format!("the variable `{}` holds no key", clip(name));
                    return refused(what, "the key of the endpoint, as printable ASCII");
                };
                header.set_sensitive(true);
                Some(header)
            }
        };
        Ok(Api {
            uri,
            gives,
            key,
            timeout: Duration::from_secs(timeout_s),
        })
    }

    /// An error of this endpoint.
    pub(crate) fn failed(&self, what: impl fmt::Display) -> Error {
        let (gives, shown) = (self.gives, &self.uri);
        Error::new(ErrorKind::Unavailable, format!("{gives} `{shown}`: {what}"))
    }

    /// Returns what `read` makes of the answers to these bodies, in their order: it is called with each answer as it
    /// comes, and the place of its body. So many are asked for at the same time, and none may have more bytes than is
    /// said with it. A body is made when it is asked.
    pub(crate) fn ask<R: Send>(
        &self,
        bodies: impl Iterator<Item = Result<(Vec<u8>, usize), Error>> + Send,
        at_once: usize,
        read: impl FnMut(usize, Answer) -> Result<R, Error> + Send,
    ) -> Result<Vec<R>, Error> {
        let mut bodies = bodies.peekable();
        if bodies.peek().is_none() {
            return Ok(Vec::new());
        }
        let work = || -> Result<Vec<R>, Error> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .enable_time()
                .build()
                .map_err(|error| self.failed(error))?;
            let mut tcp = HttpConnector::new();
            tcp.enforce_http(false);
            tcp.set_nodelay(true);
            tcp.set_connect_timeout(Some(self.timeout));
            let client = Client::builder(TokioExecutor::new());
            if self.uri.scheme_str() == Some("http") {
                return runtime.block_on(self.ask_all(client.build(tcp), bodies, at_once, read));
            }
            let roots = HttpsConnectorBuilder::new().with_tls_config(tls::client(&[])?);
            let connector = roots.https_only().enable_http1().wrap_connector(tcp);
            runtime.block_on(self.ask_all(client.build(connector), bodies, at_once, read))
        };
        // On a thread of its own: whoever compiles may be inside a runtime, in which none may block.
        let made = std::thread::scope(|scope| scope.spawn(work).join());
        made.map_err(|_| self.failed("the thread that asked ended"))?
    }

    async fn ask_all<C, R>(
        &self,
        client: Client<C, Full<Bytes>>,
        bodies: impl Iterator<Item = Result<(Vec<u8>, usize), Error>>,
        at_once: usize,
        mut read: impl FnMut(usize, Answer) -> Result<R, Error>,
    ) -> Result<Vec<R>, Error>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let mut answers = BTreeMap::new();
        let mut waiting = bodies.enumerate();
        // Dropped with the first failure, and what is under way with it.
        let mut asked = JoinSet::new();
        loop {
            while asked.len() < at_once.max(1)
                && let Some((at, body)) = waiting.next()
            {
                let (body, most) = body?;
                let (api, client) = (self.clone(), client.clone());
                asked.spawn(async move { (at, api.ask_in_time(&client, body, most).await) });
            }
            match asked.join_next().await {
                None => return Ok(answers.into_values().collect()),
                Some(Err(error)) => return Err(self.failed(error)),
                Some(Ok((at, answer))) => drop(answers.insert(at, read(at, answer?)?)),
            }
        }
    }

    async fn ask_in_time<C>(
        &self,
        client: &Client<C, Full<Bytes>>,
        body: Vec<u8>,
        most: usize,
    ) -> Result<Answer, Error>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let asked = tokio::time::timeout(self.timeout, self.ask_once(client, body, most));
        asked.await.map_err(|_| {
            let seconds = self.timeout.as_secs();
            self.failed(format!("no answer within {seconds} s"))
                .hint("a longer `timeout_s`, or less at once")
        })?
    }

    async fn ask_once<C>(
        &self,
        client: &Client<C, Full<Bytes>>,
        body: Vec<u8>,
        most: usize,
    ) -> Result<Answer, Error>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let mut request = hyper::Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.clone());
        }
        let request =
            request.body(Full::new(Bytes::from(body))).map_err(|error| self.failed(error))?;
        let answer = client.request(request).await.map_err(|error| {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            self.failed(cause).hint("is it running, and is the `url` right?")
        })?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), most)
            .collect()
            .await
            .map_err(|error| self.failed(format!("the answer ends early or is too long: {error}")))?
            .to_bytes();
        if status.is_success() {
            Ok(Answer::Given(body))
        } else {
            self.refusal(status, &body)
        }
    }

    fn refusal(&self, status: StatusCode, body: &[u8]) -> Result<Answer, Error> {
        let said = serde_json::from_slice::<serde_json::Value>(body).ok();
        let code = said
            .as_ref()
            .and_then(|body| body.pointer("/error/code"))
            .and_then(|code| code.as_str())
            .unwrap_or_default();
        let filtered = status == StatusCode::BAD_REQUEST && FILTERS.contains(&code);
        let said = said
            .as_ref()
            .and_then(|body| {
                let message = body.pointer("/error/message").or_else(|| body.get("error"));
                message.and_then(|message| message.as_str())
            })
            .map_or_else(String::new, |said| format!(": {}", clip(said)));
        let error = self.failed(format!("{status}{said}"));
        if filtered {
            return Ok(Answer::Filtered(error));
        }
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                error.hint("name the variable that holds the key by `key_env`")
            }
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
                error.hint("where texts are too long for the model, set `max_bytes`")
            }
            _ => error,
        })
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.uri)
    }
}
