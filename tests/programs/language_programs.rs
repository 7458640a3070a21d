//! Recurrent language models: figures of the reference, training from text to rescored lattices, damaged input.

use crate::command_lines::{fails, numbers, output, run};
use crate::common::Folder;

/// Text, language models, examples and a network of the reference, over 107 words.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rnnlm");
const SYMBOLS: &str = "--bos-symbol=104 --eos-symbol=105 --brk-symbol=106";

fn data(name: &str) -> String {
    std::fs::read_to_string(format!("{DATA}/{name}")).unwrap()
}

/// Words are equal, numbers nearly so.
#[track_caller]
fn assert_alike(found: &str, expected: &str, tolerance: f64) {
    let (found, expected): (Vec<&str>, Vec<&str>) =
        (found.split_whitespace().collect(), expected.split_whitespace().collect());
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(&expected) {
        match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) => assert!((x - y).abs() <= tolerance * y.abs().max(1.0), "{a} instead of {b}"),
            _ => assert_eq!(a, b),
        }
    }
}

/// The states of a model in text form, each a line, in order; numbers of states are left out.
fn states(text: &str) -> String {
    let text = text.replace('\n', " ");
    let state = |piece: &str| piece.split('<').next().unwrap_or_default().trim().to_owned();
    let mut lines: Vec<String> = text.split('[').skip(1).map(state).collect();
    lines.sort();
    lines.join("\n")
}

#[test]
fn sampling_models_are_those_of_the_reference() {
    let f = Folder::new("sampling");
    let line = format!(
        "rnnlm-get-sampling-lm --binary=false --unigram-factor=2 --bos-factor=2 --backoff-factor=1.5 --ngram-order=4 \
         --unigram-power=1.0 {SYMBOLS} --vocab-size=110 {DATA}/long.txt @lm"
    );
    fails(&f, 0, &line, &["Processed 13 lines of input.", "For n-gram order 2, pruned from"]);
    assert_alike(&states(&f.read("lm")), &states(&data("lm.long.txt")), 1e-5);
}

#[test]
fn examples_are_those_of_the_reference() {
    let f = Folder::new("examples");
    let plain = format!(
        "rnnlm-get-egs --chunk-length=14 --min-split-context=3 --num-chunks-per-minibatch=4 --chunk-buffer-size=12 \
         --vocab-size=107 {SYMBOLS} {DATA}/long.txt ark,t:@egs"
    );
    let words = [
        "Combined 13/24 sequences/chunks into 5 minibatches (0 chunks left over)",
        "Overall there were 10.8333 words per chunk; 4.8 chunks per minibatch.",
    ];
    fails(&f, 0, &plain, &words);
    assert_eq!(f.read("egs"), data("egs.long.txt"));
    let sampled = format!(
        "rnnlm-get-egs --num-threads=0 --srand=7 --num-samples=20 --num-chunks-per-minibatch=4 --chunk-length=16 \
         --sample-group-size=4 --vocab-size=107 {SYMBOLS} {DATA}/lm.sampling {DATA}/long.txt ark,t:@egs"
    );
    output(&f, &sampled);
    assert_alike(&f.read("egs"), &data("egs.sampled.txt"), 1e-4);
    let warning = "exceeds the number of words with nonzero probability 106 -> not doing sampling.";
    let many = sampled.replace("--num-samples=20", "--num-samples=512");
    fails(&f, 0, &many, &[warning]);
    output(&f, &sampled.replace(&format!("{DATA}/lm.sampling"), ""));
    assert_eq!(f.read("egs").matches("<SampledWords> [ ]").count(), 5);
}

