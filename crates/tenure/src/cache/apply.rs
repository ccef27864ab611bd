//! A plan's marks written into a body, and taken back.

use serde_json::value::RawValue;

use super::body::{Block, Body, Content, Part, Takes};
use super::plan::{Breakpoint, CachePlan, KEY, Options, Why, plan_weighed};
use super::weigh::{uncounted, weigh};
use super::{Sent, lasting, marks};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::compile::envelope::{Compiled, Payload};
use crate::object::Format;
use crate::provider::catalogue::{CacheMark, Model};
use crate::provider::conform;
use crate::write::world::World;

/// Bytes that stand in the place of others.
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

impl CachePlan {
    /// The body with its marks; as it is where there are none to write, or its author wrote some.
    ///
    /// Nothing else changes: a block gets its mark behind its last field, a bare text becomes a
    /// block that begins with its mark.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is not the body that was planned for.
    pub fn apply(&self, body: &str) -> Result<String, Error> {
        match self.target.filter(|_| !self.by_author) {
            Some(format) => self.marked(&Body::read(format, body)?),
            None => Ok(body.to_owned()),
        }
    }

    /// The body that was planned for, which no one marked, with its marks.
    fn marked(&self, read: &Body<'_>) -> Result<String, Error> {
        let marks = self.edits(read)?.into_iter();
        let mut edits: Vec<Edit> = marks.map(|(_, edit)| edit).collect();
        if let Some(kept) = &self.kept {
            let cuts = read
                .blocks
                .iter()
                .enumerate()
                .filter(|(at, _)| !kept.contains(at))
                .flat_map(|(_, block)| &block.cuts);
            edits.extend(cuts.map(|cut| Edit {
                start: cut.start,
                end: cut.end,
                text: String::new(),
            }));
        }
        let automatic = self
            .breakpoints
            .iter()
            .find(|point| point.marks && point.why == Why::Automatic)
            .filter(|_| read.automatic.is_none());
        let mut beside = automatic.map_or(String::new(), |point| {
            format!(",{}", mark(self.mark, point.ttl_seconds))
        });
        if self.mark == Some(CacheMark::PromptCacheBreakpoint)
            && !edits.is_empty()
            && !read.has_options
        {
            let ttl = self
                .breakpoints
                .iter()
                .find_map(|point| point.ttl_seconds)
                .map_or(String::new(), |ttl| {
                    format!(",\"ttl\":\"{}\"", lasting(ttl))
                });
            beside.push_str(&format!(
                ",\"prompt_cache_options\":{{\"mode\":\"explicit\"{ttl}}}"
            ));
        }
        if let Some(key) = &self.prompt_cache_key {
            beside.push_str(&format!(",\"prompt_cache_key\":\"{key}\""));
        }
        // A bare array of messages has no room beside them.
        if let Some(end) = read.end.filter(|_| !beside.is_empty()) {
            edits.push(Edit {
                start: end,
                end,
                text: beside,
            });
        }
        Ok(edited(read.json, edits))
    }

    /// The marks within blocks.
    fn edits<'b, 'a>(&self, body: &'b Body<'a>) -> Result<Vec<(&'b Block<'a>, Edit)>, Error> {
        let points = self
            .breakpoints
            .iter()
            .filter(|point| point.marks && !matches!(point.why, Why::Automatic | Why::Author));
        let edit = |point: &Breakpoint| {
            let mark = mark(self.mark, point.ttl_seconds);
            let block = body
                .blocks
                .iter()
                .find(|block| block.at == point.at)
                .and_then(|block| Some((block, block.takes.as_ref()?)));
            let (block, takes) = block.ok_or_else(|| {
                Error::input("the plan is of another body")
                    .at(point.at.clone(), None)
                    .expected("the body that was planned for")
            })?;
            let edit = match takes {
                Takes::Field(at) => Edit {
                    start: *at,
                    end: *at,
                    text: format!(",{mark}"),
                },
                Takes::Text(range, becomes) => Edit {
                    start: range.start,
                    end: range.end,
                    text: format!(
                        "[{{{mark},\"text\":{},\"type\":\"{becomes}\"}}]",
                        &body.json[range.clone()]
                    ),
                },
            };
            Ok((block, edit))
        };
        points.map(edit).collect()
    }

    /// Writes the marks into a compiled payload, whose digest and spans follow. Does nothing to a text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) as [`CachePlan::apply`];
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal) when the marked body breaks a rule.
    pub fn mark(&self, compiled: &mut Compiled, model: &Model) -> Result<(), Error> {
        let (Some(format), Some(Payload::Body(body))) = (self.target, &compiled.envelope.payload)
        else {
            return Ok(());
        };
        if self.by_author {
            return Ok(());
        }
        let bare = Body::read(format, body.get())?;
        let edits = self.edits(&bare)?;
        let sections = compiled.envelope.sections.iter_mut();
        let items = sections.flat_map(|section| &mut section.items);
        for span in items.filter_map(|item| item.span.as_mut()) {
            if span.block.is_some() {
                continue;
            }
            for (block, edit) in &edits {
                if (block.message, block.tool) != (span.message, span.tool) {
                    continue;
                }
                match (&block.said, &block.takes) {
                    // The text is now that of the first block.
                    (Content::Text { text, .. }, Some(Takes::Text(..)))
                        if span.end as usize <= text.len() =>
                    {
                        span.block = Some(0);
                    }
                    // It was, and is, the whole message or tool.
                    _ => span.end += (edit.text.len() - (edit.end - edit.start)) as u32,
                }
            }
        }
        let marked = self.apply(body.get())?;
        if let Some(broken) = conform::check(format, &marked, Some(model))?.first() {
            let (rule, at) = (&broken.rule, &broken.at);
            return Err(Error::assertion(format!(
                "a marked body breaks {rule} at {at}"
            )));
        }
        let body = RawValue::from_string(marked)
            .map_err(|error| Error::assertion(format!("a marked body is JSON: {error}")))?;
        let payload = Payload::Body(body);
        let digest = Some(Digest::of(payload.bytes()));
        compiled.envelope.payload = Some(payload);
        compiled.envelope.payload_digest = digest;
        compiled.trace.payload_digest = digest;
        Ok(())
    }
}

