//! Text files with lines that end in CR LF: every table and list gives the results of LF, also for empty values.

use crate::command_lines::run;
use crate::common::Folder;

const DECODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/nnet3-decode/tests/data");

/// Text files. Keys with empty values are in the middle and in the last line.
const FILES: [(&str, &str); 24] = [
    ("text", "u1 x y\nu2\nu3 z\nu4\n"),
    ("ints", "u1 1 2\nu2\nu3 3\nu4\n"),
    ("lists", "u1 1 2 ; 3 ; \nu2\nu3 3 ;\nu4\n"),
    ("pairs", "u1 1 2 ; 6 3\nu2\nu3 7 4\nu4\n"),
    ("post", "u1 [ 1 0.5 ] [ ]\nu2\nu3 [ 1 1 ]\nu4\n"),
    ("weights", "u1  [ 0.5 2 ]\nu2  [ ]\nu3  [ 1 ]\nu4  [ ]\n"),
    ("feats", "u1  [\n  1 2\n  3 4 ]\nu2  [ ]\nu3  [\n  5 7 ]\nu4  [ ]\n"),
    ("matrix", " [\n  1 0\n  0 1 ]\n"),
    ("scales", "u1 0.5\nu3 2\n"),
    ("spk2utt", "s1 u1\ns2\ns3 u3\ns4\n"),
    ("utt2spk", "u1 s1\nu2 s1\nu3 s3\nu4 s3\n"),
    ("stats", "s1  [\n  1 2 1\n  1 4 0 ]\ns3  [\n  1 2 1\n  1 4 0 ]\n"),
    ("segments", "a u1 0 0.02\nb u3 0 0.01\n"),
    ("reco2file", "u1 r A\nu3 r B\n"),
    ("include", "u1\nu3\n"),
    ("scp", "u1 @feats.ark:3\nu3 @feats.ark:3\n"),
    ("fsts", "u1 \n0 1 3 3 0.5\n1\n\nu2 \n\nu3 \n0 1 4 4\n1 0.25\n\nu4 \n\n"),
    ("lattices", "u1 \n0 1 3 1,2,2_1_1\n1\n\nu2 \n\nu3 \n0 1 4 1,2,2_1\n1 0,0,\n\nu4 \n\n"),
    ("words", "<eps> 0\nx 1\ny 2\na 3\nb 4\n"),
    (
        "boundary",
        "1 nonword\n2 begin\n3 end\n4 internal\n5 singleton\n6 begin\n7 end\n8 internal\n9 singleton\n10 begin\n11 end\n12 internal\n13 singleton\n14 begin\n15 end\n16 internal\n17 singleton\n18 begin\n19 end\n20 internal\n21 singleton\n22 begin\n",
    ),
    ("lexicon", "0 0 1\n3 3 1\n4 4 1 1\n"),
    ("arcs", "0 1 a b 0.5\n1\n"),
    ("disambig", "3\n4\n"),
    ("symbols", "<eps> 0\na 1\nb 2\n"),
];

const LINES: [&str; 30] = [
    "align-text ark:@text ark:@text ark,t:-",
    "compute-wer --text --mode=all ark:@text ark:@text",
    "copy-int-vector ark:@ints ark,t:-",
    "ali-to-post ark:@ints ark,t:-",
    "copy-post ark:@post ark,t:-",
    "post-to-weights ark:@post ark,t:-",
    "weight-post ark:@post ark:@weights ark,t:-",
    "scale-post ark:@post ark:@scales ark,t:-",
    "copy-vector ark:@weights ark,t:-",
    "copy-feats ark:@feats ark,t:-",
    "copy-feats scp:@scp ark,t:-",
    "copy-matrix --binary=false @matrix -",
    "transform-feats @matrix ark:@feats ark,t:-",
    "compute-cmvn-stats --spk2utt=ark:@spk2utt ark:@feats ark,t:-",
    "compute-cmvn-stats-two-channel @reco2file ark:@feats ark,t:-",
    "apply-cmvn --utt2spk=ark:@utt2spk ark:@stats ark:@feats ark,t:-",
    "subset-feats --include=@include ark:@feats ark,t:-",
    "extract-feature-segments --min-segment-length=0.01 --snip-edges=false ark:@feats @segments ark,t:-",
    "fstcopy ark:@fsts ark,t:-",
    "lattice-copy ark:@lattices ark,t:-",
    "lattice-copy --include=@include ark:@lattices ark,t:-",
    "lattice-best-path --word-symbol-table=@words ark:@lattices ark,t:-",
    "lattice-oracle --word-symbol-table=@words ark:@lattices ark:@ints ark,t:-",
    "lattice-align-words-lexicon @lexicon %/mono.mdl ark:@lattices ark,t:-",
    "lattice-align-words @boundary %/mono.mdl ark:@lattices ark,t:-",
    "fstcompile --isymbols=@symbols --osymbols=@symbols @arcs @arcs.fst",
    "fstprint --isymbols=@symbols --osymbols=@symbols @arcs.fst",
    "fstaddselfloops @disambig @disambig @arcs.fst @loops.fst",
    "chain-est-phone-lm --num-extra-lm-states=1 ark:@ints @lm.fst",
    "nbest-to-linear ark:@lattices ark,t:-",
];

#[test]
fn carriage_returns() {
    let folders = ["lf", "crlf"].map(|name| Folder::new(&format!("line-ends-{name}")));
    for (folder, end) in folders.iter().zip(["\n", "\r\n"]) {
        for (name, text) in FILES {
            folder.write(name, text.replace('@', &folder.path("")).replace('\n', end));
        }
        folder.write("feats.ark", "u1  [ 1 2 ]\n");
    }
    for line in LINES {
        let line = line.replace('%', DECODE);
        let [lf, crlf] = folders.each_ref().map(|folder| run(folder, &line));
        assert!(lf.status == crlf.status && lf.status != 255, "{line}: {}{}", lf.stderr, crlf.stderr);
        assert_eq!(crlf.stdout, lf.stdout, "{line}: {}", crlf.stderr);
    }
    // The last line may lack its end.
    let cut = folders[1].write("cut", "u1 x\r\nu2 y\r");
    let output = crate::common::run("compute-wer", &["--text", &format!("ark:{cut}"), &format!("ark:{cut}")]);
    assert!(output.status == 0 && output.stdout.contains("[ 0 / 2"), "{}", output.stderr);
}
