//! Kaldi's option syntax.

use std::ffi::OsString;

use crate::common::Folder;
use clap::Parser;
use kaldi_cli::{Parsed, Stop, parse};

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
        ("--srand", "Invalid integer option \"in\" (option --srand)"),
        ("--srand=1.5", "Invalid integer option \"1.5\""),
        ("--srand=3000000000", "Invalid value \"3000000000\" of --srand"),
        ("--num-jobs=-1", "Invalid value \"-1\" of --num-jobs"),
        ("--learning-rate=x", "Invalid floating-point option \"x\""),
        ("--learning-rate=1e60", "out of range"),
        ("--learning-rate=nan", "Option --learning-rate=nan is not a number"),
        ("--factor=-NaN", "Option --factor=-NaN is not a number"),
        ("--help=maybe", "Invalid format for boolean argument [expected true or false]: maybe"),
        ("--use-gpu=maybe", "Invalid value \"maybe\" of --use-gpu: expected one of yes, no"),
        ("--=v", "Invalid option (no key): --=v"),
        ("--no-such=1", "Invalid option --no-such=1"),
        ("--learnin-rate=1", "did you mean --learning-rate?"),
        ("--jobs=1", "did you mean --num-jobs?"),
        ("--the-num-jobs=1", "did you mean --num-jobs?"),
        ("--learn=1", "did you mean --learning-rate?"),
    ] {
        let message = error(&[arg]);
        assert!(message.contains(expected), "{arg}: {message}");
        // Whatever is wrong with an option: the usage and the command line follow.
        let text = go(&[arg, "in", "out"]).unwrap_err().text;
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 3 && lines[0].starts_with("Usage: nnet3-copy [options] "), "{arg}: {text}");
        assert!(lines[2].starts_with("Command line was: dir/nnet3-copy --"), "{arg}: {text}");
    }
    let text = go(&["--no-such", "a", "b"]).unwrap_err().text;
    assert!(text.starts_with("Usage: nnet3-copy [options] <nnet-in> <nnet-out> [<more> ...]\n"), "{text}");
    assert!(text.ends_with("Command line was: dir/nnet3-copy --no-such a b \n"), "{text}");
    assert_eq!(text.lines().count(), 3, "not the whole help: {text}");
    let message = go(&["--edits", "--debug", "a", "b"]).unwrap_err().error.unwrap();
    assert_eq!(message, "Invalid option --edits (option format is --edits=VALUE).");
    assert_eq!(go(&["--srand"]).unwrap_err().error.unwrap(), "Invalid integer option \"\" (option --srand)");
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
    for (args, message) in [
        (&[][..], "Called with no argument, expected at least 2: <nnet-in>, <nnet-out> are missing"),
        (&["a"], "Called with 1 argument, expected at least 2: <nnet-out> is missing"),
        (&["a", "--debug"][..1], "Called with 1 argument, expected at least 2: <nnet-out> is missing"),
        (
            &["--edits", "a", "b"],
            "Called with 1 argument, expected at least 2: <nnet-out> is missing; a was taken for the value of --edits",
        ),
    ] {
        let stop = go(args).unwrap_err();
        assert_eq!((stop.status, stop.error.as_deref()), (1, Some(message)));
        let hint = "Usage: nnet3-copy [options] <nnet-in> <nnet-out> [<more> ...]\n\
            nnet3-copy --help explains arguments and options.\n";
        assert_eq!(stop.text, hint);
    }
}

#[test]
fn too_many_arguments() {
    /// Two files.
    #[derive(Parser, Debug)]
    struct Two {
        /// Switch
        #[arg(long)]
        quick: bool,
        #[arg(value_name = "(<a>|<b>)")]
        a: String,
        b: Option<String>,
    }
    let stop = parse::<Two>(["two", "x", "y", "--quick"].map(OsString::from)).unwrap_err();
    let message = "Called with 3 arguments, expected at most 2: --quick is one too many; --quick counts as an \
        argument: options go before all arguments";
    assert_eq!((stop.status, stop.error.as_deref()), (1, Some(message)));
    assert!(stop.text.starts_with("Usage: two [options] (<a>|<b>) [<b>]\n"), "{}", stop.text);
}

