//! Options of other programs that transcribe (openai-whisper, whisper.cpp, vosk-transcriber), and what to do here instead.

use kaldi_cli::Elsewhere;

/// For `nnet3-serve`: options of vosk-server, uvicorn and whisper.cpp's server.
pub const OF_SERVERS: Elsewhere = &[
    ("host", "--listen=ADDRESS, such as --listen=0.0.0.0 for all of the network"),
    ("interface", "--listen=ADDRESS, such as --listen=0.0.0.0 for all of the network"),
    ("bind", "--listen=ADDRESS, such as --listen=0.0.0.0 for all of the network"),
    ("address", "--listen=ADDRESS, such as --listen=0.0.0.0 for all of the network"),
];

/// For `nnet3-transcribe`.
pub const OF_TRANSCRIBERS: Elsewhere = &[
    ("m", "the folder of the model is the first argument, or --model=FOLDER"),
    ("model-path", "the folder of the model is the first argument, or --model=FOLDER"),
    (
        "model-name",
        "the folder of the model is the first argument (docs/models.md says where models come from)",
    ),
    ("model-dir", "the folder of the model is the first argument, or --model=FOLDER"),
    ("n", "the folder of the model is the first argument (docs/models.md says where models come from)"),
    ("i", "recordings are arguments, behind the folder of the model"),
    ("input", "recordings are arguments, behind the folder of the model"),
    (
        "f",
        "recordings are arguments, behind the folder of the model; --format=FORMAT is the form of the text",
    ),
    ("file", "recordings are arguments, behind the folder of the model"),
    ("output-format", "--format=FORMAT"),
    ("output-type", "--format=FORMAT"),
    ("output-txt", "--format=text"),
    ("output-srt", "--format=srt"),
    ("output-vtt", "--format=vtt"),
    ("output-csv", "--format=csv"),
    ("output-json", "--format=json"),
    ("l", "a model has its language (docs/models.md lists models by language)"),
    ("lang", "a model has its language (docs/models.md lists models by language)"),
    ("language", "a model has its language (docs/models.md lists models by language)"),
    ("t", "--num-threads=N recognises N recordings at once"),
    ("j", "--num-threads=N recognises N recordings at once"),
    ("tasks", "--num-threads=N recognises N recordings at once"),
    ("word-timestamps", "--format=json, ctm and textgrid have the times of words"),
    ("diarize", "--speakers=FOLDER, with the folder of a model of speakers"),
    (
        "initial-prompt",
        "--phrases=FILE has the only phrases that are recognised; scripts/adapt_model.sh adds words to a model",
    ),
];
