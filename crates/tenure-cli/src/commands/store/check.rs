//! `tenure store check`: whether a store is what was written.

use serde_json::json;
use tenure::object::Authority;
use tenure::{Error, ErrorKind};
use tenure_store::engine::Damage;
use tenure_store::{Store, Writing};

use crate::args::{CheckStoreArgs, Format};
use crate::commands::{print, print_json};
use crate::failure::{Failure, cell};

pub(super) fn check(args: &CheckStoreArgs) -> Result<(), Failure> {
    let read = crate::commands::stores::to_read(&args.url)?;
    let mut found = look(&read, args)?;
    let web = trusted(&read, args)?;
    let claims = unparsed(&read, args)?;
    let nobody = about_nobody(&read, args)?;
    drop(read);
    let first = found.len();
    if args.repair && first > 0 {
        let store = crate::commands::stores::existing(&args.url, "tenure store put")?;
        store.rebuild()?;
        for tenant in tenants(&store, args)? {
            store.tenant(&tenant)?.repair(&Writing::default())?;
        }
        found = look(&store, args)?;
    }
    if args.format == Format::Json {
        print_json(&json!({
            "damaged": found,
            "repaired": first - found.len().min(first),
            "trusted_from_the_web": web.iter().map(|(tenant, name, level)| {
                json!({ "tenant": tenant, "name": name, "authority_level": level })
            }).collect::<Vec<_>>(),
            "claim_not_parsed": claims.iter().map(|(tenant, name, why)| {
                json!({ "tenant": tenant, "name": name, "why": why })
            }).collect::<Vec<_>>(),
            "claim_about_nobody": nobody.iter().map(|(tenant, name)| {
                json!({ "tenant": tenant, "name": name })
            }).collect::<Vec<_>>(),
        }))?;
    } else {
        let mut text: String = found
            .iter()
            .map(|damage| {
                let tenant = damage.tenant.as_deref().unwrap_or("");
                let more = if damage.repairable && !args.repair {
                    "  (--repair)"
                } else {
                    ""
                };
                let (what, which) = (&damage.what, cell(&damage.which));
                format!("{what:<9}  {:<12}  {which}{more}\n", cell(tenant))
            })
            .collect();
        text.push_str(&match (found.len(), first) {
            (0, 0) => "nothing is damaged\n".to_owned(),
            (0, first) => format!("{first} repaired or set aside\n"),
            (left, _) => format!("{left} damaged\n"),
        });
        for (tenant, name, level) in &web {
            text.push_str(&format!(
                "web        {:<12}  {} comes from the web and has authority {level}: write it again for 4\n",
                cell(tenant),
                cell(name)
            ));
        }
        for (tenant, name, why) in &claims {
            let (tenant, name, why) = (cell(tenant), cell(name), cell(why));
            text.push_str(&format!(
                "claim      {tenant:<12}  {name}: claim_not_parsed: {why}\n"
            ));
        }
        for (tenant, name) in &nobody {
            let (tenant, name) = (cell(tenant), cell(name));
            text.push_str(&format!(
                "claim      {tenant:<12}  {name}: claim_about_nobody: it names no entity (`canonical_entity_ids`)\n"
            ));
        }
        print(&text)?;
    }
    let compared = claims.len() + nobody.len();
    if found.is_empty() && args.strict && compared > 0 {
        let what = format!("{compared} claims cannot be compared with others");
        return Err(Error::input(what)
            .expected(
                "`slot op value` with one of == != < <= > >= in, about one of `canonical_entity_ids`, `subjects` or a user",
            )
            .hint("write the objects again, or without `normalized_claim`")
            .into());
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(Failure::Refused(
        Error::new(ErrorKind::Damaged, "the store is damaged").hint(
            "`tenure store check --repair` rebuilds derived tables and sets damaged revisions aside; the rest is \
             in a copy",
        ),
    ))
    }
}

fn tenants(store: &Store, args: &CheckStoreArgs) -> Result<Vec<String>, Error> {
    match &args.tenant {
        Some(tenant) => Ok(vec![tenant.clone()]),
        None => store.tenants(),
    }
}

/// Objects that come from the web and are trusted all the same, with their tenants. This is no damage.
fn trusted(
    store: &Store,
    args: &CheckStoreArgs,
) -> Result<Vec<(String, String, Authority)>, Error> {
    let mut trusted = Vec::new();
    for tenant in unless_damaged(tenants(store, args))? {
        let found = store.tenant(&tenant)?.trusted_from_the_web();
        let found = unless_damaged(found)?.into_iter();
        trusted.extend(found.map(|(name, level)| (tenant.clone(), name, level)));
    }
    Ok(trusted)
}

/// Claims that take part in no settlement, with their tenants and objects.
fn unparsed(store: &Store, args: &CheckStoreArgs) -> Result<Vec<(String, String, String)>, Error> {
    let mut unparsed = Vec::new();
    for tenant in unless_damaged(tenants(store, args))? {
        let found = store.tenant(&tenant)?.unparsed_claims();
        let found = unless_damaged(found)?.into_iter();
        unparsed.extend(found.map(|(name, why)| (tenant.clone(), name, why)));
    }
    Ok(unparsed)
}

/// Claims that name nothing that they are about, with their tenants.
fn about_nobody(store: &Store, args: &CheckStoreArgs) -> Result<Vec<(String, String)>, Error> {
    let mut nobody = Vec::new();
    for tenant in unless_damaged(tenants(store, args))? {
        let found = store.tenant(&tenant)?.claims_about_nobody();
        let found = unless_damaged(found)?.into_iter();
        nobody.extend(found.map(|name| (tenant.clone(), name)));
    }
    Ok(nobody)
}

/// Nothing of what is damaged: that is told where damage is looked for.
fn unless_damaged<T: Default>(found: Result<T, Error>) -> Result<T, Error> {
    match found {
        Err(error) if error.kind == ErrorKind::Damaged => Ok(T::default()),
        found => found,
    }
}

fn look(store: &Store, args: &CheckStoreArgs) -> Result<Vec<Damage>, Error> {
    let mut found = store.check()?;
    let whole = store.probe().err();
    found.extend(whole.map(|error| Damage {
        tenant: None,
        what: "tenant".into(),
        which: error.what,
        repairable: false,
    }));
    match tenants(store, args) {
        // Which tenants there are is part of what is damaged.
        Err(error) if error.kind == ErrorKind::Damaged => {}
        tenants => {
            for tenant in tenants? {
                found.extend(store.tenant(&tenant)?.check()?);
            }
        }
    }
    Ok(found)
}
