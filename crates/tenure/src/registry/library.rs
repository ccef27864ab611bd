//! The library: seeds to draw from, loaded once and never changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::error::{Error, nearest};
use crate::base::text::clip;
use crate::object::{ContextObject, MAX_NAME};

/// Seeds under `namespace/name`.
///
/// ```
/// use tenure::ObjectDocument;
/// use tenure::registry::Library;
/// let seal = |name| ObjectDocument::rule(name, "text").seal();
/// let library = Library::new([("pins", seal("map")?), ("timers", seal("map")?), ("timers", seal("init")?)])?;
/// assert_eq!(library.get("init")?.0, "timers/init");
/// let error = library.get("map").unwrap_err();
/// assert_eq!(error.expected.as_deref(), Some("one of pins/map, timers/map"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Library {
    /// In the order in which they were loaded.
    seeds: Vec<(Arc<str>, Arc<ContextObject>)>,
    by_key: BTreeMap<Arc<str>, usize>,
    by_name: BTreeMap<Arc<str>, Vec<usize>>,
}

impl Library {
    /// The library of these objects, each with its namespace.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when two objects have one key, or a namespace is
    /// no plain word.
    pub fn new<'a>(
        objects: impl IntoIterator<Item = (&'a str, Arc<ContextObject>)>,
    ) -> Result<Library, Error> {
        let mut library = Library::default();
        for (namespace, object) in objects {
            let plain = |c: char| !(c.is_control() || c == '/' || c.is_whitespace());
            if namespace.is_empty() || namespace.len() > MAX_NAME || !namespace.chars().all(plain) {
                return Err(
                    Error::input(format!("`{}` is not a namespace", clip(namespace)))
                        .expected("a word without white space and `/`"),
                );
            }
            let key: Arc<str> = format!("{namespace}/{}", object.name()).into();
            if let Some(other) = library.by_key.get(&key) {
                let at = |object: &ContextObject| {
                    let origin = object.revision().source_origin();
                    origin.unwrap_or("an unnamed source").to_owned()
                };
                return Err(
                    Error::input(format!("two seeds are called `{}`", clip(&key)))
                        .expected("a name of its own for each seed of a namespace")
                        .hint(format!(
                            "one is in {}, one in {}",
                            at(&library.seeds[*other].1),
                            at(&object)
                        )),
                );
            }
            let place = library.seeds.len();
            let places = library.by_name.entry(object.shared_name()).or_default();
            places.push(place);
            library.by_key.insert(Arc::clone(&key), place);
            library.seeds.push((key, object));
        }
        Ok(library)
    }

    /// Returns the number of seeds.
    pub fn len(&self) -> usize {
        self.seeds.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.seeds.is_empty()
    }

    /// All seeds with their keys, in the order in which they were loaded.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<ContextObject>)> {
        self.seeds.iter().map(|(key, object)| (&**key, object))
    }

    /// The seed of this key, or of this name when only one has it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when there is none, or several: the keys of all
    /// are listed.
    pub fn get(&self, name: &str) -> Result<(&str, &Arc<ContextObject>), Error> {
        let seed = |place: usize| {
            let (key, object) = &self.seeds[place];
            (&**key, object)
        };
        let by_key = self.by_key.get(name).copied();
        let by_name = self.by_name.get(name).into_iter().flatten().copied();
        let places: Vec<usize> = by_key
            .into_iter()
            .chain(by_name)
            .collect::<BTreeSet<usize>>()
            .into_iter()
            .collect();
        match places.as_slice() {
            [place] => Ok(seed(*place)),
            [] => {
                let error = Error::input(format!("the library has no seed `{}`", clip(name)));
                let known = self.by_key.keys().chain(self.by_name.keys());
                Err(match nearest(name, known.map(|known| &**known)) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.expected("`namespace/name`, or a name that one seed has"),
                })
            }
            several => {
                let keys: Vec<&str> = several.iter().map(|place| seed(*place).0).collect();
                Err(Error::input(format!(
                    "`{}` is the name of {} seeds",
                    clip(name),
                    keys.len()
                ))
                .expected(format!("one of {}", keys.join(", "))))
            }
        }
    }
}
