//! A relayed request item by item: what came, what was sent of it, in which form, why, and where the original is.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure::wire::Format;
use tenure::{Error, ErrorKind, World};

use super::{Choices, ExchangeRecord, Records};
use crate::sessions::{ItemForm, RequestItem, Seen, Session, outside};

/// A request, item by item.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RequestItems {
    /// The items, in the order in which they came.
    pub items: Vec<RequestItem>,
    /// The number of items of each form, and their tokens.
    pub forms: BTreeMap<ItemForm, Tally>,
    /// Reason for which they are not known one by one, where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<&'static str>,
    /// The model that the tokens are counted by; `unknown` where they are bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<String>,
}

/// Items that share a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Tally {
    /// Their number.
    pub items: u64,
    /// Their tokens as they came.
    pub came: u64,
    /// Their tokens as they were sent.
    pub sent: u64,
}

impl RequestItems {
    fn of(items: Vec<RequestItem>, unknown: Option<&'static str>) -> RequestItems {
        let mut forms: BTreeMap<ItemForm, Tally> = BTreeMap::new();
        for item in &items {
            let tally = forms.entry(item.form).or_default();
            tally.items += 1;
            tally.came += item.came;
            tally.sent += item.sent;
        }
        RequestItems {
            items,
            forms,
            unknown,
            counted_by: None,
        }
    }

    fn counted_by(self, world: &World) -> RequestItems {
        RequestItems {
            counted_by: Some(world.model_name().to_owned()),
            ..self
        }
    }

    /// The number of messages among them.
    pub fn messages(&self) -> u64 {
        let messages = self
            .items
            .iter()
            .filter(|item| item.id.starts_with('t') && item.came_at.is_some());
        messages.count() as u64
    }

    /// The request as one item, since no more is known of it.
    fn whole(record: &ExchangeRecord, unknown: &'static str) -> RequestItems {
        if record.sent_bytes.is_none() {
            return RequestItems::of(Vec::new(), Some(unknown));
        }
        let (form, why, says) = if record.is_as_it_came() {
            (
                ItemForm::Whole,
                "as_it_came",
                "it went on as it came".to_owned(),
            )
        } else {
            let compile = record.compile.as_deref();
            let of = |choices: &Choices| {
                let reasons: Vec<String> =
                    choices.reasons.iter().map(|(code, count)| format!("{code} {count}")).collect();
                format!("{} ({})", choices.len(), reasons.join(", "))
            };
            let says = compile.map_or_else(String::new, |compile| {
                let (included, omitted) = (of(&compile.included), of(&compile.omitted));
                format!("; of its candidates {included} went in and {omitted} stayed out")
            });
            let says = format!("what was done to each of its messages is not known{says}");
            (ItemForm::Condensed, "not_kept", says)
        };
        let request = RequestItem {
            id: "request".into(),
            came_at: None,
            speaker: "none",
            came: record.request_tokens.unwrap_or(0),
            sent: record.sent_tokens.unwrap_or(0),
            form,
            why: why.into(),
            says,
            pointer: None,
            begins: String::new(),
            text: String::new(),
        };
        let items = std::iter::once(request).chain(from_outside(record));
        RequestItems::of(items.collect(), Some(unknown))
    }
}

