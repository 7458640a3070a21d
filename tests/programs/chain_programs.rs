//! Command lines of the programs that copy, shuffle, select and merge chain examples.

use crate::common::{Folder, run, succeed};

/// Examples of two frames with these keys, in text.
fn examples(keys: &[&str]) -> String {
    let one = |key: &&str| {
        format!(
            "{key} <Nnet3ChainEg> <NumInputs> 1 \n\
             <NnetIo> input <I1V> 4 <I1> 0 -1 0 <I1> 0 0 0 <I1> 0 1 0 <I1> 0 2 0  [\n  1 2 \n  3 4 \n  5 6 \n  7 8 ]\n\
             </NnetIo> \n<NumOutputs> 1 \n\
             <NnetChainSup> output <I1V> 2 <I1> 0 0 0 <I1> 0 3 0 <Supervision> <Weight> 1 <NumSequences> 1 \
             <FramesPerSeq> 2 <LabelDim> 2 <End2End> F \n0\t1\t1\t1\t0.25\n1\t2\t2\t2\n2\n\n\
             </Supervision> <DW2>  [ 1 1 ]\n</NnetChainSup> \n</Nnet3ChainEg> "
        )
    };
    keys.iter().map(one).collect()
}

fn keys(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[1] == "<Nnet3ChainEg>").map(|pair| pair[0]).collect()
}

