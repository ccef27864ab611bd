//! The entry that a name in a request means: its own, one that it is a version of, or one of its family.

use std::collections::BTreeMap;

use super::Entry;
use crate::object::vocabulary::vocabulary;

/// The longest name that is looked at, in bytes: Amazon's resource names have up to 2,048.
const MAX_NAME: usize = 2_048;

vocabulary! {
    /// The rule by which a name means an entry of the catalogue.
    Rule ("rule of a name") {
        /// It is the entry's name.
        Exact = "exact",
        /// It is a version of the entry's name, or the same name as another platform writes it.
        Version = "version",
        /// It is of the entry's family: the smallest window of that family is taken for its own.
        Family = "family",
    }
}

/// The entry that a name means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resolved<'c> {
    /// The entry's name.
    pub name: &'c str,
    /// The rule.
    pub rule: Rule,
}

/// The beginning of names that mean an entry, in the form that [`plain`] gives.
#[derive(Clone, Debug)]
struct Stem {
    text: String,
    entry: String,
    rule: Rule,
}

/// The stems of a catalogue, those that say most first.
#[derive(Clone, Default, Debug)]
pub(super) struct Stems {
    stems: Vec<Stem>,
    /// The prefixes that platforms put before a name.
    routes: Vec<String>,
}

impl Stems {
    /// The stems of these entries; `families` says which entry has each stem of a family.
    pub(super) fn of(
        entries: &BTreeMap<String, Entry>,
        families: BTreeMap<String, String>,
        routes: Vec<String>,
    ) -> Stems {
        let names = entries.keys().map(|name| Stem {
            text: plain(name),
            entry: name.clone(),
            rule: Rule::Version,
        });
        let families = families.into_iter().map(|(stem, entry)| Stem {
            text: plain(&stem),
            entry,
            rule: Rule::Family,
        });
        let mut stems: Vec<Stem> = names.chain(families).collect();
        stems.sort_by_key(|stem| {
            let letters = stem.text.bytes().filter(|byte| *byte != b'*').count();
            (std::cmp::Reverse(letters), stem.rule)
        });
        Stems { stems, routes }
    }

    /// The entry that a name means, where its own name is none.
    pub(super) fn find(&self, name: &str) -> Option<Resolved<'_>> {
        // Names come from requests: a longer one is none that a provider would take.
        if name.len() > MAX_NAME {
            return None;
        }
        let name = self.behind_routes(name);
        let text = plain(name);
        let stem = self.stems.iter().find(|stem| {
            let ends = ends(&stem.text, &text);
            ends.iter().any(|end| match stem.rule {
                Rule::Family => true,
                _ => is_version(&name[*end..]),
            })
        })?;
        Some(Resolved {
            name: &stem.entry,
            rule: stem.rule,
        })
    }

    /// Returns whether a name is an entry's but for what a platform puts before it, a date and a version: `-2024-08-06`,
    /// `@20250929`, `-v1:0`, `-latest`, `-preview`. A word more may be another model, or a slip.
    pub(super) fn is_same(&self, name: &str, entry: &str) -> bool {
        let text = plain(self.behind_routes(name));
        let Some(rest) = text.strip_prefix(&*plain(entry)) else {
            return false;
        };
        let mut words = rest.split(['-', '@', ':']);
        words.next() == Some("")
            && words.all(|word| {
                let version = word.strip_prefix('v').unwrap_or(word);
                matches!(word, "latest" | "preview")
                    || version.bytes().all(|byte| byte.is_ascii_digit()) && !version.is_empty()
            })
    }

    /// A name without what platforms put before it: `us.anthropic.`, `openrouter/anthropic/`, an ARN.
    fn behind_routes<'n>(&self, name: &'n str) -> &'n str {
        let parts = name.match_indices(['/', '.', ':']);
        let mut behind =
            std::iter::once(0).chain(parts.map(|(at, _)| at + 1)).filter_map(|start| {
                let rest = &name[start..];
                self.routes.iter().find_map(|route| {
                    let head = rest.get(..route.len())?;
                    let tail = rest.get(route.len()..)?;
                    let is_route = head.eq_ignore_ascii_case(route) && tail.starts_with(['/', '.']);
                    is_route.then(|| &tail[1..])
                })
            });
        behind.next_back().unwrap_or(name)
    }
}

