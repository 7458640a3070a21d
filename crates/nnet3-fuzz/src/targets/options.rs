//! Files of options, which `--config` and options such as `--mfcc-config` name.

use clap::Parser;
use kaldi_io::cli;
use std::ffi::OsString;

/// An option of each kind.
#[derive(Parser)]
struct Options {
    /// Switch
    #[arg(long, default_value_t = false)]
    use_energy: bool,
    /// Number
    #[arg(long, default_value_t = 23)]
    num_mel_bins: i32,
    /// Amount
    #[arg(long, default_value_t = 20.0)]
    low_freq: f32,
    /// Amount, in double precision
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Choice
    #[arg(long, default_value = "povey")]
    window_type: String,
}

pub fn read_config_file(input: &[u8]) {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(format!("nnet3-fuzz-{process}-{thread:?}.conf"));
    std::fs::write(&path, input).expect("a temporary file");
    let arguments = [OsString::from("fuzz"), format!("--config={}", path.display()).into()];
    if let Ok(parsed) = cli::parse::<Options>(arguments) {
        let Options { use_energy, num_mel_bins, low_freq, scale, window_type } = parsed.options;
        assert!(!low_freq.is_nan() && !scale.is_nan(), "{use_energy} {num_mel_bins} {window_type}");
    }
    let _ = std::fs::remove_file(path);
}

pub fn corpus_config_files() -> Vec<Vec<u8>> {
    let texts = [
        "--use-energy=false   # use average of log energy\n--num-mel-bins=40\n--low-freq=20\n",
        "# comment\n\n--window-type=hamming\n--scale=0.1e-3\n--use_energy\n",
        "\u{feff}--num-mel-bins=80\r\n--low-freq=-1.5\r\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
