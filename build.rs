//! Finds the programs, `src/bin/FAMILY/NAME.rs`, and writes the modules and the table of programs for `src/main.rs`. Makes
//! a link of each program's name beside the binary.
//!
//! A family is a folder with a `mod.rs`. Its first doc sentence describes the family. Its `mod` lines name the modules
//! that its programs share. Every other file of the folder is a program. A program has `pub fn run(options) -> Result<u8>`
//! and a first line ``//! `NAME`: one sentence.``; `pub fn main() -> ExitCode` in addition replaces the usual `main`. A
//! family may name the function that starts its programs: `pub use … as start;`. A program or a family whose file has the
//! line `#![cfg(feature = "NAME")]` is left out of builds without that feature.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

struct Program {
    name: String,
    about: String,
    own_main: bool,
}

fn main() {
    println!("cargo:rerun-if-changed=src/bin");
    // A program at a fixed place: the loader need not correct its tables' addresses (37,000) at each start, and processes share
    // the pages.
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo names a folder for output"));

    let mut families = String::new();
    let mut table = String::from("static FAMILIES: &[Family] = &[\n");
    let mut names: Vec<String> = Vec::new();
    for family in listed(&root.join("src/bin"), |path| path.is_dir()) {
        let folder = root.join("src/bin").join(&family);
        let text = read(&folder.join("mod.rs"));
        if !has_features(&text) {
            continue;
        }
        let programs = programs(&folder, &text);
        let starts = text.contains(" as start;");
        writeln!(families, "#[path = {:?}]\npub mod {family};", folder.join("mod.rs")).unwrap();
        write_modules(&out.join(format!("{family}.rs")), &folder, &programs);
        writeln!(table, "    Family {{ name: {family:?}, about: {:?}, programs: &[", doc(&text)).unwrap();
        for Program { name, about, own_main } in &programs {
            let module = format!("{family}::{}", name.replace('-', "_"));
            let main = match (own_main, starts) {
                (true, _) => format!("{module}::main"),
                (_, true) => format!("|| {family}::start({module}::run)"),
                _ => format!("|| kaldi_cli::run({module}::run)"),
            };
            writeln!(table, "        Program {{ name: {name:?}, about: {about:?}, main: {main} }},").unwrap();
        }
        table.push_str("    ] },\n");
        names.extend(programs.into_iter().map(|program| program.name));
    }
    table.push_str("];\n");
    fs::write(out.join("families.rs"), families + &table).expect("the table of programs can be written");

    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        panic!("two families have a program {}", pair[0]);
    }
    // Cargo keeps OUT_DIR three levels below the folder of binaries.
    if let Some(folder) = out.ancestors().nth(3) {
        for name in &names {
            if let Err(error) = link(&folder.join(name)) {
                println!("cargo:warning={}: {error}", folder.join(name).display());
            }
        }
    }
}

/// True if this build has the feature that a file needs, if it needs one.
fn has_features(text: &str) -> bool {
    let needed = text.lines().find_map(|line| line.strip_prefix("#![cfg(feature = \"")?.strip_suffix("\")]"));
    needed.is_none_or(|name| env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some())
}

/// Names of the entries of a folder that satisfy `wanted`, sorted.
fn listed(folder: &Path, wanted: fn(&Path) -> bool) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| wanted(path));
    let mut names: Vec<String> =
        paths.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The programs of a family: its files, except `mod.rs` and the modules that `mod.rs` names.
fn programs(folder: &Path, family: &str) -> Vec<Program> {
    let is_shared = |name: &str| family.lines().any(|line| line.ends_with(&format!("mod {name};")));
    let files = listed(folder, |path| path.extension().is_some_and(|extension| extension == "rs"));
    let names = files.iter().filter_map(|file| file.strip_suffix(".rs"));
    let mut programs = Vec::new();
    for name in names.filter(|name| *name != "mod" && !is_shared(name)) {
        let path = folder.join(format!("{name}.rs"));
        let text = read(&path);
        if !has_features(&text) {
            continue;
        }
        let doc = doc(&text);
        let Some(about) = doc.strip_prefix(&format!("`{name}`: ")) else {
            panic!(
                "{}: expected a first line \"//! `{name}`: one sentence.\", found {doc:?}",
                path.display()
            );
        };
        let own_main = text.contains("\npub fn main() -> ExitCode");
        programs.push(Program { name: name.to_owned(), about: about.to_owned(), own_main });
    }
    programs
}

/// The first sentence of a file's documentation.
fn doc(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    paragraph.split_once(". ").map_or(paragraph.clone(), |(sentence, _)| format!("{sentence}."))
}

/// Writes the modules of a family's programs, which its `mod.rs` includes.
fn write_modules(path: &Path, folder: &Path, programs: &[Program]) {
    let mut text = String::new();
    for Program { name, .. } in programs {
        let file = folder.join(format!("{name}.rs"));
        writeln!(text, "#[path = {file:?}]\npub mod {};", name.replace('-', "_")).unwrap();
    }
    fs::write(path, text).expect("the modules of a family can be written");
}

/// Makes a link to the binary `nnet3` beside it, and replaces a file that was there.
fn link(path: &Path) -> io::Result<()> {
    let wanted = Path::new("nnet3");
    if fs::read_link(path).is_ok_and(|target| target == wanted) {
        return Ok(());
    }
    if path.symlink_metadata().is_ok() {
        fs::remove_file(path)?;
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(wanted, path);
    #[cfg(not(unix))]
    return Err(io::Error::other("this system has no symbolic links; call `nnet3 PROGRAM`"));
}
