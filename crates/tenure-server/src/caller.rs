//! The caller of a request.

use std::sync::Arc;

use tenure_workspace::keys::Grant;

/// The caller of a request: every request is of one tenant.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) tenant: Arc<str>,
    /// The id of the key, where there was one, or `jwt:`, the name of the issuer where it has one, and the subject of the token.
    pub(crate) key: Option<Arc<str>>,
    pub(crate) grant: Arc<Grant>,
}
