//! A look over a catalogue: what is old, what has no price, what a user's text changes of the built-in one.

use serde::Serialize;

use super::model::Model;
use super::{BUILTIN_FILE, Catalogue, Entry};
use crate::base::time::Instant;

/// A finding in a catalogue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finding {
    /// An entry, or its prices, are older than was asked, or nobody says how old they are.
    Stale {
        /// The entry.
        name: String,
        /// The part of it that is old.
        what: Staleness,
        /// The day on which it was right, if somebody says.
        dated: Option<String>,
        /// The days since then.
        days: Option<i64>,
        /// The source of what is old, where one would look again.
        source: Option<String>,
    },
    /// The party that offers the model asks a price, and the entry has none.
    Unpriced {
        /// The entry.
        name: String,
    },
    /// A text of the user's changes an entry that is built in, or takes its place.
    Shadowed {
        /// The entry.
        name: String,
        /// The text, as it was named.
        file: String,
        /// The keys that it sets; none where it takes the entry's place.
        keys: Vec<String>,
    },
}

/// The part of an entry that is old.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Staleness {
    /// The entry as a whole.
    Entry,
    /// The prices.
    Prices,
}

impl Finding {
    /// The entry that it is about.
    pub fn name(&self) -> &str {
        match self {
            Finding::Stale { name, .. }
            | Finding::Unpriced { name }
            | Finding::Shadowed { name, .. } => name,
        }
    }
}

impl Catalogue {
    /// Lists what deserves a look on this day: entries and prices that are older than so many days, models that are
    /// sold without a price here, and built-in entries that another text changes. Bare vocabularies and models that one
    /// runs oneself need no price.
    ///
    /// ```
    /// use tenure::Catalogue;
    /// use tenure::catalogue::Finding;
    /// let mine = r#"
    ///     dated = 2026-01-05
    ///     models.gpt-4o.prices = [{ input = "2.50", output = "10.00" }]
    /// "#;
    /// let catalogue = Catalogue::builtin()?.with_overrides(mine, "models.toml")?;
    /// let found = catalogue.audit("2026-11-23".parse()?, 180);
    /// let mut found = found.iter().filter(|found| found.name() == "gpt-4o");
    /// assert!(matches!(found.next(), Some(Finding::Stale { days: Some(322), .. })));
    /// assert!(matches!(found.next(), Some(Finding::Shadowed { .. })));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn audit(&self, today: Instant, older_than: u32) -> Vec<Finding> {
        let mut found = Vec::new();
        for (name, entry) in &self.entries {
            let Entry { model, origin } = entry;
            let mut look = |what, dated: &Option<String>, source: &Option<String>| {
                let days = dated.as_deref().and_then(|day| days_since(today, day));
                if days.is_none_or(|days| days > i64::from(older_than)) {
                    found.push(Finding::Stale {
                        name: name.clone(),
                        what,
                        dated: dated.clone(),
                        days,
                        source: source.clone(),
                    });
                }
            };
            look(Staleness::Entry, &origin.dated, &model.source);
            if !model.prices.is_empty() {
                look(Staleness::Prices, &model.prices_dated, &model.prices_source);
            } else if is_sold(model) {
                found.push(Finding::Unpriced { name: name.clone() });
            }
            if origin.replaces.as_deref() == Some(BUILTIN_FILE) {
                found.push(Finding::Shadowed {
                    name: name.clone(),
                    file: origin.file.clone(),
                    keys: Vec::new(),
                });
            }
            let shadows = origin.changed.iter();
            found.extend(
                shadows.filter(|_| origin.file == BUILTIN_FILE).map(|change| Finding::Shadowed {
                    name: name.clone(),
                    file: change.file.clone(),
                    keys: change.keys.clone(),
                }),
            );
        }
        found
    }
}

/// Returns whether a party sells the model's answers: it has a provider, and is none that one runs oneself.
fn is_sold(model: &Model) -> bool {
    model.provider.is_some() && model.kv.is_none()
}

