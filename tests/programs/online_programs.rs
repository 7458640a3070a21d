//! Recognition of sound as it arrives, beside the programs that do one thing after another.

use std::path::Path;

use crate::command_lines::{fails, output, run};
use crate::common::{Folder, succeed};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

/// A model with a random network of two cepstra (and an i-vector of three dimensions, if `ivectors`), and two utterances of
/// a speaker.
pub fn folder(name: &str, ivectors: bool) -> Folder {
    let f = Folder::new(&format!("online-{name}"));
    let decode = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nnet3-decode/tests/data");
    let (dim, node, input) = match ivectors {
        true => (9, "input-node name=ivector dim=3\n", ", ReplaceIndex(ivector, t, 0)"),
        false => (6, "", ""),
    };
    let config = f.write(
        "config",
        format!(
            "input-node name=input dim=2
             {node}component name=a type=AffineComponent input-dim={dim} output-dim=44 param-stddev=0.3 bias-stddev=1
             component name=s type=LogSoftmaxComponent dim=44
             component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 2){input})
             component-node name=s component=s input=a
             output-node name=output input=s"
        ),
    );
    let mono = decode.join("mono.mdl").to_str().unwrap().to_owned();
    std::fs::copy(decode.join("decode/HCLG.fst"), f.path("HCLG.fst")).unwrap();
    succeed("nnet3-init", &["--srand=3", &config, &f.path("raw")]);
    succeed("nnet3-am-init", &[&mono, &f.path("raw"), &f.path("model")]);
    f.write(
        "mfcc.conf",
        "--dither=0\n--num-mel-bins=4\n--num-ceps=2\n--use-energy=false\n--cepstral-lifter=0\n",
    );
    f.write(
        "ivector.conf",
        format!(
            "--lda-matrix={DATA}/ivectors/final.mat\n--global-cmvn-stats={DATA}/ivectors/global_cmvn.stats\n\
             --cmvn-config={DATA}/ivectors/online_cmvn.conf\n--splice-config={DATA}/ivectors/splice.conf\n\
             --diag-ubm={DATA}/ivectors/final.dubm\n--ivector-extractor={DATA}/ivectors/final.ie\n--max-count=5\n"
        ),
    );
    f.write("wav.scp", format!("u7 {DATA}/sound/u7.wav\n"));
    f.write("segments", "a u7 0 0.62\nb u7 0.4 1.0\n");
    output(&f, "extract-segments scp:@wav.scp @segments ark:@waves");
    f.write("spk2utt", "s a b\n");
    f
}

const SCALES: &str =
    "--acoustic-scale=1.0 --frame-subsampling-factor=3 --frames-per-chunk=15 --beam=12 --lattice-beam=6";

fn online(options: &str) -> String {
    format!(
        "online2-wav-nnet3-latgen-faster --mfcc-config=@mfcc.conf {SCALES} {options} @model @HCLG.fst ark:@spk2utt \
         ark:@waves ark,t:@online.lat"
    )
}

/// Results of the programs that read whole tables of features and i-vectors.
fn step_by_step(f: &Folder, options: &str) -> String {
    let line = format!(
        "nnet3-latgen-faster-looped {SCALES} {options} @model @HCLG.fst ark:@feats ark,t:@looped.lat"
    );
    output(f, &line);
    f.read("looped.lat")
}

#[test]
fn pieces_of_any_length_give_the_lattices_of_whole_utterances() {
    let f = folder("pieces", false);
    output(&f, "compute-mfcc-feats --config=@mfcc.conf ark:@waves ark:@feats");
    let expected = step_by_step(&f, "");
    assert!(expected.starts_with("a \n0\t") && expected.contains("\nb \n"), "{expected}");
    for length in ["0.18", "0.013", "-1", "100"] {
        output(&f, &online(&format!("--chunk-length={length}")));
        assert_eq!(f.read("online.lat"), expected, "{length}");
    }
    let log = run(&f, &online("--verbose=2")).stderr;
    let lines = [
        "Decoded utterance a\n",
        "Likelihood per frame for utterance b is ",
        "Timing stats: real-time factor was ",
        "Average delay was ",
        "Percentage of time spent idling was ",
        "Longest delay was ",
        "Decoded 2 utterances, 0 with errors.",
        " per frame over 40 frames.",
    ];
    lines.iter().for_each(|line| assert!(log.contains(line), "{line}: {log}"));
}

