//! Options of the Montreal Forced Aligner, and what to do here instead.

use kaldi_cli::Elsewhere;

/// For `nnet3-align`.
pub const OF_MFA: Elsewhere = &[
    (
        "a",
        "recordings stand beside their texts in the corpus; --text=FILE has texts of a folder of recordings",
    ),
    (
        "audio-directory",
        "recordings stand beside their texts in the corpus; --text=FILE has texts of a folder of recordings",
    ),
    (
        "acoustic-model-path",
        "--model=FOLDER aligns with a model, also with an acoustic model of the Montreal Forced Aligner",
    ),
    ("dictionary-path", "the lexicon is the second argument"),
    ("output-directory", "the folder of the results is the third argument"),
    (
        "output-format",
        "--formats=textgrid (the long form), short-textgrid, eaf, ctm, json, csv, srt, vtt, with commas between several",
    ),
    ("output-model-path", "--save-model=FOLDER"),
    ("c", "--config=FILE has lines of --name=value; YAML files are not read"),
    ("config-path", "--config=FILE has lines of --name=value; YAML files are not read"),
    (
        "clean",
        "nothing is kept beside the folder of the results: --overwrite=true replaces those of other texts or options",
    ),
    ("no-clean", "the same command again goes on with the trained model in the folder of the results"),
    ("final-clean", "nothing is kept beside the folder of the results"),
    ("no-final-clean", "nothing is kept beside the folder of the results"),
    ("t", "nothing is kept beside the folder of the results"),
    ("temporary-directory", "nothing is kept beside the folder of the results"),
    ("single-speaker", "--speakers=one"),
    ("s", "--speakers=prefix:N takes the first N characters of a file's name, field:N its part N"),
    (
        "speaker-characters",
        "--speakers=prefix:N takes the first N characters of a file's name, field:N its part N",
    ),
    ("j", "--num-threads=N"),
    ("num-jobs", "--num-threads=N"),
    ("use-mp", "--num-threads=N; by default all processors work"),
    ("no-use-mp", "--num-threads=1"),
    ("use-threading", "--num-threads=N; by default all processors work"),
    ("g2p-model-path", "--unknown-words=g2p guesses pronunciations from those of the lexicon"),
    ("q", "--print-args=false; only faults and the steps of the work are shown"),
    ("quiet", "--print-args=false; only faults and the steps of the work are shown"),
    ("v", "--verbose=1"),
];
