//! Tests of `nnet3-transcribe` and its relatives: model folders with files that do not fit each other, and names of
//! texts.

use crate::command_lines::{fails, output, run};
use crate::common;
use crate::online_programs::{folder, model_folder};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
const DECODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/nnet3-decode/tests/data");

/// Phones of mono.mdl.
const PHONES: i32 = 22;

/// A word_boundary.int in the folder of the model, with these types of phones, the last one for all others.
fn write_types(model: &str, types: &[&str]) {
    let kind = |phone: i32| types[(phone as usize - 1).min(types.len() - 1)];
    let lines: String = (1..=PHONES).map(|phone| format!("{phone} {}\n", kind(phone))).collect();
    std::fs::create_dir_all(format!("{model}/graph/phones")).unwrap();
    std::fs::write(format!("{model}/graph/phones/word_boundary.int"), lines).unwrap();
}

#[test]
fn types_of_phones_lose_no_words() {
    let f = folder("boundaries", false);
    let model = model_folder(&f);
    let file = format!("{model}/graph/phones/word_boundary.int");
    let line = format!("nnet3-transcribe --format=ctm {model} {DATA}/sound/u7.wav");
    let words = |ctm: &str| -> Vec<String> {
        ctm.lines().map(|line| line.split(' ').nth(4).unwrap().to_owned()).collect()
    };
    let expected = words(&run(&f, &line).stdout);
    assert!(!expected.is_empty());
    write_types(&model, &["nonword", "begin", "end", "internal"]);
    let lines: Vec<String> = std::fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    std::fs::write(&file, lines[..20].join("\n") + "\n").unwrap();
    fails(&f, 255, &line, &[&file, "no line for phone 21 of the model"]);
    for (types, cause) in [
        (
            &["nonword", "internal", "end"][..],
            "phone 3 has the type 'end', but no phone of the model has the type 'begin'",
        ),
        (
            &["begin", "internal"],
            "phone 1 has the type 'begin', but no phone of the model has the type 'end'",
        ),
        (&["nonword"], "all phones of the model have the type 'nonword'"),
    ] {
        write_types(&model, types);
        fails(&f, 255, &line, &[&file, cause]);
    }
    std::fs::write(&file, "1 nonword\n1 begin\n").unwrap();
    fails(&f, 255, &line, &[&file, "phone 1 has the type 'begin', but the type 'nonword' before"]);
    // Types that could be, but are wrong: no word is lost, and it is said why their times are not exact.
    for types in
        [&["nonword", "end", "begin", "internal"][..], &["nonword", "singleton"], &["singleton", "nonword"]]
    {
        write_types(&model, types);
        let found = run(&f, &line);
        assert_eq!(
            (found.status, words(&found.stdout)),
            (0, expected.clone()),
            "{types:?}: {}",
            found.stderr
        );
        assert!(
            found.stderr.contains("from 0.00 s on cannot be aligned with the sound ("),
            "{types:?}: {}",
            found.stderr
        );
    }
}

#[test]
fn lattice_align_words_names_the_cause() {
    let f = folder("align-words", false);
    let types = std::fs::read_to_string(format!("{DECODE}/word_boundary.int")).unwrap();
    let align = |types: &str| {
        f.write("types", types);
        run(&f, &format!("lattice-align-words @types {DECODE}/wb.mdl ark:{DECODE}/rich-wb.lat ark:@out"))
    };
    assert_eq!(align(&types).status, 0);
    let first: String = types.lines().take(20).map(|line| format!("{line}\n")).collect();
    let short = align(&first);
    assert!(
        short.status == 255 && short.stderr.contains("types: the file has no line for phone 21 of the model"),
        "{}",
        short.stderr
    );
    let swapped = align(&types.replace("begin", "x").replace("end", "begin").replace('x', "end"));
    assert!(swapped.stderr.contains("it begins with phone "), "{}", swapped.stderr);
    assert!(
        swapped.stderr.contains(", which has the type 'end' in the word boundaries"),
        "{}",
        swapped.stderr
    );
}

#[test]
fn words_without_names_are_found_before_anything_is_recognised() {
    let f = folder("names", false);
    let model = model_folder(&f);
    let words = format!("{model}/graph/words.txt");
    let line = format!("nnet3-transcribe {model} {DATA}/sound/u7.wav");
    for names in ["", "<eps> 0\n", "<eps> 0\nw1 1\nw2 2\n", "a 1000\n"] {
        std::fs::write(&words, names).unwrap();
        fails(&f, 255, &line, &[&words, "Word-id ", " not in symbol table.", "HCLG.fst"]);
    }
    // The programs for lattices say the same, with the table of phones' names, too.
    f.write("empty", "");
    let lattices = format!("ark:{DECODE}/rich-wb.lat ark:/dev/null");
    fails(
        &f,
        255,
        &format!("lattice-best-path --word-symbol-table=@empty {lattices}"),
        &["not in symbol table."],
    );
    f.write("ali", "u 1 1 2\n");
    fails(
        &f,
        255,
        &format!("show-alignments @empty {DECODE}/wb.mdl ark:@ali"),
        &["Phone-id 1 not in symbol table."],
    );
}

/// The first column of each line.
fn names(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    names.dedup();
    names
}