/// Returns the whole days from a day to an instant.
fn days_since(today: Instant, day: &str) -> Option<i64> {
    const DAY: i64 = 86_400_000_000;
    let day: Instant = day.parse().ok()?;
    Some(today.micros().saturating_sub(day.micros()).div_euclid(DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'f>(found: &'f [Finding], name: &str) -> Vec<&'f Finding> {
        found.iter().filter(|found| found.name() == name).collect()
    }

    #[test]
    fn nothing_is_stale_on_the_day_of_the_catalogue() {
        let catalogue = Catalogue::builtin().unwrap();
        let day = catalogue.origin("gpt-4o").unwrap().dated.clone().unwrap();
        let found = catalogue.audit(day.parse().unwrap(), 180);
        let is_unpriced = |found: &Finding| matches!(found, Finding::Unpriced { .. });
        assert!(found.iter().all(is_unpriced), "{found:?}");
        // What several models share has no price of its own; what one runs oneself needs none.
        assert_eq!(of(&found, "claude+").len(), 1);
        assert!(of(&found, "llama-3.1-8b").is_empty());
        assert!(of(&found, "o200k_base").is_empty());
    }

    #[test]
    fn prices_have_the_day_of_the_text_that_states_them() {
        let catalogue = Catalogue::builtin()
            .unwrap()
            .with_overrides(
                "dated = 2026-03-01\n\
                 [models.gpt-4o]\nprices = [{ input = \"1\" }]\n\
                 [models.gpt-4]\nwindow = 9000\n\
                 [models.o3]\nprices = [{ input = \"1\" }]\nprices_dated = 2026-09-01\n\
                 [models.o4-mini]\nprices = [{ input = \"1\" }]\ndated = 2026-08-01\n\
                 [models.gpt-4-turbo]\nextends = \"gpt-4\"\n",
                "mine.toml",
            )
            .unwrap();
        let day = |name: &str| catalogue.model(name).unwrap().prices_dated.clone().unwrap();
        let builtin = Catalogue::builtin().unwrap();
        let before = builtin.model("gpt-4").unwrap().prices_dated.clone();
        assert_eq!(day("gpt-4o"), "2026-03-01");
        assert_eq!(day("o3"), "2026-09-01");
        assert_eq!(day("o4-mini"), "2026-08-01");
        for inherited in ["gpt-4", "gpt-4-turbo"] {
            assert_eq!(Some(day(inherited)), before);
        }
        assert_eq!(catalogue.model("gpt-4o").unwrap().prices_source, None);

        let found = catalogue.audit("2026-11-23".parse().unwrap(), 180);
        let [
            Finding::Stale { what, days, .. },
            Finding::Shadowed { keys, .. },
        ] = of(&found, "gpt-4o")[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((*what, *days), (Staleness::Prices, Some(267)));
        assert_eq!(keys, &["prices"]);
        // What takes an entry's place has the day of its own file.
        let [
            Finding::Stale { what, .. },
            Finding::Shadowed { file, keys, .. },
        ] = of(&found, "gpt-4-turbo")[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((*what, file.as_str()), (Staleness::Entry, "mine.toml"));
        assert!(keys.is_empty());
        assert_eq!(of(&found, "gpt-4").len(), 1);
    }

    #[test]
    fn what_has_no_day_is_stale() {
        let text = "[models.mine]\nwindow = 9\nreserve = 1\ntokenizer = \"o200k_base\"\nprovider = \"x\"\n\
                    prices = [{ input = \"1\" }]";
        let catalogue = Catalogue::parse(text).unwrap();
        let found = catalogue.audit("2026-11-23".parse().unwrap(), 1_000_000);
        let is_undated = |found: &Finding| {
            matches!(
                found,
                Finding::Stale {
                    dated: None,
                    days: None,
                    ..
                }
            )
        };
        assert!(
            found.len() == 2 && found.iter().all(is_undated),
            "{found:?}"
        );
    }
}
