//! Options that a library declares are those of the same struct with clap's own attributes: names, help, values, faults.

use std::ffi::OsString;

use clap::{Args, CommandFactory, Parser};
use kaldi_cli::{Group, parse};

kaldi_io::options! {
    #[derive(Debug, PartialEq)]
    struct Inner {
        /// Edge of the filter
        /// in hertz.
        low_freq: f32 = 20.0,
        /// Scale; and so on..
        mel_scale("mel.scale"): f64 = 0.1,
    }
}

kaldi_io::options! {
    #[derive(Debug, PartialEq)]
    struct Declared {
        inner: Inner,
        /// Number
        num_bins: i32 = -23,
        /// Count
        min_active: usize = 200,
        /// Size
        block: u32 = 256,
        /// Edges
        snip_edges: bool = true,
        /// More
        raw: bool = false,
        /// Name
        window_type: String = "povey",
        /// Limit
        max_cost: f32 = f32::INFINITY,
    }
}

#[derive(Args)]
struct PlainInner {
    /// Edge of the filter
    /// in hertz.
    #[arg(long, default_value_t = 20.0)]
    low_freq: f32,
    /// Scale; and so on..
    #[arg(long = "mel.scale", default_value_t = 0.1)]
    mel_scale: f64,
}

/// Program.
#[derive(Parser)]
struct Plain {
    #[command(flatten)]
    inner: PlainInner,
    /// Number
    #[arg(long, default_value_t = -23)]
    num_bins: i32,
    /// Count
    #[arg(long, default_value_t = 200)]
    min_active: usize,
    /// Size
    #[arg(long, default_value_t = 256)]
    block: u32,
    /// Edges
    #[arg(long, default_value_t = true)]
    snip_edges: bool,
    /// More
    #[arg(long)]
    raw: bool,
    /// Name
    #[arg(long, default_value = "povey")]
    window_type: String,
    /// Limit
    #[arg(long, default_value_t = f32::INFINITY)]
    max_cost: f32,
}

/// Program.
#[derive(Parser)]
struct Grouped {
    #[command(flatten)]
    options: Group<Declared>,
}

/// Returns the message of a fault, or the values.
fn grouped(arguments: &[&str]) -> Result<Declared, String> {
    let parsed = parse::<Grouped>(["p"].iter().chain(arguments).map(OsString::from));
    parsed
        .map(|parsed| parsed.options.options.0)
        .map_err(|stop| stop.shown + &stop.error.unwrap_or_default() + &stop.text)
}

fn plain(arguments: &[&str]) -> Result<Declared, String> {
    let parsed = parse::<Plain>(["p"].iter().chain(arguments).map(OsString::from));
    let p = parsed.map_err(|stop| stop.shown + &stop.error.unwrap_or_default() + &stop.text)?.options;
    Ok(Declared {
        inner: Inner { low_freq: p.inner.low_freq, mel_scale: p.inner.mel_scale },
        num_bins: p.num_bins,
        min_active: p.min_active,
        block: p.block,
        snip_edges: p.snip_edges,
        raw: p.raw,
        window_type: p.window_type,
        max_cost: p.max_cost,
    })
}

#[test]
fn command_lines_give_the_same_values_and_faults() {
    for line in [
        "",
        "--help",
        "--low_freq=-1e3 --mel.scale inf --num-bins=+7 --min-active=0 --block=9 --snip-edges=f --raw --window-type=",
        "--low-freq=1 --low-freq=2 --raw=t --raw=false",
        "--num-bins=3000000000",
        "--num-bins=99999999999999999999",
        "--block=-1",
        "--block=4294967296",
        "--min-active=-1",
        "--min-active=99999999999999999999",
        "--low-freq=1e60",
        "--low-freq=x",
        "--mel.scale=nan",
        "--snip-edges=maybe",
        "--window-type",
        "--low-frequency=3",
        "more",
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(grouped(&arguments), plain(&arguments), "{line}");
    }
    assert_eq!(grouped(&["--window-type", "sine"]).unwrap().window_type, "sine");
}

#[test]
fn manual_pages_and_completions_are_the_same() {
    let described = |command: clap::Command| {
        let args = command.get_arguments().map(|arg| {
            let (help, names) =
                (arg.get_help().map(ToString::to_string), arg.get_value_names().map(<[_]>::to_vec));
            let long = (arg.get_long().map(str::to_owned), arg.get_long_help().map(ToString::to_string));
            (
                arg.get_id().clone(),
                long,
                help,
                names,
                arg.get_default_values().to_vec(),
                arg.get_value_parser().type_id(),
            )
        });
        args.collect::<Vec<_>>()
    };
    assert_eq!(described(kaldi_cli::command::<Grouped>()), described(kaldi_cli::command::<Plain>()));
    assert_eq!(Grouped::command().get_about().map(ToString::to_string), Some("Program".to_owned()));
}

/// A file may have all that a command line may have, and no more.
#[test]
fn files_are_read_alike_with_and_without_a_command_line() {
    let folder = crate::common::Folder::new();
    for text in [
        "--raw\n--num-bins=3\n--verbose=1\n",
        "--print-args=f\n--config=x\n",
        "--help\n",
        "--block=-1\n",
        "x=1",
        "--n=1",
    ] {
        let path = folder.write("a.conf", text);
        let read = kaldi_io::options::read_file::<Declared>(&path).map_err(|fault| fault.to_string());
        let parsed = parse::<Plain>(["p".into(), format!("--config={path}").into()]);
        let fault = parsed.as_ref().err().and_then(|stop| stop.error.clone());
        assert_eq!(read.as_ref().err(), fault.as_ref(), "{text}");
        if let Ok(declared) = read {
            assert_eq!(Ok(declared), plain(&[&format!("--config={path}")]), "{text}");
        }
    }
}
