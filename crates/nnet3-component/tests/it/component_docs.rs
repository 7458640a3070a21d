//! Checks that `docs/reference/components.md` agrees with the registry.

#[allow(dead_code)]
#[path = "../../examples/component_docs.rs"]
mod writer;

#[test]
fn the_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/components.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let page = writer::page();
    let differs = page.lines().zip(committed.lines()).find(|(new, old)| new != old);
    assert!(
        committed == page,
        "docs/reference/components.md is out of date{}; write it again with\n  {}",
        differs.map_or(String::new(), |(new, old)| format!(":\n  is      {old}\n  must be {new}\n")),
        writer::COMMAND
    );
}
