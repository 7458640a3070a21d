//! Command lines as people who know other programs write them, and files of another kind than a program reads.

use std::process::Command;

use crate::command_lines::{fails, output, run};
use crate::common::{Folder, binary};
use crate::online_programs::{folder, model_folder};

const U7: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav");
const DECODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/nnet3-decode/tests/data");

#[test]
fn options_of_other_programs_name_ours() {
    let f = Folder::new("elsewhere");
    for (line, advice) in [
        (
            "nnet3-transcribe model a.wav --output_format srt",
            "--output_format is an option of other programs; here: --format=FORMAT",
        ),
        (
            "nnet3-transcribe -m model a.wav",
            "-m is an option of other programs; here: the folder of the model is the first argument",
        ),
        ("nnet3-transcribe model a.wav --language=en", "a model has its language"),
        ("nnet3-serve --host=0.0.0.0 model", "--listen=ADDRESS"),
        (
            "nnet3-align --clean a b c",
            "--clean is an option of other programs; here: nothing is kept beside the folder of the results",
        ),
        ("nnet3-align --single_speaker a b c", "here: --speakers=one"),
        ("nnet3-align a b c -j 4", "-j is an option of other programs; here: --num-threads=N"),
        ("nnet3-align --output_format=json a b c", "here: --formats="),
        ("nnet3-align --config_path=x.yaml a b c", "--config=FILE has lines of --name=value"),
        ("nnet3-align --speaker_characters=3 a b c", "here: --speakers=prefix:N"),
        // Others are as before.
        ("nnet3-align --modl=x a b c", "Invalid option --modl=x (did you mean --model?)"),
    ] {
        fails(&f, 255, line, &[advice, "Usage: nnet3-"]);
    }
}

#[test]
fn slips_with_tables_have_hints() {
    let f = Folder::new("slips");
    f.write("feats.txt", "s1-a  [\n  1 2\n  3 4 ]\n");
    f.write("stats.txt", "s1  [\n  4 6 2\n  10 20 0 ]\n");
    f.write("text", "s1-a one\n");
    f.write("other", "s1-b one\n");
    let refused = crate::common::run("copy-int-vector", &["ark:gunzip -c ali.1.gz", "ark,t:-"]);
    assert!(
        refused.status == 255 && refused.stderr.contains("a command needs | at its end"),
        "{}",
        refused.stderr
    );
    let switch = ["true counts as an argument", "stands behind ="];
    fails(&f, 1, "copy-feats --compress true ark:@feats.txt ark,t:-", &switch);
    fails(&f, 1, "apply-cmvn ark:@stats.txt ark:@feats.txt ark,t:-", &["give --utt2spk"]);
    let scored = run(&f, "compute-wer --text --mode=present ark:@text ark:@other");
    assert!(scored.stderr.contains("have no key in common"), "{}", scored.stderr);
    assert!(scored.stdout.contains("%WER -nan [ 0 / 0,"), "{}", scored.stdout);
}

#[test]
fn choices_may_have_capitals_and_a_model_may_be_an_option() {
    let f = folder("choices", false);
    let model = model_folder(&f);
    let plain = output(&f, &format!("nnet3-transcribe --format=srt {model} {U7}"));
    for line in [
        format!("nnet3-transcribe --format=SRT {model} {U7}"),
        format!("nnet3-transcribe --format=Srt --channels=First --model={model} {U7}"),
        format!("nnet3-transcribe {U7} --model {model} --format SRT"),
    ] {
        assert_eq!(output(&f, &line), plain, "{line}");
    }
    let object = output(&f, &format!("nnet3-am-info --format=JSON {model}/am/final.mdl"));
    assert!(object.starts_with('{'), "{object}");
    for (line, why) in [
        (format!("nnet3-transcribe --format=SRTT {model} {U7}"), "expected one of text, json, srt, vtt"),
        (format!("nnet3-transcribe --model={U7} {U7}"), "--model: "),
        (format!("nnet3-transcribe --model={model} {model} {U7}"), "found a second model"),
        (format!("nnet3-transcribe --model={model} --mdl=x {U7}"), "--mdl and --model: expected one of them"),
        (
            "nnet3-align --formats=LONG_TEXTGRID,xml a b c".to_owned(),
            "expected textgrid, short-textgrid, eaf, ctm, json, csv, srt, vtt, found 'xml'",
        ),
    ] {
        fails(&f, 255, &line, &[why]);
    }
}

