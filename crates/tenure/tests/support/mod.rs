//! Small objects, requests and policies as JSON and TOML, for tests through the public interface.

#![allow(clippy::unwrap_used, dead_code)] // helpers, of which no test uses all

pub(crate) mod imports;

use serde_json::{Value, json};
use tenure::{
    Candidates, Compiled, Error, Facts, FrameKey, ObjectDocument, Outcome, Policy, Request, World,
    compile,
};

/// The changes of `over` laid over `base`, object by object.
pub(crate) fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => over
            .into_iter()
            .for_each(|(key, value)| merge(base.entry(key).or_insert(Value::Null), value)),
        (base, over) => *base = over,
    }
}

/// All that a compile takes.
pub(crate) struct Case {
    pub(crate) world: World,
    pub(crate) policy: Policy,
    pub(crate) request: Request,
    pub(crate) candidates: Candidates,
}

impl Case {
    /// `objects` for `request`, given as changes of a request of the local owner with room for 2000
    /// tokens, under `policy`, given as changes of the standard policy.
    pub(crate) fn new(objects: &Value, request: Value, policy: &str) -> Case {
        let seal = |object: &Value| {
            let document: ObjectDocument = serde_json::from_value(object.clone()).unwrap();
            // As stored once: what nobody would take today is there, too.
            document.seal_stored().unwrap()
        };
        let objects = objects.as_array().unwrap().iter().map(seal).collect();
        let mut whole = json!({
            "task": { "objective": "Report the pressure." },
            "principal": { "clearance": "highly_restricted", "pii_authorized": true },
            "budget": { "tokens": 2000 },
        });
        merge(&mut whole, request);
        Case {
            world: World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap(),
            policy: Policy::from_toml(policy).unwrap(),
            request: Request::from_json(&whole.to_string()).unwrap(),
            candidates: Candidates::new(objects),
        }
    }

    /// The same where nothing is held against the task, all stands in its own words, and no authority has a mark.
    pub(crate) fn plain(objects: &Value, request: Value, policy: &str) -> Case {
        Case::new(objects, request, &format!("{policy}\n{PLAIN}"))
    }

    pub(crate) fn outcome(&self) -> Result<Outcome, Error> {
        let Case {
            world,
            policy,
            request,
            candidates,
        } = self;
        compile(world, policy, request, candidates, &Facts::none())
    }

    pub(crate) fn compile(&self) -> Result<Compiled, Error> {
        Ok(self.outcome()?.single()?.clone())
    }
}

pub(crate) fn passage(name: &str, content: &str) -> Value {
    json!({
        "name": name, "content": content, "object_type": "retrieved_passage",
        "provenance": { "source_id": "manual", "retrieved_at": "2026-05-01" },
    })
}

pub(crate) fn turn(name: &str, role: &str, content: &str) -> Value {
    json!({ "name": name, "content": content, "object_type": "turn", "role": role })
}

pub(crate) fn calls(name: &str, ids: &[&str]) -> Value {
    let call = |id: &&str| json!({ "id": id, "name": "read_sensor" });
    let calls: Vec<Value> = ids.iter().map(call).collect();
    let mut turn = turn(name, "assistant", "");
    merge(&mut turn, json!({ "tool_calls": calls }));
    turn
}

pub(crate) fn result(name: &str, answers: &str) -> Value {
    json!({
        "name": name, "content": "101325", "object_type": "tool_result", "tool_call_id": answers,
        "provenance": { "retrieved_at": "2026-05-01" },
    })
}

pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "content": "Reads a sensor.", "object_type": "tool_schema" })
}

pub(crate) fn rule(over: Value) -> Value {
    let mut whole = json!({ "name": "x", "content": "Write pressure with its unit." });
    merge(&mut whole, over);
    whole
}

pub(crate) const STANDARD: &str = "";

/// Nothing is held against the task, all stands in its own words, and no authority has a mark.
pub(crate) const PLAIN: &str = "[guidance]\nnear = 0.0\nladder = false\nblocks = false\n";
