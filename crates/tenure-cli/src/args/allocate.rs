//! The arguments of `tenure allocate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{CompileArgs, tokens};

/// The arguments that only a request has.
const REQUEST: [&str; 31] = [
    "sources",
    "near",
    "skills",
    "split",
    "encoder",
    "task",
    "task_file",
    "query",
    "task_type",
    "request",
    "window",
    "reserve",
    "model",
    "target",
    "registry",
    "top_k",
    "threshold",
    "as_of",
    "known_at",
    "tenant",
    "user",
    "project",
    "roles",
    "session",
    "task_id",
    "origins",
    "pii",
    "clearance",
    "view",
    "trace",
    "dry_run",
];

#[derive(Debug, Args)]
#[command(
    override_usage = "tenure allocate --budget N --demand SECTION=TOKENS... [OPTIONS]
       tenure allocate --budget N --claims FILE
       tenure allocate --budget N [SOURCE]... --task TEXT [OPTIONS]"
)]
pub(crate) struct AllocateArgs {
    #[command(flatten)]
    pub(crate) compile: CompileArgs,
    /// The tokens that a section asks for
    ///
    /// Such as evidence=40000; the policy gives the rest. May be repeated.
    #[arg(
        long = "demand",
        value_name = "SECTION=TOKENS",
        conflicts_with_all = REQUEST
    )]
    pub(crate) demands: Vec<String>,
    /// A TOML or JSON file of `claims`
    ///
    /// Each has a `name`, a `demand`, `min` and `max` in tokens, `weight`, `alpha`, `beta` (in tokens) and the `cost` of a
    /// token.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = REQUEST,
        conflicts_with_all = ["demands", "policy"]
    )]
    pub(crate) claims: Option<PathBuf>,
    /// The worth that a cost of 1 takes from a token
    ///
    /// The cost sensitivity μ, with numbers alone. Default: the file's, or the policy's.
    #[arg(
        long,
        value_name = "MU",
        value_parser = sensitivity,
        allow_hyphen_values = true,
        conflicts_with_all = REQUEST
    )]
    pub(crate) sensitivity: Option<f64>,
    /// Another budget in tokens
    ///
    /// May be repeated [default: the budget × ½, ¾, 1, 1½ and 2].
    #[arg(
        long = "what-if",
        value_name = "N",
        value_parser = tokens,
        allow_hyphen_values = true
    )]
    pub(crate) what_if: Vec<u32>,
}

/// A cost sensitivity.
fn sensitivity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!(
            "`{text}` is not a cost sensitivity; expected a number of at least 0"
        )),
    }
}