#[test]
fn names_of_texts_are_columns_and_distinct() {
    let f = folder("columns", false);
    let model = model_folder(&f);
    for part in ["a", "b"] {
        std::fs::create_dir_all(f.path(part)).unwrap();
    }
    let paths = ["Bella's red snare.wav", "a/x.wav", "b/x.wav", "y.wav"].map(|name| f.path(name));
    for path in &paths {
        std::fs::copy(format!("{DATA}/sound/u7.wav"), path).unwrap();
    }
    let [red, a, b, y] = &paths;
    let transcribe = |format: &str| common::run("nnet3-transcribe", &[format, &model, red, a, b, y]).stdout;
    let [in_a, in_b] = [f.path("a/x"), f.path("b/x")];
    let expected = ["Bella's_red_snare", &in_a, &in_b, "y"];
    let ctm = transcribe("--format=ctm");
    assert_eq!(names(&ctm), expected);
    assert!(ctm.lines().all(|line| line.split(' ').count() == 6), "{ctm}");
    assert_eq!(names(&transcribe("--format=text")), expected);
    let json = transcribe("--format=json");
    assert!(json.starts_with("{\"file\":\"Bella's red snare\","), "{json}");
}

#[test]
fn a_file_for_each_text() {
    let f = folder("output-dir", false);
    let model = model_folder(&f);
    let wave = std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap();
    let [one, two, bad] = [f.write("one.wav", &wave), f.write("two.wav", &wave), f.write("bad.wav", "")];
    let out = f.path("out/subtitles");
    f.write("one.srt", "");
    let to = format!("--output-dir={out}");
    let single = output(&f, &format!("nnet3-transcribe --format=srt {model} {one}"));
    assert!(single.starts_with("1 00:00:0"), "{single}");
    let several = common::run("nnet3-transcribe", &["--format=srt", &to, &model, &one, &bad, &two]);
    assert_eq!((several.status, several.stdout.as_str()), (1, ""), "{}", several.stderr);
    let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).unwrap();
    assert_eq!(read("one.srt").split_whitespace().collect::<Vec<_>>().join(" "), single);
    assert_eq!(read("one.srt"), read("two.srt"));
    assert!(!std::path::Path::new(&format!("{out}/bad.srt")).exists());
    for (format, begin) in
        [("vtt", "WEBVTT\n\n00:00:0"), ("text", "one w"), ("json", "{\"file\":\"one\""), ("ctm", "one 1 0.")]
    {
        let done = common::run("nnet3-transcribe", &[&format!("--format={format}"), &to, &model, &one]);
        let suffix = if format == "text" { "txt" } else { format };
        assert!(
            done.status == 0 && read(&format!("one.{suffix}")).starts_with(begin),
            "{format}: {}",
            done.stderr
        );
    }
}

#[test]
fn sound_of_a_lower_rate_is_taken_with_one_warning() {
    let f = folder("upsample", false);
    let model = model_folder(&f);
    let conf =
        std::fs::read_to_string(format!("{model}/conf/mfcc.conf")).unwrap() + "--sample-frequency=32000\n";
    std::fs::write(format!("{model}/conf/mfcc.conf"), conf).unwrap();
    let wave = format!("{DATA}/sound/u7.wav");
    let refused = run(&f, &format!("nnet3-transcribe --allow-upsample=false {model} {wave}"));
    assert!(refused.status == 1 && refused.stderr.contains("--allow-upsample=true"), "{}", refused.stderr);
    // The option that the message names is taken, and is the default.
    let said = "u7.wav: the sound has 16000 Hz, and so nothing from 8 to 16 kHz, which the model (for 32000 Hz) was trained with";
    for option in ["", "--allow-upsample=true"] {
        let taken = run(&f, &format!("nnet3-transcribe {option} {model} {wave}"));
        assert!(taken.status == 0 && taken.stdout.starts_with("u7 w"), "{}", taken.stderr);
        assert_eq!(taken.stderr.matches("WARNING").count(), 1, "{}", taken.stderr);
        assert!(taken.stderr.contains(said), "{}", taken.stderr);
    }
    // A model that was trained with missing bands needs no warning.
    std::fs::write(format!("{model}/conf/bands.conf"), "--missing-bands=true\n").unwrap();
    let taken = run(&f, &format!("nnet3-transcribe {model} {wave}"));
    assert!(taken.status == 0 && !taken.stderr.contains("WARNING"), "{}", taken.stderr);
}

/// A FLAC file has the samples of its wave. (`kaldi-sound` tests all formats.)
#[test]
fn other_formats_and_channels() {
    let f = folder("formats", false);
    let model = model_folder(&f);
    let words = |options: &str, file: &str| {
        let text = run(&f, &format!("nnet3-transcribe {options} {model} {file}")).stdout;
        text.split_once(' ').map(|(_, words)| words.to_owned()).unwrap()
    };
    let expected = words("", &format!("{DATA}/sound/u7.wav"));
    assert_eq!(words("", &format!("{DATA}/sound/u7.flac")), expected);
    assert_eq!(words("--channels=mix", &format!("{DATA}/sound/u7.flac")), expected);
    let line =
        |channels: &str| format!("nnet3-transcribe --channels={channels} {model} {DATA}/sound/u7.flac");
    let expected = "u7.flac has no channel 2: expected a number from 1 to 1";
    fails(&f, 1, &line("2"), &[expected, "1 of 1 files could not be transcribed (1.0 s)"]);
    for wrong in ["0", "all", "-1"] {
        fails(&f, 255, &line(wrong), &["expected first, each, mix, or the number of a channel from 1"]);
    }
}
