//! The forms of the examples of all types: text, binary, and the line of `nnet3-info`, compared with stored ones.

use std::collections::HashMap;

use super::{example, written};
use nnet3_component::{ComponentType, registry};

/// The beginning of a type's block.
const BEGINNING: &str = "CONFIG ";

/// An FNV-like hash, for the binary forms.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0u64, |hash, &byte| hash.wrapping_mul(1099511628211) ^ byte as u64)
}

fn forms(t: &'static ComponentType) -> String {
    let component = example(t);
    let text = String::from_utf8(written(&*component, false)).expect("text");
    format!(
        "{BEGINNING}{} {}\n  {text}\n  {:x} {} {} {:?} {}\n  {}\n  {}\n",
        t.name,
        t.example,
        hash(&written(&*component, true)),
        component.input_dim(),
        component.output_dim(),
        component.properties(),
        component.type_name(),
        component.info(false),
        component.info(true)
    )
}

/// The stored forms are those of the types before they declared their fields in one place. With `NNET3_WRITE_DOCS=1` the blocks of
/// types that have none are added to the file; the other blocks stay.
#[test]
fn forms_are_those_stored() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/component_forms.txt");
    let stored = std::fs::read_to_string(path).expect("the stored forms");
    let blocks: HashMap<&str, &str> =
        stored.split(BEGINNING).filter_map(|block| Some((block.split_whitespace().next()?, block))).collect();
    let (mut whole, mut missing, mut before) = (String::new(), String::new(), "the beginning of the file");
    for t in registry::types() {
        let found = forms(t);
        match blocks.get(t.name) {
            Some(stored) => {
                let stored = format!("{BEGINNING}{stored}");
                assert!(found == stored, "{path} has\n{stored}but the form is now\n{found}");
            }
            None => missing += &format!("--- behind {before}:\n{found}"),
        }
        whole += &found;
        before = t.name;
    }
    if !missing.is_empty() && std::env::var_os("NNET3_WRITE_DOCS").is_some() {
        std::fs::write(path, whole).expect("the file is writable");
        return;
    }
    assert!(missing.is_empty(), "{path} lacks these blocks, which NNET3_WRITE_DOCS=1 adds:\n{missing}");
    assert!(whole == stored, "{path}: expected the types of the registry, in the order of FAMILIES");
}
