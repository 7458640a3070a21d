//! The decoders and aligners compared with each other, and their messages about bad input.

use std::fmt::Write;
use std::path::Path;

use crate::common::{Folder, Output, run, succeed};

/// A graph of digits, the transition model that its labels are of, ...
fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nnet3-decode/tests/data");
    folder.join(name).to_str().unwrap().to_owned()
}

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

struct Recogniser {
    folder: Folder,
    model: String,
    graph: String,
    /// Utterances of different lengths.
    features: String,
}

/// Values between -1 and 1 that look random.
fn values() -> impl Iterator<Item = f32> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(1), next).map(|state| (state >> 8) as f32 / (1 << 23) as f32 - 1.0)
}

impl Recogniser {
    fn new(name: &str) -> Recogniser {
        let folder = Folder::new(name);
        let config = folder.write(
            "config",
            "component name=a type=AffineComponent input-dim=12 output-dim=44 param-stddev=2 bias-stddev=1
             component name=s type=LogSoftmaxComponent dim=44
             input-node name=input dim=4
             component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 2))
             component-node name=s component=s input=a
             output-node name=output input=s",
        );
        let (raw, model) = (folder.path("raw"), folder.path("model"));
        succeed("nnet3-init", &["--srand=3", &config, &raw]);
        succeed("nnet3-am-init", &[&data("mono.mdl"), &raw, &model]);
        let mut text = String::new();
        let mut values = values();
        for (key, frames) in KEYS.iter().zip([97, 31, 200, 64]) {
            let row = |values: &mut dyn Iterator<Item = f32>| {
                values.take(4).map(|value| format!(" {value}")).collect::<String>()
            };
            let rows: Vec<String> = (0..frames).map(|_| row(&mut values)).collect();
            writeln!(text, "{key} [\n{} ]", rows.join("\n")).unwrap();
        }
        let features = format!("ark:{}", folder.write("features", text));
        Recogniser { folder, model, graph: data("decode/HCLG.fst"), features }
    }

    /// The output of a decoder: lattices, words and alignments as text.
    fn decode(&self, program: &str, options: &[&str]) -> [String; 3] {
        let files = ["lattices", "words", "alignments"];
        let tables = files.map(|file| format!("ark,t:{}", self.folder.path(file)));
        let mut arguments = vec!["--acoustic-scale=1.0", "--frame-subsampling-factor=3"];
        arguments.extend(options);
        arguments.extend([&*self.model, &self.graph, &self.features, &tables[0]]);
        if program != "nnet3-latgen-faster-batch" {
            arguments.extend([&*tables[1], &tables[2]]);
        }
        let log = succeed(program, &arguments);
        assert!(log.contains("Done 4 utterances, failed for 0"), "{log}");
        files.map(|file| self.folder.read(file))
    }

    fn run(&self, program: &str, graph: &str, features: &str) -> Output {
        let lattices = format!("ark:{}", self.folder.path("lattices"));
        run(program, &["--acoustic-scale=1.0", &self.model, graph, features, &lattices])
    }
}

/// All decoders with a network give the same results, and so does the one without, for the network's outputs.
#[test]
fn decoders_agree() {
    let recogniser = Recogniser::new("decoders");
    let expected = recogniser.decode("nnet3-latgen-faster", &[]);
    let keys: Vec<_> = expected[1].lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(keys, KEYS);
    assert!(expected[1].split_whitespace().count() > 12, "{}", expected[1]);
    for threads in ["1", "3"] {
        let options = [&*format!("--num-threads={threads}"), "--num-threads-total=4"];
        assert_eq!(recogniser.decode("nnet3-latgen-faster-parallel", &options), expected);
    }
    let looped = recogniser.decode("nnet3-latgen-faster-looped", &["--frames-per-chunk=21"]);
    assert_eq!(looped[1..], expected[1..]);
    recogniser
        .decode("nnet3-latgen-faster-batch", &["--num-threads=2", "--minibatch-size=3", "--use-gpu=no"]);
    let best = |name: &str| {
        let tables = [name, "best.words", "best.alignments"].map(|file| recogniser.folder.path(file));
        let tables = tables.map(|file| format!("ark,t:{file}"));
        succeed("lattice-best-path", &tables.each_ref().map(String::as_str));
        ["best.words", "best.alignments"].map(|file| recogniser.folder.read(file))
    };
    assert_eq!(best("lattices"), expected[1..]);

    let loglikes = format!("ark:{}", recogniser.folder.path("loglikes"));
    let network = ["--frame-subsampling-factor=3", "--use-priors=true", "--use-gpu=no"];
    succeed("nnet3-compute", &[&network[..], &[&recogniser.model, &recogniser.features, &loglikes]].concat());
    let words = format!("ark,t:{}", recogniser.folder.path("mapped.words"));
    let lattices = format!("ark:{}", recogniser.folder.path("mapped"));
    let mapped = ["--acoustic-scale=1.0", &recogniser.model, &recogniser.graph, &loglikes, &lattices, &words];
    let log = succeed("latgen-faster-mapped", &mapped);
    assert_eq!(recogniser.folder.read("mapped.words"), expected[1]);
    // (A frame in three.)
    assert!(log.contains(" over 133 frames."), "{log}");
}

