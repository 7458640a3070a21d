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

/// Runs the binary with these words. Returns its status, standard output and standard error.
fn nnet3(words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nnet3")).args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn shown(words: &[&str]) -> String {
    let (status, stdout, stderr) = nnet3(words);
    assert_eq!((status, stderr.as_str()), (Some(0), ""), "{words:?}");
    stdout
}

#[test]
fn the_list_has_every_program_once_under_its_family_with_a_sentence() {
    let (mut family, mut names, mut most_used) = (String::new(), Vec::new(), Vec::new());
    for line in shown(&["--list"]).lines().filter(|line| !line.is_empty()) {
        let Some(program) = line.strip_prefix("  ") else {
            family = line.split_once(": ").unwrap().0.to_owned();
            continue;
        };
        let (name, about) = program.split_once(' ').unwrap();
        assert!(about.trim().len() > 10, "{line}");
        if family == "most-used" {
            most_used.push(name.to_owned());
            continue;
        }
        assert!(folder().join(&family).join(format!("{name}.rs")).is_file(), "{family}: {name}");
        names.push(name.to_owned());
    }
    assert!(most_used.len() == 12 && most_used.iter().all(|name| names.contains(name)), "{most_used:?}");
    names.sort();
    assert_eq!(names, shown(&["--list=names"]).lines().collect::<Vec<_>>());
}

#[test]
fn a_family_or_a_program_is_explained_by_itself() {
    let whole = shown(&["--list"]);
    for family in families() {
        let one = shown(&[&format!("--list={family}")]);
        assert!(one.starts_with(&format!("{family}: ")) && whole.contains(&one), "{one}");
        assert!(!one.contains("\n\n"), "{one}");
    }
    assert!(whole.starts_with(&shown(&["--list=most-used"])));
    let (status, _, stderr) = nnet3(&["--list=recognitio"]);
    assert!(
        status == Some(1) && stderr.contains("expected names or one of most-used, alignments,"),
        "{stderr}"
    );
    let name = "nnet3-copy";
    assert_eq!(shown(&["help", name]), shown(&[name, "--help"]));
    assert_eq!(shown(&["help"]), shown(&["--help"]));
    let (status, _, stderr) = nnet3(&["help", "nnet3-copi"]);
    assert!(status == Some(1) && stderr.contains("did you mean 'nnet3-copy'?"), "{stderr}");
}

#[test]
fn the_binary_has_a_manual_page_and_completions() {
    let page = shown(&["--generate=man"]);
    assert!(page.starts_with(".TH NNET3 1"), "{page}");
    let bold = page.lines().filter_map(|line| line.strip_prefix(".B ")).map(|name| name.replace("\\-", "-"));
    let mut bold: Vec<String> = bold.collect();
    bold.sort();
    bold.dedup();
    assert_eq!(bold, shown(&["--list=names"]).lines().collect::<Vec<_>>());
    let completed = |line: &str| {
        let script = format!(
            "{}\nCOMP_LINE=$1 COMP_POINT=${{#1}}\n_nnet3\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            shown(&["--generate=bash"])
        );
        let path = format!(
            "{}:{}",
            Path::new(env!("CARGO_BIN_EXE_nnet3")).parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let output =
            Command::new("bash").args(["-c", &script, "bash", line]).env("PATH", path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed("nnet3 nnet3-transc"), ["nnet3-transcribe"]);
    assert_eq!(completed("nnet3 --list=recogni"), ["recognition"]);
    assert_eq!(completed("nnet3 help nnet3-transc"), ["nnet3-transcribe"]);
    // Options of a program, which the program knows.
    assert_eq!(completed("nnet3 nnet3-train --use-gpu=o"), ["optional"]);
    for kind in ["zsh", "fish"] {
        let script = shown(&[&format!("--generate={kind}")]);
        assert!(script.contains("nnet3-transcribe") && script.contains("--list=recognition"), "{script}");
    }
    let (status, _, stderr) = nnet3(&["--generate=pdf"]);
    assert!(status == Some(1) && stderr.contains("expected man, bash, zsh or fish"), "{stderr}");
}

/// The synopsis is that of the help, examples keep their lines, and a switch has no list of its two values.
#[test]
fn pages_of_programs_are_short_at_their_beginning() {
    let page = shown(&["gmm-latgen-faster", "--generate=man"]);
    let section = |name: &str| {
        let from = page.find(&format!(".SH {name}\n")).or(page.find(&format!(".SH \"{name}\"\n")));
        let text = &page[from.unwrap_or_else(|| panic!("{name}: {page}"))..];
        text.lines()
            .skip(1)
            .take_while(|line| !line.starts_with(".SH"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let synopsis = section("SYNOPSIS");
    assert!(
        synopsis.len() == 1 && synopsis[0].starts_with("gmm\\-latgen\\-faster [options] <"),
        "{synopsis:?}"
    );
    assert!(section("EXAMPLES").iter().any(|line| line.starts_with("gmm\\-latgen\\-faster ")), "{page}");
    assert!(
        section("SEE ALSO").iter().any(|line| line.contains("gmm\\-latgen\\-faster\\-parallel")),
        "{page}"
    );
    assert!(section("OPTIONS").iter().any(|line| line.contains("\\-\\-beam")), "{page}");
    assert!(!page.contains("false\n.IP") && !page.contains("[default: ]"), "{page}");
}

/// The scripts that people call explain themselves in the same forms.
#[test]
fn scripts_have_manual_pages_and_completions() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    for name in ["recognizer.sh", "train.sh"] {
        let run = |argument: &str| {
            let output = Command::new(scripts.join(name)).arg(argument).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name} {argument}");
            String::from_utf8(output.stdout).unwrap()
        };
        let help = run("--help");
        let options: Vec<&str> = help
            .lines()
            .filter_map(|line| line.strip_prefix("  --"))
            .filter_map(|line| Some(line.split_once('=')?.0))
            .filter(|option| {
                *option != "config"
                    && option.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit())
            })
            .collect();
        assert!(options.len() > 20, "{name}: {options:?}");
        let (page, bash, zsh, fish) =
            (run("--generate=man"), run("--generate=bash"), run("--generate=zsh"), run("--generate=fish"));
        for option in options {
            assert!(
                page.contains(&format!("\\fB\\-\\-{}\\fR", option.replace('-', "\\-"))),
                "{name}: --{option}"
            );
            assert!(bash.contains(&format!("--{option}= ")) && zsh.contains(&format!("'--{option}=[")));
            assert!(fish.contains(&format!(" -l {option} ")), "{name}: --{option}");
        }
        let function = format!("_{}", name.replace('.', "_"));
        let (line, expected) = match name {
            "train.sh" => ("train.sh --objective=ch", "chain"),
            _ => ("recognizer.sh --oov=g", "g2p"),
        };
        let script =
            format!("{bash}\nCOMP_LINE=$1 COMP_POINT=${{#1}}\n{function}\necho \"${{COMPREPLY[@]}}\"");
        let output = Command::new("bash").args(["-c", &script, "bash", line]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected);
    }
}

/// The number that `--install` prints is that of the programs, and there is a link for nnet3 besides.
#[test]
fn links_are_counted() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("links");
    let _ = fs::remove_dir_all(&folder);
    let said = shown(&["--install", folder.to_str().unwrap()]);
    let links = fs::read_dir(&folder).unwrap().count();
    assert_eq!(said, format!("{}: links for {} programs, and nnet3 itself\n", folder.display(), links - 1));
    assert_eq!(links - 1, shown(&["--list=names"]).lines().count());
    assert!(folder.join("nnet3").is_symlink());
}
