//! Reading a catalogue's texts, each laid over those before it. Every value keeps its place in its
//! text until it is understood, so that a mistake is named with its line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::model::{Model, check_day};
use super::{Change, Entry, Origin};
use crate::base::error::{Error, nearest, parse_error, unknown_name};
use crate::base::text::clip;

/// The most bytes of a catalogue.
pub(super) const MAX_CATALOGUE: usize = 1 << 20;
/// The most models of a catalogue's text.
const MAX_MODELS: usize = 4_096;
/// The most characters of a model's name.
const MAX_NAME: usize = 200;
/// The most words that platforms put before names, and the most characters of one.
const MAX_ROUTES: usize = 256;
const MAX_ROUTE: usize = 64;
/// The most entries that stand on one another by `extends`.
const MAX_CHAIN: usize = 16;
/// The fields that every entry needs.
const REQUIRED: [&str; 3] = ["window", "reserve", "tokenizer"];
/// The keys of an entry that hold tables.
pub(super) const PARTS: [&str; 6] = ["chat", "cache", "image", "kv", "messages", "late_tools"];
/// The keys of an entry that hold none.
#[rustfmt::skip]
pub(super) const PLAIN: [&str; 12] = [
    "window", "reserve", "tokenizer", "margin_percent", "provider", "prices", "prices_dated", "prices_source",
    "refuses_above_window", "family", "dated", "source",
];

/// An error and the place in the text that it is about.
pub(super) type Located = (Option<Range<usize>>, Error);

/// The line of a place, counted from one.
pub(super) fn line(text: &str, span: &Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// An entry as it is written.
struct Written<'t> {
    span: Range<usize>,
    extends: Option<(Range<usize>, String)>,
    keys: DeTable<'t>,
}

/// A text of a catalogue, taken apart but not understood.
pub(super) struct File<'t> {
    dated: Option<String>,
    routes: Vec<String>,
    models: BTreeMap<String, Written<'t>>,
}

