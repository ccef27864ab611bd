//! Vectors from an OpenAI-compatible endpoint (`POST …/embeddings`), by configuration alone.
//!
//! ```toml
//! url = "http://127.0.0.1:8080/v1"       # without /embeddings
//! model = "all-MiniLM-L6-v2"
//! dimensions = 384
//! key_env = "EMBEDDINGS_KEY"             # the variable that holds the key; none is sent without it
//! timeout_s = 30                         # for each request
//! batch = 64                             # texts in a request
//! query_prefix = "query: "              # what the model expects before a query; `passage_prefix` before what is searched
//! revision = "2024-05"                   # of the weights: another one is another model
//! ```
//!
//! `unrelated` and `related`, the thresholds of the model, are those of the catalogue of encoders where it
//! knows the model by name. The endpoint sees only what the caller may see, each text once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tenure::num::Score;
use tenure::vectors::{MAX_DIMENSIONS, VectorModel};
use tenure::{Digest, Error};

use super::Embedder;
use crate::encoder::Encoder;
use crate::openai::{self, Answer, Api};
use crate::read::read_text;
use crate::settings::{from_toml, in_file, variable};

/// More than the digits of a component take, and what stands around the vectors.
const PER_COMPONENT: usize = 32;
const AROUND: usize = 64 << 10;

/// An endpoint, and the model behind it.
pub struct Endpoint {
    api: Api,
    model: VectorModel,
    asks_dimensions: bool,
    batch: usize,
    max_bytes: usize,
    query_prefix: String,
    passage_prefix: String,
}

/// The configuration, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: String,
    model: String,
    dimensions: u32,
    /// True if the endpoint is told how many dimensions are wanted. Default: it is not.
    #[serde(default)]
    ask_dimensions: bool,
    key_env: Option<String>,
    #[serde(default = "openai::timeout")]
    timeout_s: u64,
    #[serde(default = "sixty_four")]
    batch: usize,
    /// Most bytes of a text that are embedded. Default: nothing is cut.
    max_bytes: Option<usize>,
    /// Prefix of a query, and of what is searched, that the model expects. Default: the catalogue's, where it
    /// knows the model.
    query_prefix: Option<String>,
    passage_prefix: Option<String>,
    revision: Option<String>,
    unrelated: Option<Score>,
    related: Option<Score>,
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
struct Rows {
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
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line.
    pub fn open(path: &Path) -> Result<Endpoint, Error> {
        let endpoint = Endpoint::from_toml(&read_text(path)?, &variable);
        endpoint.map_err(in_file(path, super::WHAT))
    }

    /// An endpoint as this TOML says; `variable` gives the value of the variable that holds the key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it makes no sense, or the variable has no value.
    pub fn from_toml(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, Error> {
        let settings: Settings = from_toml(text, super::WHAT)?;
        let refused = |what: String, expected: &str| Err(Error::input(what).expected(expected));
        let api = Api::new(
            &settings.url,
            "embeddings",
            "the embeddings of",
            settings.key_env.as_deref(),
            settings.timeout_s,
            variable,
        )?;
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
        if !(1..=2_048).contains(&settings.batch) {
            return refused(format!("`batch = {}`", settings.batch), "1 to 2048 texts");
        }
        let known = Encoder::named(&settings.model)
            .ok()
            .unwrap_or_else(|| Encoder::unknown(&settings.model));
        let query_prefix = settings.query_prefix.unwrap_or(known.query_prefix);
        let passage_prefix = settings.passage_prefix.unwrap_or(known.passage_prefix);
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
            query_prefix.as_bytes(),
            passage_prefix.as_bytes(),
        ]);
        let model = VectorModel {
            dimensions: settings.dimensions,
            unrelated: settings.unrelated.unwrap_or(known.unrelated),
            related: settings.related.unwrap_or(known.related),
            ..VectorModel::new(settings.model, digest)
        };
        Ok(Endpoint {
            api,
            model,
            asks_dimensions: settings.ask_dimensions,
            batch: settings.batch,
            max_bytes,
            query_prefix,
            passage_prefix,
        })
    }

    /// A request for these texts, and the most bytes of its answer.
    fn body(&self, texts: &[&str]) -> Result<(Vec<u8>, usize), Error> {
        let body = Body {
            model: &self.model.name,
            input: texts,
            encoding_format: "float",
            dimensions: self.asks_dimensions.then_some(self.model.dimensions),
        };
        let body = serde_json::to_vec(&body).map_err(|error| self.api.failed(error))?;
        let most = texts.len() * self.model.dimensions as usize * PER_COMPONENT + AROUND;
        Ok((body, most))
    }

    /// The vectors of so many texts in this answer.
    fn read(&self, texts: usize, answer: &Bytes) -> Result<Vec<Vec<f32>>, Error> {
        let answer: Rows = serde_json::from_slice(answer).map_err(|error| {
            self.api
                .failed(format!("an answer that cannot be read: {error}"))
                .expected("`{\"data\": [{\"index\": 0, \"embedding\": […]}]}`")
        })?;
        self.in_order(texts, answer)
    }

    fn all(&self, prefix: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        // Endpoints refuse empty texts, which point nowhere.
        let prefixed: Vec<Option<Cow<'_, str>>> = texts
            .iter()
            .map(|text| &text[..text.floor_char_boundary(self.max_bytes.min(text.len()))])
            .map(|text| {
                if text.trim().is_empty() {
                    None
                } else if prefix.is_empty() {
                    Some(Cow::Borrowed(text))
                } else {
                    Some(Cow::Owned(format!("{prefix}{text}")))
                }
            })
            .collect();
        let asked: Vec<&str> = prefixed.iter().flatten().map(AsRef::as_ref).collect();
        let batches: Vec<&[&str]> = asked.chunks(self.batch).collect();
        let bodies = batches.iter().map(|batch| self.body(batch));
        // One after the other, over one connection.
        let mut made = self
            .api
            .ask(bodies, 1, |at, answer| match answer {
                Answer::Given(answer) => self.read(batches[at].len(), &answer),
                Answer::Filtered(error) => Err(error),
            })?
            .into_iter()
            .flatten();
        let vectors = prefixed.iter().map(|text| match text {
            None => vec![0.0; self.model.dimensions as usize],
            Some(_) => made.next().unwrap_or_default(),
        });
        Ok(vectors.collect())
    }

    /// The vectors in the order of the texts, each with the dimensions that were promised.
    fn in_order(&self, texts: usize, answer: Rows) -> Result<Vec<Vec<f32>>, Error> {
        let mut rows: BTreeMap<usize, Vec<f32>> = BTreeMap::new();
        for (at, row) in answer.data.into_iter().enumerate() {
            let wanted = self.model.dimensions as usize;
            if row.embedding.len() != wanted {
                let what = format!("a vector of {} dimensions", row.embedding.len());
                return Err(self
                    .api
                    .failed(what)
                    .expected(format!("{wanted}, as the configuration says")));
            }
            rows.insert(row.index.unwrap_or(at), row.embedding);
        }
        if rows.len() != texts || rows.keys().next_back().is_some_and(|last| *last >= texts) {
            let what = format!("{} vectors for {texts} texts", rows.len());
            return Err(self.api.failed(what).expected("one for each text, by its `index`"));
        }
        Ok(rows.into_values().collect())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({} at {:?})", self.model.name, self.api)
    }
}

