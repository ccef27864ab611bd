//! What the store does, the same on both engines.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Home, contents, put_one};

on_both_engines!(what_is_written_is_read);

fn what_is_written_is_read(home: &Home) {
    let acme = home.tenant("acme");
    assert_eq!(acme.version().unwrap(), 0);
    let id = put_one(&acme, "limit", "At most 10 kW.");
    assert_eq!(contents(&acme, id), ["At most 10 kW."]);
    assert_eq!(acme.version().unwrap(), 1);
    assert_eq!(home.store.tenants().unwrap(), ["acme"]);
}