fn edited(body: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.start);
    let mut out = String::with_capacity(body.len() + edits.len() * 80);
    let mut from = 0;
    for edit in edits {
        out.push_str(&body[from..edit.start]);
        out.push_str(&edit.text);
        from = edit.end;
    }
    out.push_str(&body[from..]);
    out
}

/// A mark as a field.
fn mark(mark: Option<CacheMark>, ttl: Option<u32>) -> String {
    match (mark, ttl) {
        (Some(CacheMark::PromptCacheBreakpoint), _) => {
            "\"prompt_cache_breakpoint\":{\"mode\":\"explicit\"}".to_owned()
        }
        (_, Some(ttl)) if ttl != marks::SHORT => {
            format!(
                "\"cache_control\":{{\"type\":\"ephemeral\",\"ttl\":\"{}\"}}",
                lasting(ttl)
            )
        }
        _ => "\"cache_control\":{\"type\":\"ephemeral\"}".to_owned(),
    }
}

/// A body with the marks of its [`plan`](super::plan), for whoever wants no account of them.
///
/// # Errors
///
/// As [`plan`](super::plan) and [`CachePlan::apply`].
pub fn marked(
    world: &World,
    format: Format,
    body: &str,
    options: &Options,
) -> Result<String, Error> {
    let sent = Sent::body(format, body)?;
    let rules = world.model().cache.as_ref();
    let weighed = match rules.and_then(|rules| rules.mark) {
        Some(_) => weigh(world, &sent),
        // Where nothing within the body is marked, no count decides anything.
        None => uncounted(world, &sent),
    };
    let plan = plan_weighed(world, &sent, &weighed, options, None)?;
    if plan.by_author {
        Ok(body.to_owned())
    } else {
        plan.marked(&sent.body)
    }
}

/// Returns how long a body's author has its beginning (tools and system's text) and its messages kept: the shortest
/// lifetime of the marks in each, in seconds, none where nothing is marked.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no JSON of this form.
pub fn lifetimes(format: Format, body: &str) -> Result<(Option<u32>, Option<u32>), Error> {
    let read = Body::read(format, body)?;
    let of = |is_before: bool| {
        read.blocks
            .iter()
            .filter(|block| (block.part != Part::Messages) == is_before)
            .filter_map(|block| block.mark)
            .min()
    };
    Ok((of(true), of(false)))
}

/// A body without the marks that [`CachePlan::apply`] wrote into it: byte for byte what it was before.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no JSON of this form.
pub fn strip(format: Format, body: &str) -> Result<String, Error> {
    let read = Body::read(format, body)?;
    let mut edits = Vec::new();
    for block in &read.blocks {
        let json = &body[block.range.clone()];
        let leads = ["{\"cache_control\":", "{\"prompt_cache_breakpoint\":"];
        let is_ours = leads.iter().any(|lead| json.starts_with(lead));
        let around = block.range.start.checked_sub(1).and_then(|start| {
            let around = body.get(start..block.range.end + 1)?;
            (around.starts_with('[') && around.ends_with(']')).then_some(start)
        });
        match (&block.said, around.filter(|_| is_ours)) {
            // A bare text that became a block.
            (Content::Text { raw, .. }, Some(start)) => edits.push(Edit {
                start,
                end: block.range.end + 1,
                text: (*raw).to_owned(),
            }),
            _ => edits.extend(block.cuts.iter().map(|cut| Edit {
                start: cut.start,
                end: cut.end,
                text: String::new(),
            })),
        }
    }
    // What stands beside the messages is ours where it stands last.
    if let Some(end) = read.end {
        let head = &body[..end];
        // A value that anything follows is not the last field: then `rest` is more than one value.
        let last = |text: &str, key: &str, value: &dyn Fn(&str) -> bool| {
            let at = text.rfind(&format!(",\"{key}\":"))?;
            let rest = &text[at + key.len() + 4..];
            let raw: Option<&RawValue> = serde_json::from_str(rest).ok();
            raw.filter(|raw| value(raw.get())).map(|_| at)
        };
        let mut from = end;
        let ours = |value: &str| value.starts_with(&format!("\"{KEY}"));
        if let Some(at) = last(head, "prompt_cache_key", &ours) {
            from = at;
        }
        let explicit = |value: &str| value.starts_with("{\"mode\":\"explicit\"");
        if let Some(at) = last(&body[..from], "prompt_cache_options", &explicit) {
            from = at;
        }
        let ephemeral = |value: &str| value.starts_with("{\"type\":\"ephemeral\"");
        if read.automatic.is_some()
            && let Some(at) = last(&body[..from], "cache_control", &ephemeral)
        {
            from = at;
        }
        edits.push(Edit {
            start: from,
            end,
            text: String::new(),
        });
    }
    Ok(edited(body, edits))
}