impl Records<'_> {
    /// A relayed request, item by item. It is read from the session that holds its messages, so it is known whichever
    /// compiler made it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when the session cannot be read; [`ErrorKind::Unavailable`] when the store cannot be
    /// reached.
    pub fn items(&self, record: &ExchangeRecord) -> Result<RequestItems, Error> {
        let compile = record.compile.as_deref();
        let Some(session) = &record.session else {
            return Ok(RequestItems::whole(
                record,
                "the request is in no session, and messages outside of sessions are not kept",
            ));
        };
        let Some(after) = record.session_entry() else {
            return Ok(RequestItems::whole(
                record,
                "the record does not say which messages of the session it is of",
            ));
        };
        let found = match compile {
            Some(_) => Session::sent(self.tenant, session, after),
            None => Session::past(self.tenant, session, after),
        };
        let session = match found {
            // What was only looked at may go by a name that no session could have.
            Err(error) if error.kind == ErrorKind::Input => None,
            found => found?,
        };
        let Some((session, _)) = session else {
            return Ok(RequestItems::whole(
                record,
                "its session is not there any more",
            ));
        };
        let world = self.world_of(record)?;
        let seen = Seen {
            world: &world,
            format: format_of(record, &session),
            compiled: compile.is_some(),
        };
        let mut items = session.items(&seen)?;
        items.extend(from_outside(record));
        let sum = |of: fn(&RequestItem) -> u64| items.iter().map(of).sum::<u64>();
        let came = record.request_tokens.unwrap_or(0).saturating_sub(sum(|item| item.came));
        let sent = record.sent_tokens.unwrap_or(0).saturating_sub(sum(|item| item.sent));
        if came > 0 || sent > 0 {
            items.push(around(came, sent, record.tools_left_out.len()));
        }
        Ok(RequestItems::of(items, None).counted_by(&world))
    }

    /// A session, item by item: its messages as they came, and what stands for them since the last epoch began. Tokens are
    /// counted as `model` counts them; else as the model that its messages were brought with, and where that is not known,
    /// as no known model does. `None` where there is no such session.
    ///
    /// # Errors
    ///
    /// As [`Records::items`].
    pub fn items_of_session(
        &self,
        id: &str,
        model: Option<&str>,
    ) -> Result<Option<RequestItems>, Error> {
        let session = match Session::find(self.tenant.clone(), id) {
            Err(error) if error.kind == ErrorKind::Input => None,
            found => found?,
        };
        let Some(session) = session else {
            return Ok(None);
        };
        let world = match model {
            Some(model) => self.workspace.world(model)?,
            None => {
                let origin = session.opened().origin.as_ref();
                self.world_named(origin.and_then(|origin| origin.model.as_deref()))?
            }
        };
        let seen = Seen {
            world: &world,
            format: session.opened().format.unwrap_or(Format::OpenAiChat),
            compiled: true,
        };
        let items = RequestItems::of(session.items(&seen)?, None);
        Ok(Some(items.counted_by(&world)))
    }

    /// The model by which the tokens of a request were counted.
    fn world_of(&self, record: &ExchangeRecord) -> Result<World, Error> {
        self.world_named(record.model.as_deref())
    }

    /// The model that a request's name means, or one of which nothing is known.
    fn world_named(&self, model: Option<&str>) -> Result<World, Error> {
        let catalogue = self.workspace.catalogue();
        match model.and_then(|model| catalogue.resolve(model)) {
            Some(found) => self.workspace.world(found.name),
            None => self.workspace.unknown_world(),
        }
    }
}

/// The objects from outside the conversation that a record names: those that were added, and those that stayed out.
fn from_outside(record: &ExchangeRecord) -> impl Iterator<Item = RequestItem> {
    let compile = record.compile.as_deref().into_iter();
    let chosen = compile.flat_map(|compile| {
        let included = compile.included.beside().map(|chosen| (chosen, true));
        included.chain(compile.omitted.beside().map(|chosen| (chosen, false)))
    });
    chosen.map(|(chosen, is_in)| {
        let tokens = u64::from(chosen.tokens);
        let (sent, form, says) = if is_in {
            (
                tokens,
                ItemForm::Added,
                "an object of the store was added".to_owned(),
            )
        } else {
            let says = format!("an object of the store, of {tokens} tokens, stayed out");
            (0, ItemForm::LeftOut, says)
        };
        RequestItem {
            id: outside(&chosen.name),
            came_at: None,
            speaker: "store",
            came: 0,
            sent,
            form,
            why: chosen.code.clone(),
            says,
            pointer: None,
            begins: String::new(),
            text: String::new(),
        }
    })
}

/// The format of a request's body.
pub(super) fn format_of(record: &ExchangeRecord, session: &Session) -> Format {
    if let Some(format) =
        record.compile.as_deref().and_then(|compile| compile.request.target.format())
    {
        return format;
    }
    let known = session.before().format;
    known.unwrap_or(match record.protocol.as_str() {
        "anthropic" => Format::Anthropic,
        _ => Format::OpenAiChat,
    })
}

/// The rest of a request, besides its messages.
fn around(came: u64, sent: u64, tools_left_out: usize) -> RequestItem {
    let (form, why, says) = if tools_left_out > 0 {
        (
            ItemForm::Condensed,
            "tools_left_out",
            format!("tools and settings: {tools_left_out} tools were not offered"),
        )
    } else if came == sent {
        (
            ItemForm::Whole,
            "around",
            "tools, settings and what else stands around the messages".to_owned(),
        )
    } else {
        (
            ItemForm::Condensed,
            "around",
            "tools, settings, and the words with which summaries and quotes stand".to_owned(),
        )
    };
    RequestItem {
        id: "around".into(),
        came_at: None,
        speaker: "none",
        came,
        sent,
        form,
        why: why.into(),
        says,
        pointer: None,
        begins: String::new(),
        text: String::new(),
    }
}
