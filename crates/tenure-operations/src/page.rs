//! Pages of lists.

use tenure::Error;

/// Returns how many a page holds.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is none, or more than 1,000.
pub fn limit(asked: Option<u32>) -> Result<u32, Error> {
    match asked.unwrap_or(100) {
        limit @ 1..=1_000 => Ok(limit),
        limit => Err(Error::input(format!("{limit} is out of range"))
            .at("limit", None)
            .expected("1 to 1000")),
    }
}