#[test]
fn binary_text_and_pipes() {
    let folder = Folder::new("chain-egs");
    let text = folder.write("egs.txt", examples(&["a", "b", "c"]));
    let binary = folder.path("egs.ark");
    succeed("nnet3-chain-copy-egs", &[&format!("ark:{text}"), &format!("ark:{binary}")]);
    let back = run("nnet3-chain-copy-egs", &[&format!("ark:{binary}"), "ark,t:-"]);
    assert_eq!(back.stdout, examples(&["a", "b", "c"]));
    let pipeline = format!(
        "ark:{} --srand=1 ark:{binary} ark:- | {} --n=2 ark:- ark:- | {} --buffer-size=1 ark:- ark:- |",
        crate::common::binary("nnet3-chain-shuffle-egs").display(),
        crate::common::binary("nnet3-chain-subset-egs").display(),
        crate::common::binary("nnet3-chain-shuffle-egs").display()
    );
    let output = run("nnet3-chain-merge-egs", &["--minibatch-size=2", &pipeline, "ark,t:-"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stdout.starts_with("merged-0-2 <Nnet3ChainEg> <NumInputs> 1 \n<NnetIo> input <I1V> 8 "));
    assert!(output.stdout.contains("<I1V> 4 <I1> 0 0 0 <I1> 1 0 0 <I1> 0 3 0 <I1> 1 3 0 <Supervision>"));
    assert!(output.stdout.contains("F \n0\t1\t1\t1\t0.25\n1\t2\t2\t2\n2\t3\t1\t1\t0.25\n3\t4\t2\t2\n4\n\n"));
    assert!(output.stderr.contains("PrintSpecificStats():nnet-example-utils.cc:1190) 4={2->1,d=0}\n"));
    assert!(output.stderr.contains("Selected a subset of 2 out of 3 nnet3+chain training examples"));
}

#[test]
fn languages_are_not_merged() {
    let folder = Folder::new("chain-languages");
    let egs = folder.write("egs.txt", examples(&["a?lang=en", "b?lang=de", "c?lang=en", "d?x=1&lang=de"]));
    let options = ["--multilingual-eg=true", "--minibatch-size=2", &format!("ark:{egs}"), "ark,t:-"];
    let output = run("nnet3-chain-merge-egs", &options);
    assert_eq!(keys(&output.stdout), ["merged-0-2?lang=en", "merged-1-2?lang=de"], "{}", output.stderr);
    assert!(output.stdout.contains("<NnetChainSup> output-en ") && output.stdout.contains("output-de "));
    let egs = folder.write("egs.txt", examples(&["a"]));
    let output = run("nnet3-chain-merge-egs", &["--multilingual-eg=true", &format!("ark:{egs}"), "ark:-"]);
    assert_eq!(output.status, 255);
    assert!(
        output.stderr.contains("egs.txt, key 'a': expected a key that ends with ?lang=NAME"),
        "{}",
        output.stderr
    );
}

#[test]
fn shifts_weights_and_names() {
    let folder = Folder::new("chain-copy");
    let egs = folder.write("egs.txt", examples(&["a", "b"]));
    let weights = folder.write("weights", "a 0.5\n");
    let names = folder.write("names", "a output-7\nb output-7\n");
    let output = run(
        "nnet3-chain-copy-egs",
        &[
            "--frame-shift=2",
            "--left-context=1",
            &format!("--weights=ark:{weights}"),
            &format!("--outputs=ark:{names}"),
            &format!("ark:{egs}"),
            "ark,t:-",
        ],
    );
    assert_eq!(keys(&output.stdout), ["a"], "{}", output.stderr);
    assert!(output.stderr.contains("No weight for example key b"));
    assert!(
        output.stdout.contains("<I1V> 3 <I1> 0 2 0 <I1> 0 3 0 <I1> 0 4 0  [\n  3 4 "),
        "{}",
        output.stdout
    );
    let expected = "<NnetChainSup> output-7 <I1V> 2 <I1> 0 3 0 <I1> 0 6 0 <Supervision> <Weight> 0.5 ";
    assert!(output.stdout.contains(expected));
}

#[test]
fn statuses_and_messages() {
    let folder = Folder::new("chain-statuses");
    let good = examples(&["a", "b"]);
    let egs = format!("ark:{}", folder.write("egs.txt", &good));
    let empty = format!("ark:{}", folder.write("empty.ark", ""));
    let bad =
        |name: &str, from: &str, to: &str| format!("ark:{}", folder.write(name, good.replacen(from, to, 1)));
    let label = bad("label.txt", "1\t2\t2\t2", "1\t2\t3\t3");
    let cycle = bad("cycle.txt", "1\t2\t2\t2", "1\t0\t2\t2");
    let weights = bad("weights.txt", "[ 1 1 ]", "[ 1 ]");
    let short = format!("ark:{}", folder.write("short.txt", &good[..good.len() - 100]));
    let to = format!("ark:{}", folder.path("out.ark"));
    let merge = |from| ("nnet3-chain-merge-egs", vec!["--minibatch-size=1", from, to.as_str()]);
    let cases = [
        (
            ("nnet3-chain-shuffle-egs", vec![&*empty, &to]),
            1,
            "empty.ark: expected at least one example, found none",
        ),
        (("nnet3-chain-subset-egs", vec!["--n=0", &egs, &to]), 0, "subset of 0 out of 2"),
        (("nnet3-chain-copy-egs", vec!["--frame=1", &egs, &to]), 255, "--frame=1"),
        (("nnet3-chain-merge-egs", vec![&*egs, &to]), 1, "4={d=2}"),
        (("nnet3-chain-copy-egs", vec![&*egs, "ark:/dev/full"]), 255, "No space left on device"),
        (merge(&label), 255, "label.txt, key 'a'"),
        (merge(&label), 255, "supervision FST: found the label 3, expected labels up to 2"),
        (merge(&cycle), 255, "state 0 can be reached from itself, but the FST must not have cycles"),
        (merge(&weights), 255, "found 1 weights of derivatives, expected 2 or none"),
        (merge(&short), 255, "short.txt, key 'b'"),
    ];
    for ((program, arguments), status, message) in cases {
        let output = run(program, &arguments);
        assert_eq!(output.status, status, "{program} {arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(message), "{message}: {}", output.stderr);
    }
    let merged = format!("ark:{}", folder.path("merged.ark"));
    succeed("nnet3-chain-merge-egs", &["--minibatch-size=2", &egs, &merged]);
    let output = run("nnet3-chain-merge-egs", &["--minibatch-size=1:4", &merged, &to]);
    assert_eq!(output.status, 255);
    let message = "merged.ark: 'input' has several sequences: merged examples cannot be merged again";
    assert!(output.stderr.contains(message), "{}", output.stderr);
}
