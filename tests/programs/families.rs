//! Programs live in families, `src/bin/FAMILY/`, which do not know each other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin")
}

fn families() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Returns the paths `crate::NAME` in a source that name another family, and `super` chains that leave the family.
fn foreign(text: &str, families: &[String], own: &str) -> Vec<String> {
    let names = text.split("crate::").skip(1).map(|rest| {
        rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default().to_owned()
    });
    names.filter(|name| name != own && families.contains(name)).collect()
}

#[test]
fn a_family_imports_no_other_family() {
    let families = families();
    assert!(families.len() >= 15, "{families:?}");
    let sample = "use crate::lattices::x;\nuse crate::tables::y;";
    assert_eq!(foreign(sample, &families, "tables"), ["lattices"]);
    for family in &families {
        for path in sources(&folder().join(family)) {
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(foreign(&text, &families, family), [""; 0], "{}", path.display());
        }
    }
}

#[test]
fn the_list_has_every_program_once_under_its_family_with_a_sentence() {
    let run = |argument: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_nnet3")).arg(argument).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let (mut family, mut names) = (String::new(), Vec::new());
    for line in run("--list").lines().filter(|line| !line.is_empty()) {
        let Some(program) = line.strip_prefix("  ") else {
            family = line.split_once(": ").unwrap().0.to_owned();
            continue;
        };
        let (name, about) = program.split_once(' ').unwrap();
        assert!(about.trim().len() > 10, "{line}");
        assert!(folder().join(&family).join(format!("{name}.rs")).is_file(), "{family}: {name}");
        names.push(name.to_owned());
    }
    names.sort();
    assert_eq!(names, run("--list=names").lines().collect::<Vec<_>>());
}