/// Offline, the i-vector of a chunk is that of the whole utterance, as from `ivector-extract-online2` with look-ahead.
/// The speaker's state goes to the second utterance.
#[test]
fn ivectors_are_those_of_the_program_for_them() {
    let f = folder("ivectors", true);
    output(&f, "compute-mfcc-feats --config=@mfcc.conf ark:@waves ark:@feats");
    let extract = "ivector-extract-online2 --config=@ivector.conf --greedy-ivector-extractor=true --ivector-period=10 \
                   ark:@spk2utt ark:@feats ark:@ivectors";
    output(&f, extract);
    let ivectors = "--online-ivectors=ark:@ivectors --online-ivector-period=10";
    let expected = step_by_step(&f, ivectors);
    let offline = online("--ivector-extraction-config=@ivector.conf --online=false");
    output(&f, &offline);
    assert_eq!(f.read("online.lat"), expected);
    // Another speaker for each utterance is something else.
    f.write("spk2utt", "s a\nt b\n");
    output(&f, &offline);
    assert_ne!(f.read("online.lat"), expected);
    output(&f, extract);
    assert_eq!(f.read("online.lat"), step_by_step(&f, ivectors));
    assert!(run(&f, &offline).stderr.contains("Timing stats: real-time factor for offline decoding was "));
    // While sound arrives, early i-vectors use only the frames so far; weights of silence change them.
    let live = online("--ivector-extraction-config=@ivector.conf --chunk-length=0.1");
    output(&f, &live);
    let all = f.read("online.lat");
    assert_ne!(all, expected);
    let phones: Vec<String> = (1..=20).map(|phone| phone.to_string()).collect();
    let weights = format!(
        "--ivector-silence-weighting.silence-phones={} --ivector-silence-weighting.silence-weight=0.01 --verbose=0",
        phones.join(":")
    );
    output(&f, &live.replace("--chunk-length", &format!("{weights} --chunk-length")));
    assert_ne!(f.read("online.lat"), all);
}

#[test]
fn normalised_features() {
    let f = folder("cmvn", false);
    f.write("cmvn.conf", "--cmn-window=30\n--norm-vars=true\n--global-frames=20\n");
    output(&f, "compute-mfcc-feats --config=@mfcc.conf ark:@waves ark:@plain");
    let stats = format!("{DATA}/ivectors/global_cmvn.stats");
    output(
        &f,
        &format!(
            "apply-cmvn-online --config=@cmvn.conf --spk2utt=ark:@spk2utt {stats} ark:@plain ark:@feats"
        ),
    );
    let expected = step_by_step(&f, "");
    output(&f, &online(&format!("--cmvn-config=@cmvn.conf --global-cmvn-stats={stats}")));
    assert_eq!(f.read("online.lat"), expected);
}

#[test]
fn an_endpoint_ends_the_utterance_at_its_rule() {
    let f = folder("endpoints", false);
    let options = "--do-endpointing=true --endpoint.silence-phones=1:2 --endpoint.rule5.min-utterance-length=0.4 \
                   --chunk-length=0.05 --verbose=3";
    let log = run(&f, &online(options)).stderr;
    // 15 new frames a chunk and 2 of context: after 45 frames 15 have come out, of 30 ms each.
    for line in
        ["a: endpoint by rule5 after 8000 samples", " a samples 8000 frames 15 trailing ", "over 30 frames."]
    {
        assert!(log.contains(line), "{line}: {log}");
    }
    assert!(!log.contains("a samples 8800"), "{log}");
    let without = run(&f, &online(&options.replace("--do-endpointing=true", ""))).stderr;
    assert!(
        without.contains("a samples 9920 frames 20 ") && without.contains("over 40 frames."),
        "{without}"
    );
}

