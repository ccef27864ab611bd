//! Changes of registries by the names of their blocks, of whichever face they come.

use serde_json::Value;
use tenure::registry::{Applied, Capability, Kind, LoweredAuthority, Op, Registries};
use tenure::request::json_error;
use tenure::{Error, ErrorKind, ObjectDocument};
use tenure_workspace::KeptRegistries;

use super::{check_expected, check_known, has};
use crate::context::{Caller, Context};
use crate::fields::{InField, read_field};

/// The most tries of a change while others change the registry, too.
const TRIES: usize = 8;

/// A change, and the registry on whose behalf it is done.
pub(super) struct Change {
    pub(super) operation: Value,
    pub(super) actor: Option<String>,
}

impl Change {
    fn by(&self, registries: &Registries, label: &str) -> Result<Capability, Error> {
        registries.issue(self.actor.as_deref().unwrap_or(label)).in_field("actor")
    }

    /// Returns the objects of a change that was done already that have less authority than they asked for.
    pub(super) fn lowered(
        self,
        kept: &KeptRegistries,
        context: &Context<'_>,
        label: &str,
    ) -> Result<Vec<LoweredAuthority>, Error> {
        let by = self.by(&kept.registries, label)?;
        Ok(operation(self.operation, context.caller, &kept.registries, &by)?.1)
    }
}

/// Changes a registry that is as it is expected.
pub(super) fn changed(
    mut kept: KeptRegistries,
    context: &Context<'_>,
    label: &str,
    change: Change,
    expected: Option<u64>,
) -> Result<(KeptRegistries, Applied), Error> {
    check_known(&kept.registries, label)?;
    let by = change.by(&kept.registries, label)?;
    let (operation, lowered) = operation(change.operation, context.caller, &kept.registries, &by)?;
    check_expected(&mut kept, label, expected)?;
    let view = kept.registries.view(label)?;
    let operation = operation.try_map(|name| {
        let block = view.named(&name).in_field("operation")?;
        Ok::<_, Error>(view.address(&kept.registries, block))
    })?;
    let applied = kept.registries.apply(&by, label, operation);
    let applied = Applied {
        lowered,
        ..applied.in_field("operation")?
    };
    Ok((kept, applied))
}

/// A change of the caller's own registry, and the names of its blocks after it.
#[derive(Debug)]
pub struct OwnChange {
    /// The change.
    pub applied: Applied,
    /// The names, in order.
    pub blocks: Vec<String>,
}

/// Changes a registry on its own behalf, by an operation that is made for the names of its blocks. Where there is none,
/// `or_create` makes it.
///
/// # Errors
///
/// [`ErrorKind::NotFound`] when there is none; [`ErrorKind::Conflict`] when others change it all the time; otherwise as
/// [`Registries::apply`].
pub fn change_own(
    context: &Context<'_>,
    (label, or_create): (&str, bool),
    operation: impl Fn(&[String]) -> Value,
) -> Result<OwnChange, Error> {
    let tenant = context.tenant()?;
    let mut tries = 0;
    loop {
        tries += 1;
        let mut kept = context.workspace.registries_of(&tenant)?;
        if or_create && !has(&kept.registries, label) {
            kept.registries.create(label, Kind::Agent)?;
        }
        let names = names_in(&mut kept, label)?;
        let change = Change {
            operation: operation(&names),
            actor: None,
        };
        let (mut kept, applied) = changed(kept, context, label, change, None)?;
        let blocks = names_in(&mut kept, label)?;
        match kept.save() {
            Ok(()) => return Ok(OwnChange { applied, blocks }),
            Err(error) if error.kind == ErrorKind::Conflict && tries < TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

/// The names of the blocks of a registry, in order; none where there is no registry.
fn names_in(kept: &mut KeptRegistries, label: &str) -> Result<Vec<String>, Error> {
    if !has(&kept.registries, label) {
        return Ok(Vec::new());
    }
    let view = kept.registries.view(label)?;
    Ok(view.blocks().map(|block| block.name().to_owned()).collect())
}

/// The operation, whose objects are of the caller's tenant, and by the registry that acts; and those of them that have
/// less authority than they asked for.
fn operation(
    mut said: Value,
    caller: &Caller,
    registries: &Registries,
    by: &Capability,
) -> Result<(Op<String>, Vec<LoweredAuthority>), Error> {
    let mut lowered = Vec::new();
    for field in ["object", "prefix", "suffix"] {
        if let Some(object) = said.get_mut(field).filter(|object| object.is_object()) {
            let within = format!("operation.{field}");
            let mut given: ObjectDocument = read_field(object.take(), &within)?;
            caller.own(&mut given)?;
            given.complete().in_field(&within)?;
            let asked = given.asked_authority();
            let mut document = registries.authored(by, given)?;
            document.distrust(caller.grant.authority());
            document.check_provenance().in_field(&within)?;
            let sealed = document.clone().seal().in_field(&within)?;
            lowered.extend(LoweredAuthority::of(asked, &sealed));
            *object =
                serde_json::to_value(document).map_err(|error| json_error(&error, &within))?;
        }
    }
    Ok((read_field(said, "operation")?, lowered))
}
