//! Objects and texts that come into a registry.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure::{ContextObject, Error, ObjectDocument};
use tenure_workspace::registries::{self, Imported};
use tenure_workspace::sources::Formats;
use tenure_workspace::sources::markdown::Split;

use super::{Once, check_expected};
use crate::context::{Access, Caller, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Numbering, Operation, Route};

/// Put objects, or what texts hold, into a registry behind its blocks: all of them, or none
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportBlocks {
    /// The registry's label; where there is none, it is made
    pub label: String,
    /// Objects, which are the tenant's
    #[serde(default)]
    pub objects: Vec<ObjectDocument>,
    /// Texts of seed files, behind the objects
    #[serde(default)]
    pub documents: Vec<SeedText>,
    /// The names of the blocks that are wanted [default: all]
    #[serde(default)]
    pub blocks: Vec<String>,
}

/// The text of a file.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedText {
    /// The file's path: its end says the format, and the rest is the name of a block that has none of its own.
    pub path: String,
    /// The text.
    pub text: String,
}

impl Operation for ImportBlocks {
    type Answer = Imported;

    const ID: &'static str = "importBlocks";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Writes;
    const STATE: Numbering = Numbering::Expected;
    const ROUTE: Route = Route::post("/api/v1/registries/{label}/import");
    const COMMANDS: Names = Names::None("`import` reads files and folders into a snapshot");
    const TOOLS: Names = Names::None("`write` writes blocks");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "what a file holds",
        input: r#"{"label": "notes", "documents": [{"path": "tone.md", "text": "Be brief."}]}"#,
    }];

    fn number(done: &Imported) -> Option<u64> {
        Some(done.registry.operations)
    }

    fn run(self, context: &Context<'_>) -> Result<Imported, Error> {
        let asked = json!([
            "import",
            self.label,
            self.objects,
            self.documents,
            self.blocks
        ]);
        let once = Once::new(context, &asked)?;
        let tenant = context.tenant()?;
        let mut kept = context.workspace.registries_of(&tenant)?;
        let mut count = once.before(&tenant)?;
        if count.is_none() {
            check_expected(&mut kept, &self.label, context.expected)?;
            let field = if self.blocks.is_empty() {
                "objects"
            } else {
                "blocks"
            };
            let objects = sealed(self.objects, &self.documents, context.caller)?;
            let into = &mut kept.registries;
            let done =
                registries::import(into, &self.label, &objects, &self.blocks).in_field(field)?;
            count = once
                .save(kept, done.imported as u64)
                .map_err(|error| context.unexpected(error))?;
            if count.is_none() {
                return Ok(done);
            }
            kept = context.workspace.registries_of(&tenant)?;
        }
        Ok(Imported {
            lowered: Vec::new(),
            imported: usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX),
            registry: kept.registries.view(&self.label)?.summary(),
        })
    }
}

/// Returns the objects, and behind them those that the texts hold, as the caller's tenant's.
fn sealed(
    objects: Vec<ObjectDocument>,
    documents: &[SeedText],
    caller: &Caller,
) -> Result<Vec<Arc<ContextObject>>, Error> {
    let mut sealed = Vec::with_capacity(objects.len());
    let mut seal = |mut document: ObjectDocument, field: String| {
        caller.own(&mut document)?;
        document.distrust(caller.grant.authority());
        sealed.push(document.seal().in_field(&field)?);
        Ok::<(), Error>(())
    };
    for (at, document) in objects.into_iter().enumerate() {
        seal(document, format!("objects[{at}]"))?;
    }
    let formats = Formats::standard();
    for (at, SeedText { path, text }) in documents.iter().enumerate() {
        let stem = Path::new(path).with_extension("");
        let name = stem.to_string_lossy();
        let read =
            formats.parse(Path::new(path), &name, text, Split::default()).map_err(|error| {
                let line = error.at.as_ref().and_then(|at| at.line);
                error.at(format!("documents[{at}]"), line)
            })?;
        for sourced in read {
            seal(sourced.document, format!("documents[{at}]"))?;
        }
    }
    Ok(sealed)
}
