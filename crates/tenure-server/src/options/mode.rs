//! What the gateway does to the requests that go through it.

use std::str::FromStr;

use tenure::Error;
use tenure::error::unknown_name;

/// What the gateway does to the requests that go through it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum Mode {
    /// Nothing: they are recorded.
    #[default]
    Observe,
    /// What is needed to fit and to stay legal.
    Fit,
    /// They are compiled under the tenant's policy.
    Full,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::Observe, Mode::Fit, Mode::Full];

    /// Its name.
    pub fn term(self) -> &'static str {
        match self {
            Mode::Observe => "observe",
            Mode::Fit => "fit",
            Mode::Full => "full",
        }
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Mode, Error> {
        let known = Mode::ALL.into_iter();
        let mut named = known.clone().filter(|mode| mode.term() == text);
        named
            .next()
            .ok_or_else(|| unknown_name("gateway mode", text, known.map(Mode::term)))
    }
}