/// Kaldi's programs show the command line before they count the arguments.
#[test]
fn a_wrong_number_of_arguments_is_behind_the_command_line() {
    let said = |program: &str, arguments: &[&str]| {
        let out = Command::new(binary(program)).args(arguments).output().unwrap();
        assert_eq!(out.status.code(), Some(1));
        String::from_utf8(out.stderr).unwrap()
    };
    let text = said("copy-feats", &["ark:a b"]);
    assert!(
        text.starts_with("copy-feats 'ark:a b' \nERROR (copy-feats")
            || text.contains("/copy-feats 'ark:a b' \nERROR ("),
        "{text}"
    );
    assert!(text.contains("Usage: copy-feats [options]"), "{text}");
    assert!(said("copy-feats", &["--print-args=false", "ark:a"]).starts_with("ERROR (copy-feats"));
    assert!(said("nnet3-transcribe", &[]).starts_with("ERROR (nnet3-transcribe"));
}

#[test]
fn files_of_another_kind_are_named_in_plain_words() {
    let f = Folder::new("kinds");
    f.write("m", "K  [\n 1 2\n 3 4 ]\n");
    f.write("words.txt", "<eps> 0\na 1\n");
    output(&f, &format!("copy-transition-model {DECODE}/mono.mdl @binary.mdl"));
    let (fst, model) = (format!("{DECODE}/decode/HCLG.fst"), format!("{DECODE}/mono.mdl"));
    for (line, words) in [
        (
            format!("gmm-info {fst}"),
            &["expected a token '<TransitionModel>', found binary data, ", "; this looks like an FST"][..],
        ),
        (format!("fstinfo {model}"), &["expected an OpenFst file, found an acoustic model"]),
        ("fstinfo @words.txt".to_owned(), &["expected an OpenFst file, found text"]),
        (
            format!("tree-info {model}"),
            &[
                "expected token 'ContextDependency', found '<TransitionModel>'; this looks like an acoustic model",
            ],
        ),
        (
            "lattice-copy ark:@binary.mdl ark:@o".to_owned(),
            &["is not a key; this looks like an acoustic model", ", not like an archive"],
        ),
        (
            format!("copy-feats ark:{fst} ark:@o"),
            &["expected a key, found binary data, ", "; this looks like an FST, not like an archive"],
        ),
        (
            "lattice-copy ark:@m ark:@o".to_owned(),
            &["m, key 'K', line 1: expected ", "; this looks like a matrix of floating-point numbers"],
        ),
        (
            format!("matrix-dim {fst}"),
            &["expected '[' and a blank of a matrix, found binary data", "; this looks like an FST"],
        ),
    ] {
        let found = run(&f, &line);
        // (OpenFst's programs have the status 1.)
        assert!(
            found.status == 255 || line.starts_with("fst") && found.status == 1,
            "{line}: {}",
            found.stderr
        );
        for word in words {
            assert!(found.stderr.contains(word), "{line}: no '{word}' in {}", found.stderr);
        }
    }
}

#[test]
fn a_table_and_a_key_are_named_once() {
    let f = Folder::new("named-once");
    f.write("m", "K  [\n 1 2\n 3 4 ]\nL  [\n 1 x ]\n");
    f.write("o.scp", "K /nowhere/o\n");
    f.write("none.scp", "J /nowhere/o\n");
    let read = f.path("m");
    let written = f.path("o.scp");
    for (line, expected) in [
        (
            "copy-matrix ark:@m ark:/dev/null",
            format!(") {read}, key 'L', line 5: expected a number, found 'x'\n"),
        ),
        (
            "copy-matrix ark:@m scp:@o.scp",
            format!(") ark:{read}: {written}, key 'K': cannot open /nowhere/o: No such file or directory\n"),
        ),
        (
            "copy-matrix ark:@m scp:@none.scp",
            format!(") ark:{read}: {}: the script has no line for key 'K'\n", f.path("none.scp")),
        ),
    ] {
        let found = run(&f, line);
        assert!(found.status == 255 && found.stderr.ends_with(&expected), "{line}: {}", found.stderr);
    }
}