impl<'t> File<'t> {
    pub(super) fn parse(text: &'t str) -> Result<File<'t>, Located> {
        if text.len() > MAX_CATALOGUE {
            let most = MAX_CATALOGUE >> 20;
            return Err((
                None,
                Error::input("the catalogue is too large").expected(format!("at most {most} MiB")),
            ));
        }
        let table = DeTable::parse(text).map_err(|error| understood(&error))?;
        let mut file = File {
            dated: None,
            routes: Vec::new(),
            models: BTreeMap::new(),
        };
        for (key, value) in table.into_inner() {
            let span = value.span();
            match (key.get_ref().as_ref(), day_as_text(value.into_inner())) {
                ("dated", DeValue::String(day)) => {
                    check_day(&day).map_err(|error| (Some(span), error))?;
                    file.dated = Some(day.into_owned());
                }
                ("dated", _) => {
                    let error = Error::input("`dated` is not a day").expected("YYYY-MM-DD");
                    return Err((Some(span), error));
                }
                ("routes", DeValue::Array(routes)) => {
                    for route in routes {
                        let at = route.span();
                        let route =
                            check_route(route.into_inner()).map_err(|error| (Some(at), error))?;
                        file.routes.push(route);
                    }
                }
                ("routes", _) => {
                    let error = Error::input("`routes` is not a list")
                        .expected("words that stand before names");
                    return Err((Some(span), error));
                }
                ("models", DeValue::Table(models)) => {
                    if models.len() > MAX_MODELS {
                        let what = format!("the catalogue has {} models", models.len());
                        let error = Error::input(what).expected(format!("at most {MAX_MODELS}"));
                        return Err((None, error));
                    }
                    for (name, value) in models {
                        let span = name.span();
                        let name = name.into_inner().into_owned();
                        check_name(&name).map_err(|error| (Some(span), error))?;
                        let written = Written::parse(&name, value)?;
                        file.models.insert(name, written);
                    }
                }
                ("models", _) => {
                    let error = Error::input("`models` is not a table")
                        .expected("a table `[models.\"NAME\"]` for each model");
                    return Err((Some(span), error));
                }
                (unknown, _) => {
                    let known = ["dated", "models", "routes"].into_iter();
                    let error = unknown_name("key", unknown, known);
                    return Err((Some(key.span()), error));
                }
            }
        }
        Ok(file)
    }
}

/// Returns a prefix that platforms put before names, checked.
fn check_route(route: DeValue<'_>) -> Result<String, Error> {
    let is_route = |c: char| c.is_ascii_alphanumeric() || ['-', '_'].contains(&c);
    match route {
        DeValue::String(route)
            if (1..=MAX_ROUTE).contains(&route.len()) && route.chars().all(is_route) =>
        {
            Ok(route.into_owned())
        }
        _ => Err(Error::input("this is nothing that stands before a name")
            .expected("a word such as \"openrouter\", without what parts it from the name")),
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let form =
        format!("1 to {MAX_NAME} characters, without control characters or spaces at the ends");
    if name.is_empty()
        || name.trim() != name
        || name.chars().count() > MAX_NAME
        || name.contains(char::is_control)
    {
        return Err(
            Error::input(format!("a model cannot be named `{}`", clip(name))).expected(form),
        );
    }
    if name.ends_with(".json") {
        return Err(Error::input(format!(
            "a model cannot be named `{}`: that is a path to a tokenizer.json",
            clip(name)
        ))
        .expected("a name that does not end with `.json`"));
    }
    Ok(())
}

impl<'t> Written<'t> {
    fn parse(name: &str, value: Spanned<DeValue<'t>>) -> Result<Written<'t>, Located> {
        let span = value.span();
        let DeValue::Table(mut keys) = value.into_inner() else {
            let error = Error::input(format!("model `{}` is not a table", clip(name)))
                .expected(format!("a table of {}, …", REQUIRED.join(", ")));
            return Err((Some(span), error));
        };
        let extends = match keys.remove("extends") {
            None => None,
            Some(value) => {
                let at = value.span();
                match value.into_inner() {
                    DeValue::String(base) => Some((at, base.into_owned())),
                    _ => {
                        let error = Error::input("`extends` is not a text")
                            .expected("the name of a model in quotes");
                        return Err((Some(at), error));
                    }
                }
            }
        };
        Ok(Written {
            span,
            extends,
            keys,
        })
    }
}

/// The entries so far: as they are written, so that more can be laid over them, and understood.
#[derive(Default)]
pub(super) struct Stack<'t> {
    raw: BTreeMap<String, DeTable<'t>>,
    pub(super) entries: BTreeMap<String, Entry>,
    /// The entry that each stem of a family has, by the text that says so last.
    pub(super) families: BTreeMap<String, String>,
    pub(super) routes: Vec<String>,
}

impl<'t> Stack<'t> {
    /// Lays the entries of a file over those so far. An entry that another one extends comes first.
    pub(super) fn lay(&mut self, file: File<'t>, shown: &str) -> Result<(), Located> {
        let File {
            dated,
            routes,
            mut models,
        } = file;
        self.routes.extend(routes);
        if self.routes.len() > MAX_ROUTES {
            let what = format!("{} routes", self.routes.len());
            return Err((
                None,
                Error::input(what).expected(format!("at most {MAX_ROUTES}")),
            ));
        }
        while let Some((name, written)) = models.pop_first() {
            let mut chain = vec![(name, written)];
            while let Some((_, top)) = chain.last()
                && let Some((span, base)) = &top.extends
            {
                let span = span.clone();
                if chain.iter().any(|(name, _)| name == base) {
                    let error = Error::input(format!("`{}` extends itself", clip(base)))
                        .expected("the name of another model");
                    return Err((Some(span), error));
                }
                if chain.len() == MAX_CHAIN {
                    let error = Error::input("the chain of `extends` is too long").expected(
                        format!("at most {MAX_CHAIN} models that extend one another"),
                    );
                    return Err((Some(span), error));
                }
                let base = base.clone();
                match models.remove(&base) {
                    Some(written) => chain.push((base, written)),
                    None => break,
                }
            }
            while let Some((name, written)) = chain.pop() {
                self.put(name, written, dated.as_deref(), shown)?;
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        name: String,
        written: Written<'t>,
        dated: Option<&str>,
        shown: &str,
    ) -> Result<(), Located> {
        let Written {
            span,
            extends,
            keys,
        } = written;
        let below = match &extends {
            None => self.raw.get(&name),
            Some((at, base)) => Some(self.raw.get(base).ok_or_else(|| {
                let error = Error::input(format!("unknown model `{}`", clip(base)))
                    .expected("a model of the catalogue");
                let error = match nearest(base, self.raw.keys().map(String::as_str)) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                };
                (Some(at.clone()), error)
            })?),
        };
        let set: Vec<String> = keys.keys().map(|key| key.get_ref().to_string()).collect();
        let mut whole = below.map_or_else(DeTable::new, |below| moved(below, &span));
        let states_family = extends.is_some() || set.iter().any(|key| key == "family");
        if extends.is_some() {
            // Its family is the other entry's.
            whole.remove("family");
        }
        let says = |wanted: &str| set.iter().any(|key| key == wanted);
        let says_when = says("dated");
        if says("prices") {
            // Where and when the prices below were read says nothing of these.
            whole.remove("prices_dated");
            whole.remove("prices_source");
        }
        lay_over(&mut whole, keys.clone(), true);
        if says("prices") && !says("prices_dated") {
            let day = keys
                .get("dated")
                .map(|day| day_as_text(day.get_ref().clone()))
                .or(dated.map(|day| DeValue::String(Cow::Owned(day.to_owned()))));
            if let Some(day) = day {
                let key = Spanned::new(span.clone(), Cow::Borrowed("prices_dated"));
                whole.insert(key, Spanned::new(span.clone(), day));
            }
        }
        if let Some((at, rest)) = cut_name(&keys) {
            let (name, rest) = (clip(&name), clip(&rest));
            let error = Error::input(format!("model `{name}`: unknown field `{rest}`"))
                .expected(format!(
                    "one of {}, where a table is meant",
                    PARTS.join(", ")
                ))
                .hint(format!(
                    "a name with a dot stands in quotes: [models.\"{name}.{rest}\"]"
                ));
            return Err((Some(at), error));
        }
        let missing: Vec<&str> =
            REQUIRED.into_iter().filter(|key| !whole.contains_key(*key)).collect();
        if !missing.is_empty() {
            return Err((Some(span), self.incomplete(&name, &missing)));
        }
        let entire = Spanned::new(span.clone(), DeValue::Table(whole.clone()));
        let named = |error: Error| Error {
            what: format!("model `{}`: {}", clip(&name), error.what),
            ..error
        };
        let model = Model::deserialize(ValueDeserializer::from(entire)).map_err(|error| {
            let (at, error) = understood(&error);
            (at.or(Some(span.clone())), named(with_extends(error)))
        })?;
        model.check().map_err(|fault| {
            let at = fault.keys.iter().find_map(|key| find(&keys, key));
            (at.or(Some(span.clone())), named(fault.error))
        })?;
        let origin = match self.entries.remove(&name) {
            Some(Entry { mut origin, .. }) if extends.is_none() => {
                origin.changed.push(Change {
                    file: shown.to_owned(),
                    keys: set,
                });
                if says_when {
                    origin.dated.clone_from(&model.dated);
                }
                origin
            }
            below => Origin {
                replaces: below.map(|below| below.origin.file),
                file: shown.to_owned(),
                dated: if says_when {
                    model.dated.clone()
                } else {
                    dated.map(str::to_owned)
                },
                extends: extends.map(|(_, base)| base),
                changed: Vec::new(),
            },
        };
        if states_family {
            self.families.retain(|_, entry| *entry != name);
        }
        for stem in &model.family {
            self.families.insert(stem.clone(), name.clone());
        }
        self.raw.insert(name.clone(), whole);
        self.entries.insert(name, Entry { model, origin });
        Ok(())
    }

    /// Returns the error of an entry that lacks what it needs, because it is new or misspelt.
    fn incomplete(&self, name: &str, missing: &[&str]) -> Error {
        let error = Error::input(format!(
            "model `{}` is new, and has no {}",
            clip(name),
            missing.join(", no ")
        ))
        .expected(format!("at least {}", REQUIRED.join(", ")));
        match nearest(name, self.raw.keys().map(String::as_str)) {
            Some(near) => error.hint(format!(
                "did you mean `{near}`? `extends = \"{near}\"` takes what it lacks from there"
            )),
            None => error.hint("`extends = \"NAME\"` takes what it lacks from another model"),
        }
    }
}

/// A parser's error in our words, and where it is.
fn understood(error: &toml::de::Error) -> Located {
    (error.span(), parse_error(error.message()))
}

/// An error of an entry, with all keys where one is unknown: `extends` is a key of the file, not of the model, so the
/// parser does not list it, and lists as long as an entry's are left out.
fn with_extends(mut error: Error) -> Error {
    let listed = error.expected.as_deref();
    if error.what.starts_with("unknown field")
        && listed.is_none_or(|list| list.starts_with("one of window,"))
        && let Some(given) = error.what.split('`').nth(1)
    {
        if nearest(given, ["extends"]).is_some() {
            error.hint = Some("did you mean `extends`?".to_owned());
        }
        let keys: Vec<&str> = PLAIN.into_iter().chain(PARTS).collect();
        error.expected = Some(format!("one of extends, {}", keys.join(", ")));
    }
    error
}

/// The key that is the rest of a name with a dot, when that was not quoted, as far as one can tell.
fn cut_name(keys: &DeTable<'_>) -> Option<(Range<usize>, String)> {
    let (key, _) = keys.iter().find(|(key, value)| {
        matches!(value.get_ref(), DeValue::Table(_))
            && nearest(key.get_ref(), PARTS.into_iter().chain(PLAIN)).is_none()
    })?;
    Some((key.span(), key.get_ref().to_string()))
}

/// Puts `changes` over `below`.
fn lay_over<'t>(below: &mut DeTable<'t>, changes: DeTable<'t>, top: bool) {
    for (key, value) in changes {
        let span = value.span();
        let value = day_as_text(value.into_inner());
        let old = below.remove(key.get_ref().as_ref());
        let laid = match (old.map(Spanned::into_inner), value) {
            (Some(DeValue::Table(mut inner)), DeValue::Table(changes))
                if !(top && is_another(key.get_ref(), &changes)) =>
            {
                lay_over(&mut inner, changes, false);
                DeValue::Table(inner)
            }
            (_, value) => value,
        };
        below.insert(key, Spanned::new(span, laid));
    }
}

/// Returns whether a part says what it is, and so does not change the one below but replaces it.
fn is_another(part: &str, changes: &DeTable<'_>) -> bool {
    match part {
        "cache" => changes.contains_key("kind"),
        "image" => changes.contains_key("formula"),
        "late_tools" => changes.contains_key("form"),
        _ => false,
    }
}

/// Returns the keys and values, standing where the entry that takes them stands.
fn moved<'t>(table: &DeTable<'t>, span: &Range<usize>) -> DeTable<'t> {
    fn value<'t>(old: &DeValue<'t>, span: &Range<usize>) -> DeValue<'t> {
        match old {
            DeValue::Table(inner) => DeValue::Table(moved(inner, span)),
            DeValue::Array(items) => {
                let items = items
                    .iter()
                    .map(|item| Spanned::new(span.clone(), value(item.get_ref(), span)));
                DeValue::Array(items.collect())
            }
            leaf => leaf.clone(),
        }
    }
    table
        .iter()
        .map(|(key, old)| {
            (
                Spanned::new(span.clone(), key.get_ref().clone()),
                Spanned::new(span.clone(), value(old.get_ref(), span)),
            )
        })
        .collect()
}

/// A day may be written without quotes, as TOML's own dates are.
fn day_as_text(value: DeValue<'_>) -> DeValue<'_> {
    match value {
        DeValue::Datetime(day) => DeValue::String(Cow::Owned(day.to_string())),
        other => other,
    }
}

/// Returns the place of a dotted key. A number is a place in a list.
fn find(table: &DeTable<'_>, dotted: &str) -> Option<Range<usize>> {
    let (first, rest) = match dotted.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (dotted, None),
    };
    let mut found = table.get(first)?;
    let Some(mut rest) = rest else {
        return Some(found.span());
    };
    if let DeValue::Array(items) = found.get_ref() {
        let (at, inner) = rest.split_once('.').unwrap_or((rest, ""));
        found = items.get(at.parse::<usize>().ok()?)?;
        if inner.is_empty() {
            return Some(found.span());
        }
        rest = inner;
    }
    match found.get_ref() {
        DeValue::Table(inner) => find(inner, rest),
        _ => None,
    }
}
