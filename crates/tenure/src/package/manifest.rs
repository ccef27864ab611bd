//! A manifest: what somebody writes down to have a package packed.

use serde_json::{Map, Value};

use super::form::{ContextBudget, MemoryNamespace, Retention, RetrievalRecipe};
use super::pack::Plan;
use crate::base::error::{Error, json_error};

/// The keys that belong into a part of a manifest, which a manifest that lost its indents has beside it.
const PARTS: [(&str, &[&str]); 3] = [
    (
        "namespace",
        &["project", "user", "agent", "thread", "task", "custom"],
    ),
    ("budget", &["max_items", "max_tokens", "reserve", "model"]),
    ("retention", &["expires", "review"]),
];
const RECIPE: [&str; 6] = ["query", "engine", "sources", "limit", "paths", "kind"];

/// Reads a manifest that was parsed from YAML or JSON. The keys of `namespace`, `budget`, `retention` and of the one
/// recipe may stand beside these words as well as below them.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) for an unknown key or a value that is none.
///
/// ```
/// use tenure::package::plan_of;
/// let manifest = serde_json::json!({
///     "title": "Pumps", "namespace": null, "project": "plant", "budget": {"max_items": 4},
///     "retrieval_recipes": [{"kind": "selector"}], "query": "sections", "sources": ["a.md"],
/// });
/// let plan = plan_of(manifest, "manifest.yaml")?;
/// assert_eq!(plan.namespace.project.as_deref(), Some("plant"));
/// assert_eq!(plan.recipes[0].sources, ["a.md"]);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn plan_of(manifest: Value, source: &str) -> Result<Plan, Error> {
    let Value::Object(mut fields) = manifest else {
        return Err(Error::input("the manifest is no mapping")
            .at(source, None)
            .expected("lines `key: value`"));
    };
    for (part, keys) in PARTS {
        let mut found = match fields.remove(part) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(found)) => found,
            Some(_) => {
                return Err(Error::input(format!("`{part}` is no mapping")).at(source, None));
            }
        };
        for key in keys {
            if let Some(value) = fields.remove(*key) {
                found.insert((*key).to_owned(), value);
            }
        }
        fields.insert(part.to_owned(), Value::Object(found));
    }
    let beside: Vec<(String, Value)> = RECIPE
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), fields.remove(*key)?)))
        .collect();
    let recipes = fields.entry("retrieval_recipes").or_insert_with(|| Value::Array(Vec::new()));
    if recipes.is_null() {
        *recipes = Value::Array(Vec::new());
    }
    if !beside.is_empty() {
        let Value::Array(list) = recipes else {
            return Err(Error::input("`retrieval_recipes` is no list").at(source, None));
        };
        if list.is_empty() {
            list.push(Value::Object(Map::new()));
        }
        match list.as_mut_slice() {
            [Value::Object(recipe)] => recipe.extend(beside),
            _ => {
                let key = &beside[0].0;
                return Err(
                    Error::input(format!("`{key}` belongs to one of several recipes"))
                        .at(source, None)
                        .expected(format!("`{key}` below the `- kind:` that it belongs to")),
                );
            }
        }
    }
    let read: Manifest = serde_json::from_value(Value::Object(fields))
        .map_err(|error| json_error(&error, source))?;
    Ok(Plan {
        name: read.name.unwrap_or_else(|| name_of(&read.title)),
        title: read.title,
        intent: read.intent,
        namespace: read.namespace,
        budget: read.budget,
        recipes: read.retrieval_recipes,
        retention: read.retention,
        reviewed: read.reviewed,
    })
}

#[derive(serde::Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Manifest {
    name: Option<String>,
    title: String,
    intent: String,
    namespace: MemoryNamespace,
    budget: ContextBudget,
    retrieval_recipes: Vec<RetrievalRecipe>,
    retention: Retention,
    reviewed: bool,
}

/// A name made of a title: its letters and digits in lower case, joined by hyphens.
pub fn name_of(title: &str) -> String {
    let mut name = String::new();
    for c in title.chars().flat_map(char::to_lowercase).take(60) {
        if c.is_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    match name.trim_end_matches('-') {
        "" => "package".to_owned(),
        name => name.to_owned(),
    }
}
