//! One rule for all programs that process a table. If an entry is empty and the program cannot use it, it is left out with a
//! warning that names its key, and the next entry follows. `tests/data/empty_entries.txt` lists the programs.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::common::{Folder, Output, binary, run};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const DECODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/nnet3-decode/tests/data");
const CHAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/nnet3-chain/tests/data/chain");
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

const EMPTY: [&str; 3] = ["a0", "c0", "e0"];
const FULL: [&str; 4] = ["b1", "b2", "d1", "d2"];
const LINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/empty_entries.txt");

/// All keys in order.
fn keys() -> Vec<&'static str> {
    let mut keys: Vec<&str> = EMPTY.iter().chain(&FULL).copied().collect();
    keys.sort_unstable();
    keys
}

/// A table of all keys: each is followed by `empty`, or by what `full` gives for it.
fn table(empty: &[u8], full: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
    let entry = |key: &str| {
        let value = if EMPTY.contains(&key) { empty.to_vec() } else { full(key) };
        [key.as_bytes(), &value].concat()
    };
    keys().into_iter().flat_map(entry).collect()
}

/// Some frames that look random, as text.
fn matrix(rows: usize, cols: usize) -> String {
    let mut text = "  [\n".to_owned();
    for row in 0..rows {
        for col in 0..cols {
            write!(text, " {}", ((row * 37 + col * 101) % 53) as f32 / 10.0 - 2.0).unwrap();
        }
        text.push('\n');
    }
    text + " ]\n"
}

