//! The payload as the model reads it, with a map from every span back to its object.

use std::collections::BTreeMap;
use std::ops::Range;

use maud::{Markup, html};
use serde_json::Value;
use tenure::section::Section;
use tenure::{Envelope, Item, Payload, Span};

use crate::svg::class;
use crate::text::{clipped, grouped, name};
use crate::weights::{Attention, heat, times};

/// The most bytes of one piece in a page that shows the whole payload.
const PIECE: usize = 6_000;

/// A text of the payload, cut into the pieces that stand in it.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its place: `messages[3].content[0]`.
    pub(crate) at: String,
    /// The speaker, where there is one.
    pub(crate) role: Option<String>,
    pub(crate) pieces: Vec<Piece>,
}

/// Bytes of the payload, and whose they are.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The place of the item among all items of the envelope; none for what nothing claims.
    pub(crate) item: Option<usize>,
    pub(crate) text: String,
}

/// The items of an envelope, in order, each with its section.
pub(crate) fn items(envelope: &Envelope) -> Vec<(Section, &Item)> {
    envelope
        .sections
        .iter()
        .flat_map(|section| section.items.iter().map(move |item| (section.name, item)))
        .collect()
}

/// The place of a text of a body: message, block, tool.
type Key = (Option<u32>, Option<u32>, Option<u32>);

/// A text of a body.
struct Text {
    key: Key,
    at: String,
    role: Option<String>,
    text: String,
}

/// The texts of a payload, each with what a span names it by, and with the spans of items in it.
struct Layout {
    texts: Vec<Text>,
    by_key: BTreeMap<Key, usize>,
    spans: Vec<Vec<(Range<usize>, usize)>>,
}

fn layout(envelope: &Envelope) -> Option<Layout> {
    let texts = match envelope.payload.as_ref()? {
        Payload::Text(text) => vec![Text {
            key: (None, None, None),
            at: "text".to_owned(),
            role: None,
            text: text.clone(),
        }],
        Payload::Body(body) => {
            let body = serde_json::from_str(body.get()).unwrap_or(Value::Null);
            texts(&body)
        }
    };
    let mut by_key: BTreeMap<Key, usize> = BTreeMap::new();
    for (at, text) in texts.iter().enumerate() {
        let (message, _, tool) = text.key;
        // A span may name the message alone, or the first block of what has none.
        for key in [text.key, (message, None, tool), (message, Some(0), tool)] {
            by_key.entry(key).or_insert(at);
        }
    }
    let mut spans: Vec<Vec<(Range<usize>, usize)>> = vec![Vec::new(); texts.len()];
    for (item, (_, found)) in items(envelope).into_iter().enumerate() {
        let Some(span) = found.span else { continue };
        if let Some(at) = place_of(&by_key, span) {
            spans[at].push((range(span, &texts[at].text), item));
        }
    }
    Some(Layout {
        texts,
        by_key,
        spans,
    })
}

/// The payload as texts with their pieces. None without a payload.
pub(crate) fn places(envelope: &Envelope) -> Option<Vec<Place>> {
    let Layout { texts, spans, .. } = layout(envelope)?;
    let placed = texts.into_iter().zip(spans).map(|(text, spans)| Place {
        pieces: cut(&text.text, spans),
        at: text.at,
        role: text.role,
    });
    Some(placed.collect())
}

/// A span whose weight is to be spread over the items that stand in it. With the greatest end it reaches to the end of its
/// text.
pub(crate) struct Spread {
    pub(crate) span: Span,
    pub(crate) weight: f64,
}

