//! Records of what went through a gateway: how much, how long, what it used. No contents, no credentials.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tenure::object::ObjectId;
use tenure::time::Instant;
use tenure::trace::ProviderUsage;
use tenure::{CountKind, Digest, Error};
use tenure_store::KeptRecord;
use tenure_store::engine::RecordRow;

use super::compiled::ExchangeCompile;
use super::pieces::{Piece, pieces};
use super::{Records, StoreRef, unwritable};
use crate::relay::{Done, Untouched};
use crate::sessions::Session;
use crate::stored::Gathered;

/// The version of a record of an exchange.
pub const EXCHANGE_RECORD_VERSION: u32 = 1;
/// The prefix of an exchange record's id; that of a compile record is another.
pub const EXCHANGE_PREFIX: &str = "gw-";

/// The end of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The whole answer went to the client.
    Whole,
    /// The client went away.
    ClientLeft,
    /// The upstream broke off in its answer.
    UpstreamBroke,
    /// The upstream could not be reached, or answered nothing that could be read.
    UpstreamFailed,
    /// The upstream was silent for too long.
    UpstreamSilent,
    /// The answer was invalid and the gateway did not pass it on.
    Rejected,
    /// The request could not be managed and was refused: nothing went to the upstream.
    Refused,
}

/// A request that went through a gateway, and its answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeRecord {
    /// The version of this form.
    pub version: u32,
    /// Its id.
    pub record_id: String,
    /// The instant at which the request came.
    pub at: Instant,
    /// The mode of the gateway.
    pub mode: String,
    /// The client, as its `User-Agent` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The provider's protocol.
    pub protocol: String,
    /// The path that was asked for.
    pub path: String,
    /// The key that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The user that the key speaks for: the record is theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The project that the key speaks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The session, where the client named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that the request names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model of the catalogue that it was taken for, where that is another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_model: Option<String>,
    /// The key by which the provider groups prefixes (`prompt_cache_key`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// True if the answer was asked for as a stream.
    #[serde(default)]
    pub streamed: bool,
    /// The bytes of the request's body.
    pub request_bytes: u64,
    /// The digest of them, where they were not dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<Digest>,
    /// The tokens of the texts, tools and calls in the request, without images and without what a
    /// provider puts around messages; missing where the model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_tokens: Option<u64>,
    /// The kind of that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<CountKind>,
    /// The bytes of what went to the provider. Missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// The digest of them, where they were not dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_digest: Option<Digest>,
    /// The tokens in them, counted as `request_tokens` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_tokens: Option<u64>,
    /// The tokens that were taken out of the request, as the answer's header says, which went before its provider's count
    /// was known ([`ExchangeRecord::tokens`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub saved: u64,
    /// Those that were put into it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: u64,
    /// The error of compiling it, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The number of times it was sent again, shorter, because its provider found it too long.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retries: u32,
    /// The compile, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile: Option<Box<ExchangeCompile>>,
    /// The pieces that its body is put together of again, where nothing was compiled and its session holds its messages. Missing in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<KeptBody>,
    /// The status of the answer, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The bytes of the answer's body that went to the client.
    pub response_bytes: u64,
    /// The usage that the provider reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ProviderUsage>,
    /// From the request to the head of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_latency_us: Option<u64>,
    /// From the request to the end of the answer.
    pub latency_us: u64,
    /// Its end.
    pub ending: Ending,
    /// The faults of the answer, where it was checked: `tool_not_offered`, `arguments_no_object`, `arguments_schema`,
    /// `tool_left_out`, `tool_not_called`, `response_schema`, `constraint_broken`, `constraint_unchecked`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
    /// The constraints that it breaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<ObjectId>,
    /// The agent's tools that the model was not offered, the first 256 by name, each with the code of the reason
    /// as traces have it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools_left_out: BTreeMap<String, String>,
    /// The rule by which the request's model was found in the catalogue: `exact`, `version`, `family`, or `stated`
    /// where there is none and the upstream stated the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
    /// The code of the reason why the request was forwarded unchanged; missing where its history was managed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmanaged: Option<String>,
    /// Notices for its operator, where it is managed: `answer_room`, `answer_lowered`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// The most tokens that the provider was assumed to count for a hundred of the vocabulary's, where its earlier
    /// reports say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated_percent: Option<u32>,
    /// The margin in its counts, in percent of the vocabulary's. Missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<u32>,
    /// The most tokens of input that its provider takes: the model's window less the room of the answer. Missing where
    /// it was not managed, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

/// The parts of a body of which nothing was compiled: messages of its session, and texts that are kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptBody {
    /// The last entry of the session's log that it holds.
    pub after: u64,
    /// The bytes between the messages.
    pub between: String,
    /// The parts: those of the payload are of the list of the session's messages.
    pub pieces: Vec<Piece>,
}

/// The texts that a record refers to by their digests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kept {
    texts: Vec<Vec<u8>>,
}

impl KeptBody {
    /// The parts of a body that went on with its messages as they came, and the texts to keep with them.
    pub fn of(untouched: &Untouched, sent: &[u8]) -> (KeptBody, Kept) {
        let (pieces, texts) = pieces(&untouched.list(), sent);
        let body = KeptBody {
            after: untouched.after,
            between: untouched.between.clone(),
            pieces,
        };
        (body, Kept { texts })
    }
}

impl ExchangeRecord {
    /// Returns whether the body went to the provider unchanged.
    pub fn is_as_it_came(&self) -> bool {
        self.sent_digest.is_some() && self.sent_digest == self.request_digest
    }

