//! The forms of the examples of all types: text, binary, and the line of `nnet3-info`, compared with stored ones.

use super::{example, written};
use nnet3_component::{ComponentType, registry};

/// An FNV-like hash, for the binary forms.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0u64, |hash, &byte| hash.wrapping_mul(1099511628211) ^ byte as u64)
}

fn forms(t: &'static ComponentType) -> String {
    let component = example(t);
    let text = String::from_utf8(written(&*component, false)).expect("text");
    format!(
        "CONFIG {} {}\n  {text}\n  {:x} {} {} {:?} {}\n  {}\n  {}\n",
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

/// The stored forms are those of the types before they declared their fields in one place.
#[test]
fn forms_are_those_stored() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/component_forms.txt");
    let stored = std::fs::read_to_string(path).expect("the stored forms");
    let found: String = registry::types().map(forms).collect();
    for (found, stored) in found.split("CONFIG ").zip(stored.split("CONFIG ")) {
        assert_eq!(found, stored);
    }
    assert_eq!(found.len(), stored.len());
}
