//! One measure for the length of a message: pictures, documents, sound and what is sealed cost what they cost where a
//! session decides and where a compile counts, however long their bytes are.
use serde_json::{Value, json};
use tenure::wire::{self, Format};
use tenure::{Budget, Request, Target, World, conform};
use tenure_store::Tenant;
use tenure_workspace::Workspace;
use tenure_workspace::relay::{Relay, Relayed};
use tenure_workspace::sessions::Session;

use crate::support::bench::{self, SessionBench, at, relaying, workspace, workspace_like};

/// The models of the built-in catalogue that the loops run with.
const KINDS: [(Format, &str); 4] = [
    (Format::Anthropic, "claude-opus-4-5"),
    (Format::OpenAiChat, "gpt-4o"),
    (Format::OpenAiResponses, "gpt-4o"),
    (Format::Gemini, "gemini-2.5-pro"),
];

/// The length of a picture of 200 kB in base64.
const LONG: usize = 266_668;

/// A PNG of 1,280 by 800 pixels as base64, no two of which are alike.
fn picture(at: usize, length: usize) -> String {
    // The header: a signature, and a chunk that says 0x500 by 0x320 pixels.
    let header = "iVBORw0KGgoAAAANSUhEUgAABQAAAAMgCAYAAAA";
    let mut state = at as u64 + 1;
    let mut data = String::from(header);
    while data.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let digit = (state >> 58) as usize;
        data.push(char::from(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[digit],
        ));
    }
    data
}

/// A picture as a block of a message.
fn block(format: Format, at: usize, length: usize) -> Value {
    let (data, mime) = (picture(at, length), "image/png");
    match format {
        Format::Anthropic => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": mime, "data": data } })
        }
        Format::OpenAiChat => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:{mime};base64,{data}") } })
        }
        Format::OpenAiResponses => {
            json!({ "type": "input_image", "image_url": format!("data:{mime};base64,{data}") })
        }
        _ => json!({ "inlineData": { "mimeType": mime, "data": data } }),
    }
}

/// An agent that looks at screenshots.
struct Agent {
    _folder: tempfile::TempDir,
    workspace: Workspace,
    world: World,
    relay: Relay,
    tenant: Tenant,
    format: Format,
    model: &'static str,
    /// The length of a screenshot.
    length: usize,
    messages: Vec<Value>,
}

impl Agent {
    /// With this window, or that of the catalogue.
    fn new(format: Format, model: &'static str, window: Option<u32>) -> Agent {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, model, length) = match window {
            Some(window) => (
                workspace_like(folder.path(), model, window),
                "mine",
                LONG / 10,
            ),
            None => (workspace(), model, LONG),
        };
        let mut agent = Agent {
            world: workspace.world(model).unwrap(),
            workspace,
            relay: Relay::default(),
            tenant: bench::tenant(folder.path(), "local"),
            format,
            model,
            length,
            messages: Vec::new(),
            _folder: folder,
        };
        // What the user pasted, and asks about in the end.
        agent.user("This is how the page should look.", Some(1_000));
        agent
    }

    fn user(&mut self, text: &str, picture: Option<usize>) {
        let text = match self.format {
            Format::Gemini => json!({ "text": text }),
            Format::OpenAiResponses => json!({ "type": "input_text", "text": text }),
            _ => json!({ "type": "text", "text": text }),
        };
        let mut blocks = vec![text];
        blocks.extend(picture.map(|at| block(self.format, at, self.length)));
        let key = if self.format == Format::Gemini {
            "parts"
        } else {
            "content"
        };
        self.messages.push(json!({ "role": "user", key: blocks }));
    }

    /// A call of the tool that takes screenshots, and the screenshot, where the provider takes it.
    fn look(&mut self, at: usize) {
        let id = format!("call_{at}");
        let arguments = json!({ "page": at });
        let (text, shot) = (arguments.to_string(), block(self.format, at, self.length));
        self.messages.extend(match self.format {
            Format::Anthropic => vec![
                json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": "screenshot", "input": arguments }] }),
                json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": [shot] }] }),
            ],
            Format::OpenAiChat => vec![
                json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": id, "type": "function", "function": { "name": "screenshot", "arguments": text } }] }),
                json!({ "role": "tool", "tool_call_id": id, "content": "The screenshot follows." }),
                json!({ "role": "user", "content": [shot] }),
            ],
            Format::OpenAiResponses => vec![
                json!({ "type": "function_call", "call_id": id, "name": "screenshot", "arguments": text }),
                json!({ "type": "function_call_output", "call_id": id, "output": [shot] }),
            ],
            _ => vec![
                json!({ "role": "model", "parts": [{ "functionCall": { "name": "screenshot", "args": arguments }, "thoughtSignature": "c2ln" }] }),
                json!({ "role": "user", "parts": [{ "functionResponse": { "name": "screenshot", "response": { "output": "It follows." } } }, shot] }),
            ],
        });
    }

    fn relay(&self) -> (String, Relayed) {
        let schema = json!({ "type": "object", "properties": { "page": { "type": "integer" } } });
        let (model, name, says) = (self.model, "screenshot", "Takes a screenshot.");
        let body = match self.format {
            Format::Gemini => json!({
                "model": model, "contents": self.messages,
                "tools": [{ "functionDeclarations": [{ "name": name, "description": says }] }],
            }),
            Format::OpenAiResponses => json!({
                "model": model, "max_output_tokens": 400, "input": self.messages,
                "tools": [{ "type": "function", "name": name, "description": says, "parameters": schema }],
            }),
            Format::OpenAiChat => json!({
                "model": model, "max_tokens": 400, "messages": self.messages,
                "tools": [{ "type": "function", "function": { "name": name, "description": says, "parameters": schema } }],
            }),
            _ => json!({
                "model": model, "max_tokens": 400, "messages": self.messages,
                "tools": [{ "name": name, "description": says, "input_schema": schema }],
            }),
        }
        .to_string();
        let asked = relaying(self.format, self.model, &body);
        let relayed = self.relay.relay(&self.workspace, &self.tenant, &self.world, &asked).unwrap();
        let sent = relayed.body.clone().unwrap_or(body);
        let broken = conform::check(self.format, &sent, Some(self.world.model())).unwrap();
        assert!(broken.is_empty(), "{broken:?}");
        (sent, relayed)
    }

    /// The number of pictures in a body.
    fn pictures(&self, sent: &str) -> usize {
        sent.matches("iVBORw0KGgoAAAANSUhEUgAABQAAAAMgCAYAAAA").count()
    }
}

