//! The published forms as they are committed under `schemas/`.

use std::path::Path;

use tenure::schema::{Form, schema};

#[test]
fn committed_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let update = std::env::var("UPDATE_SCHEMAS").is_ok_and(|value| value == "1");
    // The server's description is checked where the server is.
    let mut expected = vec!["openapi.json".to_owned()];
    for form in Form::ALL {
        let path = folder.join(format!("{form}.json"));
        let text = serde_json::to_string_pretty(&schema(*form)).unwrap() + "\n";
        if update {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "schemas/{form}.json is not the schema of the type.\n\
             If the form was meant to change, and the old fixtures still load, write it anew:\n\
             UPDATE_SCHEMAS=1 cargo test -p tenure --test runner schemas::"
        );
        expected.push(format!("{form}.json"));
    }
    let found = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<String> =
        found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