/// Spreads the weights of spans over the items of an envelope by the bytes that they share, and gives what each item got,
/// and what fell on bytes that none claims, in parts of the greatest weight. A fault is the place of a span, and what is
/// wrong with it.
pub(crate) fn spread(
    envelope: &Envelope,
    spread: &[Spread],
) -> Result<(Vec<f64>, f64), (usize, &'static str)> {
    let mut got = vec![0.0; items(envelope).len()];
    let mut unclaimed = 0.0;
    // Divided first, so that no sum of great numbers is infinite. Where all are 0 there is nothing to divide.
    let most = spread.iter().map(|one| one.weight).fold(0.0, f64::max);
    let unit = if most > 0.0 { most } else { 1.0 };
    let Some(layout) = layout(envelope) else {
        return Err((0, "there is no payload"));
    };
    let mut by_text: Vec<Vec<(Range<usize>, usize)>> = vec![Vec::new(); layout.texts.len()];
    for (number, one) in spread.iter().enumerate() {
        let span = one.span;
        let Some(at) = place_of(&layout.by_key, span) else {
            return Err((number, "it names a text that the payload does not have"));
        };
        let most = layout.texts[at].text.len();
        let (start, end) = (span.start as usize, span.end as usize);
        let end = if span.end == u32::MAX { most } else { end };
        if start >= end {
            return Err((number, "it ends where it begins, or before"));
        }
        if end > most {
            return Err((number, "it ends behind its text"));
        }
        by_text[at].push((start..end, number));
    }
    for ((text, spans), mut weighed) in layout.texts.iter().zip(layout.spans).zip(by_text) {
        weighed.sort_by_key(|(range, _)| range.start);
        for pair in weighed.windows(2) {
            if pair[1].0.start < pair[0].0.end {
                return Err((pair[1].1, "it overlaps another one"));
            }
        }
        let pieces = ranges(text.text.len(), spans);
        let mut from = 0;
        for (range, number) in weighed {
            let each = spread[number].weight / unit / range.len() as f64;
            while pieces.get(from).is_some_and(|(piece, _)| piece.end <= range.start) {
                from += 1;
            }
            let within = pieces[from..].iter();
            for (piece, item) in within.take_while(|(piece, _)| piece.start < range.end) {
                let shared = piece.end.min(range.end) - piece.start.max(range.start);
                let weight = each * shared as f64;
                match item.and_then(|item| got.get_mut(item)) {
                    Some(got) => *got += weight,
                    None => unclaimed += weight,
                }
            }
        }
    }
    Ok((got, unclaimed))
}

fn place_of(by_key: &BTreeMap<Key, usize>, span: Span) -> Option<usize> {
    let tool = span.tool.filter(|_| span.message.is_none());
    let key = (span.message, span.block, tool);
    let whole = (span.message, None, tool);
    by_key.get(&key).or_else(|| by_key.get(&whole)).copied()
}

/// The bytes that a span means in a text: all of it where they are none of its own, as of a tool.
fn range(span: Span, text: &str) -> Range<usize> {
    let (start, end) = (span.start as usize, span.end as usize);
    let fits = start <= end && text.is_char_boundary(start) && text.is_char_boundary(end);
    if fits && span.tool.is_none() {
        start..end
    } else {
        0..text.len()
    }
}

/// The pieces of a text.
fn cut(text: &str, spans: Vec<(Range<usize>, usize)>) -> Vec<Piece> {
    ranges(text.len(), spans)
        .into_iter()
        .map(|(range, item)| {
            let text = text.get(range).unwrap_or_default().to_owned();
            Piece { item, text }
        })
        .collect()
}

/// The ranges of a text of so many bytes: those that items claim, and what stands between them. Of two that overlap the
/// first has the bytes.
fn ranges(
    bytes: usize,
    mut spans: Vec<(Range<usize>, usize)>,
) -> Vec<(Range<usize>, Option<usize>)> {
    spans.sort_by_key(|(range, item)| (range.start, *item));
    let mut pieces = Vec::new();
    let mut done = 0;
    let mut push = |range: Range<usize>, item: Option<usize>| {
        if !range.is_empty() {
            pieces.push((range, item));
        }
    };
    for (range, item) in spans {
        let start = range.start.max(done);
        push(done..start, None);
        push(start..range.end.max(start), Some(item));
        done = range.end.max(start);
    }
    push(done..bytes, None);
    pieces
}

