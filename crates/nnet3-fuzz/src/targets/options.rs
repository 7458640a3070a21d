//! Files of options, which `--config` and options such as `--mfcc-config` name.

use kaldi_io::options;

kaldi_io::options! {
    /// An option of each kind.
    struct Options {
        /// Switch
        use_energy: bool = false,
        /// Number
        num_mel_bins: i32 = 23,
        /// Amount
        low_freq: f32 = 20.0,
        /// Amount, in double precision
        scale: f64 = 1.0,
        /// Choice
        window_type: String = "povey",
    }
}

pub fn read_config_file(input: &[u8]) {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(format!("nnet3-fuzz-{process}-{thread:?}.conf"));
    std::fs::write(&path, input).expect("a temporary file");
    if let Ok(read) = options::read_file(&path.display().to_string()) {
        let Options { use_energy, num_mel_bins, low_freq, scale, window_type } = read;
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
