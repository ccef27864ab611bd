//! The modes of the gateway.

use std::str::FromStr;

use tenure::Error;
use tenure::error::unknown_name;

/// The mode of the gateway: what it does to the requests that go through it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum Mode {
    /// Requests are recorded, and go on as they came.
    #[default]
    Observe,
    /// Requests are altered as far as they must be to fit and to stay legal.
    Fit,
    /// Requests are compiled under the tenant's policy.
    Full,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::Observe, Mode::Fit, Mode::Full];

    /// Returns its name.
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
