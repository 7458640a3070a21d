//! From the files in `src/bin`: the table of programs for `src/main.rs`, and beside the binary a link of each program's
//! name, by which it is called.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() {
    println!("cargo:rerun-if-changed=src/bin");
    let mut names: Vec<String> = fs::read_dir("src/bin")
        .expect("src/bin can be listed")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();

    let mut table = String::from("&[\n");
    for name in &names {
        writeln!(table, "    ({name:?}, crate::programs::{}::main),", name.replace('-', "_")).unwrap();
    }
    table.push(']');
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    let out = Path::new(&out);
    fs::write(out.join("programs.rs"), table).expect("the table of programs can be written");

    // Cargo keeps OUT_DIR three levels below the folder of binaries.
    if let Some(folder) = out.ancestors().nth(3) {
        for name in &names {
            if let Err(error) = link(&folder.join(name)) {
                println!("cargo:warning={}: {error}", folder.join(name).display());
            }
        }
    }
}

/// Makes a link to the binary `nnet3` beside it, in the place of whatever was there.
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