#[test]
fn a_loop_of_thirty_screenshots_is_not_cut_where_the_window_holds_them() {
    for (format, model) in KINDS {
        let mut agent = Agent::new(format, model, None);
        for at in 0..30 {
            agent.look(at);
            // Each is some 1,000 tokens for its provider, and 100,000 as text.
            if at % 6 == 5 {
                let (sent, relayed) = agent.relay();
                assert_eq!(relayed.body, None, "{format:?} at {at}");
                assert_eq!(agent.pictures(&sent), at + 2, "{format:?}");
                let counted = relayed.position.unwrap().sent();
                assert!(counted < 60_000, "{format:?}: {counted}");
            }
        }
    }
}

#[test]
fn what_a_window_does_not_hold_leaves_oldest_first_and_is_named() {
    for (format, model) in KINDS {
        let mut agent = Agent::new(format, model, Some(24_000));
        let mut least = usize::MAX;
        let mut last = None;
        for at in 0..30 {
            agent.look(at);
            let (sent, relayed) = agent.relay();
            if relayed.body.is_some() {
                least = least.min(agent.pictures(&sent));
                assert!(relayed.saved > 0, "{format:?}: {relayed:?}");
                last = Some((sent, relayed));
            }
        }
        let (sent, relayed) = last.unwrap();
        println!("{format:?}: at least {least} pictures of 24,000 tokens");
        // A cut leaves a third of the window, which holds several.
        assert!(least >= 3, "{format:?}: {least}");
        assert!(relayed.unmanaged.is_none());
        // The newest stands, and the user's is named where it stood.
        let newest = &picture(29, 200)[100..160];
        assert!(sent.contains(newest), "{format:?}");
        assert!(sent.contains("This is how the page should look."));
        let bare: String = sent
            .split("iVBORw0KGgoAAAANSUhEUgAABQAAAAMgCAYAAAA")
            .map(|part| {
                let end =
                    part.char_indices().find(|(_, c)| matches!(c, '"')).map_or(0, |(at, _)| at);
                if end > 1_000 { &part[end..] } else { part }
            })
            .collect();
        assert!(
            bare.contains("pictures and files left out: "),
            "{format:?}\n{bare}"
        );
    }
}