/// The best path of a decoder is that of the search for one path, with the same graph for each utterance.
#[test]
fn alignments_are_best_paths() {
    let recogniser = Recogniser::new("aligners");
    let [_, _, expected] = recogniser.decode("nnet3-latgen-faster", &["--beam=100"]);
    let vector = recogniser.folder.path("vector.fst");
    succeed("fstconvert", &["--fst_type=vector", &recogniser.graph, &vector]);
    let graph = std::fs::read(&vector).unwrap();
    let table = |keys: &[&str]| -> Vec<u8> {
        keys.iter().flat_map(|key| [format!("{key} ").as_bytes(), &graph].concat()).collect()
    };
    let graphs = format!("ark:{}", recogniser.folder.write("graphs", table(&KEYS)));
    let alignments = format!("ark,t:{}", recogniser.folder.path("aligned"));
    let scores = format!("ark,t:{}", recogniser.folder.path("scores"));
    let frames = format!("--write-per-frame-acoustic-loglikes=ark,t:{}", recogniser.folder.path("frames"));
    let scales = ["--transition-scale=0", "--self-loop-scale=0", "--acoustic-scale=1.0", "--use-gpu=no"];
    let options = [&scales[..], &["--frame-subsampling-factor=3", "--beam=100", &frames]].concat();
    let tables = [&*recogniser.model, &graphs, &recogniser.features, &alignments, &scores];
    let log = succeed("nnet3-align-compiled", &[&options[..], &tables].concat());
    assert!(log.contains("Retried 0 out of 4 utterances.") && log.contains("Done 4, errors on 0"), "{log}");
    assert_eq!(recogniser.folder.read("aligned"), expected);
    let lengths = |name: &str, others: usize| -> Vec<usize> {
        let text = recogniser.folder.read(name);
        text.lines().map(|line| line.split_whitespace().count() - others).collect()
    };
    // Key and brackets are no frames.
    assert_eq!(lengths("frames", 3), lengths("aligned", 1));
    assert_eq!(lengths("scores", 1), [1; 4]);

    let more = format!("ark:{}", recogniser.folder.write("more", table(&["b", "x", "d"])));
    let tables = [&*recogniser.model, &more, &recogniser.features, &alignments];
    let log = succeed("nnet3-align-compiled", &[&options[..], &tables].concat());
    assert!(log.contains("No features for utterance x") && log.contains("Done 2, errors on 1"), "{log}");
    let lines: Vec<&str> = expected.lines().collect();
    assert_eq!(recogniser.folder.read("aligned"), format!("{}\n{}\n", lines[1], lines[3]));
}

