//! Claude Code's transcripts: a line for each thing that happened, and in some of them a message of Anthropic's.
//!
//! An answer is kept block by block, each block a line of its own with the id of the answer, and the results of its calls
//! may stand between them. Lines name the line before them (`parentUuid`), so a user who goes back leaves a branch behind.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json::value::RawValue;
use tenure::wire::Format;

use super::values::text;
use super::{Finding, Items, Object, Read, Remarks, list};

/// Kinds of lines in which the client keeps what is its own.
const OWN: [&str; 24] = [
    "agent-name",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "attribution-snapshot",
    "content-replacement",
    "cost-state",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "saved_hook_context",
    "speculation-accept",
    "summary",
    "system",
    "tag",
    "tools-used",
    "worktree-state",
];

/// Returns whether an item is such a line, with a message in it.
pub(super) fn is_line(item: &Object<'_>) -> bool {
    item.is("type", &["user", "assistant"])
        && item.object("message").is_some_and(|message| message.has("role"))
}

/// Reads the lines.
pub(super) fn read(items: &Items<'_>) -> Read {
    let mut remarks = Remarks::default();
    for line in &items.broken {
        remarks.add(*line, "line", Finding::Broken);
    }
    let lines: Vec<Line<'_>> = items
        .all
        .iter()
        .filter_map(|(at, value)| Line::of(*at, value, &mut remarks))
        .collect();
    let abandoned = abandoned(&lines);
    let mut talk = Talk::default();
    let blobs = blobs(&lines);
    let (mut shape, mut prompt) = (None, None);
    for (at, line) in lines.iter().enumerate() {
        match line.kind.as_str() {
            "api-request-shape" => {
                // Requests for a title and the like offer no tools.
                let new = line.fields.object("shape");
                shape = new.filter(|new| new.has("tools")).or(shape);
            }
            "api-request" => talk.sent(&line.fields, &blobs),
            _ if line.fields.is_true("isSidechain") => {
                remarks.add(line.number, &line.kind, Finding::SideChain);
            }
            _ if abandoned.contains(&at) => {
                remarks.add(line.number, &line.kind, Finding::Abandoned);
            }
            "user" => talk.user(line, &mut remarks),
            "assistant" if line.fields.is_true("isApiErrorMessage") => {
                remarks.add(line.number, "error", Finding::ShownOnly);
            }
            "assistant" => talk.model(line, &mut remarks),
            "attachment" => {
                let attachment = line.fields.object("attachment");
                if let Some(attachment) = attachment {
                    if attachment.is("type", &["prompt_snapshot"]) {
                        prompt = Some(attachment);
                    } else {
                        talk.attachment(line, &attachment);
                    }
                }
            }
            "system"
                if line.fields.is("subtype", &["compact_boundary", "microcompact_boundary"]) =>
            {
                remarks.add(line.number, "compact_boundary", Finding::Compacted);
            }
            kind if OWN.contains(&kind) => {}
            kind => remarks.add(line.number, kind, Finding::NotUnderstood),
        }
    }
    Read {
        format: Format::Anthropic,
        fields: opening(&talk, shape, prompt),
        messages: talk.messages(),
        remarks,
    }
}

/// A message of a request, as it was sent.
struct Blob<'a> {
    role: String,
    content: &'a RawValue,
}

/// The messages of requests that the client kept beside its lines, by the digests by which its requests name them: those
/// that are not what a line holds.
fn blobs<'a>(lines: &[Line<'a>]) -> BTreeMap<String, Blob<'a>> {
    lines
        .iter()
        .filter(|line| line.kind == "api-request-blob")
        .filter_map(|line| {
            let message = line.message()?;
            let blob = Blob {
                role: message.text("role")?,
                content: message.get("content")?,
            };
            Some((line.fields.text("hash")?, blob))
        })
        .collect()
}

/// A line, as far as it is looked at.
struct Line<'a> {
    number: usize,
    kind: String,
    fields: Object<'a>,
    id: Option<String>,
    parent: Parent,
}

/// The line before a line, as it names it.
enum Parent {
    /// The one that stands before it.
    Nearest,
    Named(String),
}

impl<'a> Line<'a> {
    fn of(number: usize, value: &'a RawValue, remarks: &mut Remarks) -> Option<Line<'a>> {
        let Some(fields) = Object::of(value) else {
            remarks.add(number, "value", Finding::NotUnderstood);
            return None;
        };
        let parent = fields.text_of(&["parentUuid", "logicalParentUuid"]);
        Some(Line {
            number,
            kind: fields.text("type").unwrap_or_else(|| "no type".to_owned()),
            id: fields.text("uuid"),
            parent: parent.map_or(Parent::Nearest, Parent::Named),
            fields,
        })
    }

    fn message(&self) -> Option<Object<'a>> {
        self.fields.object("message")
    }