#[test]
fn a_pasted_picture_is_there_when_the_user_asks_about_it() {
    for (format, model) in KINDS {
        let mut agent = Agent::new(format, model, None);
        for at in 0..6 {
            agent.look(at);
        }
        agent.user("Does it look like what I pasted?", None);
        let (sent, relayed) = agent.relay();
        assert_eq!((relayed.body, relayed.saved), (None, 0), "{format:?}");
        assert_eq!(agent.pictures(&sent), 7);
        assert_eq!(relayed.unmanaged, None);
    }
}

/// Messages with what is no text, as each provider has them.
fn packed() -> Vec<(Format, Value)> {
    let base64 = "QUJD".repeat(50_000);
    let pdf = format!("JVBERi0xLjcK{base64}");
    let file = format!("data:application/pdf;base64,{pdf}");
    let sealed = "gAAAAAB".to_owned() + &"x9_-".repeat(2_000);
    let user = |blocks: Value| json!({ "role": "user", "content": blocks });
    let document = json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": pdf } });
    let searched = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [{ "type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": sealed }] });
    vec![
        (Format::Anthropic, user(json!([document]))),
        (
            Format::Anthropic,
            json!({ "role": "assistant", "content": [
            { "type": "thinking", "thinking": "Hm.", "signature": sealed }, { "type": "redacted_thinking", "data": sealed },
            { "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": "a" } }, searched, { "type": "text", "text": "So." },
        ] }),
        ),
        (
            Format::OpenAiChat,
            user(json!([{ "type": "file", "file": { "filename": "a.pdf", "file_data": file } }])),
        ),
        (
            Format::OpenAiChat,
            user(
                json!([{ "type": "input_audio", "input_audio": { "data": base64, "format": "wav" } }]),
            ),
        ),
        (
            Format::OpenAiResponses,
            user(json!([{ "type": "input_file", "filename": "a.pdf", "file_data": file }])),
        ),
        (
            Format::OpenAiResponses,
            json!({ "type": "image_generation_call", "id": "ig_1", "status": "completed", "result": picture(3, LONG) }),
        ),
        (
            Format::Gemini,
            json!({ "role": "user", "parts": [{ "inlineData": { "mimeType": "audio/mp3", "data": base64 } }] }),
        ),
        (
            Format::Gemini,
            json!({ "role": "user", "parts": [{ "inlineData": { "mimeType": "application/pdf", "data": pdf } }] }),
        ),
    ]
}

/// What decides whether a session fits is what is counted of the request.
#[test]
fn a_session_decides_by_what_a_compile_counts() {
    let pictures = KINDS.map(|(format, _)| {
        let blocks = json!([block(format, 1, LONG), block(format, 2, LONG)]);
        let key = if format == Format::Gemini {
            "parts"
        } else {
            "content"
        };
        (format, json!({ "role": "user", key: blocks }))
    });
    for (format, message) in packed().into_iter().chain(pictures) {
        let mut bench = SessionBench::new();
        let model = KINDS.iter().find(|(known, _)| *known == format).unwrap().1;
        bench.world = bench.workspace.world(model).unwrap();
        let mut session = Session::create(
            bench.tenant.clone(),
            None,
            at(0),
            (None, None),
            Some(format),
        )
        .unwrap();
        let says = |role: &str, text: &str| match format {
            Format::Gemini => {
                json!({ "role": if role == "user" { role } else { "model" }, "parts": [{ "text": text }] })
            }
            _ => json!({ "role": role, "content": text }),
        };
        let key = match format {
            Format::Gemini => "contents",
            Format::OpenAiResponses => "input",
            _ => "messages",
        };
        let messages = vec![
            says("user", "Look."),
            message,
            says("assistant", "Yes."),
            says("user", "And now?"),
        ];
        let length = messages[1].to_string().len() as u64;
        let body = json!({ key: messages }).to_string();
        session.append(wire::read(format, &body).unwrap(), at(1)).unwrap();
        let decides = session.cost(&bench.world);
        let mut request = Request::new("Answer.", Budget::default());
        request.target = Target::from(format);
        request.task_said = true;
        let compiled = bench.compile(&mut session, &request);
        let counted = u64::from(compiled.outcome.single().unwrap().envelope.total_tokens);
        println!("{format:?}: {length} bytes, {decides} decide, {counted} are counted");
        assert!(
            decides.abs_diff(counted) <= 250,
            "{format:?}: {decides} {counted}"
        );
        // A byte of base64 is six tenths of a token of text.
        assert!(
            counted < length / 3,
            "{format:?}: {counted} of {length} bytes"
        );
    }
}
