//! The gates that the arguments ask for.

use tenure::gate::Gate;
use tenure::num::Score;
use tenure::{Error, ErrorKind};

use crate::args::GateLimits;

/// The gate that the arguments ask for, and that for tools, if any.
pub(crate) fn gates_of(limits: &GateLimits) -> Result<(Option<Gate>, Option<Gate>), Error> {
    let gate = |flag, threshold: &Option<String>, top_k| {
        let threshold = score(flag, threshold.as_ref())?;
        let gate = Gate { threshold, top_k };
        Ok((gate != Gate::default()).then_some(gate))
    };
    Ok((
        gate("--threshold", &limits.threshold, limits.top_k)?,
        gate(
            "--tools-threshold",
            &limits.tools_threshold,
            limits.tools_top_k,
        )?,
    ))
}

pub(crate) fn score(flag: &str, text: Option<&String>) -> Result<Option<Score>, Error> {
    text.map(|text| {
        text.parse().ok().and_then(Score::new).ok_or_else(|| {
            Error::new(
                ErrorKind::Usage,
                format!("{flag}: `{text}` is not a number from 0 to 1"),
            )
        })
    })
    .transpose()
}
