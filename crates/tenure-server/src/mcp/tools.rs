//! The tools: their names, their descriptions and schemas, which a model pays for in every request.

use std::str::FromStr;

use serde_json::{Value, json};
use tenure::error::nearest;
use tenure::object::clip;
use tenure::{Error, ErrorKind};

use super::forms::{
    Activate, ActivatedForm, Changed, Compile, CompiledForm, Evict, Explain, Explained, FoundForm,
    Pack, PackedForm, Promote, Propose, ProposedForm, Rehydrate, RehydratedForm, Rollback, Search,
    Write, schema_of,
};

/// A tool that agents call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum McpTool {
    /// Compiles what the store holds for a task.
    Compile,
    /// Says why objects are in or out of a compile.
    Explain,
    /// Finds passages in what the store holds.
    Search,
    /// Reads originals back.
    Rehydrate,
    /// Writes a block of the working memory.
    Write,
    /// Moves blocks of the working memory.
    Promote,
    /// Takes blocks out of the working memory.
    Evict,
    /// Takes out what was written in a run.
    Rollback,
    /// Proposes an outcome or a correction, which a person decides on.
    Propose,
    /// Packs what a query finds in the files of the project.
    Pack,
    /// Activates a package.
    Activate,
}

impl McpTool {
    /// All of them, in the order in which they are listed.
    pub const ALL: [McpTool; 11] = [
        McpTool::Compile,
        McpTool::Explain,
        McpTool::Search,
        McpTool::Rehydrate,
        McpTool::Write,
        McpTool::Promote,
        McpTool::Evict,
        McpTool::Rollback,
        McpTool::Propose,
        McpTool::Pack,
        McpTool::Activate,
    ];

    /// Whether it is offered where nothing else is asked for. Each definition has its price in every request, and
    /// packages are for those who use them.
    pub fn is_usual(self) -> bool {
        !self.needs_packages()
    }

    /// Whether it is about the packages of a folder.
    pub(super) fn needs_packages(self) -> bool {
        matches!(self, McpTool::Pack | McpTool::Activate)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            McpTool::Compile => "compile",
            McpTool::Explain => "explain",
            McpTool::Search => "search",
            McpTool::Rehydrate => "rehydrate",
            McpTool::Write => "write",
            McpTool::Promote => "promote",
            McpTool::Evict => "evict",
            McpTool::Rollback => "rollback",
            McpTool::Propose => "propose",
            McpTool::Pack => "pack",
            McpTool::Activate => "activate",
        }
    }

    /// The names of all of them.
    pub(super) fn names() -> String {
        format!("one of {}", McpTool::ALL.map(McpTool::name).join(", "))
    }

    /// The description that a model reads.
    pub fn description(self) -> &'static str {
        match self {
            McpTool::Compile => {
                "Compile what the store holds for a task into one payload within a budget, with what was left out and why."
            }
            McpTool::Explain => {
                "Say why objects are in or out of a compile for a task; with `name`, what would let that one in."
            }
            McpTool::Search => {
                "Find passages in all that the store holds, archived objects included."
            }
            McpTool::Rehydrate => {
                "Read back an original that was condensed or summarized: by the id in its pointer, or messages of this conversation by id or query."
            }
            McpTool::Write => {
                "Write a block of working memory, or replace your own block of that name."
            }
            McpTool::Promote => "Move blocks of working memory, as one unit in the order given.",
            McpTool::Evict => "Take blocks out of working memory for good.",
            McpTool::Rollback => "Take out every block that you wrote in a run.",
            McpTool::Propose => {
                "Propose an outcome of the work, or with `mistake` a correction, to be remembered once a person accepts it."
            }
            McpTool::Pack => {
                "Pack what a query finds in the project's files into a named package that others can activate."
            }
            McpTool::Activate => {
                "Activate a package: its items stand in later compiles, and are given back as Markdown."
            }
        }
    }

    /// Whether it changes nothing.
    pub(super) fn reads(self) -> bool {
        use McpTool::{Compile, Explain, Rehydrate, Search};
        matches!(self, Compile | Explain | Search | Rehydrate)
    }

    /// Whether it takes something away.
    pub(super) fn destroys(self) -> bool {
        matches!(self, McpTool::Write | McpTool::Evict | McpTool::Rollback)
    }

    /// The schema of its arguments.
    pub(super) fn takes(self) -> Value {
        match self {
            McpTool::Compile => schema_of::<Compile>(),
            McpTool::Explain => schema_of::<Explain>(),
            McpTool::Search => schema_of::<Search>(),
            McpTool::Rehydrate => schema_of::<Rehydrate>(),
            McpTool::Write => schema_of::<Write>(),
            McpTool::Promote => schema_of::<Promote>(),
            McpTool::Evict => schema_of::<Evict>(),
            McpTool::Rollback => schema_of::<Rollback>(),
            McpTool::Propose => schema_of::<Propose>(),
            McpTool::Pack => schema_of::<Pack>(),
            McpTool::Activate => schema_of::<Activate>(),
        }
    }

    /// The schema of its result.
    pub(super) fn gives(self) -> Value {
        match self {
            McpTool::Compile => schema_of::<CompiledForm>(),
            McpTool::Explain => schema_of::<Explained>(),
            McpTool::Search => schema_of::<FoundForm>(),
            McpTool::Rehydrate => schema_of::<RehydratedForm>(),
            McpTool::Propose => schema_of::<ProposedForm>(),
            McpTool::Pack => schema_of::<PackedForm>(),
            McpTool::Activate => schema_of::<ActivatedForm>(),
            _ => schema_of::<Changed>(),
        }
    }

    /// The definition that a client puts before a model: name, description and the schema of the arguments.
    pub fn definition(self) -> Value {
        json!({
            "name": self.name(),
            "description": self.description(),
            "input_schema": self.takes(),
        })
    }
}

impl FromStr for McpTool {
    type Err = Error;

    fn from_str(text: &str) -> Result<McpTool, Error> {
        McpTool::ALL.into_iter().find(|tool| tool.name() == text).ok_or_else(|| {
            let what = format!("there is no tool `{}`", clip(text));
            let error = Error::new(ErrorKind::Usage, what).expected(McpTool::names());
            match nearest(text, McpTool::ALL.into_iter().map(McpTool::name)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error,
            }
        })
    }
}
