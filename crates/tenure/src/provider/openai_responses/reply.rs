//! The answers of the OpenAI responses API as the items that their client sends back.

use std::collections::BTreeMap;

use crate::base::error::Error;
use crate::provider::wire::json::{Fields, JsonPath};
use crate::provider::wire::stream::{Stream, unfinished};

/// Returns a stream from its beginning.
pub(super) fn stream() -> Box<dyn Stream> {
    Box::new(Items::default())
}

/// The items of a turn, as each was done.
#[derive(Default)]
struct Items {
    done: BTreeMap<u64, String>,
    /// The items, as the last event has them.
    last: Option<String>,
    finished: bool,
}

impl Stream for Items {
    fn take(&mut self, place: &JsonPath, event: &Fields<'_>) -> Result<(), Error> {
        match place.maybe(event, "type")?.as_deref() {
            Some("response.output_item.done") => {
                let index = event.get("output_index").and_then(|index| index.get().parse().ok());
                if let (Some(index), Some(item)) = (index, event.get("item")) {
                    self.done.insert(index, item.get().to_owned());
                }
            }
            Some("response.completed" | "response.incomplete") => {
                self.finished = true;
                if let (true, Some(response)) = (self.done.is_empty(), event.get("response")) {
                    let place = place.key("response");
                    self.last = Some(whole(&place, &place.fields(response)?)?);
                }
            }
            Some("response.failed" | "response.cancelled" | "error") => {
                return Err(place.wrong("the answer failed", "a whole answer"));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(self: Box<Self>, place: &JsonPath) -> Result<String, Error> {
        if !self.finished {
            return Err(unfinished(place));
        }
        let done: Vec<String> = self.done.into_values().collect();
        self.last
            .or_else(|| Some(done.join(",")))
            .filter(|items| !items.is_empty())
            .ok_or_else(|| place.wrong("there are no items", "at least one"))
    }
}

/// The items of a whole response.
pub(super) fn whole(place: &JsonPath, fields: &Fields<'_>) -> Result<String, Error> {
    let status = place.maybe(fields, "status")?;
    if !matches!(status.as_deref(), None | Some("completed" | "incomplete")) {
        return Err(unfinished(place));
    }
    let place = place.key("output");
    let items = match fields.get("output") {
        Some(output) => place.list(output)?,
        None => Vec::new(),
    };
    if items.is_empty() {
        return Err(place.wrong("there are no items", "at least one"));
    }
    let items: Vec<&str> = items.iter().map(|item| item.get()).collect();
    Ok(items.join(","))
}
