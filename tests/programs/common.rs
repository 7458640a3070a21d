//! Runs programs of this package in tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The results of a program.
pub struct Output {
    /// -1 if a signal ended it.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Path of a program of this package.
pub fn binary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name(name)
}

/// Runs a program with our programs first on the PATH.
pub fn run(program: &str, arguments: &[&str]) -> Output {
    let program = binary(program);
    let own = program.parent().unwrap().display().to_string();
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap_or_default()));
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Runs what must succeed; gives its standard error.
pub fn succeed(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert_eq!(output.status, 0, "{program} {arguments:?}: {}", output.stderr);
    output.stderr
}

/// An empty folder for one test, which stays for a look until the test is run again.
pub struct Folder(PathBuf);

impl Folder {
    /// Tests run at the same time, so the name is the test's own within its file.
    #[track_caller]
    pub fn new(name: &str) -> Folder {
        let file = Path::new(std::panic::Location::caller().file()).with_extension("");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file and gives its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }

    #[allow(dead_code)] // Not all tests need it.
    pub fn read_bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

/// The folder with the reference's figures, if there is one.
pub fn reference_folder() -> Option<PathBuf> {
    let folder = kaldi_io::testing::data_folder("NNET3_TRAINING_DIR");
    if folder.is_none() {
        eprintln!("NNET3_TRAINING_DIR is not set: nothing compared");
    }
    folder
}