    /// The calls that it answers.
    fn answers(&self) -> BTreeSet<String> {
        let blocks = self
            .message()
            .and_then(|message| message.list("content"))
            .unwrap_or_default()
            .into_iter()
            .filter_map(Object::of);
        blocks.filter_map(|block| block.text("tool_use_id")).collect()
    }
}

/// The lines of branches that the user left: those that the last one does not follow from. Where a line does not say what
/// it follows, it follows the one before it, so that nothing is left out that may belong.
fn abandoned(lines: &[Line<'_>]) -> BTreeSet<usize> {
    let is_node = |line: &Line<'_>| line.id.is_some() && !line.fields.is_true("isSidechain");
    let nodes: Vec<usize> = (0..lines.len()).filter(|at| is_node(&lines[*at])).collect();
    let named: BTreeMap<&str, usize> =
        nodes.iter().filter_map(|at| Some((lines[*at].id.as_deref()?, *at))).collect();
    let is_said = |at: &&usize| matches!(lines[**at].kind.as_str(), "user" | "assistant");
    let mut next = nodes.iter().rfind(is_said).copied();
    let Some(last) = next else {
        return BTreeSet::new();
    };
    let mut stands = BTreeSet::new();
    while let Some(at) = next {
        // A line that names itself or a later one would go round in a circle.
        stands.insert(at);
        let before = nodes.partition_point(|node| *node < at);
        let nearest = before.checked_sub(1).map(|before| nodes[before]);
        next = match &lines[at].parent {
            Parent::Nearest => nearest,
            Parent::Named(id) => match named.get(id.as_str()) {
                Some(parent) if *parent < at => Some(*parent),
                _ => nearest,
            },
        };
    }
    // Blocks of one answer, and results of calls that were made together, stand beside each other.
    let answers: BTreeSet<String> = stands.iter().filter_map(|at| answer_id(&lines[*at])).collect();
    let beside = |at: &usize| answer_id(&lines[*at]).is_some_and(|id| answers.contains(&id));
    let calls: BTreeSet<String> = nodes
        .iter()
        .filter(|at| stands.contains(at) || beside(at))
        .flat_map(|at| calls(&lines[*at]))
        .collect();
    nodes
        .into_iter()
        .filter(|at| {
            *at < last
                && is_said(&at)
                && !(stands.contains(at) || beside(at) || !lines[*at].answers().is_disjoint(&calls))
        })
        .collect()
}

fn answer_id(line: &Line<'_>) -> Option<String> {
    line.message().filter(|_| line.kind == "assistant")?.text("id")
}

fn calls(line: &Line<'_>) -> Vec<String> {
    let blocks = line
        .message()
        .and_then(|message| message.list("content"))
        .unwrap_or_default()
        .into_iter()
        .filter_map(Object::of);
    blocks
        .filter(|block| block.is("type", &["tool_use"]))
        .filter_map(|block| block.text("id"))
        .collect()
}

/// One message in the making.
enum Said<'a> {
    Model {
        line: usize,
        id: Option<String>,
        blocks: Vec<&'a RawValue>,
    },
    User {
        line: usize,
        results: Vec<&'a RawValue>,
        /// The client's words beside it.
        beside: Vec<String>,
        said: Vec<&'a RawValue>,
    },
}

/// The messages in the making.
#[derive(Default)]
struct Talk<'a> {
    said: Vec<Said<'a>>,
    model: Option<&'a RawValue>,
    /// The number of the model's answers so far.
    answers: usize,
    /// The messages that were sent behind the answers of the model, by their number: the roles and the contents.
    sent: BTreeMap<usize, Vec<(String, &'a RawValue)>>,
}

impl<'a> Talk<'a> {
    fn model(&mut self, line: &Line<'a>, remarks: &mut Remarks) {
        let Some(message) = line.message() else {
            return remarks.add(line.number, "assistant", Finding::NotUnderstood);
        };
        self.model = message.get("model").or(self.model);
        let Some(content) = message.get("content") else {
            return;
        };
        let new = list(content).unwrap_or_else(|| vec![content]);
        let new_id = message.text("id");
        let models = |said: &&mut Said<'a>| matches!(said, Said::Model { .. });
        if let Some(Said::Model { id, blocks, .. }) = self.said.iter_mut().rev().find(models)
            && id.is_some()
            && *id == new_id
        {
            blocks.extend(new);
            return;
        }
        self.answers += 1;
        self.said.push(Said::Model {
            line: line.number,
            id: new_id,
            blocks: new,
        });
    }

