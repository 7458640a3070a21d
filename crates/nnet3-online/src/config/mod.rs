//! The language of configuration files (`mfcc.conf`, `model.conf`, …): lines `--name=value`, with the names, defaults
//! and explanations of the options that may stand there.
//!
//! Each struct describes one kind of file. A method `options()` checks its values and returns them as the plain struct
//! of the library that uses them. Programs flatten the same structs into their own options (`kaldi_cli::Group`), so the
//! comments of fields are also the help of those options.

use kaldi_io::options::{self, Fault, Options};

/// Returns an error about a value.
macro_rules! refuse {
    ($($message:tt)*) => {
        return Err($crate::config::Error::Value(format!($($message)*)))
    };
}

pub mod bands;
pub mod cmvn;
pub mod edges;
pub mod endpoint;
pub mod incremental;
pub mod ivector;
pub mod network;
pub mod pitch;
pub mod recognizer;
pub mod search;
pub mod silence;
pub mod spectral;

/// The result of reading options.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault of an option.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A line that is no option, or a value that is refused.
    #[error("{0}")]
    Value(String),
    /// The option or file in which an error is.
    #[error("{name}")]
    In { name: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// Features for these options cannot be made.
    #[error(transparent)]
    Features(#[from] kaldi_online::Error),
}

impl Error {
    /// Returns a function that adds the name of an option or a file to an error.
    pub fn of<E: std::error::Error + Send + Sync + 'static>(
        name: impl Into<String>,
    ) -> impl FnOnce(E) -> Error {
        let name = name.into();
        move |error| Error::In { name, source: Box::new(error) }
    }
}

/// Reads the options in a file of lines `--name=value`. Other options have their defaults; if the path is empty, all
/// have. Errors begin with `name`: the option that names the file, or the file.
///
/// # Errors
/// The file cannot be read, or has a line that is no option.
pub fn read<A: Options>(name: &str, path: &str) -> Result<A> {
    let read = match path {
        "" => Ok(options::defaults()),
        path => options::read_file(path),
    };
    read.map_err(|fault| of_file(name, &fault))
}

/// Does the same as [`read`] for a file whose name is enough for errors.
///
/// # Errors
/// The file cannot be read, or has a line that is no option.
pub fn read_file<A: Options>(path: &str) -> Result<A> {
    read(path, path)
}

/// Returns the options with these arguments and the defaults of all others. Errors begin with `name`.
///
/// # Errors
/// An argument is no option.
pub fn given<A: Options>(name: &str, arguments: &[&str]) -> Result<A> {
    options::read_given(arguments).map_err(|fault| of_file(name, &fault))
}

fn of_file(name: &str, fault: &Fault) -> Error {
    Error::Value(format!("{name}: {fault}"))
}

#[cfg(test)]
mod tests {
    use super::cmvn::OnlineCmvnArgs;
    use super::read;

    #[test]
    fn files() {
        let folder = std::env::temp_dir().join(format!("config-file-{}", std::process::id()));
        let with = |text: &str| {
            let path = folder.join("cmvn.conf");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, text).unwrap();
            read::<OnlineCmvnArgs>("--cmvn-config", path.to_str().unwrap())
                .map(|args| args.options().unwrap())
        };
        let options = with("# comment\n--cmn-window=300\n\n--norm-vars\n").unwrap();
        assert_eq!((options.window, options.normalize_variances, options.global_frames), (300, true, 200.0));
        let error = with("--cmn-windows=300\n").unwrap_err().to_string();
        assert!(
            error.starts_with("--cmvn-config: Invalid option --cmn-windows=300 in config file "),
            "{error}"
        );
        let error = with("cmn-window 300\n").unwrap_err().to_string();
        assert!(error.contains("line 1 does not look like"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
        let error = with_path("/nonexistent/cmvn.conf");
        assert!(
            error.starts_with("--cmvn-config: Cannot open config file: /nonexistent/cmvn.conf"),
            "{error}"
        );
        assert_eq!(read::<OnlineCmvnArgs>("--cmvn-config", "").unwrap().options().unwrap().window, 600);
    }

    fn with_path(path: &str) -> String {
        read::<OnlineCmvnArgs>("--cmvn-config", path).unwrap_err().to_string()
    }
}
