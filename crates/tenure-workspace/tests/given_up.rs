//! A request that is given up while it is compiled: its session is what it would be after a failure.
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tenure::wire::Format;
use tenure::{CountKind, Tokenizer, World};
use tenure_store::Tenant;
use tenure_workspace::Workspace;
use tenure_workspace::relay::{Relay, Relayed};

use crate::support::bench::{self, relaying};

/// A tokenizer that unwinds once it has counted so often.
struct Impatient {
    inner: Arc<dyn Tokenizer>,
    left: Arc<AtomicUsize>,
}

impl Tokenizer for Impatient {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn count(&self, text: &str) -> usize {
        let left = |left: usize| left.checked_sub(1);
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        match left {
            Ok(_) => self.inner.count(text),
            Err(_) => resume_unwind(Box::new("given up")),
        }
    }

    fn kind(&self) -> CountKind {
        self.inner.kind()
    }

    fn is_additive(&self) -> bool {
        self.inner.is_additive()
    }
}

/// A conversation of so many turns, of about a thousand tokens each.
fn conversation(turns: usize) -> String {
    let said = (0..turns * 2 + 1).map(|at| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        json!({ "role": role, "content": format!("Turn {at}. {}", "so many words ".repeat(300)) })
    });
    let messages: Vec<Value> = said.collect();
    json!({ "model": "gpt-4", "messages": messages }).to_string()
}

fn ask(
    workspace: &Workspace,
    world: &World,
    relay: &Relay,
    tenant: &Tenant,
    body: &str,
) -> Relayed {
    let asked = relaying(Format::OpenAiChat, "gpt-4", body);
    relay.relay(workspace, tenant, world, &asked).unwrap()
}

#[test]
fn a_session_outlives_a_compile_that_is_given_up() {
    let workspace = bench::workspace();
    // A window of 8,192 tokens: six turns do not fit.
    let (short, long, longer) = (conversation(1), conversation(6), conversation(7));
    let mut ended = 0;
    for counts in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let tenant = bench::tenant(folder.path(), "local");
        let relay = Relay::default();
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let world = workspace.world("gpt-4").unwrap();
        let impatient = |inner| -> Arc<dyn Tokenizer> {
            let left = Arc::clone(&left);
            Arc::new(Impatient { inner, left })
        };
        let world = world.counted_by(impatient);
        let ask = |relay: &Relay, body: &str| ask(&workspace, &world, relay, &tenant, body);
        let session = ask(&relay, &short).position.unwrap().session;
        left.store(counts, Ordering::Relaxed);
        let given_up = catch_unwind(AssertUnwindSafe(|| ask(&relay, &long))).is_err();
        ended += usize::from(given_up);
        left.store(usize::MAX, Ordering::Relaxed);
        // What was said is written, so that another node goes on with it, too.
        for relay in [&Relay::default(), &relay] {
            let relayed = ask(relay, &longer);
            assert_eq!(relayed.position.unwrap().session, session, "{counts}");
            let body = relayed.body.unwrap();
            assert!(body.contains("Turn 14. so many") && body.len() < longer.len());
        }
        // Nothing waits in memory to be written.
        drop(relay);
        let log = ask(&Relay::default(), &longer);
        assert_eq!(log.position.unwrap().session, session, "{counts}");
    }
    assert!((3..11).contains(&ended), "{ended}");
}
