//! `tenure schema`.

use tenure::schema::{Form, schema};
use tenure::{Error, ErrorKind};

use super::print_json;
use crate::args::SchemaArgs;
use crate::failure::Failure;

/// Prints the schema.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let form = args.form.parse::<Form>().map_err(|error| Error {
        kind: ErrorKind::Usage,
        ..error
    })?;
    print_json(&schema(form))
}
