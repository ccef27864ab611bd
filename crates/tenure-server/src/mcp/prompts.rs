//! What users ask for by name: a compile that stands in their message.

use rmcp::model::{GetPromptRequestParams, JsonObject, Prompt, PromptArgument};
use serde_json::{Map, Value, json};
use tenure::Error;
use tenure::object::clip;

use super::calls::call;
use super::{Bound, McpTool};
use crate::error::Refusal;

/// The name of the only prompt.
const CONTEXT: &str = "context";

/// The prompts.
pub(super) fn list(bound: &Bound) -> Vec<Prompt> {
    // Whoever may not compile has none.
    if !bound.tools.contains(&McpTool::Compile) {
        return Vec::new();
    }
    let task = PromptArgument::new("task")
        .with_description("What is to be done")
        .with_required(true);
    let tokens = PromptArgument::new("tokens")
        .with_description("Budget; default 8000")
        .with_required(false);
    let description = "What the store holds for a task, compiled";
    vec![Prompt::new(
        CONTEXT,
        Some(description),
        Some(vec![task, tokens]),
    )]
}

/// The text of a prompt.
pub(super) fn text(bound: &Bound, asked: GetPromptRequestParams) -> Result<String, Refusal> {
    if asked.name != CONTEXT || list(bound).is_empty() {
        let what = format!("there is no prompt `{}`", clip(&asked.name));
        return Err(Error::not_found(what).expected(CONTEXT).into());
    }
    let arguments = arguments(asked.arguments.unwrap_or_default())?;
    let compiled = call(bound, McpTool::Compile, arguments)?;
    let pages = compiled["payloads"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|page| page["payload"].as_str());
    Ok(pages.collect::<Vec<_>>().join("\n"))
}

/// The arguments of a compile. Those of prompts are all texts.
fn arguments(mut given: JsonObject) -> Result<Map<String, Value>, Error> {
    let tokens = given.remove("tokens");
    if let Some(text) = tokens.as_ref().and_then(Value::as_str) {
        let number: u32 = text.trim().parse().map_err(|_| {
            let error = Error::input(format!("`{}` is no number of tokens", clip(text)));
            error.at("tokens", None).expected("such as 8000")
        })?;
        given.insert("tokens".to_owned(), json!(number));
    } else if let Some(tokens) = tokens {
        given.insert("tokens".to_owned(), tokens);
    }
    Ok(given)
}