/// A wave file of 8 kHz.
fn wave(samples: usize) -> Vec<u8> {
    let data = 2 * samples as u32;
    let mut bytes = [&b"RIFF"[..], &(36 + data).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0\x01\0"].concat();
    bytes.extend(b"\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data");
    bytes.extend(data.to_le_bytes());
    bytes.extend((0..samples).flat_map(|t| (((t * t * 31) % 20_011) as i16 - 10_000).to_le_bytes()));
    bytes
}

/// Writes a table with empty entries, and two more: `full…` without those entries, and `all…` with others in their places.
fn write_table(f: &Folder, name: &str, empty: &str, full: impl Fn(&str) -> String) {
    f.write(name, table(empty.as_bytes(), |key| full(key).into_bytes()));
    let entries = |keys: &[&str]| keys.iter().map(|key| format!("{key}{}", full(key))).collect::<String>();
    f.write(&format!("full{name}"), entries(&FULL));
    f.write(&format!("all{name}"), entries(&keys()));
}

fn files(f: &Folder) {
    let network = |outputs: usize| {
        format!(
            "component name=a type=AffineComponent input-dim=12 output-dim={outputs} param-stddev=2 bias-stddev=1
             component name=s type=LogSoftmaxComponent dim={outputs}
             input-node name=input dim=4
             component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 2))
             component-node name=s component=s input=a
             output-node name=output input=s"
        )
    };
    f.write("config", network(44));
    f.write("pooled.config", POOLED);
    f.write("chain.config", network(88));
    f.write("rnnlm.config", RNNLM);
    f.write("embedding", matrix(22, 4));
    let options = [
        ("lda-matrix", "final.mat"),
        ("global-cmvn-stats", "global_cmvn.stats"),
        ("cmvn-config", "online_cmvn.conf"),
        ("splice-config", "splice.conf"),
        ("diag-ubm", "final.dubm"),
        ("ivector-extractor", "final.ie"),
    ];
    let options: String =
        options.iter().map(|(name, file)| format!("--{name}={DATA}/ivectors/{file}\n")).collect();
    f.write("ivector.conf", options);
    for line in MODELS.lines() {
        prepare(f, line);
    }
    const EMPTY_MATRIX: &str = "  [ ]\n";
    let both = std::fs::read_to_string(format!("{DECODE}/decode/default.ali")).unwrap();
    // Some phones of two utterances: a phone begins with an even number.
    let begin = |line: &str| {
        let ids: Vec<&str> = line.split_whitespace().skip(1).collect();
        let end = (30..ids.len()).find(|&end| ids[end].parse::<u32>().unwrap() % 2 == 0).unwrap();
        ids[..end].join(" ")
    };
    let alignments: Vec<String> = both.lines().map(begin).collect();
    let alignment = |key: &str| alignments[usize::from(key.starts_with('d'))].clone();
    let count = |key: &str| alignment(key).split(' ').count();
    write_table(f, "feats", EMPTY_MATRIX, |key| matrix(count(key), 4));
    write_table(f, "pairs", EMPTY_MATRIX, |_| matrix(20, 2));
    write_table(f, "chainfeats", EMPTY_MATRIX, |_| matrix(60, 4));
    write_table(f, "mats", EMPTY_MATRIX, |_| "  [\n 1 2 3 4 10\n 5 5 5 5 0 ]\n".to_owned());
    write_table(f, "transforms", EMPTY_MATRIX, |_| "  [\n 1 0 0 0\n 0 1 0 1 ]\n".to_owned());
    f.write("transform", " [\n 1 0 0 0\n 0 1 0 1 ]\n");
    write_table(f, "vecs", EMPTY_MATRIX, |_| "  [ 1 2 ]\n".to_owned());
    write_table(f, "framevecs", EMPTY_MATRIX, |key| format!("  [ {}]\n", "0.5 ".repeat(count(key))));
    write_table(f, "ints", "\n", |_| " 3 4\n".to_owned());
    write_table(f, "text", "\n", |_| " x y\n".to_owned());
    write_table(f, "ali", "\n", |key| format!(" {}\n", alignment(key)));
    write_table(f, "post", "\n", |_| " [ 0 0.5 2 0.5 ] [ 1 1 ]\n".to_owned());
    write_table(f, "gausspost", "\n", |_| format!(" {}\n", "[ 0 0.5 2 0.5 ] ".repeat(20)));
    write_table(f, "postvecs", EMPTY_MATRIX, |_| "  [ 0.5 2 ]\n".to_owned());
    write_table(f, "tids", "\n", |_| " [ 1 0.5 2 0.5 ] [ 3 1 ]\n".to_owned());
    let trees = std::fs::read_to_string(format!("{DATA}/trees/in/ali.txt")).unwrap();
    let tree = trees.lines().next().unwrap().split_once(' ').unwrap().1.trim_end().to_owned();
    write_table(f, "treeali", "\n", |_| format!(" {tree}\n"));
    write_table(f, "treefeats", EMPTY_MATRIX, |_| matrix(tree.split(' ').count(), 3));
    write_table(f, "treepost", "\n", |_| {
        let ids = tree.split(' ').map(|id| format!("[ {id} 1 ] "));
        format!(" {}\n", ids.collect::<String>())
    });
    f.write("affine", " [\n 1 0 0\n 0 1 1 ]\n");
    write_table(f, "prons", "\n", |_| " 0 9 ; 5 1 2 ; \n".to_owned());
    write_table(f, "phonelengths", "\n", |_| " 9 4 ; 1 3 ; 2 5\n".to_owned());
    f.write("lexicon.txt", "0 0 9 0 1.5\n0 1 7 5\n1 2 1 0\n2 3 2 0\n3 0 8 0\n0\n");
    write_table(f, "phones", "\n", |_| " 9 1 2\n".to_owned());
    write_table(f, "said", "\n", |_| " 5\n".to_owned());
    write_table(f, "pitch", EMPTY_MATRIX, |_| "  [\n 0.5 100\n 0.6 110\n 0.4 120 ]\n".to_owned());
    write_table(f, "squares", EMPTY_MATRIX, |_| "  [\n 1 0\n 1 2 ]\n".to_owned());
    let first: Vec<&str> = both.split_whitespace().skip(1).take(64).collect();
    write_table(f, "latali", "\n", |_| format!(" {}\n", first.join(" ")));
    write_table(f, "latfeats", EMPTY_MATRIX, |_| matrix(first.len(), 4));
    let frames = tree.split(' ').count();
    f.write("silence", keys().iter().map(|key| format!("{key} 0 {frames} 0\n")).collect::<String>());
    f.write("scores", keys().iter().map(|key| format!("{key} 1.5\n")).collect::<String>());
    write_table(f, "tidpost", "\n", |key| format!(" {}\n", "[ 3 1 ] ".repeat(count(key))));
    write_table(f, "loglikes", EMPTY_MATRIX, |key| matrix(count(key), 44));
    write_table(f, "pdfpost", "\n", |key| format!(" {}\n", "[ 7 1 ] ".repeat(count(key))));
    write_table(f, "phoneseqs", "\n", |_| " 1 2 3 4 1\n".to_owned());
    write_table(f, "lengths", "\n", |_| " 1 20 ; 6 20 ; 7 20\n".to_owned());
    write_table(f, "decisions", EMPTY_MATRIX, |key| format!("  [ {}]\n", "1 ".repeat(count(key))));
    write_table(f, "speakervecs", EMPTY_MATRIX, |key| {
        let values = [("b1", "1 2"), ("b2", "2 5"), ("d1", "-3 0.5"), ("d2", "-2 -1")];
        format!("  [ {} ]\n", values.iter().find(|(name, _)| *name == key).map_or("0 3", |(_, value)| value))
    });
    write_table(f, "costs", EMPTY_MATRIX, |_| "  [\n 0 ]\n".to_owned());
    f.write("uttnumbers", "a0 1\nb1 2\nb2 3\nc0 4\nd1 5\nd2 6\ne0 7\n");
    f.write("speakerclasses", "a0 0\nb1 0\nb2 0\nc0 1\nd1 1\nd2 1\ne0 1\n");
    f.write("utt2spk", "a0 s1\nb1 s1\nb2 s1\nc0 s2\nd1 s3\nd2 s3\ne0 s3\n");
    f.write("spk2utt", "s1 a0 b1 b2\ns2 c0\ns3 d1 d2 e0\n");
    f.write("rest.txt", "0 0 9 9\n0\n");
    f.write("ranges", keys().iter().map(|key| format!("{key} 0 0 0 5 1\n")).collect::<String>());
    f.write("own", keys().iter().map(|key| format!("{key} {key}\n")).collect::<String>());
    f.write("reco2file", "a0 r A\nb1 r B\nb2 s A\nc0 s B\nd1 t A\nd2 t B\ne0 u A\n");
    f.write("segments", keys().iter().map(|key| format!("{key} {key} 0.05 0.25\n")).collect::<String>());
    let phones: String = (1..30).map(|phone| format!("p{phone} {phone}\n")).collect();
    f.write("phones.txt", format!("<eps> 0\n{phones}"));

    f.write("short.wav", wave(100));
    f.write("long.wav", wave(8000));
    let scp = |name: &str| format!(" {}\n", f.path(name));
    f.write("wav.scp", table(scp("short.wav").as_bytes(), |_| scp("long.wav").into_bytes()));
    f.write("mfcc.conf", "--dither=0\n--sample-frequency=8000\n--num-ceps=4\n--use-energy=false\n");

    // FSTs: of a word, and of transition-ids of a chain model.
    write_table(f, "wordfsts", " \n\n", |_| " \n0 1 3 3\n1\n\n".to_owned());
    write_table(f, "fsts", " \n\n", |_| " \n0 1 2 2\n1 1 1 1\n1\n\n".to_owned());
    // Lattices: entries of archives with one or more of them.
    let bytes = |path: String| {
        let archive = std::fs::read(path).unwrap();
        let key = archive.iter().position(|&byte| byte == b' ').unwrap();
        archive[key..].to_vec()
    };
    f.write("lats", table(b" \n\n", |_| bytes(format!("{DECODE}/rich.lat"))));
    f.write("wblats", table(b" \n\n", |_| bytes(format!("{DECODE}/rich-wb.lat"))));
    let phones = std::fs::read_to_string(format!("{CHAIN}/supervision/lats.txt")).unwrap();
    let phones = phones.split_once('\n').unwrap().1.split_once("\n\n").unwrap().0.to_owned();
    write_table(f, "phonelats", " \n\n", |_| format!(" \n{phones}\n\n"));
    write_table(f, "best", " \n\n", |_| " \n0\t1\t3\t1,2,2_1_1\n1\n\n".to_owned());
    // A graph of the transition-ids of the tree's alignment.
    let ids: Vec<&str> = tree.split(' ').collect();
    let arcs: String = ids.iter().enumerate().map(|(i, id)| format!("{i} {} {id} 0\n", i + 1)).collect();
    write_table(f, "gmmgraphs", " \n\n", |_| format!(" \n{arcs}{}\n\n", ids.len()));
    f.write("gmmgraph.txt", format!("{arcs}{}\n", ids.len()));
    let graph = std::fs::read(f.path("HCLG.fst")).unwrap();
    f.write("graphs", table(b" \n\n", |_| [b" ", &graph[..]].concat()));
    let all = keys().into_iter().flat_map(|key| [key.as_bytes(), b" ", &graph[..]].concat());
    f.write("allgraphs", all.collect::<Vec<u8>>());
}