/// A cepstrum of PLP and a feature of pitch, for the network of two features.
fn plp_and_pitch(f: &Folder) -> &'static str {
    f.write("plp.conf", "--dither=0\n--num-ceps=1\n--use-energy=false\n");
    f.write(
        "pitch.conf",
        "--add-normalized-log-pitch=false\n--add-delta-pitch=false\n--normalization-right-context=5\n",
    );
    "--feature-type=plp --plp-config=@plp.conf --add-pitch=true --online-pitch-config=@pitch.conf"
}

#[test]
fn pitch_behind_plp() {
    let f = folder("pitch", false);
    let options = plp_and_pitch(&f);
    output(&f, "compute-plp-feats --config=@plp.conf ark:@waves ark:@plp");
    output(&f, "compute-and-process-kaldi-pitch-feats --config=@pitch.conf ark:@waves ark:@pitch");
    output(&f, "paste-feats ark:@plp ark:@pitch ark:@feats");
    let expected = step_by_step(&f, "");
    let with = |more: &str| online(&format!("{options} {more}")).replace("--mfcc-config=@mfcc.conf", "");
    output(&f, &with("--chunk-length=-1"));
    assert_eq!(f.read("online.lat"), expected);
    // The cepstrum alone is something else, and not enough.
    let plp = with("--chunk-length=-1").replace("--add-pitch=true", "");
    fails(&f, 255, &plp, &["--online-pitch-config option has no effect", "dim"]);
    // Live, the pitch of early frames uses only the signal so far.
    let live = run(&f, &with("--chunk-length=0.1"));
    assert!(live.status == 0 && live.stderr.contains("over 40 frames."), "{}", live.stderr);
}

#[test]
fn text_with_pitch_behind_plp() {
    let f = folder("text-pitch", false);
    plp_and_pitch(&f);
    let (model, wave) = (model_folder(&f), format!("{DATA}/sound/u7.wav"));
    std::fs::remove_file(format!("{model}/conf/mfcc.conf")).unwrap();
    std::fs::copy(f.path("plp.conf"), format!("{model}/conf/plp.conf")).unwrap();
    std::fs::copy(f.path("pitch.conf"), format!("{model}/conf/online_pitch.conf")).unwrap();
    let text = output(&f, &format!("nnet3-transcribe {model} {wave}"));
    assert!(text.starts_with("u7 w"), "{text}");
    std::fs::rename(format!("{model}/conf/online_pitch.conf"), format!("{model}/conf/pitch.conf")).unwrap();
    assert_eq!(output(&f, &format!("nnet3-transcribe {model} {wave}")), text);
    let pieces = format!(
        "nnet3-transcribe --mdl=@model --graph=@HCLG.fst --words={model}/graph/words.txt --plp-config=@plp.conf \
         --online-pitch-config=@pitch.conf --model-config={model}/conf/model.conf {wave}"
    );
    assert_eq!(output(&f, &pieces), text);
    // Sound at a higher rate: pitch of it is resampled like the rest.
    let samples = std::fs::read(&wave).unwrap()[44..].chunks_exact(2).flat_map(|x| [x, x].concat()).collect();
    let mut twice: Vec<u8> = [std::fs::read(&wave).unwrap()[..44].to_vec(), samples].concat();
    twice[24..28].copy_from_slice(&32000u32.to_le_bytes());
    twice[28..32].copy_from_slice(&64000u32.to_le_bytes());
    let length = twice.len() as u32;
    twice[4..8].copy_from_slice(&(length - 8).to_le_bytes());
    twice[40..44].copy_from_slice(&(length - 44).to_le_bytes());
    f.write("twice.wav", twice);
    assert!(output(&f, &format!("nnet3-transcribe {model} @twice.wav")).starts_with("twice w"));
    std::fs::write(format!("{model}/conf/pitch.conf"), "--sample-frequency=8000\n").unwrap();
    fails(&f, 255, &format!("nnet3-transcribe {model} {wave}"), &["pitch at 8000 Hz"]);
}

