//! Compiles the kernels of `nnet3-matrix` as C++, with `src/twin.h` in place of CUDA's headers, and makes a table of
//! them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let folder = Path::new("../nnet3-matrix/kernels").canonicalize().expect("kernels of nnet3-matrix");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "cu"));
    // The prelude goes first.
    files.sort_by_key(|path| (!path.ends_with("prelude.cu"), path.clone()));
    println!("cargo:rerun-if-changed={}", folder.display());
    println!("cargo:rerun-if-changed=src/fibers.h");

    let mut program = header("src/twin.h");
    let mut table = String::new();
    for path in files {
        println!("cargo:rerun-if-changed={}", path.display());
        let text = std::fs::read_to_string(&path).expect("a kernel");
        write!(program, "#line 1 \"{}\"\n{text}", path.display()).expect("memory");
        for (name, shares_memory) in kernels(&text) {
            writeln!(table, "    entry<{name}>(\"{name}\", {shares_memory}),").expect("memory");
        }
    }
    let [types, run] = ["src/table.h", "src/run.h"].map(header);
    write!(program, "{types}static const Kernel KERNELS[] = {{\n{table}}};\n{run}").expect("memory");
    ["src/races.h", "src/races.cc", "src/faulty.h"]
        .iter()
        .for_each(|path| println!("cargo:rerun-if-changed={path}"));

    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    let write = |name: &str, text: &str| {
        let path = out.join(name);
        std::fs::write(&path, text).expect("the joined program");
        path
    };
    compiler().file(write("kernels.cc", &program)).define("TWIN_RUN", "twin_run").compile("kernels_twin");
    // Once more with calls at each access to memory. Names of kernels must not be global a second time.
    let checked = program.replace("extern \"C\" __global__", "static");
    compiler()
        .file(write("checked.cc", &checked))
        .define("TWIN_RUN", "twin_run_checked")
        .define("TWIN_RACES", None)
        .flag("-fsanitize=thread")
        .compile("kernels_twin_checked");
    compiler().file("src/races.cc").compile("twin_races");
}

/// Products and sums are rounded one by one, as in the program text; the compiler may fuse them otherwise.
fn compiler() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .flag("-ffp-contract=off")
        .flag("-U_FORTIFY_SOURCE")
        .flag_if_supported("-Wno-unused-parameter")
        .flag_if_supported("-Wno-unknown-pragmas");
    build
}

/// The line that includes a header of this crate.
fn header(path: &str) -> String {
    println!("cargo:rerun-if-changed={path}");
    format!("#include \"{}\"\n", Path::new(path).canonicalize().expect("a header").display())
}

/// True if the word here begins a line, alone or after LARGE_.
fn starts_a_line(text: &str, at: usize) -> bool {
    let before = &text[..at];
    before.strip_suffix("LARGE_").unwrap_or(before).ends_with('\n')
}

/// Names of the kernels of a file, and whether threads of a block work together in them.
fn kernels(text: &str) -> Vec<(String, bool)> {
    let mut out = Vec::new();
    for (at, _) in text.match_indices("KERNEL ").filter(|(at, _)| starts_a_line(text, *at)) {
        let rest = &text[at + "KERNEL ".len()..];
        let name = rest.split('(').next().expect("a name").trim();
        let body = rest.split("\n}\n").next().expect("a body");
        out.push((name.to_string(), body.contains("__shared__")));
    }
    for line in text.lines().filter(|line| line.starts_with("MAP")) {
        let name = line.split(['(', ',']).nth(1).expect("a name").trim();
        out.push((name.to_string(), false));
    }
    out
}