impl Embedder for Endpoint {
    fn model(&self) -> VectorModel {
        self.model.clone()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        self.all(&self.passage_prefix, texts)
    }

    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        self.all(&self.query_prefix, texts)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::embed::answering::server;
    use tenure::ErrorKind;

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
        assert!(first.to_lowercase().contains("authorization: bearer s3cret"));
        assert!(
            first.ends_with(r#"{"model":"mine","input":["one","two"],"encoding_format":"float"}"#)
        );
        assert!(told.recv().unwrap().contains(r#""input":["five"]"#));
        assert!(!format!("{endpoint:?}").contains("s3cret"));
    }

    #[test]
    fn queries_and_passages_have_what_the_model_expects_before_them() {
        let (url, told) = server(vec![rows(ONE), rows(ONE), rows(ONE)]);
        let text = format!("url = \"{url}\"\nmodel = \"e5-base-v2\"\ndimensions = 2\n");
        let known = Endpoint::from_toml(&text, &|_| None).unwrap();
        known.embed_queries(&["cats"]).unwrap();
        known.embed(&["cats"]).unwrap();
        let bare = format!("{text}query_prefix = \"\"");
        let bare = Endpoint::from_toml(&bare, &|_| None).unwrap();
        bare.embed_queries(&["cats"]).unwrap();
        for asked in ["query: cats", "passage: cats", "cats"] {
            let input = format!("\"input\":[\"{asked}\"]");
            assert!(told.recv().unwrap().contains(&input), "{asked}");
        }
        assert_ne!(known.model().digest, bare.model().digest);
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
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let nobody = endpoint(&format!("http://127.0.0.1:{port}"), "").unwrap();
        assert!(nobody.embed(&["x"]).unwrap_err().to_string().contains("is it running"));
        // Somebody who never answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let error = endpoint(&url, "timeout_s = 1").unwrap().embed(&["x"]).unwrap_err();
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
        // A secret is not even repeated.
        for secret in [
            "https://host/v1?api-key=s3cret",
            "https://host/v1#s3cret",
            "ftp://me:s3cret@host/v1",
            "me:s3cret@host",
        ] {
            let said = own(secret, two).to_string();
            assert!(
                !said.contains("s3cret") && said.contains("key_env"),
                "{said}"
            );
        }
        assert!(own("http://x/v1", "dimensions = 0").what.contains("dimensions"));
        assert!(own("http://x/v1", "dimensions = 2\nbatch = 0").what.contains("batch"));
        assert!(own("http://x/v1", "dimensions = 2\nkey_env = \"NO\"").what.contains("`NO`"));
        let error = own("http://x/v1", "dimensions = 2\nbatsh = 4");
        assert_eq!(error.at.as_ref().unwrap().line, Some(4), "{error}");
        assert!(error.to_string().contains("batch"), "{error}");
    }
}