#[test]
fn arguments_that_are_not_text() {
    use std::os::unix::ffi::OsStringExt;
    let name = OsString::from_vec(b"f\xe9ats".to_vec());
    let argv = ["nnet3-copy".into(), "--debug".into(), name, "out".into()];
    let stop = parse::<Options>(argv).unwrap_err();
    let message = "Argument 2, 'f\u{fffd}ats', is not UTF-8: expected names and values in UTF-8";
    assert_eq!((stop.status, stop.error.as_deref()), (255, Some(message)));
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
    let windows = format!("--config={}", folder.write("windows.conf", "\u{feff}--srand=7\r\n--debug\r\n"));
    let o = ok(&[&windows]);
    assert_eq!((o.srand, o.debug), (7, true));
    let long = format!("--config={}", folder.write("long.conf", format!("--{}", "x".repeat(100_000))));
    assert!(error(&[&long]).len() < 1000);
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
    for args in [&["--help"][..], &["-h"], &["--debug", "-h"], &["--help=true", "x"], &["a", "b", "--HELP"]] {
        let stop = go(args).unwrap_err();
        assert_eq!(
            (stop.status, &stop.error, stop.text.as_str()),
            (0, &None, ""),
            "nothing to standard error"
        );
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
            assert!(stop.shown.contains(part), "no {part:?} in\n{}", stop.shown);
        }
        assert!(!stop.shown.contains("--secret"));
        assert!(stop.shown.lines().all(|line| line.len() <= 100));
    }
    assert!(go(&["--", "--help"]).unwrap_err().status == 1, "after -- it is an argument");
    assert!(!ok(&["--help=false"]).debug, "no help is wanted");
    assert_eq!(go(&["a", "-h"]).unwrap().options.nnet_out, "-h", "after an argument it is one too");
}

#[test]
fn version() {
    let stop = go(&["--debug", "--version"]).unwrap_err();
    let expected =
        concat!("nnet3-copy ", env!("CARGO_PKG_VERSION"), " (files, options and messages of Kaldi 5.5)\n");
    assert_eq!((stop.status, stop.shown.as_str()), (0, expected));
    assert_eq!(go(&["a", "--version"]).unwrap().options.nnet_out, "--version");
}

/// A program may flatten the standard options to see them.
#[test]
fn flattened_standard_options() {
    #[derive(Parser)]
    struct Flat {
        #[command(flatten)]
        standard: kaldi_cli::StandardOptions,
        file: String,
    }
    let parsed = parse::<Flat>(["p", "--verbose=3", "f"].map(OsString::from)).unwrap();
    assert_eq!((parsed.options.standard.verbose, parsed.options.file.as_str()), (3, "f"));
    assert_eq!(parsed.standard, parsed.options.standard);
}

#[test]
fn values_after_a_blank() {
    /// A script.
    #[derive(clap::Parser, Debug)]
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
    let go = |text: &str| parse::<Script>(text.split(' ').map(OsString::from)).map(|parsed| parsed.options);
    let options = go("x --some-file a --count -3 b c").unwrap();
    assert_eq!((options.some_file.as_str(), options.count, options.quick), ("a", -3, false));
    assert_eq!(options.files, ["b", "c"]);
    assert_eq!(go("x --some-file=a --Some_File b").unwrap().some_file, "b");
    assert_eq!(go("x --some-file  c").unwrap().some_file, "", "an empty value");
    assert_eq!(go("x --quick a --count 2").unwrap().files, ["a", "--count", "2"], "switches need no value");
    assert!(go("x --some-file --count 3").unwrap_err().error.unwrap().contains("--some-file=VALUE"));
    assert!(go("x --unknown a").unwrap_err().error.unwrap().contains("Invalid option --unknown"));
    assert!(go("x --count --quick").unwrap_err().error.unwrap().contains("Invalid integer option"));
    let folder = Folder::new();
    let config = folder.write("a.conf", "--count=4");
    assert_eq!(go(&format!("x --config {config} b")).unwrap().count, 4);
}
