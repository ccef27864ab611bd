//! `tenure rehydrate`.

use serde_json::json;
use tenure::{Digest, Error, PointerId};
use tenure_workspace::write_whole;

use super::{print_bytes, print_json, stores, usage, with_originals};
use crate::args::{Format, RehydrateArgs};
use crate::failure::Failure;

/// Reads an original back and prints it.
pub(crate) fn run(args: &RehydrateArgs) -> Result<(), Failure> {
    let id = usage(PointerId::of(&args.id))?;
    let (workspace, originals) = with_originals(&args.originals, stores::opened)?;
    let content = workspace.rehydrate_from(&originals, id)?;
    if args.format == Format::Text {
        return match &args.out {
            Some(path) => Ok(write_whole(path, &content)?),
            None => print_bytes(&content),
        };
    }
    let text = std::str::from_utf8(&content).map_err(|_| {
        Error::input(format!("the original {id} is not text"))
            .hint("omit --format json to get its bytes")
    })?;
    let value = json!({
        "id": id,
        "digest": Digest::of(&content),
        "bytes": content.len(),
        "content": text,
    });
    match &args.out {
        Some(path) => Ok(write_whole(path, format!("{value:#}\n").as_bytes())?),
        None => print_json(&value),
    }
}