    /// The last entry of its session's log that is of it, where that is known.
    pub fn session_entry(&self) -> Option<u64> {
        self.compile
            .as_deref()
            .map(|compile| compile.after)
            .or(self.body.as_ref().map(|body| body.after))
    }

    /// The objects of the store that it speaks of.
    fn objects(&self) -> Vec<ObjectId> {
        let compile = self.compile.iter();
        let chosen = compile
            .flat_map(|compile| compile.included.beside().chain(compile.omitted.beside()))
            .map(|chosen| chosen.object_id);
        let all: BTreeSet<ObjectId> = chosen.chain(self.broken.iter().copied()).collect();
        all.into_iter().collect()
    }
}

impl ExchangeCompile {
    /// The record's part about a compile that gave this body, and the texts to keep with it. `beside` are the store's
    /// objects that were added to the conversation.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn of(
        done: Done,
        sent: &[u8],
        beside: Option<&Gathered>,
    ) -> Result<(Box<ExchangeCompile>, Kept), Error> {
        let policy = serde_json::to_vec(&done.policy).map_err(unwritable)?;
        let (pieces, mut texts) = pieces(&done.payload, sent);
        let store = beside.map(|beside| StoreRef::of(beside, beside.candidates.objects()));
        let compile = ExchangeCompile {
            policy: Digest::of(&policy),
            store: store.transpose()?.flatten(),
            pieces,
            ..done.compile
        };
        texts.push(policy);
        Ok((Box::new(compile), Kept { texts }))
    }
}

impl Records<'_> {
    /// Keeps the records of exchanges in the tenant's store, each with what it refers to. One that speaks of what has been
    /// erased meanwhile is kept without its compile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn keep_exchanges(&self, exchanges: &[(ExchangeRecord, Kept)]) -> Result<(), Error> {
        let rows = exchanges.iter().map(|(exchange, kept)| {
            let json = |exchange| serde_json::to_string(exchange).map_err(unwritable);
            let without = ExchangeRecord {
                session: None,
                compile: None,
                body: None,
                broken: Vec::new(),
                ..exchange.clone()
            };
            Ok(KeptRecord {
                row: RecordRow {
                    id: exchange.record_id.clone(),
                    compiled_at: exchange.at,
                    body: json(exchange)?,
                    objects: exchange.objects(),
                },
                texts: kept.texts.clone(),
                log: exchange.session.as_deref().map(Session::log_of),
                after_erasure: Some(json(&without)?),
            })
        });
        self.tenant.keep_records(rows.collect::<Result<_, Error>>()?)
    }

    /// The record of an exchange, where there is one of this id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](tenure::ErrorKind::Damaged) when it cannot be read;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn exchange(&self, id: &str) -> Result<Option<ExchangeRecord>, Error> {
        if !id.starts_with(EXCHANGE_PREFIX) {
            return Ok(None);
        }
        let Some(row) = self.tenant.record(id)? else {
            return Ok(None);
        };
        let record = serde_json::from_str(&row.body).map_err(|error| {
            Error::damaged(format!("the record `{}` cannot be read: {error}", row.id))
        })?;
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;
    use tenure::FrameKey;
    use tenure_store::Store;

    #[test]
    fn an_exchange_is_read_back_as_it_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let tenant = store.tenant("acme").unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let record = ExchangeRecord {
            version: EXCHANGE_RECORD_VERSION,
            record_id: "gw-1".into(),
            at: Instant::from_micros(5),
            mode: "observe".into(),
            client: Some("codex/1".into()),
            protocol: "openai".into(),
            path: "/v1/responses".into(),
            key: None,
            user: Some("ada".into()),
            project: None,
            session: Some("s".into()),
            model: Some("gpt-4o".into()),
            resolved_model: None,
            prompt_cache_key: None,
            streamed: true,
            request_bytes: 12,
            request_digest: Some(Digest::of(b"x")),
            request_tokens: Some(3),
            count: Some(CountKind::Exact),
            sent_bytes: Some(12),
            sent_digest: Some(Digest::of(b"x")),
            sent_tokens: Some(3),
            saved: 0,
            added: 0,
            fault: None,
            retries: 0,
            compile: None,
            body: None,
            status: Some(200),
            response_bytes: 9,
            usage: Some(ProviderUsage {
                input: 3,
                ..ProviderUsage::default()
            }),
            head_latency_us: Some(1),
            latency_us: 2,
            ending: Ending::ClientLeft,
            output: Vec::new(),
            broken: Vec::new(),
            tools_left_out: [("jump".to_owned(), "gated_out".to_owned())].into(),
            resolved_by: Some("family".to_owned()),
            unmanaged: Some("unknown_model".to_owned()),
            notices: vec!["answer_room".to_owned()],
            calibrated_percent: Some(125),
            margin_percent: Some(70),
            room: Some(120_000),
        };
        workspace
            .records(&tenant)
            .keep_exchanges(&[(record.clone(), Kept::default())])
            .unwrap();
        assert_eq!(
            workspace.records(&tenant).exchange("gw-1").unwrap(),
            Some(record)
        );
        assert_eq!(workspace.records(&tenant).exchange("gw-2").unwrap(), None);
        let other = store.tenant("other").unwrap();
        assert_eq!(workspace.records(&other).exchange("gw-1").unwrap(), None);
        // It is no compile, which could be made again.
        let error = workspace.records(&tenant).replay("gw-1").unwrap_err();
        assert!(error.what.contains("gateway"), "{error}");
    }
}
