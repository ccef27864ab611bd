//! The examples of the crate, run as they are.

#[path = "../examples/own_collector.rs"]
mod own_collector;
#[path = "../examples/own_embedder.rs"]
mod own_embedder;

#[test]
fn a_format_and_a_retriever_of_ones_own_stand_beside_files() {
    let folder = tempfile::tempdir().unwrap();
    let notes = "* Valve\nThe valve opens at two bar.\n* Empty\n";
    std::fs::write(folder.path().join("notes.org"), notes).unwrap();
    let text = own_collector::context(folder.path().into(), "When does the valve open?").unwrap();
    assert!(text.contains("The valve opens at two bar."), "{text}");
    assert!(
        text.contains("source=\"https://wiki.example/valve\""),
        "{text}"
    );
}

#[test]
fn vectors_of_ones_own_rank() {
    let ranked = own_embedder::ranked().unwrap();
    let of = |name: &str| ranked.iter().find(|(found, _)| found == name).unwrap().1;
    assert!(of("valve.md") > of("tax.md"), "{ranked:?}");
}
