//! Vectors from an OpenAI-compatible endpoint (`POST …/embeddings`), by configuration alone.
//!
//! ```toml
//! url = "http://127.0.0.1:8080/v1"       # without /embeddings
//! model = "all-MiniLM-L6-v2"
//! dimensions = 384
//! key_env = "EMBEDDINGS_KEY"             # the variable that holds the key; none is sent without it
//! timeout_s = 30                         # for each request
//! batch = 64                             # texts in a request
//! revision = "2024-05"                   # of the weights: another one is another model
//! ```
//!
//! `unrelated` and `related`, the thresholds of the model, are those of the catalogue of encoders where it
//! knows the model by name. The endpoint sees only what the caller may see, each text once.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use serde::{Deserialize, Serialize};
use tenure::num::Score;
use tenure::object::clip;
use tenure::vectors::{MAX_DIMENSIONS, VectorModel};
use tenure::{Digest, Error, ErrorKind};
use tenure_store::tls;

use super::Embedder;
use crate::encoder::Encoder;
use crate::read::read_text;

/// More than the digits of a component take, and what stands around the vectors.
const PER_COMPONENT: usize = 32;
const AROUND: usize = 64 << 10;

/// An endpoint, and the model behind it.
pub struct Endpoint {
    uri: Uri,
    model: VectorModel,
    asks_dimensions: bool,
    key: Option<HeaderValue>,
    timeout: Duration,
    batch: usize,
    max_bytes: usize,
}

/// The configuration, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: String,
    model: String,
    dimensions: u32,
    /// Whether the endpoint is told how many dimensions are wanted. Default: it is not.
    #[serde(default)]
    ask_dimensions: bool,
    key_env: Option<String>,
    #[serde(default = "thirty")]
    timeout_s: u64,
    #[serde(default = "sixty_four")]
    batch: usize,
    /// What is behind so many bytes of a text is not embedded. Default: nothing is cut.
    max_bytes: Option<usize>,
    revision: Option<String>,
    unrelated: Option<Score>,
    related: Option<Score>,
}

fn thirty() -> u64 {
    30
}

fn sixty_four() -> usize {
    64
}