/// The texts of a provider's body, in the order in which a provider reads them.
fn texts(body: &Value) -> Vec<Text> {
    let mut found = Vec::new();
    tools(body, &mut found);
    for field in [
        "instructions",
        "system",
        "systemInstruction",
        "system_instruction",
    ] {
        if let Some(system) = body.get(field) {
            contents(system, (None, field), Some("system"), &mut found);
        }
    }
    let messages = match body {
        Value::Array(messages) => Some(("", messages)),
        _ => ["messages", "input", "contents"]
            .into_iter()
            .find_map(|field| Some((field, body.get(field)?.as_array()?))),
    };
    if let Some((field, messages)) = messages {
        for (number, message) in (0u32..).zip(messages) {
            let at = format!("{field}[{number}]");
            let role = message.get("role").or_else(|| message.get("type"));
            contents(
                message,
                (Some(number), &at),
                role.and_then(Value::as_str),
                &mut found,
            );
        }
    }
    found
}

fn tools(body: &Value, found: &mut Vec<Text>) {
    let listed = body.get("tools").and_then(Value::as_array);
    let declared = listed.into_iter().flatten().flat_map(|tool| {
        match tool.get("functionDeclarations").and_then(Value::as_array) {
            Some(declared) => declared.iter().collect(),
            None => vec![tool],
        }
    });
    for (number, tool) in (0u32..).zip(declared) {
        found.push(Text {
            key: (None, None, Some(number)),
            at: format!("tools[{number}]"),
            role: None,
            text: format!("{tool:#}"),
        });
    }
}

/// The texts of a message, or of the system's text.
fn contents(
    of: &Value,
    (number, at): (Option<u32>, &str),
    role: Option<&str>,
    found: &mut Vec<Text>,
) {
    let mut push = |block: Option<u32>, at: String, text: String| {
        found.push(Text {
            key: (number, block, None),
            at,
            role: role.map(str::to_owned),
            text,
        });
    };
    let held = match of {
        Value::String(_) | Value::Array(_) => Some(("", of)),
        _ => ["content", "parts", "output"]
            .into_iter()
            .find_map(|field| Some((field, of.get(field).filter(|held| !held.is_null())?))),
    };
    match held {
        Some((field, Value::String(text))) => push(None, joined(at, field), text.clone()),
        Some((field, Value::Array(blocks))) => {
            for (block, value) in (0u32..).zip(blocks) {
                let at = format!("{}[{block}]", joined(at, field));
                push(Some(block), at, text_of(value));
            }
        }
        _ => push(None, at.to_owned(), format!("{of:#}")),
    }
    // What a message calls stands beside its content.
    if let Some(calls) = of.get("tool_calls").filter(|_| held.is_some()) {
        push(
            Some(u32::MAX),
            joined(at, "tool_calls"),
            format!("{calls:#}"),
        );
    }
}

fn joined(at: &str, field: &str) -> String {
    match field {
        "" => at.to_owned(),
        field => format!("{at}.{field}"),
    }
}

/// The text of a block; of one that has none, its JSON.
fn text_of(block: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| block.get("text")?.as_str())
            .collect::<Option<Vec<_>>>()
            .map(|texts| texts.concat()),
        _ => None,
    };
    let named = ["text", "content", "output"]
        .into_iter()
        .find_map(|field| text(block.get(field)?));
    text(block).or(named).unwrap_or_else(|| format!("{block:#}"))
}

/// The texts of a body on a page, no more than `most` bytes of them.
pub(crate) fn of_body(body: &[u8], most: usize) -> Markup {
    let all = texts(&serde_json::from_slice(body).unwrap_or(Value::Null));
    let shown: Vec<(&Text, usize)> = all
        .iter()
        .scan(most, |left, text| {
            let shown = text.text.len().min(PIECE).min(*left);
            *left -= shown;
            (shown > 0 || text.text.is_empty()).then_some((text, shown))
        })
        .collect();
    html! {
        p.lead { (grouped(body.len() as u64)) " bytes, of which texts stand in " (grouped(all.len() as u64)) " places." }
        @for (text, shown) in &shown {
            section.place aria-label=(text.at) {
                h3 { code { (text.at) } @if let Some(role) = &text.role { " " span.role { (name(role)) } } }
                div.piece.unclaimed { (self::body(&text.text, *shown)) }
            }
        }
        @if shown.len() < all.len() { p.more { "The rest is left out of this page." } }
    }
}