/// The last line of the log of a command line.
fn logged(f: &Folder, line: &str) -> String {
    let found = run(f, line);
    assert_eq!(found.status, 0, "{line}: {}", found.stderr);
    found.stderr.lines().last().unwrap().split_once(") ").unwrap().1.to_owned()
}

/// The sentences of Kaldi's programs.
#[test]
fn copies_are_logged_as_kaldi_logs_them() {
    let f = Folder::new("copies");
    f.write("v", "[ 1 2 ]\n");
    f.write("m", "[ 1 2\n 3 4 ]\n");
    f.write("vs", "a [ 1 2 ]\nb [ 3 4 ]\n");
    for (line, expected) in [
        ("copy-vector @v @o", "Copied vector to @o"),
        ("copy-vector ark:@vs ark:@o", "Copied 2 vectors."),
        ("copy-vector --scale=2 ark:@vs ark:@o", "Copied 2 vectors, setting dim to -1 scaled by 2"),
        ("copy-vector --change-dim=1 ark:@vs ark:@o", "Copied 2 vectors, setting dim to 1 scaled by 1"),
        ("copy-matrix @m @o", "Copied matrix to @o"),
        ("copy-feats @m @o", "Copied features from @m to @o"),
    ] {
        assert_eq!(logged(&f, line), expected.replace('@', &f.path("")), "{line}");
    }
}

