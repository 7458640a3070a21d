//! Kaldi's option syntax (io.md §4.1).

mod common;

use std::ffi::OsString;

use clap::Parser;
use common::Folder;
use kaldi_io::cli::{Parsed, Stop, attach_values, parse};

/// Copy a neural network
///
/// More about it.
#[derive(Parser, Debug, PartialEq)]
#[command(after_help = "e.g.: nnet3-copy --binary=false 1.raw text.raw")]
struct Options {
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// Print more
    #[arg(long)]
    debug: bool,
    /// Learning rate
    #[arg(long, default_value_t = -1.0)]
    learning_rate: f32,
    /// A precise number
    #[arg(long, default_value_t = 0.5)]
    factor: f64,
    /// Edits
    #[arg(long, default_value = "")]
    edits: String,
    /// Seed
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// A count
    #[arg(long)]
    num_jobs: Option<u32>,
    /// Device
    #[arg(long, value_enum, default_value_t = UseGpu::No)]
    use_gpu: UseGpu,
    #[arg(long, hide = true, default_value = "")]
    secret: String,
    #[command(flatten)]
    optimization: Optimization,
    /// Network to read
    nnet_in: String,
    nnet_out: String,
    more: Vec<String>,
}

#[derive(clap::ValueEnum, Debug, Clone, PartialEq)]
enum UseGpu {
    Yes,
    No,
}

#[derive(clap::Args, Debug, PartialEq)]
struct Optimization {
    /// Earliest time
    #[arg(long = "optimization.min-deriv-time", default_value_t = i32::MIN)]
    min_deriv_time: i32,
}

fn go(args: &[&str]) -> Result<Parsed<Options>, Stop> {
    parse(["dir/nnet3-copy"].iter().chain(args).map(OsString::from))
}

fn ok(args: &[&str]) -> Options {
    go(&[args, &["in", "out"]].concat()).unwrap().options
}

fn error(args: &[&str]) -> String {
    let stop = go(&[args, &["in", "out"]].concat()).unwrap_err();
    assert_eq!(stop.status, 255);
    stop.error.unwrap()
}

#[test]
fn values() {
    let o = ok(&[]);
    assert!(o.binary && !o.debug);
    assert_eq!((o.learning_rate, o.factor, o.srand, o.num_jobs), (-1.0, 0.5, 0, None));
    assert_eq!((o.nnet_in.as_str(), o.nnet_out.as_str(), o.edits.as_str()), ("in", "out", ""));
    for text in ["--binary", "--binary=true", "--binary=T", "--binary=1", "--debug=t", "--Binary= true "] {
        assert!(ok(&[text]).binary, "{text}");
    }
    for text in ["--binary=false", "--binary=F", "--binary=0", "--BINARY=False"] {
        assert!(!ok(&[text]).binary, "{text}");
    }
    assert!(ok(&["--debug"]).debug);
    assert_eq!(ok(&["--learning_rate=1e-3"]).learning_rate, 1e-3);
    assert_eq!(ok(&["--Learning-Rate=-INF"]).learning_rate, f32::NEG_INFINITY);
    assert!(ok(&["--factor=nan"]).factor.is_nan());
    assert_eq!(ok(&["--srand=-2"]).srand, -2);
    assert_eq!(ok(&["--srand= +7 "]).srand, 7);
    assert_eq!(ok(&["--srand=1", "--srand=2"]).srand, 2, "the last one counts");
    assert_eq!(ok(&["--num-jobs=3"]).num_jobs, Some(3));
    assert_eq!(ok(&["--use-gpu=yes"]).use_gpu, UseGpu::Yes);
    assert_eq!(ok(&["--edits=a=b;c d"]).edits, "a=b;c d");
    assert_eq!(ok(&["--edits=x", "--edits="]).edits, "");
    assert_eq!(ok(&["--optimization.min_deriv_time=-5"]).optimization.min_deriv_time, -5);
}

#[test]
fn wrong_values() {
    for (arg, expected) in [
        ("--binary=", "Invalid option --binary="),
        ("--binary=yes", "Invalid format for boolean argument [expected true or false]: yes"),
        ("--srand", "Invalid integer option \"\""),
        ("--srand=1.5", "Invalid integer option \"1.5\""),
        ("--srand=3000000000", "Invalid value \"3000000000\" of --srand"),
        ("--num-jobs=-1", "Invalid value \"-1\" of --num-jobs"),
        ("--learning-rate=x", "Invalid floating-point option \"x\""),
        ("--learning-rate=1e60", "out of range"),
        ("--use-gpu=maybe", "Invalid value \"maybe\" of --use-gpu: expected one of yes, no"),
        ("--edits", "Invalid option --edits (option format is --x=y)."),
        ("--=v", "Invalid option (no key): --=v"),
        ("--no-such=1", "Invalid option --no-such=1"),
        ("--learnin-rate=1", "did you mean --learning-rate?"),
    ] {
        let message = error(&[arg]);
        assert!(message.contains(expected), "{arg}: {message}");
    }
    assert!(
        go(&["--no-such", "a", "b"])
            .unwrap_err()
            .text
            .contains("Command line was: dir/nnet3-copy --no-such a b")
    );
}

#[test]
fn positionals() {
    let o = go(&["a", "--srand=x", "-x", "-"]).unwrap().options;
    assert_eq!((o.nnet_in.as_str(), o.nnet_out.as_str()), ("a", "--srand=x"));
    assert_eq!(o.more, ["-x", "-"]);
    let o = go(&["--srand=1", "--", "--srand=2", "b"]).unwrap().options;
    assert_eq!((o.srand, o.nnet_in.as_str()), (1, "--srand=2"));
    let o = go(&["a", "--", "b", "--"]).unwrap().options;
    assert_eq!((o.nnet_out.as_str(), o.more[0].as_str()), ("b", "--"), "only the first is dropped");
    assert_eq!(go(&["-", "-"]).unwrap().options.nnet_in, "-");
    for args in [&[][..], &["a"]] {
        let stop = go(args).unwrap_err();
        assert_eq!((stop.status, stop.error), (1, None));
        assert!(
            stop.text.contains("Usage: nnet3-copy [options] <nnet-in> <nnet-out> [<more> ...]"),
            "{}",
            stop.text
        );
    }
}

