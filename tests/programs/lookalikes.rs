//! Words that are missing although they seem to be there: other Unicode forms, capitals, no pronunciation.

use crate::command_lines::{fails, run};
use crate::common::Folder;

#[test]
fn other_forms_and_capitals_are_named() {
    let f = Folder::new("lookalikes");
    f.write("words.txt", "<eps> 0\nsp\u{e4}t 1\nHaus 2\n#0 3\n<s> 4\n</s> 5\n");
    let compile = "fstcompile --isymbols=@words.txt --osymbols=@words.txt @grammar.txt /dev/null";
    for (word, hint) in [
        ("spa\u{308}t", "('sp\u{e4}t' is there in another Unicode form, with U+00E4 for U+0061 U+0308)"),
        ("haus", "('Haus' is there, with other capitals)"),
        ("was", "is not in the symbol table"),
    ] {
        f.write("grammar.txt", format!("0 1 {word} {word}\n1\n"));
        fails(&f, 1, compile, &[word, hint]);
        f.write(
            "arpa",
            format!("\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <s>\n-1 </s>\n-1 {word}\n\n\\end\\\n"),
        );
        let said =
            run(&f, "arpa2fst --disambig-symbol=#0 --read-symbol-table=@words.txt @arpa @G.fst").stderr;
        let hint = if word == "was" { "word 'was' not in symbol table" } else { hint };
        assert!(said.contains(hint), "{said}");
    }
    f.write("ref", "u1 es sp\u{e4}t Haus\nu2 ja\n");
    f.write("hyp", "u1 es spa\u{308}t haus\nu2 nein\n");
    let scored = run(&f, "compute-wer ark:@ref ark:@hyp");
    assert!(scored.stdout.starts_with("%WER 75.00 [ 3 / 4, 0 ins, 0 del, 3 sub ]"), "{}", scored.stdout);
    assert!(
        scored.stderr.contains("2 substitutions are of words that look alike, such as"),
        "{}",
        scored.stderr
    );
    assert!(
        scored.stderr.contains("of u1: 'spa\u{308}t' is there in another Unicode form, with"),
        "{}",
        scored.stderr
    );
    let same = run(&f, "compute-wer ark:@ref ark:@ref");
    assert!(!same.stderr.contains("look alike"), "{}", same.stderr);
}

#[test]
fn programs_that_may_be_meant_are_named() {
    for (called, meant) in [
        ("transcrbe", "there is no program 'transcrbe'; did you mean 'nnet3-transcribe'?"),
        ("mfcc-feats", "did you mean 'compute-mfcc-feats'?"),
        ("gmm-est-map", "'gmm-est-map' is a program of Kaldi that does not exist here"),
        ("--generate=man", "--generate=man: it is of nnet3 alone"),
        ("copy-feat", "did you mean 'copy-feats'?"),
    ] {
        let said = crate::common::run("nnet3", &[called, "x"]);
        assert!(said.status == 1 && said.stderr.contains(meant), "{}", said.stderr);
    }
    for of_kaldi in ["sgmm2-init", "nnet-forward"] {
        let said = crate::common::run("nnet3", &["help", of_kaldi]);
        let expected = format!("'{of_kaldi}' is a program of Kaldi that does not exist here: docs/kaldi.md");
        assert!(said.status == 1 && said.stderr.contains(&expected), "{}", said.stderr);
    }
    let help = crate::common::run("nnet3", &["transcribe", "--help"]);
    let usage = help.stdout + &help.stderr;
    assert!(usage.contains("Usage: nnet3-transcribe"), "{usage}");
    let said = crate::common::run("nnet3", &["abrakadabra"]).stderr;
    assert!(said.contains("there is no program 'abrakadabra'\n"), "{said}");
}

/// Words are numbers here: the lexicon has word 1 only.
#[test]
fn words_without_pronunciation_are_named() {
    let f = Folder::new("no-pronunciation");
    let am = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/am");
    f.write("lexicon.txt", "0 1 1 1\n1 0 0 0\n0\n");
    assert_eq!(run(&f, "fstcompile @lexicon.txt @L.fst").status, 0);
    f.write("text", "u1 1\nu2 99 1 7 99\nu3 1 8\n");
    let line = format!("compile-train-graphs {am}/tree {am}/transitions.mdl @L.fst ark:@text ark:/dev/null");
    let said = run(&f, &line);
    assert_eq!(said.status, 0, "{}", said.stderr);
    for (key, why) in [("u2", "words 7, 99 have no pronunciation"), ("u3", "word 8 has no pronunciation")] {
        let sentence = format!("Empty decoding graph for utterance {key}: {why} in {}", f.path("L.fst"));
        assert!(said.stderr.contains(&sentence), "{}", said.stderr);
    }
    assert!(!said.stderr.contains("utterance u1"), "{}", said.stderr);
}