#[test]
fn what_cannot_be_decoded() {
    let recogniser = Recogniser::new("decoders-fail");
    let Recogniser { folder, graph, features, .. } = &recogniser;
    let refused = |output: Output, words: &[&str]| {
        assert_eq!(output.status, 255, "{}", output.stderr);
        let error = output.stderr.split_once("ERROR (").unwrap_or_else(|| panic!("{}", output.stderr)).1;
        for word in words {
            assert!(error.contains(word), "no '{word}' in: {error}");
        }
    };
    let all = std::fs::read_to_string(folder.path("features")).unwrap();
    // Of four utterances the second has a value that is none, and the third no rows.
    let (a, others) = all.split_at(all.find("b [").unwrap());
    let last = &others[others.find("d [").unwrap()..];
    let some = folder.write("some", format!("{a}b [\n nan 0 0 0 ]\ne [ ]\n{last}"));
    for program in ["nnet3-latgen-faster", "nnet3-latgen-faster-parallel", "nnet3-latgen-faster-looped"] {
        let output = recogniser.run(program, graph, &format!("ark:{some}"));
        assert_eq!(output.status, 0, "{}", output.stderr);
        for words in
            ["b: the features' frame 0", "Zero-length utterance: e", "Done 2 utterances, failed for 2"]
        {
            assert!(output.stderr.contains(words), "{program}: no '{words}' in {}", output.stderr);
        }
    }
    // Entries before the end of a truncated archive are decoded.
    let cut = folder.write("cut", &all[..all.len() * 3 / 4]);
    let output = recogniser.run("nnet3-latgen-faster", graph, &format!("ark:{cut}"));
    assert!(output.stderr.matches("Log-like per frame").count() == 2, "{}", output.stderr);
    refused(output, &["cut"]);
    // The graph has words and labels of another model.
    let other = folder.path("other.fst");
    let text = folder.write("other.txt", "0 1 3 4\n1 2 999 0\n2\n");
    succeed("fstcompile", &[&text, &other]);
    refused(recogniser.run("nnet3-latgen-faster", &other, features), &["other.fst", "999", "44"]);
    refused(recogniser.run("nnet3-latgen-faster", "no.fst", features), &["no.fst"]);
    let lattices = "ark:/no/such/folder/lattices";
    let arguments = ["--acoustic-scale=1.0", &recogniser.model, graph, features, lattices];
    refused(run("nnet3-latgen-faster", &arguments), &["/no/such/folder"]);
    for (option, words) in [
        ("--beam=-1", "--beam=-1"),
        ("--max-active=1", "--max-active=1"),
        ("--lattice-beam=0", "--lattice-beam=0"),
        ("--min-active=7 --max-active=5", "--min-active=7"),
        ("--prune-interval=0", "--prune-interval=0"),
    ] {
        let mut arguments: Vec<&str> = option.split(' ').collect();
        arguments.extend([&*recogniser.model, graph, features, "ark:-"]);
        refused(run("nnet3-latgen-faster", &arguments), &[words]);
    }
    // No path fits so few frames: the graph ends after ten.
    let mut long: String = (0..10).map(|s| format!("{s} {} 1 1\n", s + 1)).collect();
    long += "10\n";
    let (text, long) = (folder.write("long.txt", long), folder.path("long.fst"));
    succeed("fstcompile", &[&text, &long]);
    let output = recogniser.run("nnet3-latgen-faster", &long, features);
    assert_eq!(output.status, 1, "{}", output.stderr);
    let sentence = "Failed to decode utterance with id a";
    assert!(
        output.stderr.contains(sentence) && output.stderr.contains("no surviving tokens"),
        "{}",
        output.stderr
    );
}

/// A language model of the digits, which the graph has as words 2 to 11.
const BIGRAMS: &str = "\\data\\\nngram 1=12\nngram 2=9\n\n\\1-grams:\n-1.1 w2 -0.3\n-1.2 w3 -0.2\n-0.9 w4\n-1.0 w5\n\
    -1.1 w6 -0.1\n-1.1 w7\n-1.3 w8 -0.4\n-1.1 w9\n-0.8 w10\n-1.1 w11 -0.2\n-99 <s> -0.2\n-0.7 </s>\n\n\\2-grams:\n\
    -0.5 <s> w2\n-0.9 <s> w8\n-0.4 w2 w2\n-0.7 w2 w11\n-0.3 w3 </s>\n-0.5 w8 w2\n-0.6 w11 w6\n-0.5 w6 w3\n\
    -0.8 w8 </s>\n\n\\end\\\n";

