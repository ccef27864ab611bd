//! The policies that a tenant's store keeps, each under its name and as it stood at every instant.

use tenure::time::Instant;
use tenure::{Error, Policy};
use tenure_store::Tenant;

/// The policies of a tenant.
#[derive(Clone, Copy)]
pub struct Policies<'t> {
    tenant: &'t Tenant,
}

impl<'t> Policies<'t> {
    /// Those of a tenant.
    pub fn of(tenant: &'t Tenant) -> Policies<'t> {
        Policies { tenant }
    }

    /// Keeps a policy under its name in a tenant's store, from now on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when a preset has the name;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn keep(&self, policy: &Policy) -> Result<Instant, Error> {
        let name = &policy.document().name;
        if Policy::preset(name).is_ok() {
            return Err(Error::input(format!("`{name}` is the name of a preset"))
                .expected("another `name` in the policy"));
        }
        let document = serde_json::to_value(policy.document())
            .map_err(|error| Error::input(format!("the policy cannot be written: {error}")))?;
        self.tenant.append_dated(&policy_log(name), document)
    }

    /// The policy that a tenant's store keeps under a name, as it was at an instant.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it cannot be read;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn get(&self, name: &str, known: Option<Instant>) -> Result<Option<Policy>, Error> {
        let Some(document) = self.tenant.dated(&policy_log(name), known)? else {
            return Ok(None);
        };
        let document = serde_json::from_value(document).map_err(|error| {
            Error::input(format!(
                "the stored policy `{name}` cannot be read: {error}"
            ))
        })?;
        Policy::seal(document).map(Some)
    }
}

fn policy_log(name: &str) -> String {
    format!("policy/{name}")
}
