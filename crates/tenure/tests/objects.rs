//! Objects and their published form: what is sealed is written and sealed again as the same.

use crate::common::{drafts, sealed};
use proptest::prelude::*;
use tenure::ObjectDocument;
use tenure::num::Score;
use tenure::object::{Authority, Classification, Layer, ObjectType, Protection};

proptest! {
    #[test]
    fn an_object_survives_its_document(drafts in drafts()) {
        for draft in drafts {
            let object = sealed(draft.dealt("salt"));
            let document = object.to_document().unwrap();
            let again = sealed(document.clone());
            prop_assert_eq!(again.revision().id(), object.revision().id());
            prop_assert_eq!(again.status(), object.status());
            prop_assert_eq!(again.usage(), object.usage());
            prop_assert_eq!(again.to_document().unwrap(), document);
        }
    }

    #[test]
    fn the_canonical_form_is_sorted_json(drafts in drafts()) {
        for draft in drafts {
            let object = sealed(draft.dealt("salt"));
            let written = serde_json::to_string(&object).unwrap();
            // The map of this crate's JSON values sorts its keys, at every depth.
            let value: serde_json::Value = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(value.to_string(), written);
        }
    }
}

#[test]
fn spelling_out_a_default_changes_no_identity() {
    let short = ObjectDocument::named("a", "Do it.");
    let long = ObjectDocument {
        object_type: Some(ObjectType::Rule),
        layer: Some(Layer::Project),
        authority_level: Some(Authority::Developer),
        priority: Some(Score::HALF),
        source_authority: Some(Score::ONE),
        security_classification: Some(Classification::Restricted),
        tenant_id: Some("local".into()),
        removable: Some(true),
        protection: Some(Protection::None),
        ..short.clone()
    };
    let id = |document: ObjectDocument| sealed(document).revision().id();
    assert_eq!(id(short), id(long));
}