    fn user(&mut self, line: &Line<'a>, remarks: &mut Remarks) {
        let content = line.message().and_then(|message| message.get("content"));
        let Some(content) = content else {
            return remarks.add(line.number, "user", Finding::NotUnderstood);
        };
        if line.fields.is_true("isCompactSummary") {
            remarks.add(line.number, "summary", Finding::Compacted);
        }
        let blocks = list(content).unwrap_or_else(|| vec![content]);
        let (new, rest): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| {
            Object::of(block).is_some_and(|block| block.is("type", &["tool_result"]))
        });
        let answer = self.said.iter().rposition(|said| matches!(said, Said::Model { .. }));
        if let Some(answer) = answer
            && !new.is_empty()
        {
            // Results come right behind the answer that calls for them, whatever was said meanwhile.
            if let Some(Said::User { results, said, .. }) = self.said.get_mut(answer + 1)
                && !results.is_empty()
            {
                results.extend(new);
                said.extend(rest);
                return;
            }
            let place = answer + 1;
            let message = Said::User {
                line: line.number,
                results: new,
                beside: Vec::new(),
                said: rest,
            };
            return self.said.insert(place, message);
        }
        self.said.push(Said::User {
            line: line.number,
            results: new,
            beside: Vec::new(),
            said: rest,
        });
    }

    /// Takes what the client says beside the user's words: its text as the model saw it, or the words that the user typed
    /// meanwhile.
    fn attachment(&mut self, line: &Line<'a>, attachment: &Object<'a>) {
        let mut texts: Vec<String> = line
            .fields
            .list("rendered")
            .unwrap_or_default()
            .into_iter()
            .filter_map(|one| Object::of(one)?.text("content"))
            .collect();
        if texts.is_empty() && attachment.is("type", &["queued_command"]) {
            texts.extend(attachment.text("prompt"));
            let parts = attachment.list("prompt").unwrap_or_default();
            texts.extend(parts.into_iter().filter_map(|part| Object::of(part)?.text("text")));
        }
        if texts.is_empty() {
            return;
        }
        // Not every model takes words of the system between messages; as the user's, in their marks, each does.
        match self.said.last_mut() {
            Some(Said::User { beside, .. }) => beside.extend(texts),
            _ => self.said.push(Said::User {
                line: line.number,
                results: Vec::new(),
                beside: texts,
                said: Vec::new(),
            }),
        }
    }

    /// Takes what a request says behind the last answer, where its client kept that.
    fn sent(&mut self, request: &Object<'a>, blobs: &BTreeMap<String, Blob<'a>>) {
        let tail = request.list("tail").unwrap_or_default();
        let mut known: Vec<(String, &RawValue)> = tail
            .into_iter()
            .rev()
            .map_while(|hash| {
                let blob = blobs.get(&text(hash)?)?;
                (blob.role != "assistant").then(|| (blob.role.clone(), blob.content))
            })
            .collect();
        known.reverse();
        if !known.is_empty() {
            self.sent.insert(self.answers, known);
        }
    }

    fn messages(self) -> Vec<(usize, String)> {
        let mut messages = Vec::new();
        let is_models = |said: &Said<'_>| matches!(said, Said::Model { .. });
        let mut answers = 0;
        for run in self.said.chunk_by(|one, next| is_models(one) == is_models(next)) {
            if run.first().is_some_and(is_models) {
                answers += run.len();
                messages.extend(run.iter().map(Said::message));
                continue;
            }
            match self.sent.get(&answers).and_then(|sent| as_sent(run, sent)) {
                Some(sent) => messages.extend(sent),
                None => messages.extend(run.iter().map(Said::message)),
            }
        }
        messages
    }
}