/// The payload on a page, no more than `most` bytes of it. `href` leads from an item to where it is explained;
/// `attention` is what is laid over it.
pub(crate) fn shown(
    envelope: &Envelope,
    most: usize,
    attention: Option<&Attention>,
    href: impl Fn(usize) -> Option<String>,
) -> Markup {
    let Some(places) = places(envelope) else {
        return html! {
            p.none { "There is no payload: it was a dry run, or a record alone, which keeps none." }
        };
    };
    let items = items(envelope);
    let tokens: u32 = items.iter().map(|(_, item)| item.tokens).sum();
    let ratio = |at: usize| {
        let (_, item) = items.get(at)?;
        attention?.ratio(at, item.tokens, tokens)
    };
    let whole: usize = places
        .iter()
        .flat_map(|place| &place.pieces)
        .map(|piece| piece.text.len())
        .sum();
    let mut left = most;
    let mut cut_at = None;
    let mut drawn = Vec::new();
    for place in &places {
        if left == 0 {
            cut_at.get_or_insert(&place.at);
            break;
        }
        let mut pieces = Vec::new();
        for piece in &place.pieces {
            let shown = piece.text.len().min(PIECE).min(left);
            left -= shown;
            pieces.push((piece, shown));
        }
        drawn.push((place, pieces));
    }
    html! {
        p.lead {
            (grouped(whole as u64)) " bytes of text in " @if places.len() == 1 { "one place" } @else { (grouped(places.len() as u64)) " places" } ". Each piece names the object that it is made of; "
            "the lines of a frame, which tell the model that what stands between them is data, are marked."
        }
        @for (place, pieces) in drawn {
            section.place aria-label=(place.at) {
                h3 { code { (place.at) } @if let Some(role) = &place.role { " " span.role { (name(role)) } } }
                @for (piece, shown) in pieces { (one(piece, shown, &items, piece.item.and_then(ratio), &href)) }
            }
        }
        @if let Some(at) = cut_at {
            p.more { "The rest, from " code { (at) } " on, is left out of this page." }
        }
    }
}

fn one(
    piece: &Piece,
    most: usize,
    items: &[(Section, &Item)],
    ratio: Option<f64>,
    href: &impl Fn(usize) -> Option<String>,
) -> Markup {
    let heated = ratio.map_or_else(String::new, |ratio| format!(" h{}", heat(ratio)));
    let owner = piece.item.and_then(|at| Some((at, items.get(at)?)));
    html! {
        @match owner {
            Some((at, (section, item))) => {
                div class=(format!("piece {}{heated}", class(*section))) {
                    p.origin {
                        span.chip { (section) } " "
                        @match href(at) {
                            Some(href) => { a href=(href) { (name(&item.name)) } }
                            None => { b { (name(&item.name)) } }
                        }
                        " " span.count { (grouped(u64::from(item.tokens))) " tokens" }
                        @if let Some(form) = item.form { " " span.tag { (form) } }
                        @if item.late { " " span.tag { "late" } }
                        @if let Some(ratio) = ratio { " " span.tag.got { (times(ratio)) } }
                    }
                    (body(&piece.text, most))
                }
            }
            None if piece.text.trim().is_empty() => {}
            None => { div.piece.unclaimed { (body(&piece.text, most)) } }
        }
    }
}

/// The text of a piece, with the lines of frames marked.
pub(crate) fn body(text: &str, most: usize) -> Markup {
    let kept = &text[..text.floor_char_boundary(most.min(text.len()))];
    let mut runs: Vec<(bool, String)> = Vec::new();
    for line in kept.split_inclusive('\n') {
        let is_frame = is_frame(line);
        match runs.last_mut() {
            Some((last, run)) if *last == is_frame => run.push_str(line),
            _ => runs.push((is_frame, line.to_owned())),
        }
    }
    html! {
        pre dir="auto" {
            @for (is_frame, run) in runs {
                @if is_frame { span.frame { (clipped(&run, run.len())) } } @else { (clipped(&run, run.len())) }
            }
        }
        @if kept.len() < text.len() {
            p.more { (grouped((text.len() - kept.len()) as u64)) " more bytes of it are left out here." }
        }
    }
}

