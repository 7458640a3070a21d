//! Long recordings with transcripts, from their tables to utterances.

use crate::command_lines::{fails, output, run};
use crate::common::Folder;

#[test]
fn tables_of_long_recordings_become_utterances() {
    let f = Folder::new("long");
    for folder in ["data", "work", "out"] {
        std::fs::create_dir(f.path(folder)).unwrap();
    }
    f.write("words", "<eps> 0\na 1\nb 2\nc 3\nd 4\n");
    f.write("data/wav.scp", "r sox r.mp3 -t wav - |\nq q.wav\ns s.wav\n");
    f.write("data/text", "q b x\nr a b x c d\ns\n");
    f.write("data/utt2spk", "r anna\n");
    fails(
        &f,
        255,
        "check-long-recordings @data @words @work",
        &["text, line 3: the transcript of 's' is empty"],
    );
    let good = f.read("data/text");
    for (text, fault) in [
        (b"q b x\nr a b\nq b x\n".to_vec(), "text, line 3: 'q' has a line before"),
        (b"q b x\nr a \xff b\n".to_vec(), "text, line 2: this is not UTF-8"),
        (b"q b x\nt a b\n".to_vec(), "text, line 2: there is no 't' in"),
    ] {
        f.write("data/text", text);
        fails(&f, 255, "check-long-recordings @data @words @work", &[fault]);
    }
    f.write("data/text", "q b x\nr a b\nq b x\n");
    let said = run(&f, "check-long-recordings --skip-bad=true @data @words @work").stderr;
    assert!(said.contains("'q' has a line before: the recording is left out"), "{said}");
    assert_eq!(f.read("work/recordings"), "r\n");
    f.write("data/text", good);
    let said = run(&f, "check-long-recordings --skip-bad=true @data @words @work").stderr;
    assert!(said.contains("the recording is left out") && said.contains("1 recording: left out"), "{said}");
    assert_eq!(
        (f.read("work/recordings").as_str(), f.read("work/text").as_str()),
        ("q\nr\n", "q b\nr a b c d\n")
    );
    f.write("work/lengths", "r 4000\n");
    run(&f, "select-long-recordings @work/lengths @work");
    assert_eq!(f.read("work/transcripts"), "r a b x c d\n");
    output(&f, "text-to-pieces @work/text @work/sentences");
    assert_eq!(f.read("work/sentences"), "a b c d\n");
    f.write("feats", "r f.ark:5\n");
    output(&f, "feats-to-windows --window=20 @feats @work/lengths @work/windows");
    assert_eq!(f.read("work/windows"), "r@0 f.ark:5[0:1999]\nr@1667 f.ark:5[1667:3999]\n");
    fails(
        &f,
        255,
        "feats-to-windows --window=1 @feats @work/lengths @work/windows",
        &["--window=1: expected seconds from 5 to 1000"],
    );
    f.write(
        "work/ctm",
        "r@0 1 0.50 0.40 1\nr@0 1 0.90 0.40 2\nr@1667 1 20.30 0.40 3\nr@1667 1 20.70 0.40 4\n",
    );
    let said = run(&f, "cut-long-recordings --window=20 --max-unmatched=0 @data @words @work @out").stderr;
    assert!(said.contains("2 utterances of 2 s, with 4 of 5 words of the transcripts"), "{said}");
    assert_eq!(f.read("out/segments"), "r-0000040-0000140 r 0.40 1.40\nr-0003687-0003787 r 36.87 37.87\n");
    assert_eq!(f.read("out/text"), "r-0000040-0000140 a b\nr-0003687-0003787 c d\n");
    assert_eq!(f.read("out/utt2spk"), "r-0000040-0000140 anna\nr-0003687-0003787 anna\n");
    assert_eq!(f.read("out/wav.scp"), "r sox r.mp3 -t wav - |\n");
}
