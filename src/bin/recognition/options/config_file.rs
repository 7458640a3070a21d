//! Options in separate files, which other options name (`--mfcc-config`, `--cmvn-config`, …).

use std::ffi::OsString;

use anyhow::{Result, anyhow};
use clap::Args;
use kaldi_io::cli;

#[derive(clap::Parser)]
struct File<A: Args> {
    #[command(flatten)]
    options: A,
}

/// Reads the options in a file with lines as in a file for `--config`. Other options have their defaults; if the name
/// is empty, all have. `option` is the option that names the file.
pub fn read<A: Args>(option: &str, path: &str) -> Result<A> {
    match path {
        "" => given(option, &[]),
        path => given(option, &[&format!("--config={path}")]),
    }
}

/// Returns the options with these arguments and the defaults of all others. Errors begin with `what`.
pub fn given<A: Args>(what: &str, arguments: &[&str]) -> Result<A> {
    let line: Vec<OsString> = [&what].into_iter().chain(arguments).map(OsString::from).collect();
    match cli::parse::<File<A>>(line) {
        Ok(parsed) => Ok(parsed.options.options),
        Err(stop) => Err(anyhow!("{what}: {}", stop.error.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use nnet3::options::cmvn::OnlineCmvnArgs;

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