#[derive(Serialize)]
struct Body<'t> {
    model: &'t str,
    input: &'t [&'t str],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Endpoint {
    /// An endpoint as this TOML file says; the key is taken from the environment.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] with the file and line.
    pub fn open(path: &Path) -> Result<Endpoint, Error> {
        let text = read_text(path)?;
        let shown = path.display().to_string();
        let endpoint = Endpoint::from_toml(&text, &|name| std::env::var(name).ok());
        endpoint.map_err(|error| {
            let line = error.at.as_ref().and_then(|at| at.line);
            error.at(shown, line)
        })
    }

    /// An endpoint as this TOML says; `variable` gives the value of the variable that holds the key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when it makes no sense, or the variable has no value.
    pub fn from_toml(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, Error> {
        let settings: Settings = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| before.matches('\n').count() + 1);
            tenure::error::parse_error(error.message()).at("embedder", line)
        })?;
        let refused = |what: String, expected: &str| Err(Error::input(what).expected(expected));
        let base = settings.url.trim_end_matches('/');
        let uri = format!("{base}/embeddings").parse::<Uri>().ok();
        let known =
            |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
        let Some(uri) = uri.filter(known) else {
            let what = format!("`url = \"{}\"` cannot be asked", clip(&settings.url));
            return refused(what, "a URL such as `http://127.0.0.1:8080/v1`");
        };
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return refused(
                "the `url` holds a password".into(),
                "the key in a variable, named by `key_env`",
            );
        }
        if settings.model.trim().is_empty() {
            return refused(
                "`model` is empty".into(),
                "the name that the endpoint knows",
            );
        }
        if !(1..=MAX_DIMENSIONS).contains(&settings.dimensions) {
            let what = format!("`dimensions = {}`", settings.dimensions);
            return refused(what, &format!("from 1 to {MAX_DIMENSIONS}"));
        }
        if !(1..=3_600).contains(&settings.timeout_s) || !(1..=2_048).contains(&settings.batch) {
            let what = format!(
                "`timeout_s = {}`, `batch = {}`",
                settings.timeout_s, settings.batch
            );
            return refused(what, "1 to 3600 seconds, and 1 to 2048 texts");
        }
        let key = match &settings.key_env {
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
        let encoder = Encoder::named(&settings.model).ok();
        let (unrelated, related) = encoder.map_or((Score::ZERO, Score::ONE), |encoder| {
            (encoder.unrelated, encoder.related)
        });
        let dimensions = settings.dimensions.to_le_bytes();
        let max_bytes = settings.max_bytes.unwrap_or(usize::MAX);
        let revision = settings.revision.unwrap_or_default();
        // Who hosts the weights does not change them; which they are does.
        let digest = Digest::of_parts([
            b"openai-embeddings".as_slice(),
            settings.model.as_bytes(),
            revision.as_bytes(),
            &dimensions,
            // Nor are vectors of beginnings those of whole texts.
            &(max_bytes as u64).to_le_bytes(),
        ]);
        let model = VectorModel {
            dimensions: settings.dimensions,
            unrelated: settings.unrelated.unwrap_or(unrelated),
            related: settings.related.unwrap_or(related),
            ..VectorModel::new(settings.model, digest)
        };
        Ok(Endpoint {
            uri,
            model,
            asks_dimensions: settings.ask_dimensions,
            key,
            timeout: Duration::from_secs(settings.timeout_s),
            batch: settings.batch,
            max_bytes,
        })
    }

    fn failed(&self, what: impl fmt::Display) -> Error {
        let shown = &self.uri;
        Error::new(
            ErrorKind::Unavailable,
            format!("the embeddings of `{shown}`: {what}"),
        )
    }

    /// Asks for all of them, over one connection.
    async fn ask<C>(
        &self,
        client: Client<C, Full<Bytes>>,
        texts: &[&str],
    ) -> Result<Vec<Vec<f32>>, Error>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.batch) {
            let asked = tokio::time::timeout(self.timeout, self.ask_once(&client, batch));
            let answer = asked.await.map_err(|_| {
                let seconds = self.timeout.as_secs();
                self.failed(format!("no answer within {seconds} s"))
                    .hint("a longer `timeout_s`, or a smaller `batch`")
            })?;
            vectors.extend(answer?);
        }
        Ok(vectors)
    }

    async fn ask_once<C>(
        &self,
        client: &Client<C, Full<Bytes>>,
        texts: &[&str],
    ) -> Result<Vec<Vec<f32>>, Error>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let body = Body {
            model: &self.model.name,
            input: texts,
            encoding_format: "float",
            dimensions: self.asks_dimensions.then_some(self.model.dimensions),
        };
        let body = serde_json::to_vec(&body).map_err(|error| self.failed(error))?;
        let mut request = hyper::Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.clone());
        }
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| self.failed(error))?;
        let answer = client.request(request).await.map_err(|error| {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            self.failed(cause)
                .hint("is it running, and is the `url` right?")
        })?;
        let status = answer.status();
        let most = texts.len() * self.model.dimensions as usize * PER_COMPONENT + AROUND;
        let body = Limited::new(answer.into_body(), most).collect().await;
        let body = body.map_err(|error| {
            self.failed(format!("the answer ends early or is too long: {error}"))
        })?;
        let body = body.to_bytes();
        if !status.is_success() {
            return Err(self.refusal(status, &body));
        }
        let answer: Answer = serde_json::from_slice(&body).map_err(|error| {
            self.failed(format!("an answer that cannot be read: {error}"))
                .expected("`{\"data\": [{\"index\": 0, \"embedding\": […]}]}`")
        })?;
        self.in_order(texts.len(), answer)
    }

    fn refusal(&self, status: StatusCode, body: &[u8]) -> Error {
        let said = serde_json::from_slice::<serde_json::Value>(body).ok();
        let said = said.as_ref().and_then(|body| {
            let message = body.pointer("/error/message").or_else(|| body.get("error"));
            message.and_then(|message| message.as_str())
        });
        let said = said.map_or_else(String::new, |said| format!(": {}", clip(said)));
        let error = self.failed(format!("{status}{said}"));
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                error.hint("name the variable that holds the key by `key_env`")
            }
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
                error.hint("where texts are too long for the model, set `max_bytes`")
            }
            _ => error,
        }
    }

    /// The vectors in the order of the texts, each with the dimensions that were promised.
    fn in_order(&self, texts: usize, answer: Answer) -> Result<Vec<Vec<f32>>, Error> {
        let mut rows: BTreeMap<usize, Vec<f32>> = BTreeMap::new();
        for (at, row) in answer.data.into_iter().enumerate() {
            let wanted = self.model.dimensions as usize;
            if row.embedding.len() != wanted {
                let what = format!("a vector of {} dimensions", row.embedding.len());
                return Err(self
                    .failed(what)
                    .expected(format!("{wanted}, as the configuration says")));
            }
            rows.insert(row.index.unwrap_or(at), row.embedding);
        }
        if rows.len() != texts || rows.keys().next_back().is_some_and(|last| *last >= texts) {
            let what = format!("{} vectors for {texts} texts", rows.len());
            return Err(self
                .failed(what)
                .expected("one for each text, by its `index`"));
        }
        Ok(rows.into_values().collect())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({} at {})", self.model.name, self.uri)
    }
}