/// A row's i-vector is estimated from the frames up to its own, so pieces of any length give the same rows.
#[test]
fn dumped_rows_have_the_ivector_of_their_frame() {
    let f = folder("dump", true);
    let dump = |length: f32| {
        output(
            &f,
            &format!(
                "online2-wav-dump-features --mfcc-config=@mfcc.conf --ivector-extraction-config=@ivector.conf \
                 --chunk-length={length} ark:@spk2utt ark:@waves ark,t:@rows"
            ),
        );
        f.read("rows")
    };
    let whole = dump(10.0);
    assert!(whole.lines().count() > 40, "{whole}");
    assert_eq!(dump(0.05), whole);
    assert_eq!(dump(0.001), whole);
}

#[test]
fn what_does_not_fit() {
    let f = folder("misfits", true);
    let ivectors = "--ivector-extraction-config=@ivector.conf";
    let cases = [
        ("", &["'ivector'", "nothing is given for it"][..]),
        ("--feature-type=plp", &["dimension 13, those that i-vectors are estimated of 2"]),
        ("--feature-type=lpc", &["--feature-type=lpc: expected mfcc, plp or fbank"]),
        ("--add-pitch=true --online-pitch-config=@none", &["--online-pitch-config: Cannot open config file"]),
        (
            "--add-pitch=true --online-pitch-config=@slow.conf",
            &["pitch at 16000 Hz every 20 ms does not fit"],
        ),
        ("--do-endpointing=true", &["nonempty --endpoint.silence-phones"]),
        ("--determinize-lattice=false", &["--determinize-lattice=false is not supported"]),
        ("--num-threads-startup=0", &["--num-threads-startup=0"]),
        ("--beam=-1", &["--beam=-1"]),
        ("--frames-per-chunk=0", &["--frames-per-chunk"]),
        ("--word-symbol-table=@none", &["none"]),
        ("--mfcc-config=@none", &["--mfcc-config: Cannot open config file"]),
        ("--mfcc-config=@three.conf", &["dimension 3, those that i-vectors are estimated of 2"]),
    ];
    f.write("three.conf", "--num-ceps=3\n");
    f.write("slow.conf", "--frame-shift=20\n");
    for (option, words) in cases {
        let ivectors = if option.is_empty() { "" } else { ivectors };
        fails(&f, 255, &online(&format!("{ivectors} {option}")), words);
    }
    // A fault of one utterance does not stop the others.
    f.write("spk2utt", "s a c b\n");
    fails(&f, 0, &online(ivectors), &["c: no sound in ark:", "Decoded 2 utterances, 1 with errors."]);
    f.write("spk2utt", "s a short b\n");
    f.write("segments", "a u7 0 0.62\nshort u7 0 0.02\nb u7 0.4 1.0\n");
    output(&f, "extract-segments --min-segment-length=0.01 scp:@wav.scp @segments ark:@waves");
    fails(
        &f,
        0,
        &online(ivectors),
        &[
            "short: the recording has 320 samples, too few for a frame",
            "Decoded 2 utterances, 1 with errors.",
        ],
    );
    f.write("mfcc.conf", f.read("mfcc.conf") + "--sample-frequency=8000\n");
    fails(&f, 1, &online(ivectors), &["a: ", "16000 .vs 8000", "Decoded 0 utterances, 3 with errors."]);
}

/// A model folder of these files, in which words are called w1, w2, …
pub fn model_folder(f: &Folder) -> String {
    let model = f.path("folder");
    for part in ["am", "conf", "graph"] {
        std::fs::create_dir_all(format!("{model}/{part}")).unwrap();
    }
    for (from, to) in
        [("model", "am/final.mdl"), ("HCLG.fst", "graph/HCLG.fst"), ("mfcc.conf", "conf/mfcc.conf")]
    {
        std::fs::copy(f.path(from), format!("{model}/{to}")).unwrap();
    }
    std::fs::write(format!("{model}/conf/model.conf"), SCALES.replace(' ', "\n") + "\n").unwrap();
    let words: String = (0..200).map(|word| format!("w{word} {word}\n")).collect();
    std::fs::write(format!("{model}/graph/words.txt"), words).unwrap();
    model
}

