//! `docs/reference/status.md` says what `nnet3 --list` and the lists of Kaldi's recipes say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const GENERATED: &str =
    "<!-- The rest is written by a test: NNET3_WRITE_DOCS=1 cargo test --test programs status -->\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn listed(argument: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_nnet3")).arg(argument).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn lines(path: PathBuf) -> Vec<String> {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// Programs that recipes call, by recipe: `egs/recipes/programs/RECIPE.txt`.
fn recipes() -> BTreeMap<String, Vec<String>> {
    let folder = std::fs::read_dir(root().join("egs/recipes/programs")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    paths.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), lines(path))).collect()
}

/// Reads the reasons for programs that do not exist here: lines `NAME: REASON` of `egs/recipes/missing.txt`.
fn reasons() -> BTreeMap<String, String> {
    let lines = lines(root().join("egs/recipes/missing.txt"));
    let lines = lines.iter().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(": ").unwrap()).map(|(name, why)| (name.into(), why.into())).collect()
}

fn missing() -> BTreeSet<String> {
    let names = listed("--list=names");
    let ours: BTreeSet<&str> = names.lines().collect();
    recipes().into_values().flatten().filter(|name| !ours.contains(name.as_str())).collect()
}

#[test]
fn every_program_that_a_recipe_lacks_has_a_reason_and_no_other_has_one() {
    let reasons: BTreeSet<String> = reasons().into_keys().collect();
    assert_eq!(
        missing(),
        reasons,
        "programs without an entry in egs/recipes/missing.txt, or entries without need"
    );
}

fn status() -> String {
    let mut text = String::from("## Kaldi's recipes\n\n");
    text.push_str("Programs that the scripts of a recipe name (`egs/recipes/programs.py` follows the scripts), and how many exist here.\n\n");
    text.push_str("| recipe | programs |\n|---|---|\n");
    let missing = missing();
    let recipes = recipes();
    for (recipe, programs) in &recipes {
        let have = programs.iter().filter(|name| !missing.contains(*name)).count();
        writeln!(text, "| {recipe} | {have} of {} |", programs.len()).unwrap();
    }
    if !missing.is_empty() {
        text.push_str("\n| missing | recipes | reason |\n|---|---|---|\n");
        for (name, why) in reasons() {
            let callers = recipes.iter().filter(|(_, programs)| programs.contains(&name));
            let callers: Vec<&str> = callers.map(|(recipe, _)| recipe.as_str()).collect();
            writeln!(text, "| {name} | {} | {why} |", callers.join(", ")).unwrap();
        }
    }
    text.push_str("\n## Programs\n");
    for line in listed("--list").lines() {
        if let Some(program) = line.strip_prefix("  ") {
            let (name, about) = program.split_once(' ').unwrap();
            writeln!(text, "| `{name}` | {} |", about.trim()).unwrap();
        } else if let Some((family, about)) = line.split_once(": ") {
            write!(text, "\n### {family}\n\n{about}\n\n| program | |\n|---|---|\n").unwrap();
        }
    }
    text
}

#[test]
fn status_document() {
    let path = root().join("docs/reference/status.md");
    let found = std::fs::read_to_string(&path).unwrap();
    let (written, generated) =
        found.split_once(GENERATED).expect("docs/reference/status.md lacks the line of its generated part");
    let expected = format!("\n{}", status());
    if std::env::var_os("NNET3_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{written}{GENERATED}{expected}")).unwrap();
    } else {
        assert_eq!(
            generated, expected,
            "docs/reference/status.md is out of date; write it again with NNET3_WRITE_DOCS=1"
        );
    }
}
