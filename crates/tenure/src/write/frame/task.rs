//! The state of a task as text: whole, or what is new in it since it was said.

use std::collections::BTreeSet;

use super::{Framed, enclose, one_line};
use crate::base::digest::Digest;
use crate::input::task::{Subtask, TaskState};
use crate::write::piece::Piece;
use crate::write::world::World;

/// The canonical, compact form of a task's state; and, in frames, what came from outside. Where another
/// state was said before, what is new since, if that is shorter.
pub(crate) fn task_state(
    world: &World,
    task: &TaskState,
    said: Option<&TaskState>,
) -> (Piece, Option<Piece>) {
    let now = TaskLines::of(task);
    let whole = now.written(world);
    let Some(delta) = said.and_then(|said| now.since(&TaskLines::of(said))) else {
        return whole;
    };
    let delta = delta.written(world);
    let cost = |(state, data): &(Piece, Option<Piece>)| {
        state.tokens + data.as_ref().map_or(0, |data| data.tokens)
    };
    if cost(&delta) < cost(&whole) {
        delta
    } else {
        whole
    }
}

/// A task's state, a line for each part of it.
#[derive(Default)]
struct TaskLines {
    state: Vec<String>,
    results: Vec<String>,
    errors: Vec<String>,
}

impl TaskLines {
    fn of(task: &TaskState) -> TaskLines {
        let mut state = vec![format!("objective: {}\n", one_line(&task.objective))];
        let mut line = |key: &str, value: &str| {
            state.push(format!("{}\n", format!("{key}: {value}").trim_end()));
        };
        if let Some(class) = task.task_class {
            line("class", class.term());
        }
        if let Some(task_type) = task.task_type {
            line("type", task_type.term());
        }
        if let Some(step) = task.step {
            line("step", step.term());
        }
        for Subtask { title, status } in &task.subtasks {
            line("subtask", &format!("[{status}] {}", one_line(title)));
        }
        for action in &task.pending {
            let waits = action
                .waiting_for
                .as_deref()
                .map(|what| format!(" (waiting for {})", one_line(what)))
                .unwrap_or_default();
            line("pending", &format!("{}{waits}", one_line(&action.action)));
        }
        for approval in &task.approvals {
            let action = one_line(&approval.action);
            line("approval", &format!("[{}] {action}", approval.status));
        }
        let results = task.results.iter().map(|result| {
            let source = result.source.as_deref().map(|source| format!(" ({})", one_line(source)));
            let (name, value) = (one_line(&result.name), one_line(&result.value));
            format!("{name}{}: {value}\n", source.unwrap_or_default())
        });
        let errors = task.errors.iter().map(|error| {
            let undo =
                error.rollback.as_deref().map(|undo| format!("; rollback: {}", one_line(undo)));
            let (message, retries) = (one_line(&error.message), error.retries);
            format!(
                "{message} (retries: {retries}{})\n",
                undo.unwrap_or_default()
            )
        });
        TaskLines {
            results: results.collect(),
            errors: errors.collect(),
            state,
        }
    }

    /// Returns the lines that are new since another state was said. Nothing where data that was said no longer holds:
    /// of that only the whole can tell.
    fn since(&self, said: &TaskLines) -> Option<TaskLines> {
        let stands =
            |lines: &[String], said: &[String]| said.iter().all(|line| lines.contains(line));
        if !stands(&self.results, &said.results) || !stands(&self.errors, &said.errors) {
            return None;
        }
        let new = |lines: &[String], said: &[String]| {
            let new = lines.iter().filter(|line| !said.contains(line));
            new.cloned().collect::<Vec<_>>()
        };
        let (objective, now) = self.state.split_first()?;
        let (_, before) = said.state.split_first()?;
        // Of lines that stand twice, or in another order, no difference can tell.
        let once = |lines: &[String]| lines.iter().collect::<BTreeSet<_>>().len() == lines.len();
        let both = |lines: &[String], other: &[String]| {
            let both = lines.iter().filter(|line| other.contains(line));
            both.cloned().collect::<Vec<_>>()
        };
        if !once(now) || !once(before) || both(now, before) != both(before, now) {
            return None;
        }
        let gone = new(before, now).into_iter().map(|line| format!("over: {line}"));
        let come = new(now, before).into_iter().map(|line| format!("new: {line}"));
        let changes: Vec<String> = gone.chain(come).collect();
        let rest = if changes.is_empty() {
            "The rest of the task's state stands as it was said before.\n"
        } else {
            "The rest of the task's state stands as it was said before, but for this:\n"
        };
        Some(TaskLines {
            state: [objective.clone(), rest.to_owned()].into_iter().chain(changes).collect(),
            results: new(&self.results, &said.results),
            errors: new(&self.errors, &said.errors),
        })
    }