/// The lines that the programs for lattices make of what is recognised in u7.wav, whose costs are scaled as in the folder.
fn ctm_of_lattice(f: &Folder, model: &str, options: &str) -> Vec<String> {
    f.write("wav.scp", format!("u7 {DATA}/sound/u7.wav\n"));
    f.write("spk2utt", "u7 u7\n");
    // The lattice has costs that are not scaled.
    let scale = |text: &str| text.replace("--acoustic-scale=1.0", "--acoustic-scale=0.2");
    std::fs::write(format!("{model}/conf/model.conf"), scale(SCALES).replace(' ', "\n") + "\n").unwrap();
    let line = online(&format!("--chunk-length=0.2 {options}"));
    output(f, &scale(&line.replace("ark:@waves", "scp:@wav.scp")));
    output(
        f,
        "lattice-to-ctm-conf --acoustic-scale=0.2 --lm-scale=0.9 --frame-shift=0.03 ark:@online.lat @expected.ctm",
    );
    let expected: Vec<String> = f.read("expected.ctm").lines().map(str::to_owned).collect();
    assert!(!expected.is_empty());
    expected
}

fn assert_same_ctm(f: &Folder, model: &str, expected: &[String]) {
    let ctm = run(f, &format!("nnet3-transcribe --format=ctm {model} {DATA}/sound/u7.wav")).stdout;
    assert_eq!(ctm.lines().count(), expected.len());
    for (ours, line) in ctm.lines().zip(expected) {
        let (a, b): (Vec<&str>, Vec<&str>) = (ours.split(' ').collect(), line.split(' ').collect());
        assert_eq!((a[0], a[1], a[4]), (b[0], b[1], format!("w{}", b[4]).as_str()));
        for column in [2, 3, 5] {
            let [x, y] = [a[column], b[column]].map(|number| number.parse::<f64>().unwrap());
            assert!((x - y).abs() < 0.011, "{ours}, {line}");
        }
    }
}

/// The words and times of a model folder are those of the lattice, by the programs for lattices.
#[test]
fn text_with_a_model_folder() {
    let f = folder("transcribe", false);
    let model = model_folder(&f);
    let expected = ctm_of_lattice(&f, &model, "");
    assert_same_ctm(&f, &model, &expected);
    let text = output(&f, &format!("nnet3-transcribe {model} {DATA}/sound/u7.wav"));
    let words: Vec<String> =
        expected.iter().map(|line| format!("w{}", line.split(' ').nth(4).unwrap())).collect();
    assert_eq!(text, format!("u7 {}", words.join(" ")));
    // The pieces can be named one by one.
    let pieces = format!(
        "nnet3-transcribe --mdl=@model --graph=@HCLG.fst --words={model}/graph/words.txt --mfcc-config=@mfcc.conf \
         --model-config={model}/conf/model.conf {DATA}/sound/u7.wav"
    );
    assert_eq!(output(&f, &pieces), text);
}

/// The mean of a folder's global statistics is subtracted unchanged, like the mean of a window that has room for all of
/// them.
#[test]
fn text_with_global_means() {
    let f = folder("global-means", false);
    let model = model_folder(&f);
    let stats = format!("{DATA}/ivectors/global_cmvn.stats");
    let with = |window: &str| {
        f.write("cmvn.conf", window);
        ctm_of_lattice(&f, &model, &format!("--cmvn-config=@cmvn.conf --global-cmvn-stats={stats}"))
    };
    let running = with("--cmn-window=600\n--global-frames=200\n");
    let expected = with("--cmn-window=1000000000\n--global-frames=1000000000\n");
    assert_ne!(expected, running);
    std::fs::copy(&stats, format!("{model}/am/global_cmvn.stats")).unwrap();
    assert_same_ctm(&f, &model, &expected);
    // Unless there are options of a running mean.
    std::fs::write(format!("{model}/conf/online_cmvn.conf"), "--cmn-window=600\n").unwrap();
    assert_same_ctm(&f, &model, &running);
}