/// The user's words between two answers, in the messages that the client sent of it. None where these leave out a word
/// of the user's, or have words of another branch.
fn as_sent(run: &[Said<'_>], sent: &[(String, &RawValue)]) -> Option<Vec<(usize, String)>> {
    let mut found = Words::default();
    for (_, content) in sent.iter().filter(|(role, _)| role == "user") {
        found.take(&list(content).unwrap_or_else(|| vec![content]));
    }
    let (mut own, mut clients) = (Words::default(), Vec::new());
    let mut users = Vec::new();
    for said in run {
        if let Said::User {
            line,
            results,
            beside,
            said,
        } = said
        {
            own.take(results);
            own.take(said);
            clients.extend(beside.iter().map(|text| text.trim()));
            users.push((
                *line,
                message("user", &[], &[&results[..], &said[..]].concat()),
            ));
        }
    }
    let line = users.first()?.0;
    let said = |role: &str, content: &RawValue| {
        let role = Value::from(role);
        (
            line,
            format!("{{\"role\":{role},\"content\":{}}}", content.get()),
        )
    };
    let said = sent.iter().map(|(role, content)| said(role, content));
    // Where the user's message is what the lines hold, the client kept only what the system says behind it.
    if sent.iter().all(|(role, _)| role == "system") {
        return Some(users.into_iter().chain(said).collect());
    }
    let is_whole = found.results == own.results
        && found.others == own.others
        && own
            .texts
            .iter()
            .all(|text| found.texts.iter().any(|there| there.contains(text.trim())))
        && found.texts.iter().all(|text| {
            let text = text.trim();
            text.starts_with(REMINDER)
                || clients.contains(&text)
                || own.texts.iter().any(|own| own.trim() == text)
        });
    is_whole.then(|| said.collect())
}

/// The beginning of what the client says in the user's name.
const REMINDER: &str = "<system-reminder>";

/// The words in blocks of the user.
#[derive(Default)]
struct Words {
    texts: Vec<String>,
    /// The calls that they answer.
    results: BTreeSet<String>,
    /// The number of pictures, files and the like.
    others: usize,
}

impl Words {
    fn take(&mut self, blocks: &[&RawValue]) {
        for value in blocks {
            if let Some(text) = text(value) {
                self.texts.push(text);
                continue;
            }
            let block = Object::of(value);
            match block.as_ref().and_then(|block| block.text("type")).as_deref() {
                Some("text") => self.texts.extend(block.and_then(|block| block.text("text"))),
                Some("tool_result") => {
                    self.results.extend(block.and_then(|block| block.text("tool_use_id")))
                }
                _ => self.others += 1,
            }
        }
    }
}

impl Said<'_> {
    fn message(&self) -> (usize, String) {
        match self {
            Said::Model { line, blocks, .. } => (*line, message("assistant", &[], blocks)),
            Said::User {
                line,
                results,
                beside,
                said,
            } => {
                // The client ends its last reminder before the user's words with a new line.
                let last = beside.len().checked_sub(1).filter(|_| !said.is_empty());
                let beside = beside.iter().enumerate().map(|(at, text)| {
                    let ends = last == Some(at) && text.ends_with("</system-reminder>");
                    text_block(&if ends {
                        format!("{text}\n")
                    } else {
                        text.clone()
                    })
                });
                let all: Vec<String> =
                    results.iter().map(|block| block.get().to_owned()).chain(beside).collect();
                (*line, message("user", &all, said))
            }
        }
    }
}

fn text_block(text: &str) -> String {
    let text = Value::from(text);
    format!("{{\"type\":\"text\",\"text\":{text}}}")
}

/// A message of these blocks. One text alone stays a text.
fn message(role: &str, before: &[String], blocks: &[&RawValue]) -> String {
    if let ([], [only]) = (before, blocks)
        && only.get().starts_with('"')
    {
        return format!("{{\"role\":\"{role}\",\"content\":{}}}", only.get());
    }
    let own = blocks.iter().map(|block| match text(block) {
        Some(text) => text_block(&text),
        None => block.get().to_owned(),
    });
    let content: Vec<String> = before.iter().cloned().chain(own).collect();
    format!(
        "{{\"role\":\"{role}\",\"content\":[{}]}}",
        content.join(",")
    )
}

/// The fields of the request besides its messages, where the client kept them.
fn opening(
    talk: &Talk<'_>,
    shape: Option<Object<'_>>,
    prompt: Option<Object<'_>>,
) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    fields.extend(talk.model.map(|model| ("model", model.get().to_owned())));
    if let Some(shape) = shape {
        for field in ["system", "tools"] {
            fields.extend(shape.get(field).map(|value| (field, value.get().to_owned())));
        }
    } else if let Some(texts) = prompt.and_then(|prompt| prompt.list("systemPrompt")) {
        let texts = texts.into_iter().filter_map(text).filter(|text| !text.trim().is_empty());
        let blocks: Vec<String> = texts.map(|text| text_block(&text)).collect();
        fields.push(("system", format!("[{}]", blocks.join(","))));
    }
    fields
}
