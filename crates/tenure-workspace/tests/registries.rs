//! Libraries from sources, and registries that outlive a process.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tenure::registry::{Kind, Place, Registries};
use tenure::{Error, FrameKey, ObjectDocument};
use tenure_workspace::registries::{Loaded, SeedSource, draw_all};
use tenure_workspace::{Collect, Workspace};

fn workspace(key: u8) -> Workspace {
    Workspace::new(FrameKey::new("test", [key; 32])).unwrap()
}

/// A folder with two files, each with a block `map`.
fn seeds() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (pins, timers) = (path("pins.md"), path("timers.md"));
    let section = |name: &str| format!("---\nname: {name}\n---\nThe {name}.\n");
    fs::write(&pins, section("map") + &section("routing")).unwrap();
    fs::write(&timers, section("map") + &section("base")).unwrap();
    (folder, pins, timers)
}

fn load(sources: &[SeedSource]) -> Result<Loaded, Error> {
    workspace(1).library(sources, &Collect::default())
}

#[test]
fn a_library_holds_what_its_sources_name() {
    let (_folder, pins, timers) = seeds();
    let some = SeedSource {
        blocks: vec!["map".into()],
        ..SeedSource::all(&timers)
    };
    let loaded = load(&[SeedSource::all(&pins), some]).unwrap();
    let keys: Vec<&str> = loaded.library.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["pins/map", "pins/routing", "timers/map"]);
    let ambiguous = loaded.library.get("map").unwrap_err();
    assert_eq!(
        ambiguous.expected.as_deref(),
        Some("one of pins/map, timers/map")
    );

    let missing = SeedSource {
        blocks: vec!["bases".into()],
        ..SeedSource::all(&timers)
    };
    let error = load(&[missing]).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `base`?"));
    let twice = load(&[SeedSource::all(&pins), SeedSource::all(&pins)]).unwrap_err();
    assert!(
        twice.to_string().contains("two seeds are called"),
        "{twice}"
    );
}

#[test]
fn all_of_a_library_is_drawn_or_none() {
    let (_folder, pins, timers) = seeds();
    let workspace = workspace(1);
    let mut registries = workspace.registries().unwrap();
    let main = registries.create("main", Kind::Agent).unwrap();
    let both = load(&[SeedSource::all(&pins), SeedSource::all(&timers)]).unwrap();
    let draw = |registries: &mut Registries, loaded: &Loaded| {
        draw_all(registries, &main, "main", &loaded.library)
    };
    let error = draw(&mut registries, &both).unwrap_err();
    assert!(
        error.to_string().contains("one of pins/map, timers/map"),
        "{error}"
    );
    assert!(registries.view("main").unwrap().is_empty());

    let one = load(&[SeedSource::all(&pins)]).unwrap();
    assert_eq!(draw(&mut registries, &one).unwrap().len(), 2);
    let error = draw(&mut registries, &one).unwrap_err();
    assert!(
        error.to_string().contains("already has a block named `map`"),
        "{error}"
    );
    assert_eq!(registries.view("main").unwrap().len(), 2);
}

#[test]
fn a_token_outlives_the_process_but_not_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.snapshot");
    let mut file = workspace(1).snapshot_or_begin(&path).unwrap();
    let main = file.registries.create("main", Kind::Agent).unwrap();
    let token = file.registries.token(&main).unwrap();
    file.save().unwrap();

    let mut file = workspace(1).snapshot(&path).unwrap();
    let main = file.registries.redeem(&token).unwrap();
    let tip = ObjectDocument::named("tip", "Be brief.");
    file.registries.write(&main, "main", tip, Place::Back).unwrap();
    file.save().unwrap();

    let file = workspace(2).snapshot(&path).unwrap();
    let error = file.registries.redeem(&token).unwrap_err();
    assert!(error.to_string().contains("was not signed here"), "{error}");
}