/// Live sound has a line for each sentence between pauses; a file has the same words on one line.
#[test]
fn text_sentence_by_sentence() {
    let f = folder("sentences", false);
    let model = model_folder(&f);
    let endpoint = "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.3\n";
    let settings = std::fs::read_to_string(format!("{model}/conf/model.conf")).unwrap() + endpoint;
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    let wave = format!("{DATA}/sound/u7.wav");
    let pipe = format!("cat {wave} |");
    let live = crate::common::run("nnet3-transcribe", &[&model, &pipe]);
    // (The lines of the only live sound have no name.)
    let sentences: Vec<&str> = live.stdout.lines().collect();
    assert!(live.status == 0 && sentences.len() > 1, "{}", live.stderr);
    assert_eq!(
        output(&f, &format!("nnet3-transcribe {model} {wave}")),
        format!("u7 {}", sentences.join(" "))
    );
    let ctm = run(&f, &format!("nnet3-transcribe --format=ctm {model} {wave}")).stdout;
    let starts: Vec<f64> = ctm.lines().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect();
    assert!(starts.is_sorted() && starts.last() > Some(&0.3), "{ctm}");
}

/// The older form of a model folder has built-in options.
#[test]
fn text_with_a_flat_model_folder() {
    let f = folder("flat", false);
    let (model, flat, wave) = (model_folder(&f), f.path("flat"), format!("{DATA}/sound/u7.wav"));
    let built_in = "--max-active=7000\n--beam=13.0\n--lattice-beam=6.0\n--acoustic-scale=1.0\n--frame-subsampling-factor=3\n\
                    --endpoint.silence-phones=1:2:3:4:5:6:7:8:9:10\n--endpoint.rule2.min-trailing-silence=0.5\n\
                    --endpoint.rule3.min-trailing-silence=1.0\n--endpoint.rule4.min-trailing-silence=2.0\n";
    std::fs::write(format!("{model}/conf/model.conf"), built_in).unwrap();
    std::fs::create_dir(&flat).unwrap();
    for piece in ["am/final.mdl", "conf/mfcc.conf", "graph/HCLG.fst", "graph/words.txt"] {
        let name = piece.split('/').next_back().unwrap();
        std::fs::copy(format!("{model}/{piece}"), format!("{flat}/{name}")).unwrap();
    }
    let of = |folder: &str, options: &str| {
        output(&f, &format!("nnet3-transcribe --format=json {options} {folder} {wave}"))
    };
    let text = of(&flat, "");
    assert_eq!(text, of(&model, ""));
    // Options can still be in a file, and pieces elsewhere.
    let narrow = f
        .write("narrow.conf", built_in.replace("beam=13.0", "beam=0.5") + "--min-active=1\n--max-active=2\n");
    assert_ne!(of(&flat, &format!("--model-config={narrow}")), text);
    assert_eq!(
        of(&flat, &format!("--model-config={narrow}")),
        of(&model, &format!("--model-config={narrow}"))
    );
    // Classes of phones are used if they exist; files for a second pass are not, and there is a warning.
    std::fs::create_dir(format!("{flat}/rescore")).unwrap();
    let warned = run(&f, &format!("nnet3-transcribe {flat} {wave}"));
    assert!(warned.status == 0 && warned.stderr.contains("flat/rescore is not used"), "{}", warned.stderr);
    let boundaries = f.write("flat/word_boundary.int", "1 nonsense\n");
    fails(&f, 255, &format!("nnet3-transcribe {flat} {wave}"), &[&boundaries, "nonsense"]);
    for (name, words) in [
        ("HCLG.fst", "the folder of the model has neither HCLG.fst nor HCLr.fst"),
        ("mfcc.conf", "the folder of the model has neither mfcc.conf nor fbank.conf nor plp.conf"),
        ("final.mdl", "the folder of the model has no am/final.mdl"),
    ] {
        std::fs::rename(format!("{flat}/{name}"), f.path("away")).unwrap();
        fails(&f, 255, &format!("nnet3-transcribe {flat} {wave}"), &[words]);
        std::fs::rename(f.path("away"), format!("{flat}/{name}")).unwrap();
    }
}