#[test]
fn sentences_are_those_of_the_reference() {
    let f = Folder::new("sentences");
    let line = format!(
        "rnnlm-sentence-probs --normalize-probs=true {SYMBOLS} {DATA}/bn.raw {DATA}/word_embedding.mat {DATA}/sentences.txt"
    );
    assert_alike(&run(&f, &line).stdout, &data("sentences.bn.out"), 1e-4);
    f.write("wrong.txt", "a 3 4\nb 3 107\n");
    let line = line.replace(&format!("{DATA}/sentences.txt"), "@wrong.txt");
    fails(&f, 255, &line, &["wrong.txt, key 'b'", "expected words from 1 to 106, found 107"]);
    f.write("wrong.txt", "a 3 x\n");
    fails(&f, 255, &line, &["key 'a': Input file should contain only integers."]);
    let words = ["You must set --bos-symbol and --eos-symbol options"];
    fails(
        &f,
        255,
        &format!("rnnlm-sentence-probs {DATA}/bn.raw {DATA}/word_embedding.mat @wrong.txt"),
        &words,
    );
}

const CONFIG: &str = "\
component name=a type=NaturalGradientAffineComponent input-dim=14 output-dim=10
component name=r type=RectifiedLinearComponent dim=10 self-repair-scale=1e-5
component name=b type=NaturalGradientAffineComponent input-dim=10 output-dim=4 param-stddev=0
input-node name=input dim=4
component-node name=a component=a input=Append(input, IfDefined(Offset(r, -1)))
component-node name=r component=r input=a
component-node name=b component=b input=r
output-node name=output input=b
";

/// Twelve words; features 0 to 4. Each word is mostly followed by the next one.
fn world(name: &str) -> Folder {
    let f = Folder::new(name);
    f.write("config", CONFIG);
    output(&f, "nnet3-init --srand=4 @config @0.raw");
    let text: String = (0..60)
        .map(|line| {
            let words: Vec<String> = (0..3 + line % 6).map(|i| (4 + (line + i) % 8).to_string()).collect();
            format!("1 {}\n", words.join(" "))
        })
        .collect();
    f.write("text", text);
    let features: String =
        (0..12).map(|word| format!("{word} {} 1 {} 0.5\n", word % 3, 3 + word % 2)).collect();
    f.write("features", features);
    let matrix = |rows: usize| {
        let value = |i: usize| ((i * i * 31 % 17) as f32 / 8.0 - 1.0) / 2.0;
        let row = |row: usize| (0..4).map(|col| format!(" {}", value(4 * row + col + 1))).collect::<String>();
        format!(" [\n{} ]\n", (0..rows).map(row).collect::<Vec<_>>().join("\n"))
    };
    f.write("words.mat", matrix(12));
    f.write("features.mat", matrix(5));
    output(&f, "rnnlm-get-egs --vocab-size=12 --num-chunks-per-minibatch=4 --chunk-length=14 @text ark:@egs");
    let lm = "rnnlm-get-sampling-lm --vocab-size=12 --unigram-factor=2 --bos-factor=1 --backoff-factor=1 @text @lm";
    output(&f, lm);
    let sampled = "rnnlm-get-egs --num-chunks-per-minibatch=2 --num-samples=9 --chunk-length=14 @lm @text ark:@sampled.egs";
    output(&f, sampled);
    f
}

