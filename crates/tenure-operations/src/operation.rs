//! An operation: its form, its answer, and what each face has to know of it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure::{Error, ErrorKind};

use crate::context::{Access, Context};
use crate::input::Input;

/// An operation. The type that has this trait is its form: the fields are those of a body or query over HTTP, the options
/// of a command, the arguments of a tool and of a method in Python or Node; its doc comment is the summary on all of them.
pub trait Operation: DeserializeOwned + JsonSchema {
    /// The answer, as each face writes it in JSON.
    type Answer: Serialize + JsonSchema;

    /// The name, for clients that are generated, and for [`call`](crate::call).
    const ID: &'static str;
    /// The callers that it lets in.
    const ACCESS: Access;
    /// Its effect on what is stored.
    const EFFECT: Effect;
    /// True if it may erase, so that a server lets go of what it holds.
    const MAY_ERASE: bool = false;
    /// The state that it is about.
    const STATE: Numbering = Numbering::None;
    /// The method and the path over HTTP.
    const ROUTE: Route;
    /// The commands that call it.
    const COMMANDS: Names;
    /// The tools that call it over MCP.
    const TOOLS: Names;
    /// Inputs that show how it is called.
    const EXAMPLES: &'static [Example];

    /// Returns the number of the state that an answer is of.
    fn number(_answer: &Self::Answer) -> Option<u64> {
        None
    }

    /// Does it: the only place where its rules stand.
    ///
    /// # Errors
    ///
    /// Those of the operation; each that is about a field names it.
    fn run(self, context: &Context<'_>) -> Result<Self::Answer, Error>;
}

/// The effect of an operation on what is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// None.
    Reads,
    /// It writes, once for each idempotency key.
    Writes,
}

/// The numbered state that an operation is about, such as that of a log: over HTTP, an `ETag`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// There is none.
    None,
    /// The answer is of one.
    Numbered,
    /// The answer is of one, and the write may expect one ([`Context::expected`]).
    Expected,
}

/// The place of an operation in the API.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The method, in lower case.
    pub method: &'static str,
    /// The path; what stands in braces is a field of the form.
    pub path: &'static str,
    /// The status of an answer.
    pub status: u16,
}

impl Route {
    /// Returns the route that reads a path.
    pub const fn get(path: &'static str) -> Route {
        Route {
            method: "get",
            path,
            status: 200,
        }
    }

    /// Returns the route that posts to a path.
    pub const fn post(path: &'static str) -> Route {
        Route {
            method: "post",
            path,
            status: 200,
        }
    }

    /// Returns the route that makes something below a path.
    pub const fn create(path: &'static str) -> Route {
        Route {
            status: 201,
            ..Route::post(path)
        }
    }
}

/// The names by which a face calls an operation.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// These.
    Are(&'static [&'static str]),
    /// None, for this reason.
    None(&'static str),
}

/// An input that shows how an operation is called.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The effect of the call, in a few words.
    pub says: &'static str,
    /// The input, as JSON.
    pub input: &'static str,
}

/// An operation without its types, as a table holds it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name.
    pub id: &'static str,
    /// The callers that it lets in.
    pub access: Access,
    /// Its effect on what is stored.
    pub effect: Effect,
    /// True if it may erase, so that a server lets go of what it holds.
    pub may_erase: bool,
    /// The state that it is about.
    pub state: Numbering,
    /// The method and the path over HTTP.
    pub route: Route,
    /// The commands that call it.
    pub commands: Names,
    /// The tools that call it over MCP.
    pub tools: Names,
    /// Inputs that show how it is called.
    pub examples: &'static [Example],
    /// Makes the schema of the form.
    pub form: fn(&mut SchemaGenerator) -> Schema,
    /// Makes the schema of the answer.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
    run: fn(Input<'_>, &Context<'_>) -> Result<Answered, Error>,
}

/// An answer as it is written.
#[derive(Debug)]
pub struct Answered {
    /// The answer, as JSON.
    pub json: Vec<u8>,
    /// The number of the state that it is of.
    pub number: Option<u64>,
}

impl Entry {
    /// Returns the entry of an operation.
    pub const fn of<O: Operation>() -> Entry {
        Entry {
            id: O::ID,
            access: O::ACCESS,
            effect: O::EFFECT,
            may_erase: O::MAY_ERASE,
            state: O::STATE,
            route: O::ROUTE,
            commands: O::COMMANDS,
            tools: O::TOOLS,
            examples: O::EXAMPLES,
            form: SchemaGenerator::subschema_for::<O>,
            answer: SchemaGenerator::subschema_for::<O::Answer>,
            run: |input, context| {
                let answer = done(input.read::<O>()?, context)?;
                Ok(Answered {
                    json: written(&answer)?,
                    number: O::number(&answer),
                })
            },
        }
    }

    /// Reads the input, does it, and returns the answer as JSON.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the input is no form of the operation; otherwise as [`done`].
    pub fn call(&self, input: Input<'_>, context: &Context<'_>) -> Result<Vec<u8>, Error> {
        Ok(self.answer(input, context)?.json)
    }

    /// Like [`Entry::call`], with the number of the state that the answer is of.
    ///
    /// # Errors
    ///
    /// As [`Entry::call`].
    pub fn answer(&self, input: Input<'_>, context: &Context<'_>) -> Result<Answered, Error> {
        (self.run)(input, context)
    }

    /// Returns the fields of the form that the path names.
    pub fn in_path(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.route.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Returns the summary: the first paragraph of the form's doc comment, without its full stop.
    pub fn summary(&self) -> String {
        let says = self.says();
        let first = says.split("\n\n").next().unwrap_or_default();
        first.trim_end_matches('.').replace('\n', " ")
    }

    /// Returns the doc comment of the form.
    pub fn says(&self) -> String {
        self.whole_form()
            .get("description")
            .and_then(|says| says.as_str())
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns the schema of the form, with all that it refers to.
    pub fn whole_form(&self) -> Schema {
        let settings = schemars::generate::SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true);
        (self.form)(&mut settings.into_generator())
    }
}

/// Does an operation for a caller whom it lets in.
///
/// # Errors
///
/// [`ErrorKind::Policy`] when the caller may not call it; otherwise those of the operation.
pub fn done<O: Operation>(form: O, context: &Context<'_>) -> Result<O::Answer, Error> {
    context.check(O::ACCESS)?;
    form.run(context)
}

fn written(answer: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(answer).map_err(|error| {
        let what = format!("the answer cannot be written as JSON: {error}");
        Error::new(ErrorKind::Internal, what)
    })
}