/// Several files at once, of different lengths, one of them invalid, have the texts of one after another.
#[test]
fn text_on_several_threads() {
    let f = folder("threads", false);
    let model = model_folder(&f);
    let sound = std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap();
    let files: Vec<String> = (0..9)
        .map(|n| match n {
            4 => f.write("n4.wav", ""),
            _ => f.write(&format!("n{n}.wav"), &sound[..sound.len() - 2000 * ((n * 5) % 9)]),
        })
        .collect();
    let with = |threads: &str| {
        run(&f, &format!("nnet3-transcribe --format=ctm --num-threads={threads} {model} {}", files.join(" ")))
    };
    let (one, four) = (with("1"), with("4"));
    let names: Vec<&str> = one.stdout.lines().map(|line| &line[..2]).collect();
    assert_eq!(names, ["n0", "n1", "n2", "n3", "n5", "n6", "n7", "n8"]);
    assert_eq!((four.status, &four.stdout), (1, &one.stdout));
    assert!(
        four.stderr.contains("n4.wav") && four.stderr.contains("1 of 9 files could not be transcribed"),
        "{}",
        four.stderr
    );
    let wave = &files[0];
    fails(
        &f,
        255,
        &format!("nnet3-transcribe --num-threads=0 {model} {wave}"),
        &["--num-threads=0: expected"],
    );
}

#[test]
fn model_folders_with_something_missing() {
    let f = folder("folders", false);
    let model = model_folder(&f);
    let wave = format!("{DATA}/sound/u7.wav");
    let refused = |line: &str, words: &str| fails(&f, 255, line, &[words]);
    refused(&format!("nnet3-transcribe {model}"), "expected at least one recording");
    refused(
        &format!("nnet3-transcribe {wave} {wave}"),
        "u7.wav: expected the folder of a model, with am/final.mdl, conf/ and graph/, found a file, a wave file; or --mdl",
    );
    let order = "the folder of the model comes first: found the file ";
    refused(&format!("nnet3-transcribe {wave} {model}"), order);
    refused(&format!("nnet3-search {wave} {model} w1"), order);
    for program in
        ["nnet3-transcribe @nomodel", "nnet3-search @nomodel w1", "nnet3-adapt-speaker @nomodel @new"]
    {
        refused(
            &format!("{program} {wave}"),
            "/nomodel: expected the folder of a model, with am/final.mdl, conf/ and graph/, but there is no such folder (docs/models.md",
        );
    }
    refused(&format!("nnet3-transcribe --mdl=@model {wave}"), "--mdl needs --graph");
    refused(
        &format!("nnet3-transcribe --format=srt {model} {wave} {wave}"),
        "--format=srt is for one file, found 2; --output-dir=FOLDER writes",
    );
    // One bad file does not cost the others' text.
    f.write("empty.wav", "");
    let line = format!("nnet3-transcribe {model} @empty.wav {wave}");
    let failed = run(&f, &line);
    assert!(
        failed.status == 1 && failed.stdout.starts_with("u7 w") && failed.stderr.contains("empty.wav"),
        "{}",
        failed.stderr
    );
    assert!(
        failed.stderr.contains("1 of 2 files could not be transcribed (of unknown length)"),
        "{}",
        failed.stderr
    );
    let cut = f.write("cut.wav", &std::fs::read(&wave).unwrap()[..20_001]);
    let cut = run(&f, &format!("nnet3-transcribe {model} {cut}"));
    assert!(cut.status == 0 && cut.stderr.contains("Truncated file?"), "{}", cut.stderr);
    for name in ["graph/words.txt", "conf/model.conf", "conf/mfcc.conf", "am/final.mdl", "graph/HCLG.fst"] {
        std::fs::remove_file(format!("{model}/{name}")).unwrap();
        let words = match name {
            "graph/HCLG.fst" => "has neither graph/HCLG.fst nor graph/HCLr.fst",
            "conf/mfcc.conf" => "has neither conf/mfcc.conf nor conf/fbank.conf",
            "graph/words.txt" => "the graph has no names of words",
            "conf/model.conf" => "has no conf/model.conf",
            _ => "has no am/final.mdl",
        };
        refused(&format!("nnet3-transcribe {model} {wave}"), words);
        if name.starts_with("conf/m") || name == "am/final.mdl" {
            std::fs::write(format!("{model}/{name}"), "").unwrap();
        }
    }
}