/// The number after `Overall objf is (…) =`.
fn objective(log: &str) -> f64 {
    let line = log.lines().find(|line| line.contains(":PrintStatsOverall():rnnlm-core-training.cc:"));
    let line = line.unwrap_or_else(|| panic!("no objective in {log}"));
    let (_, rest) = line.split_once("Overall objf is (").unwrap();
    rest.split_once(") = ").unwrap().1.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn training_from_text() {
    let f = world("training");
    for (kind, matrix, option) in [
        ("words", "words.mat", ""),
        ("features", "features.mat", "--read-sparse-word-features=@features"),
        ("sampled.words", "words.mat", ""),
        ("sampled.features", "features.mat", "--read-sparse-word-features=@features"),
    ] {
        let egs = if kind.starts_with("sampled") { "sampled.egs" } else { "egs" };
        let (mut raw, mut from) = ("0.raw".to_owned(), matrix.to_owned());
        let mut objectives = Vec::new();
        for round in 1..4 {
            let (to, embedding) = (format!("{kind}.{round}.raw"), format!("{kind}.{round}.mat"));
            let result = run(
                &f,
                &format!(
                    "rnnlm-train --use-gpu=no --rnnlm.max-param-change=0.5 --rnnlm.l2_regularize_factor=0.5 \
                     --embedding.learning-rate=0.05 {option} --read-rnnlm=@{raw} --write-rnnlm=@{to} --read-embedding=@{from} \
                     --write-embedding=@{embedding} ark:@{egs}"
                ),
            );
            assert_eq!(result.status, 0, "{}", result.stderr);
            for words in ["Processed a total of", "Relative change in embedding matrix is", "Wrote RNNLM to"]
            {
                assert!(result.stderr.contains(words), "{}", result.stderr);
            }
            objectives.push(objective(&result.stderr));
            (raw, from) = (to, embedding);
        }
        assert!(objectives[2] > objectives[0] + 0.1, "{kind}: {objectives:?}");
        // The probability is the objective on the same examples.
        let words = if option.is_empty() { from.clone() } else { "made.mat".to_owned() };
        if !option.is_empty() {
            output(&f, &format!("rnnlm-get-word-embedding @features @{from} @made.mat"));
        }
        let result = run(&f, &format!("rnnlm-compute-prob @{raw} @{words} ark:@{egs}"));
        let printed: f64 = result.stdout.trim().parse().unwrap();
        assert!((printed - objective(&result.stderr)).abs() < 1e-3);
        assert!(printed > objectives[0], "{kind}: {printed} after {objectives:?}");
    }
}

#[test]
fn what_does_not_train() {
    let f = world("wrong");
    let train = "rnnlm-train --use-gpu=no --read-rnnlm=@0.raw --write-rnnlm=@1.raw --write-embedding=@1.mat";
    f.write("1.raw", "old");
    f.write("empty", "");
    f.write("small.mat", " [\n 1 2 3 4\n 5 6 7 8 ]\n");
    fails(
        &f,
        1,
        &format!("{train} ark:@egs"),
        &["--read-rnnlm, --write-rnnlm and --read-embedding options are required."],
    );
    for (options, words) in [
        ("--read-embedding=@words.mat ark:@empty", "There was no data to train on."),
        ("--read-embedding=@features.mat ark:@egs", "Vocabulary size mismatch: expected 5, got 12"),
        (
            "--read-embedding=@small.mat --read-sparse-word-features=@features ark:@egs",
            "features, line 1: expected a feature from 0 to below 2, found 3",
        ),
        ("--read-embedding=@words.mat --den-term-limit=-0.1 ark:@egs", "--den-term-limit=-0.1"),
        ("--read-embedding=@words.mat --rnnlm.momentum=1 ark:@egs", "--rnnlm.momentum=1"),
        ("--read-embedding=@words.mat --embedding.momentum=-1 ark:@egs", "--embedding.momentum=-1"),
        (
            "--read-embedding=@words.mat --embedding.learning-rate=1e30 --embedding.max-param-change=0 ark:@egs",
            "nan or infinite",
        ),
    ] {
        fails(&f, 255, &format!("{train} {options}"), &[words]);
        assert_eq!(f.read("1.raw"), "old", "{options}");
    }
    fails(&f, 255, "rnnlm-compute-prob @0.raw @words.mat ark:@empty", &["Processed no data."]);
    fails(
        &f,
        255,
        "rnnlm-compute-prob @0.raw @features.mat ark:@egs",
        &["key 'minibatch-0'", "expected 5, got 12"],
    );
    fails(&f, 255, "rnnlm-get-word-embedding @features @small.mat @1.raw", &["to below 2, found 3"]);
    for (text, words) in [
        ("1 4 1\n", "line 1: expected words from 1 to 11 other than <s> (1) and <brk> (3), found 1"),
        ("1 4\n0 5\n", "line 2: expected a weight above 0, found 0"),
        ("1 4\n1 x\n", "line 2: expected numbers of words"),
    ] {
        f.write("wrong", text);
        fails(&f, 255, "rnnlm-get-egs --vocab-size=12 @wrong ark:@1.raw", &[words]);
    }
    fails(&f, 255, "rnnlm-get-egs @text ark:@1.egs", &["The --vocab-size option must be provided."]);
    fails(
        &f,
        255,
        "rnnlm-get-sampling-lm --vocab-size=12 @empty @1.raw",
        &["There are no counts (no data processed?)"],
    );
    fails(
        &f,
        255,
        "rnnlm-get-sampling-lm --vocab-size=7 @text @1.raw",
        &["line 2: expected words from 1 to 6"],
    );
    assert_eq!(f.read("1.raw"), "old");
}

/// The cost of a path grows by the scale times its cost by the model, whose words rnnlm-sentence-probs prints.
#[test]
fn lattices_get_the_costs_of_sentences() {
    let f = world("rescoring");
    let symbols = "--bos-symbol=1 --eos-symbol=2 --brk-symbol=3";
    f.write(
        "lats",
        "a \n0 1 4 0.5,2,7\n1 2 5 1,0,8_9\n1 2 6 0.25,1,8\n2\n\nb \n0 1 4 0,0,1\n1 2 77 0,0,2\n2\n\n",
    );
    f.write("sentences", "a 4 5\nb 4 6\n");
    let probs = run(&f, &format!("rnnlm-sentence-probs {symbols} @0.raw @words.mat @sentences")).stdout;
    let costs: Vec<f64> = probs.lines().map(|line| -numbers(line).iter().sum::<f64>()).collect();
    let expected = [1.5 + 0.5 * costs[0], 0.75 + 0.5 * costs[1]];
    let graph_costs = |name: &str| {
        output(&f, &format!("lattice-to-nbest --n=5 ark:@{name} ark:@nbest"));
        output(&f, "nbest-to-linear ark:@nbest ark:/dev/null ark,t:@said ark,t:@costs");
        let said: Vec<String> =
            f.read("said").lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
        let costs: Vec<f64> = f.read("costs").lines().map(|line| numbers(line)[0]).collect();
        let cost = |words: &str| costs[said.iter().position(|said| said.trim() == words).unwrap()];
        assert_eq!(said.len(), 2);
        [cost("4 5"), cost("4 6")]
    };
    let close = |found: [f64; 2]| found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-2);
    let files = "@words.mat @0.raw ark:@lats ark:@out";
    let plain = format!("lattice-lmrescore-kaldi-rnnlm --lm-scale=0.5 {symbols} --max-ngram-order=4 {files}");
    fails(&f, 0, &plain, &["Done 1 lattices, failed for 1", "b: expected words from 1 to 11, found 77"]);
    assert!(close(graph_costs("out")), "{:?} for {expected:?}", graph_costs("out"));
    // An old model without costs.
    let arcs: String = (4..12).chain([77]).map(|word| format!("0 0 {word} {word}\n")).collect();
    f.write("G.txt", format!("{arcs}0\n"));
    output(&f, "fstcompile @G.txt @G.fst");
    let pruned = format!("lattice-lmrescore-kaldi-rnnlm-pruned {symbols} @G.fst {files}");
    let words =
        ["Overall, succeeded for 1 lattices, failed for 1", "b: expected words from 1 to 11, found 77"];
    fails(&f, 0, &pruned, &words);
    assert!(close(graph_costs("out")), "{:?} for {expected:?}", graph_costs("out"));
    let no_symbols = pruned.replace(symbols, "");
    fails(&f, 255, &no_symbols, &["must set --bos-symbol and --eos-symbol options"]);
    for (option, words) in [
        ("--growth-ratio=1", "--growth-ratio=1: expected a number above 1"),
        ("--max-arcs=0", "--max-arcs=0"),
        ("--lattice-compose-beam=0", "--lattice-compose-beam=0"),
        ("--acoustic-scale=0", "scale"),
    ] {
        fails(&f, 255, &pruned.replace("--brk-symbol=3", option), &[words]);
    }
}