#[test]
fn configuration_files() {
    let folder = Folder::new();
    let a = folder.write("a.conf", "# comment\n\n --srand=5 # more\n--debug\n--edits=from file\n");
    let b = folder.write("b.conf", "--srand=6");
    let (a, b) = (format!("--config={a}"), format!("--config={b}"));
    let o = ok(&[&a, "--edits=x", &b]);
    assert_eq!((o.srand, o.debug, o.edits.as_str()), (6, true, "x"));
    assert_eq!(ok(&["--srand=1", &a]).srand, 1, "the command line counts, wherever the file is named");
    let o = go(&["in", "out", &a]).unwrap().options;
    assert_eq!((o.srand, o.more.len()), (5, 1), "also among the positionals");
    assert!(error(&["--config=/nonexistent"]).contains("Cannot open config file: /nonexistent"));
    let bad = format!("--config={}", folder.write("bad.conf", "--srand=1\nsrand=2\n"));
    let message = error(&[&bad]);
    assert!(message.contains("line 2") && message.contains("of the form --x=y"), "{message}");
    let unknown = format!("--config={}", folder.write("u.conf", "--x = y\n"));
    assert!(error(&[&unknown]).contains("Invalid option --x = y in config file"));
}

#[test]
fn standard_options() {
    let parsed = go(&["--verbose=2", "a b", "c"]).unwrap();
    assert_eq!(parsed.standard.verbose, 2);
    assert_eq!(parsed.echo, "dir/nnet3-copy --verbose=2 'a b' c \n");
    assert_eq!(go(&["--print-args=false", "a", "b"]).unwrap().echo, "");
    assert!(!go(&["--print_args=f", "a", "b"]).unwrap().standard.print_args);
}

#[test]
fn help() {
    for args in [&["--help"][..], &["--help=false"], &["a", "b", "--HELP"]] {
        let stop = go(args).unwrap_err();
        assert_eq!((stop.status, &stop.error), (0, &None));
        for part in [
            "\nCopy a neural network",
            "More about it.",
            "Usage: nnet3-copy [options] <nnet-in> <nnet-out> [<more> ...]",
            "e.g.: nnet3-copy --binary=false 1.raw text.raw",
            "  <nnet-in>                   : Network to read\n",
            "\nOptions:\n  --binary                    : Write output in binary mode (bool, default = true)\n",
            "  --debug                     : Print more (bool, default = false)\n",
            "  --edits                     : Edits (string, default = \"\")\n",
            "  --learning-rate             : Learning rate (float, default = -1)\n",
            "  --num-jobs                  : A count (uint)\n",
            "\nOptions of --optimization:\n  --optimization.min-deriv-time : Earliest time (int, default = -2147483648)\n",
            "\nStandard options:\n  --config ",
        ] {
            assert!(stop.text.contains(part), "no {part:?} in\n{}", stop.text);
        }
        assert!(!stop.text.contains("--secret"));
        assert!(stop.text.lines().all(|line| line.len() <= 100));
    }
    assert!(go(&["--", "--help"]).unwrap_err().status == 1, "after -- it is an argument");
}

/// A program may flatten the standard options to see them.
#[test]
fn flattened_standard_options() {
    #[derive(Parser)]
    struct Flat {
        #[command(flatten)]
        standard: kaldi_io::cli::StandardOptions,
        file: String,
    }
    let parsed = parse::<Flat>(["p", "--verbose=3", "f"].map(OsString::from)).unwrap();
    assert_eq!((parsed.options.standard.verbose, parsed.options.file.as_str()), (3, "f"));
    assert_eq!(parsed.standard, parsed.options.standard);
}

#[test]
fn values_after_a_blank() {
    /// A script.
    #[derive(clap::Parser)]
    struct Script {
        /// Text
        #[arg(long, default_value = "")]
        some_file: String,
        /// Number
        #[arg(long, default_value_t = 0)]
        count: i32,
        /// Switch
        #[arg(long, default_value_t = false)]
        quick: bool,
        /// Rest
        files: Vec<String>,
    }
    let attached = |text: &str| -> Vec<String> {
        let argv = text.split(' ').map(std::ffi::OsString::from);
        attach_values::<Script>(argv).into_iter().map(|arg| arg.into_string().unwrap()).collect()
    };
    assert_eq!(attached("x --some-file a --count -3 b c"), ["x", "--some-file=a", "--count=-3", "b", "c"]);
    assert_eq!(attached("x --some-file=a --Some_File b"), ["x", "--some-file=a", "--Some_File=b"]);
    assert_eq!(attached("x --some-file  c"), ["x", "--some-file=", "c"]);
    assert_eq!(attached("x --quick a --verbose 2"), ["x", "--quick", "a", "--verbose=2"]);
    assert_eq!(attached("x --some-file --count 3"), ["x", "--some-file", "--count=3"]);
    assert_eq!(attached("x --unknown a --count"), ["x", "--unknown", "a", "--count"]);
    let parsed =
        parse::<Script>(attached("x --some-file a --count -3 b").into_iter().map(Into::into)).unwrap();
    let options = parsed.options;
    assert_eq!((options.some_file.as_str(), options.count, options.quick), ("a", -3, false));
    assert_eq!(options.files, ["b"]);
}