impl Embedder for Endpoint {
    fn model(&self) -> VectorModel {
        self.model.clone()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let nothing = || vec![0.0; self.model.dimensions as usize];
        // Endpoints refuse empty texts, which point nowhere.
        let cut = |text: &&'_ str| text.floor_char_boundary(self.max_bytes.min(text.len()));
        let texts: Vec<&str> = texts.iter().map(|text| &text[..cut(text)]).collect();
        let said = texts.iter().copied();
        let asked: Vec<&str> = said.filter(|text| !text.trim().is_empty()).collect();
        let work = || -> Result<Vec<Vec<f32>>, Error> {
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
                return runtime.block_on(self.ask(client.build(tcp), &asked));
            }
            let roots = HttpsConnectorBuilder::new().with_tls_config(tls::client(&[])?);
            let connector = roots.https_only().enable_http1().wrap_connector(tcp);
            runtime.block_on(self.ask(client.build(connector), &asked))
        };
        if asked.is_empty() {
            return Ok(texts.iter().map(|_| nothing()).collect());
        }
        // On a thread of its own: whoever compiles may be inside a runtime, in which none may block.
        let made = std::thread::scope(|scope| scope.spawn(work).join());
        let made = made.map_err(|_| self.failed("the thread that asked ended"))??;
        let mut made = made.into_iter();
        let vector = |text: &&str| match text.trim().is_empty() {
            true => nothing(),
            false => made.next().unwrap_or_default(),
        };
        Ok(texts.iter().map(vector).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::Workspace;
    use tenure::{Budget, Candidates, FrameKey, ObjectDocument, Policy, Request};

    /// A real server on the loopback that gives these answers in turn and tells what it was asked.
    fn server(answers: Vec<(&'static str, String)>) -> (String, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for (status, body) in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = Vec::new();
                let mut buffer = [0; 4096];
                loop {
                    let read = stream.read(&mut buffer).unwrap();
                    asked.extend_from_slice(&buffer[..read]);
                    let text = String::from_utf8_lossy(&asked);
                    let length = text.to_lowercase();
                    let length = length.split("content-length: ").nth(1);
                    let length =
                        length.and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
                    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
                    if read == 0 || (length.is_some() && body >= length) {
                        break;
                    }
                }
                tell.send(String::from_utf8(asked).unwrap()).unwrap();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
                     content-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        (format!("http://127.0.0.1:{port}/v1/"), told)
    }

    fn endpoint(url: &str, more: &str) -> Result<Endpoint, Error> {
        let text = format!("url = \"{url}\"\nmodel = \"mine\"\ndimensions = 2\n{more}");
        Endpoint::from_toml(&text, &|name| (name == "KEY").then(|| "s3cret".to_owned()))
    }

    fn rows(rows: &str) -> (&'static str, String) {
        (
            "200 OK",
            format!("{{\"object\":\"list\",\"data\":[{rows}]}}"),
        )
    }

    const ONE: &str = r#"{"index":0,"embedding":[1.0,0.5]}"#;

    #[test]
    fn texts_are_asked_for_in_batches_and_put_in_order() {
        let two = r#"{"index":1,"embedding":[0.0,1.0]},{"index":0,"embedding":[1.0,0.0]}"#;
        let (url, told) = server(vec![rows(two), rows(ONE)]);
        let endpoint = endpoint(&url, "batch = 2\nkey_env = \"KEY\"\nmax_bytes = 4").unwrap();
        let made = endpoint.embed(&["one", " ", "two", "fiveé"]).unwrap();
        assert_eq!(made, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.5]]);
        let first = told.recv().unwrap();
        assert!(
            first.starts_with("POST /v1/embeddings HTTP/1.1\r\n"),
            "{first}"
        );
        assert!(
            first
                .to_lowercase()
                .contains("authorization: bearer s3cret")
        );
        assert!(
            first.ends_with(r#"{"model":"mine","input":["one","two"],"encoding_format":"float"}"#)
        );
        assert!(told.recv().unwrap().contains(r#""input":["five"]"#));
        assert!(!format!("{endpoint:?}").contains("s3cret"));
    }

    #[test]
    fn a_compile_uses_it_and_its_vectors_never_meet_others() {
        let two = r#"{"index":0,"embedding":[0.1,1.0]},{"index":1,"embedding":[1.0,0.0]}"#;
        let (url, _told) = server(vec![rows(two), rows(ONE)]);
        let key = || FrameKey::new("test", [7; 32]);
        let workspace = Workspace::new(key()).unwrap();
        let world = workspace.world("gpt-4o").unwrap();
        let workspace = workspace.with_embedder(endpoint(&url, "").unwrap());
        let seal = |name: &str, text: &str| ObjectDocument::new(name, text).seal().unwrap();
        let candidates = Candidates::new(vec![seal("a", "Bees."), seal("b", "Wasps.")]);
        let request = Request::new("Zebras.", Budget::tokens(400));
        let policy = Policy::preset("standard").unwrap();
        let facts = workspace
            .answer(&world, &policy, &request, &candidates)
            .unwrap();
        let model = facts.vectors()[0].model();
        assert_eq!((model.name.as_str(), model.dimensions), ("mine", 2));
        let other = endpoint(&url, "revision = \"2\"").unwrap().model();
        assert_ne!(model.digest, other.digest);
        let mut mixed = facts.clone();
        let others = std::sync::Arc::new(tenure::vectors::Vectors::new(other));
        assert!(mixed.add_vectors(others).is_err());
        let compiled = tenure::compile(&world, &policy, &request, &candidates, &facts).unwrap();
        let trace = &compiled.single().unwrap().trace;
        let relevance = |name: &str| trace.verdict(name).unwrap().score.unwrap().relevance;
        assert!(relevance("b") > relevance("a"));
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let bad = |answer: (&'static str, String)| {
            let (url, _told) = server(vec![answer]);
            let error = endpoint(&url, "").unwrap().embed(&["x"]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
            assert!(error.what.contains("127.0.0.1"), "{error}");
            error.to_string()
        };
        let said = |status, body: &str| bad((status, body.to_owned()));
        let denied = said("401 Unauthorized", r#"{"error":{"message":"no key"}}"#);
        assert!(
            denied.contains("no key") && denied.contains("key_env"),
            "{denied}"
        );
        assert!(said("500 Oops", "<html>").contains("500"));
        assert!(said("200 OK", "<html>").contains("cannot be read"));
        assert!(bad(rows("")).contains("0 vectors for 1 texts"));
        assert!(bad(rows(&format!("{ONE},{}", ONE.replace('0', "1")))).contains("vectors for 1"));
        assert!(bad(rows(r#"{"index":0,"embedding":[1.0]}"#)).contains("1 dimensions"));
        assert!(bad(rows(r#"{"index":0,"embedding":[1.0,null]}"#)).contains("cannot be read"));
        assert!(bad(rows(&format!("{ONE}{}", " ".repeat(100_000)))).contains("too long"));
        // Nobody there.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let nobody = endpoint(&format!("http://127.0.0.1:{port}"), "").unwrap();
        assert!(
            nobody
                .embed(&["x"])
                .unwrap_err()
                .to_string()
                .contains("is it running")
        );
        // Somebody who never answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let error = endpoint(&url, "timeout_s = 1")
            .unwrap()
            .embed(&["x"])
            .unwrap_err();
        assert!(error.what.contains("within 1 s"), "{error}");
    }

    #[test]
    fn infinite_components_are_refused_where_they_are_used() {
        let (url, _told) = server(vec![rows(r#"{"index":0,"embedding":[1e300,0.0]}"#)]);
        let made = endpoint(&url, "").unwrap().embed(&["x"]);
        let mut vectors = tenure::vectors::Vectors::new(endpoint(&url, "").unwrap().model());
        let refused = match made {
            Err(error) => error,
            Ok(made) => vectors.add(Digest::of(b"x"), &made[0]).unwrap_err(),
        };
        assert!(!refused.what.is_empty());
    }

    #[test]
    fn a_configuration_that_makes_no_sense_is_refused() {
        let refused = |text: &str| Endpoint::from_toml(text, &|_| None).unwrap_err();
        let own =
            |url: &str, more: &str| refused(&format!("url = \"{url}\"\nmodel = \"m\"\n{more}"));
        let two = "dimensions = 2";
        assert!(own("ftp://x", two).what.contains("ftp"));
        assert!(own("127.0.0.1:80", two).what.contains("cannot be asked"));
        assert!(own("http://me:pass@host/v1", two).what.contains("password"));
        assert!(
            own("http://x/v1", "dimensions = 0")
                .what
                .contains("dimensions")
        );
        assert!(
            own("http://x/v1", "dimensions = 2\nbatch = 0")
                .what
                .contains("batch")
        );
        assert!(
            own("http://x/v1", "dimensions = 2\nkey_env = \"NO\"")
                .what
                .contains("`NO`")
        );
        let error = own("http://x/v1", "dimensions = 2\nbatsh = 4");
        assert_eq!(error.at.as_ref().unwrap().line, Some(4), "{error}");
        assert!(error.to_string().contains("batch"), "{error}");
    }
}
