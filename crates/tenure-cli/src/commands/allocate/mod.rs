//! `tenure allocate`: how a budget is shared among the sections, and how another would be.

mod from_numbers;
mod from_request;
mod table;

use tenure::{Error, ErrorKind};

use super::print_json;
use crate::args::{AllocateArgs, Format};
use crate::failure::Failure;
use crate::report;

/// Shares and prints.
pub(crate) fn run(args: &AllocateArgs) -> Result<(), Failure> {
    let compile = &args.compile;
    if args.what_if.contains(&0) {
        let error = Error::new(ErrorKind::Usage, "--what-if: the budget is 0 tokens");
        return Err(error.expected("at least 1").into());
    }
    let study = if args.claims.is_some() || !args.demands.is_empty() {
        from_numbers::study(args)?
    } else if compile.sources.is_empty()
        && compile.reading.read_as.is_empty()
        && compile.task.is_none()
        && compile.task_file.is_none()
        && compile.request.is_none()
    {
        let error = Error::new(
            ErrorKind::Usage,
            "there is no section or claim to share the budget among",
        );
        let expected = "--demand SECTION=TOKENS, --claims FILE, or sources and a --task";
        return Err(error.expected(expected).into());
    } else {
        from_request::study(args)?
    };
    match compile.format {
        Format::Json => print_json(&study.json()),
        Format::Text => report::put(&table::Table(&study).text()),
    }
}