/// The two halves of a graph, as mkgraph_lookahead.sh makes them with and without an ARPA file, give the words of the whole
/// graph.
#[test]
fn halves_of_graphs() {
    let mut recogniser = Recogniser::new("halves");
    let folder = Folder::new("halves-graphs");
    let at = |name: &str| folder.path(name);
    let arpa = folder.write("lm.arpa", BIGRAMS);
    let names = |new: &dyn Fn(i32) -> i32| {
        let words = (1..=14).map(|i| format!("w{i} {}\n", new(i)));
        // As mkgraph_lookahead.sh leaves them: two names with one number.
        let others = [("#0", 15), ("<s>", 15), ("</s>", 16), ("<unk>", 17)];
        let others = others.iter().map(|(name, number)| format!("{name} {number}\n"));
        std::iter::once("<eps> 0\n".to_owned()).chain(words).chain(others).collect::<String>()
    };
    let words = folder.write("words.txt", names(&|number| number));
    let read = |words: &str, to: &str| {
        succeed(
            "ngramread",
            &["--ARPA", "--OOV_symbol=<unk>", &format!("--symbols={words}"), &arpa, &at(to)],
        );
    };
    read(&words, "G");
    succeed("fstcompose", &[&recogniser.graph, &at("G"), &at("HCLG")]);
    succeed("fstarcsort", &["--sort_type=olabel", &recogniser.graph, &at("HCL")]);
    let pairs = format!("--save_relabel_opairs={}", at("relabel"));
    succeed("fstconvert", &["--fst_type=olabel_lookahead", &pairs, &at("HCL"), &at("HCLr")]);
    let info = run("fstinfo", &[&at("HCLr")]).stdout;
    assert!(
        info.contains("olabel_lookahead")
            && info.contains("output lookahead                                  y")
    );

    // Without an ARPA file G is relabelled.
    succeed("fstrelabel", &[&format!("--relabel_ipairs={}", at("relabel")), &at("G"), &at("G.relabelled")]);
    succeed("fstarcsort", &["--sort_type=ilabel", &at("G.relabelled"), &at("G.sorted")]);
    succeed("fstconvert", &["--fst_type=const", &at("G.sorted"), &at("Gr.const")]);
    // With one the table of words is.
    let relabel: Vec<[i32; 2]> = folder
        .read("relabel")
        .lines()
        .map(|line| [0, 1].map(|i| line.split('\t').nth(i).unwrap().parse().unwrap()))
        .collect();
    let new = |old: i32| relabel.iter().find(|pair| pair[0] == old).map_or(old, |pair| pair[1]);
    let relabelled = folder.write("words.relabelled", names(&new));
    read(&relabelled, "G.new");
    succeed("fstarcsort", &["--sort_type=ilabel", &at("G.new"), &at("G.new.sorted")]);
    succeed("fstconvert", &["--fst_type=ngram", &at("G.new.sorted"), &at("Gr.ngram")]);
    let info = run("fstinfo", &[&at("Gr.ngram")]).stdout;
    assert!(info.contains("ngram") && info.contains(&relabelled), "{info}");

    recogniser.graph = at("HCLG");
    let [_, expected, _] = recogniser.decode("nnet3-latgen-faster", &["--beam=30"]);
    assert!(expected.split_whitespace().count() > 12, "{expected}");
    let none = folder.write("disambig", "");
    let decode = |second: &str| {
        let (lattices, words) = (at("lattices"), at("found"));
        let options = ["--acoustic-scale=1.0", "--frame-subsampling-factor=3", "--beam=30"];
        let files = [&recogniser.model, &at("HCLr"), &at(second), &none, &recogniser.features];
        let tables = [format!("ark:{lattices}"), format!("ark,t:{words}")];
        let arguments: Vec<&str> = options
            .into_iter()
            .chain(files.map(|name| &**name))
            .chain(tables.iter().map(|name| &**name))
            .collect();
        let log = succeed("nnet3-latgen-faster-lookahead", &arguments);
        assert!(log.contains("Done 4 utterances, failed for 0"), "{log}");
        folder.read("found")
    };
    assert_eq!(decode("Gr.const"), expected);
    let renumbered: String = expected
        .lines()
        .map(|line| {
            let mut columns = line.split_whitespace();
            let key = columns.next().unwrap().to_owned();
            columns.fold(key, |line, word| format!("{line} {}", new(word.parse().unwrap()))) + " \n"
        })
        .collect();
    assert_eq!(decode("Gr.ngram"), renumbered);
}