/// Returns whether a line opens or closes a frame.
fn is_frame(line: &str) -> bool {
    let line = line.trim_end();
    line.starts_with('<') && line.ends_with('>') && line.contains(" boundary=\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_its_items_stand() {
        let pieces = cut("abcdef", vec![(3..5, 1), (0..3, 0)]);
        let shown: Vec<_> = pieces.iter().map(|piece| (piece.item, piece.text.as_str())).collect();
        assert_eq!(shown, [(Some(0), "abc"), (Some(1), "de"), (None, "f")]);
        // Spans of a broken envelope give every byte once, too.
        let pieces = cut("abcdef", vec![(0..4, 0), (2..6, 1), (1..2, 2)]);
        let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(whole, "abcdef");
    }

    #[test]
    fn great_weights_are_spread_as_small_ones_are() {
        let envelope: Envelope = serde_json::from_value(serde_json::json!({
            "version": 1, "target": "text", "payload": "abcdef", "payload_digest": null,
            "total_tokens": 2, "count": "exact", "budget": 9, "overhead_tokens": 0,
            "sections": [{ "name": "evidence", "zone": "tail", "tokens": 2, "items": [
                { "name": "a", "tokens": 1, "span": { "start": 0, "end": 4 } },
                { "name": "b", "tokens": 1, "span": { "start": 4, "end": 5 } },
            ] }],
            "injection_surface": 0.0, "served": {},
        }))
        .unwrap();
        let shares = |weight: f64| {
            let spans = [(0, 2), (2, 4), (4, 6)].map(|(start, end)| Spread {
                span: serde_json::from_value(serde_json::json!({ "start": start, "end": end }))
                    .unwrap(),
                weight,
            });
            let (parts, unclaimed) = spread(&envelope, &spans).unwrap();
            Attention::shares(parts, unclaimed)
        };
        for weight in [1e308, f64::MAX, 1.0] {
            let shares = shares(weight).unwrap();
            let all = shares.parts.iter().chain([&shares.unclaimed]);
            let expected = [4.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0];
            let near = all.zip(expected).all(|(part, as_much)| (part - as_much).abs() < 1e-9);
            assert!(near, "{weight}: {shares:?}");
        }
        assert!(shares(0.0).is_err());
    }

    #[test]
    fn the_texts_of_every_form_of_body_are_found() {
        for (body, expected) in [
            (
                r#"{"messages":[{"role":"user","content":"a"}]}"#,
                "messages[0].content",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}"#,
                "messages[0].content[0]",
            ),
            (
                r#"{"system":[{"type":"text","text":"a"}],"messages":[]}"#,
                "system[0]",
            ),
            (
                r#"{"input":[{"type":"function_call_output","output":"a"}]}"#,
                "input[0].output",
            ),
            (
                r#"{"contents":[{"parts":[{"text":"a"}]}]}"#,
                "contents[0].parts[0]",
            ),
            (
                r#"{"systemInstruction":{"parts":[{"text":"a"}]}}"#,
                "systemInstruction.parts[0]",
            ),
            (r#"[{"role":"user","content":"a"}]"#, "[0].content"),
        ] {
            let found = texts(&serde_json::from_str(body).unwrap());
            assert_eq!(
                (found[0].at.as_str(), found[0].text.as_str()),
                (expected, "a"),
                "{body}"
            );
        }
    }

    #[test]
    fn a_frame_is_marked_and_its_text_is_not() {
        let shown = body(
            "<evidence name=\"p\" boundary=\"x\">\n<b>\n</evidence boundary=\"x\">\n",
            999,
        )
        .into_string();
        assert_eq!(shown.matches("class=\"frame\"").count(), 2);
        assert!(shown.contains("&lt;b&gt;"));
    }
}