    fn written(&self, world: &World) -> (Piece, Option<Piece>) {
        let mut data = Framed::default();
        for (tag, lines) in [("results", &self.results), ("errors", &self.errors)] {
            if !lines.is_empty() {
                let body = lines.concat();
                let digest = Digest::of(body.as_bytes());
                let framed = enclose(world.frame_key(), tag, &[], digest, &body);
                data.text.push_str(&framed.text);
                data.escaped = data.escaped.saturating_add(framed.escaped);
                data.disguised |= framed.disguised;
            }
        }
        let data = (!data.text.is_empty()).then(|| data.into_piece(world));
        (Piece::added(world, self.state.concat()), data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::FrameKey;
    use crate::base::tokenizer::is_block;
    use proptest::prelude::*;

    fn world() -> World {
        World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap()
    }

    #[test]
    fn of_a_state_that_was_said_only_what_is_new_is_said() {
        let world = world();
        let state = |subtasks: &[(&str, &str)], results: &[&str]| -> TaskState {
            let subtasks = subtasks.iter();
            let results = results.iter();
            let json = serde_json::json!({
                "objective": "Look after the pumps of the north station.",
                "subtasks": subtasks.map(|(title, status)| serde_json::json!({ "title": title, "status": status })).collect::<Vec<_>>(),
                "results": results.map(|name| serde_json::json!({ "name": name, "value": "3 bar" })).collect::<Vec<_>>(),
            });
            serde_json::from_value(json).unwrap()
        };
        let many: Vec<(String, &str)> = (0..9)
            .map(|at| {
                (
                    format!("Look at pump number {at} and write down its pressure"),
                    "pending",
                )
            })
            .collect();
        let mut steps: Vec<(&str, &str)> =
            many.iter().map(|(title, status)| (title.as_str(), *status)).collect();
        let before = state(&steps, &["p1"]);
        steps[1].1 = "done";
        let now = state(&steps, &["p1", "p2"]);
        let (text, data) = task_state(&world, &now, Some(&before));
        let title = steps[1].0;
        assert_eq!(
            text.text.as_deref().unwrap(),
            format!(
                "objective: Look after the pumps of the north station.\n\
                 The rest of the task's state stands as it was said before, but for this:\n\
                 over: subtask: [pending] {title}\nnew: subtask: [done] {title}\n"
            )
        );
        let data = data.unwrap().text.unwrap();
        assert!(data.contains("p2") && !data.contains("p1"), "{data}");
        // The same is told in a line; what no longer holds, and what is as short, in whole.
        let (same, none) = task_state(&world, &now, Some(&now));
        assert!(same.text.unwrap().ends_with("as it was said before.\n") && none.is_none());
        let (whole, _) = task_state(&world, &before, None);
        assert_eq!(task_state(&world, &before, Some(&now)).0.text, whole.text);
        // So is what stands twice, and what stands in another order.
        let twice = state(&[steps[0], steps[0], steps[2]], &[]);
        let (whole, _) = task_state(&world, &twice, None);
        assert_eq!(task_state(&world, &twice, Some(&before)).0.text, whole.text);
        let turned: Vec<(&str, &str)> = steps.iter().rev().copied().collect();
        let turned = state(&turned, &["p1", "p2"]);
        let (whole, _) = task_state(&world, &turned, None);
        assert_eq!(task_state(&world, &turned, Some(&now)).0.text, whole.text);
        let short = state(&[], &[]);
        let (short_text, _) = task_state(&world, &short, None);
        assert_eq!(
            task_state(&world, &short, Some(&state(&[("a", "done")], &[]))).0.text,
            short_text.text
        );
    }

    proptest! {
        #[test]
        fn a_task_state_has_the_block_form(objective in ".{1,40}", value in ".{0,40}") {
            prop_assume!(!objective.trim().is_empty());
            let mut task = TaskState::new(objective);
            task.results.push(crate::input::request::IntermediateResult { name: value.clone(), value, source: None });
            let (state, data) = task_state(&world(), &task, None);
            prop_assert!(is_block(&state.text.unwrap()));
            prop_assert!(is_block(&data.unwrap().text.unwrap()));
        }
    }
}