/// The kind of the file is in the message, and what reads it.
#[test]
fn files_in_the_place_of_a_model_are_named() {
    let f = Folder::new("no-models");
    let model = |name: &str| f.path(name);
    f.write("model.onnx", b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\xff\xfe\x01");
    f.write("model.zip", b"PK\x03\x04\x14\0\0\0\x08\0aaaaaaaaaaaaaaaaaaaam/final.mdl");
    f.write("network.xconfig", "  # layers\n  input dim=40 name=input\n  output-layer name=output dim=8\n");
    f.write("init.config", "input-node name=input dim=4\noutput-node name=output input=input\n");
    f.write("page.mdl", "<!DOCTYPE html>\n<html><body>404</body></html>\n");
    f.write("pointer.mdl", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n");
    f.write("nnet1", b"\0B<Nnet> <AffineTransform> ");
    f.write("nnet2", "<Nnet> <NumComponents> 4 <Components>\n");
    f.write("feats.ark", "utt  [\n 1 2 ]\n");
    f.write("empty", "");
    output(&f, "nnet3-init @init.config @0.raw");
    let fst = format!("{DECODE}/decode/HCLG.fst");
    for (file, kind) in [
        (
            model("model.onnx"),
            "; this looks like an ONNX model (nnet3-export writes such models, and no program here reads them)",
        ),
        (model("model.zip"), "; this looks like a zip archive (unpack it first)"),
        (
            model("network.xconfig"),
            "; this looks like an xconfig (nnet3-xconfig-to-configs makes configs of it",
        ),
        (
            model("init.config"),
            "; this looks like the config of a network (nnet3-init makes a network of it)",
        ),
        (model("page.mdl"), "; this looks like an HTML page, as a failed download leaves it"),
        (
            model("pointer.mdl"),
            "; this looks like the placeholder of a file in Git LFS (git lfs pull fetches the file)",
        ),
        (model("nnet1"), "a network of nnet1, which no program here reads"),
        (model("nnet2"), "a network of nnet2, which no program here reads"),
        (model("feats.ark"), "; this looks like an archive, whose first entry is 'utt', a matrix"),
        (fst, "; this looks like an FST"),
        (model("empty"), "empty is empty"),
    ] {
        for line in [
            format!("nnet3-info {file}"),
            format!("nnet3-copy {file} @out"),
            format!("nnet3-am-copy {file} @out"),
            format!("nnet3-am-info {file}"),
            format!("nnet3-init {file} @init.config @out"),
        ] {
            let found = run(&f, &line);
            assert!(
                found.status == 255 && found.stderr.contains(kind),
                "{line}: no '{kind}' in {}",
                found.stderr
            );
            // A command that writes the same.
            if !kind.ends_with("is empty") {
                let words: Vec<&str> = line.split(' ').collect();
                let piped: Vec<String> =
                    words[1..]
                        .iter()
                        .map(|word| {
                            if *word == file {
                                format!("cat {file} |")
                            } else {
                                word.replace('@', &f.path(""))
                            }
                        })
                        .collect();
                let arguments: Vec<&str> = piped.iter().map(String::as_str).collect();
                let found = crate::common::run(words[0], &arguments);
                assert!(found.stderr.contains(kind), "{piped:?}: no '{kind}' in {}", found.stderr);
            }
        }
    }
    // A model, or another description, in the place of a config.
    for (line, kind) in [
        ("nnet3-init @0.raw @out", "found a neural network without a transition model"),
        (
            "nnet3-init @network.xconfig @out",
            "found an xconfig (nnet3-xconfig-to-configs makes configs of it",
        ),
        ("nnet3-init @model.onnx @out", "found an ONNX model"),
        (
            "nnet3-xconfig-to-configs --xconfig-file=@init.config --config-dir=@configs",
            "found the config of a network",
        ),
        ("nnet3-xconfig-to-configs --xconfig-file=@0.raw --config-dir=@configs", "found a neural network"),
    ] {
        fails(&f, 255, line, &[kind]);
    }
    assert!(!std::path::Path::new(&f.path("out")).exists());
    // Compressed archives of files.
    f.write("models.tar", vec![b'a'; 600]);
    assert_eq!(
        std::process::Command::new("gzip").arg(f.path("models.tar")).status().unwrap().code(),
        Some(0)
    );
    let archive = f.path("models.tar.gz");
    fails(
        &f,
        255,
        "nnet3-info @models.tar.gz",
        &[&format!("compressed by gzip; unpack it ('tar -xzf {archive}')")],
    );
}

/// A program that could use no entry says why at its end, and long advice stands once.
#[test]
fn a_program_without_a_result_says_why() {
    let f = Folder::new("nothing-to-write");
    f.write("wav.scp", format!("a {U7}\nb {U7}\nc {U7}\n"));
    let said = run(&f, "compute-mfcc-feats --sample-frequency=11025 scp:@wav.scp ark:@feats");
    assert_eq!(said.status, 1, "{}", said.stderr);
    assert_eq!(said.stderr.matches("sample Frequency mismatch").count(), 4, "{}", said.stderr);
    let end = "there was nothing to write, because of 3 warnings, the first of which is: Failed to compute features for utterance a: Waveform";
    assert!(said.stderr.contains(end), "{}", said.stderr);
    let warnings = said.stderr.lines().filter(|line| line.starts_with("WARNING"));
    assert_eq!(
        warnings.map(|line| line.contains("allow-downsample")).collect::<Vec<_>>(),
        [true, false, false],
        "{}",
        said.stderr
    );
    f.write("feats", "x [ 1 2\n 3 4 ]\n");
    f.write("spk2utt", "s a b\n");
    fails(
        &f,
        1,
        "compute-cmvn-stats --spk2utt=ark:@spk2utt ark:@feats ark:@cmvn",
        &["WARNING", "@spk2utt is in ark:".replace('@', &f.path("")).as_str(), "do both have the same keys?"],
    );
    f.write("empty", "");
    let said = run(&f, "copy-feats ark:@empty ark:@out").stderr;
    assert!(said.contains("there was nothing to write\n"), "{said}");
}

#[test]
fn an_arpa_file_is_no_const_arpa_but_can_become_one() {
    let f = Folder::new("arpa-for-const-arpa");
    for text in ["\\data\\\nngram 1=1\n", "\n\\data\\\nngram 1=1\n"] {
        f.write("lm.arpa", text);
        let advice = ["found an ARPA file; arpa-to-const-arpa makes one of it"];
        fails(&f, 255, "lattice-lmrescore-const-arpa ark:@lats @lm.arpa ark:@out", &advice);
    }
    f.write("lm.arpa", "ngram 1=1\n");
    fails(
        &f,
        255,
        "lattice-lmrescore-const-arpa ark:@lats @lm.arpa ark:@out",
        &["always binary, found text"],
    );
}
