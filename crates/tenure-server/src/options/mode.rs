//! The modes of the gateway.

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

tenure::terms! {
    Mode ("gateway mode") {
        Observe = "observe",
        Fit = "fit",
        Full = "full",
    }
}