/// A name in lower case, its words parted by `-`: platforms differ in both. Its bytes stay where they are.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '.' | '_' | ' ' => '-',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

/// Returns the places in a name at which this beginning of it ends, each at the end of a word. `*` stands for any
/// text.
fn ends(stem: &str, name: &str) -> Vec<usize> {
    let mut parts = stem.split('*');
    let first = parts.next().unwrap_or_default();
    let mut ends: Vec<usize> = name.starts_with(first).then_some(first.len()).into_iter().collect();
    for part in parts {
        let Some(from) = ends.first().copied() else {
            break;
        };
        let found = name[from..].match_indices(part);
        ends = found.map(|(at, _)| from + at + part.len()).collect();
    }
    ends.retain(|end| !name[*end..].starts_with(char::is_alphanumeric));
    ends
}

/// Returns whether what follows the name of a model makes it a version of that: a day, a tag, a word; but not another
/// number, which makes it another model.
fn is_version(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(['.', '-']) else {
        return true;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let ends = !rest[digits..].starts_with(char::is_alphanumeric);
    !(ends && (1..=2).contains(&digits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::catalogue::Catalogue;
    use proptest::prelude::*;

    fn found(catalogue: &Catalogue, name: &str) -> Option<(String, Rule)> {
        let found = catalogue.resolve(name)?;
        Some((found.name.to_owned(), found.rule))
    }

    #[test]
    fn names_mean_what_platforms_mean_by_them() {
        let catalogue = Catalogue::builtin().unwrap();
        for (name, entry, rule) in [
            ("claude-opus-4-5", "claude-opus-4-5", Rule::Exact),
            ("claude-opus-4-5-20251101", "claude-opus-4-5", Rule::Version),
            ("claude-opus-4-5@20251101", "claude-opus-4-5", Rule::Version),
            (
                "anthropic.claude-opus-4-5-20251101-v1:0",
                "claude-opus-4-5",
                Rule::Version,
            ),
            (
                "us.anthropic.claude-haiku-4-5-20251001-v1:0",
                "claude-haiku-4-5",
                Rule::Version,
            ),
            (
                "arn:aws:bedrock:us-east-1:1234:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
                "claude-haiku-4-5",
                Rule::Version,
            ),
            (
                "arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0",
                "claude-sonnet-4-5",
                Rule::Version,
            ),
            (
                "claude-sonnet-4-5@20250929",
                "claude-sonnet-4-5",
                Rule::Version,
            ),
            (
                "publishers/anthropic/models/claude-sonnet-4-5@20250929",
                "claude-sonnet-4-5",
                Rule::Version,
            ),
            (
                "anthropic/claude-opus-4.5",
                "claude-opus-4-5",
                Rule::Version,
            ),
            (
                "openrouter/anthropic/claude-haiku-4.5:beta",
                "claude-haiku-4-5",
                Rule::Version,
            ),
            (
                "Anthropic/Claude-Opus-5.5",
                "claude-opus-5-5",
                Rule::Version,
            ),
            ("claude-opus-5-5[1m]", "claude-opus-5-5", Rule::Version),
            ("claude-opus-5-20260724", "claude-opus-5", Rule::Version),
            ("claude-opus-4-8", "claude-opus-4-8+", Rule::Family),
            ("claude-opus-4-8[1m]", "claude-opus-4-8+", Rule::Family),
            (
                "anthropic/claude-opus-4.8",
                "claude-opus-4-8+",
                Rule::Family,
            ),
            (
                "global.anthropic.claude-opus-4-8",
                "claude-opus-4-8+",
                Rule::Family,
            ),
            ("claude-sonnet-4-6", "claude-sonnet-4-6+", Rule::Family),
            (
                "claude-sonnet-4-6-20260217",
                "claude-sonnet-4-6+",
                Rule::Family,
            ),
            ("claude-opus-4-1-20250805", "claude-opus-4-1", Rule::Version),
            ("claude-opus-4@20250514", "claude-opus-4", Rule::Version),
            (
                "anthropic.claude-3-5-sonnet-20241022-v2:0",
                "claude-3-5-sonnet",
                Rule::Version,
            ),
            (
                "claude-3-7-sonnet-latest",
                "claude-3-7-sonnet",
                Rule::Version,
            ),
            ("claude-3-sonnet-20240229", "claude-4+", Rule::Family),
            // Another number is another model.
            ("claude-opus-5-9", "claude+", Rule::Family),
            ("claude-sonnet-9", "claude+", Rule::Family),
            ("claude-mythos-5-1", "claude-fable-5", Rule::Family),
            ("gpt-5.1", "gpt-5.1", Rule::Exact),
            ("openai/gpt-5.1", "gpt-5.1", Rule::Version),
            ("azure/gpt-5.1-eu", "gpt-5.1", Rule::Version),
            ("gpt-5.1-codex-max", "gpt-5.1", Rule::Version),
            ("gpt-5.3-codex", "gpt-5.3-codex", Rule::Exact),
            ("gpt-5.7", "gpt-5", Rule::Family),
            ("openai/gpt-6.5-sol", "gpt-6-sol", Rule::Family),
            ("openai/gpt-5.9:free", "gpt-5", Rule::Family),
            ("gpt-5-2025-08-07", "gpt-5", Rule::Version),
            ("gpt-5.2-chat-latest", "gpt-5-chat", Rule::Family),
            ("gpt-5-mini-2025-08-07", "gpt-5-mini", Rule::Version),
            ("gpt-5.1-codex-mini", "gpt-5.1-codex-mini", Rule::Exact),
            ("gpt-5.9-nano", "gpt-5.4-mini", Rule::Family),
            ("gpt-4.1-nano-2025-04-14", "gpt-4.1-nano", Rule::Version),
            ("gpt-4o-2024-11-20", "gpt-4o", Rule::Version),
            ("gpt-4-0613", "gpt-4", Rule::Version),
            ("gpt-35-turbo-16k", "gpt-3.5-turbo", Rule::Family),
            ("o3-mini-2025-01-31", "o3-mini", Rule::Version),
            ("o4-mini-2025-04-16", "o4-mini", Rule::Version),
            ("o1-preview-2024-09-12", "o1-preview", Rule::Version),
            ("o1-2024-12-17", "o1", Rule::Version),
            ("google/gemini-2.5-flash", "gemini-2.5-flash", Rule::Version),
            ("google/gemini-2.0-flash", "gemini-3-pro", Rule::Family),
            ("models/gemini-3-pro-preview", "gemini-3-pro", Rule::Version),
            (
                "gemini-2.5-flash-image-preview",
                "gemini-2.5-flash-image",
                Rule::Version,
            ),
            ("gemini-9-flash-image", "gemini-image", Rule::Family),
        ] {
            let expected = Some((entry.to_owned(), rule));
            assert_eq!(found(&catalogue, name), expected, "{name}");
        }
        for name in [
            "my-gpt-5-killer",
            "llama-claude-merge",
            "llama/claude-opus-4-5",
            "someone/gpt-4.1-distilled",
            "my-anthropic/claude-opus-4-5",
            "claude",
            "claude-merge-7b",
            "claudette-opus-4-5",
            "gpt-50",
            "gpt-oss-120b",
            "openai/gpt-oss-120b",
            "o3x",
            "openai/",
            "anthropic.",
            "",
            "*",
            "é/gpt-5",
            "arn:aws:bedrock:us-east-1:1234:application-inference-profile/abc123",
        ] {
            assert_eq!(found(&catalogue, name), None, "{name}");
        }
    }

    #[test]
    fn a_family_has_the_smallest_window_of_what_it_may_be() {
        let catalogue = Catalogue::builtin().unwrap();
        for (name, others) in [
            ("claude-opus-9", "claude-opus"),
            ("claude-sonnet-9", "claude-sonnet"),
            ("claude-haiku-9", "claude-haiku"),
            ("claude-fable-9", "claude-fable"),
            ("gpt-5.99", "gpt-5."),
            ("gpt-5.99-mini", "gpt-5-mini"),
            ("o3.9", "o3"),
            ("o4.9", "o4"),
            ("gemini-9", "gemini-3."),
        ] {
            let found = catalogue.resolve(name).unwrap();
            assert_eq!(found.rule, Rule::Family, "{name}");
            let own = catalogue.model(found.name).unwrap();
            let others: Vec<&str> =
                catalogue.names().filter(|other| other.starts_with(others)).collect();
            assert!(!others.is_empty(), "{name}");
            for other in others {
                let other_model = catalogue.model(other).unwrap();
                assert!(own.window <= other_model.window, "{name}: {other}");
            }
        }
        assert_eq!(catalogue.model("claude-opus-4-8+").unwrap().window, 200_000);
        assert_eq!(
            catalogue.model("claude-sonnet-4-6+").unwrap().window,
            200_000
        );
    }

    #[test]
    fn a_file_of_ones_own_states_families_and_routes() {
        let mine = "routes = [\"acme\"]\n\
            [models.mine]\nextends = \"gpt-5\"\nwindow = 9000\nreserve = 900\nfamily = [\"house\", \"gpt-5\"]\n\
            [models.exact]\nextends = \"mine\"\n";
        let catalogue = Catalogue::builtin().unwrap().with_overrides(mine, "mine.toml").unwrap();
        for (name, expected) in [
            ("house-7b", Some(("mine", Rule::Family))),
            ("acme/house-7b", Some(("mine", Rule::Family))),
            // A family is of the file that says so last; names of entries come first.
            ("gpt-5.9", Some(("mine", Rule::Family))),
            ("gpt-5", Some(("gpt-5", Rule::Exact))),
            ("acme.exact", Some(("exact", Rule::Version))),
            ("housing", None),
        ] {
            let expected = expected.map(|(name, rule)| (name.to_owned(), rule));
            assert_eq!(found(&catalogue, name), expected, "{name}");
        }
        // What extends another entry is no part of its family.
        assert!(catalogue.model("exact").unwrap().family.is_empty());
        let again = "[models.mine]\nfamily = []\n";
        let catalogue = catalogue.with_overrides(again, "again.toml").unwrap();
        assert_eq!(found(&catalogue, "house-7b"), None);
        for (text, what) in [
            ("models.o3.family = [\"-\"]", "no name begins with `-`"),
            ("models.o3.family = [\"a*\"]", "no name begins with `a*`"),
            ("models.o3.family = [\"a*b*c\"]", "no name begins with"),
            ("models.o3.family = \"o3\"", "wrong kind of value"),
            ("routes = [7]", "nothing that stands before a name"),
            ("routes = [\"a/b\"]", "nothing that stands before a name"),
            ("routes = \"a\"", "`routes` is not a list"),
        ] {
            let catalogue = Catalogue::builtin().unwrap();
            let error = catalogue.with_overrides(text, "mine.toml").unwrap_err();
            assert!(error.what.contains(what), "{error}");
        }
    }

    #[test]
    fn what_is_not_known_is_counted_most_carefully() {
        let catalogue = Catalogue::builtin().unwrap();
        let unknown = catalogue.unknown();
        for name in catalogue.names() {
            let model = catalogue.model(name).unwrap();
            assert!(model.margin_percent <= unknown.margin_percent);
            assert!(model.window < unknown.window && model.chat.tools <= unknown.chat.tools);
        }
    }

    proptest! {
        #[test]
        fn any_name_is_resolved_or_not(name in "[a-zA-Z0-9./:@\\[\\]*_ é-]{0,40}", known in 0usize..60) {
            let catalogue = Catalogue::builtin().unwrap();
            let _ = catalogue.resolve(&name);
            let known = catalogue.names().nth(known).unwrap_or("o3");
            // What comes before a name, unless it is a route, makes it another.
            let before = format!("x{known}");
            prop_assert!(catalogue.resolve(&before).is_none_or(|found| found.name != known));
            for route in ["anthropic/", "us.anthropic.", "openrouter/openai/"] {
                let routed = format!("{route}{known}");
                let found = catalogue.resolve(&routed).map(|found| found.name);
                prop_assert!(found == Some(known) || known.contains(['/', '+']), "{}", routed);
            }
        }
    }
}
