//! The settings besides the blocks that decide how much is found again, as dated data (`settings.toml`).

use std::sync::OnceLock;

use serde::Deserialize;

use crate::base::error::Error;
use crate::object::Format;
use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// The part of a cache's contents that outlives a change.
    Keeps ("part that is kept") {
        /// Nothing.
        Nothing = "nothing",
        /// The tools.
        Tools = "tools",
        /// The tools and the system's text.
        ToolsAndSystem = "tools_and_system",
        /// Every block before the first that changed.
        Prefix = "prefix",
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    pub(super) format: Format,
    #[serde(rename = "setting")]
    pub(super) name: String,
    pub(super) keeps: Keeps,
    /// The document that states it.
    #[allow(dead_code)] // for whoever reads the file
    source: String,
}

/// The settings, in the order of the file.
pub(super) fn all() -> Result<&'static [Setting], Error> {
    #[derive(Deserialize)]
    struct File {
        #[allow(dead_code)] // for whoever reads the file
        dated: String,
        settings: Vec<Setting>,
    }
    static READ: OnceLock<Result<Vec<Setting>, String>> = OnceLock::new();
    let read = READ.get_or_init(|| {
        let file: Result<File, _> = toml::from_str(include_str!("settings.toml"));
        file.map(|file| file.settings).map_err(|error| error.to_string())
    });
    match read {
        Ok(settings) => Ok(settings),
        Err(error) => Err(Error::assertion(format!(
            "the settings can be read: {error}"
        ))),
    }
}