/// A network that makes one vector of an utterance.
const POOLED: &str = "\
input-node name=input dim=4
component name=e type=StatisticsExtractionComponent input-dim=4 input-period=1 output-period=1 include-variance=true
component-node name=e component=e input=input
component name=p type=StatisticsPoolingComponent input-dim=9 input-period=1 left-context=0 right-context=100 num-log-count-features=0 output-stddevs=true
component-node name=p component=p input=e
output-node name=output input=p
";

/// A recurrent language model.
const RNNLM: &str = "\
component name=a type=AffineComponent input-dim=8 output-dim=4
component name=t type=TanhComponent dim=4
input-node name=input dim=4
component-node name=a component=a input=Append(input, IfDefined(Offset(t, -1)))
component-node name=t component=t input=a
output-node name=output input=t
";

/// Command lines that need files of other programs.
const MODELS: &str = "\
nnet3-init --srand=3 @config @raw
nnet3-am-init %/crates/nnet3-decode/tests/data/mono.mdl @raw @model
nnet3-init --srand=3 @chain.config @chain.raw
nnet3-init --srand=3 @pooled.config @pooled.raw
nnet3-init --srand=3 @rnnlm.config @rnnlm.raw
fstconvert --fst_type=vector %/crates/nnet3-decode/tests/data/decode/HCLG.fst @HCLG.fst
gmm-init-mono %/tests/data/trees/in/topo3 3 @mono.mdl @mono.tree
";

