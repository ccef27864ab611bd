//! `tenure schema`.

use tenure::schema::{Form, schema};

use super::print_json;
use crate::args::SchemaArgs;
use crate::failure::Failure;

/// Prints the schema.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    print_json(&schema(args.form.parse::<Form>()?))
}