/// The lines of the list from a heading on up to the next one.
fn section(heading: &str) -> Vec<String> {
    let text = std::fs::read_to_string(LINES).unwrap();
    let after = text.lines().skip_while(|line| !line.starts_with(&format!("# -- {heading}"))).skip(1);
    after.take_while(|line| !line.starts_with("# -- ")).map(str::to_owned).collect()
}

/// Runs the cases of a section.
fn check_section(heading: &str) {
    let f = Folder::new(heading);
    files(&f);
    let (mut cases, mut faults) = (0, String::new());
    for line in section(heading) {
        match line.split_once(' ') {
            None | Some(("#" | "-", _)) => {}
            Some(("=", command)) => prepare(&f, command),
            Some(_) => {
                cases += 1;
                let _ = std::fs::remove_file(f.path("out"));
                let output = execute(&f, &line);
                let written = std::fs::read(f.path("out")).unwrap_or_default();
                let written = line.contains("@out").then(|| String::from_utf8_lossy(&written).into_owned());
                if let Err(fault) = check(&output, written.as_deref()) {
                    writeln!(faults, "{line}\n    {fault}\n    {}", output.stderr.trim_end()).unwrap();
                }
            }
        }
    }
    assert!(cases > 0, "there are no cases of {heading}");
    assert!(faults.is_empty(), "\n{faults}");
}

macro_rules! sections {
    ($($name:ident, $heading:literal;)*) => {
        const SECTIONS: &[&str] = &[$($heading),*];

        $(#[test]
        fn $name() {
            check_section($heading);
        })*
    };
}

sections! {
    features, "features";
    alignments, "alignments";
    texts, "texts";
    trees, "trees";
    models, "models";
    networks, "networks";
    examples, "examples";
    chain, "chain";
    graphs, "graphs";
    decoding, "decoding";
    lattices, "lattices";
    background, "background";
    speakers, "speakers";
}

/// A new program needs a case, or a reason why there is none.
#[test]
fn every_program_is_named() {
    let mut named = BTreeSet::new();
    for line in SECTIONS.iter().flat_map(|heading| section(heading)) {
        match line.split_once(' ') {
            None | Some(("#" | "=", _)) => {}
            Some(("-", reason)) => {
                let (name, reason) = reason.split_once(": ").expect("a name and a reason");
                assert!(!reason.is_empty(), "{name}");
                named.insert(name.to_owned());
            }
            Some((name, _)) => {
                named.insert(name.to_owned());
            }
        }
    }
    let listed = run("nnet3", &["--list=names"]).stdout;
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    assert_eq!(named, listed, "tests/data/empty_entries.txt names other programs");
}

fn execute(f: &Folder, line: &str) -> Output {
    let line = line.replace('@', &f.path("")).replace('%', ROOT);
    let words: Vec<&str> = line.split_whitespace().collect();
    assert!(binary(words[0]).exists(), "there is no program for: {line}");
    run(words[0], &words[1..])
}

fn prepare(f: &Folder, line: &str) {
    let output = execute(f, line);
    assert_eq!(output.status, 0, "{line}: {}", output.stderr);
}

/// The rule. `written` is the table that the program wrote.
fn check(output: &Output, written: Option<&str>) -> Result<(), String> {
    if output.status != 0 || output.stderr.contains("ERROR (") {
        return Err(format!("status {}", output.status));
    }
    let Some(written) = written else { return Ok(()) };
    // (Keys of examples go on with a number.)
    let is_written = |key: &str| {
        let mut words = written.split_whitespace();
        words.any(|word| word.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
    };
    let is_warned = |key: &str| {
        let names = |line: &str| line.starts_with("WARNING (") && line.contains(key);
        output.stderr.lines().any(names)
    };
    // Speakers are named s1, s2, s3.
    if written.starts_with("s1 ") && written.contains("\ns3 ") {
        return Ok(());
    }
    if let Some(key) = FULL.iter().find(|key| !is_written(key)) {
        return Err(format!("{key} is not written"));
    }
    match EMPTY.iter().find(|key| !is_written(key) && !is_warned(key)) {
        Some(key) => Err(format!("{key} is neither written nor warned about")),
        None => Ok(()),
    }
}
