//! Many recordings in jobs: names, batches, results. Each text is that of the recording in its line, whatever the list was before.

use std::collections::BTreeMap;

use crate::command_lines::{fails, output, run};
use crate::common::Folder;

/// A call of `transcribe_many.sh` whose texts are the contents of recordings. Returns the texts in the order of the list.
fn call(f: &Folder, lines: &[String]) -> Vec<Option<String>> {
    f.write("list", lines.join("\n"));
    output(f, "name-recordings @list @out txt");
    output(f, "batch-recordings --size=2 @out txt @batches");
    for batch in std::fs::read_dir(f.path("batches")).into_iter().flatten() {
        for link in std::fs::read_dir(batch.unwrap().path()).unwrap() {
            let link = link.unwrap().path();
            let name = link.file_stem().unwrap().to_str().unwrap().to_owned();
            if let Ok(sound) = std::fs::read_to_string(&link) {
                f.write(&format!("out/texts/{name}.txt"), format!("{name} {sound}\n"));
            }
        }
    }
    let _none = std::fs::remove_dir_all(f.path("batches"));
    output(f, "collect-texts @out txt @batches");
    let texts = f.read("out/text");
    let texts: BTreeMap<&str, &str> = texts.lines().filter_map(|line| line.split_once(' ')).collect();
    let names = f.read("out/names");
    let name = |line: &str| texts.get(line.split('\t').next().unwrap()).map(|&text| text.to_owned());
    names.lines().map(name).collect()
}

fn new_folder(name: &str) -> Folder {
    let f = Folder::new(name);
    for folder in ["out", "out/texts", "out/log"] {
        std::fs::create_dir(f.path(folder)).unwrap();
    }
    f
}

/// Writes a recording whose time of change is so many nanoseconds after 1970.
fn record(f: &Folder, name: &str, content: &str, time: u64) -> String {
    let path = f.path(name);
    std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(time);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    path
}

#[test]
fn texts_are_those_of_the_recordings_whatever_the_list_was_before() {
    let f = new_folder("any_list");
    let mut random = fastrand::Rng::with_seed(60);
    let names = ["x.wav", "x-2.wav", "y.mp3", ".x.wav", "x y.wav"];
    let paths: Vec<String> =
        ["a", "b", "c", "d"].iter().flat_map(|folder| names.map(|name| format!("{folder}/{name}"))).collect();
    let mut time = 0;
    for number in 0..25 {
        let (mut lines, mut wanted) = (Vec::new(), Vec::new());
        for _ in 0..random.usize(1..8) {
            let path = &paths[random.usize(0..paths.len())];
            if random.usize(0..5) == 0 || !std::path::Path::new(&f.path(path)).exists() {
                time += 1;
                record(&f, path, &random.usize(10..100).to_string(), time);
            }
            let given = ["", "", "", "x", "x-2", "y", "..", "a b"][random.usize(0..8)];
            lines.push(if given.is_empty() { f.path(path) } else { format!("{given}\t{}", f.path(path)) });
            wanted.push(path);
        }
        if number % 10 == 0 {
            let _none = std::fs::remove_file(f.path("out/texts/x.txt"));
        }
        let found = call(&f, &lines);
        let wanted: Vec<_> = wanted.into_iter().map(|path| Some(f.read(path))).collect();
        assert_eq!(found, wanted, "list {number}: {lines:?}");
    }
}

#[test]
fn replaced_recordings_are_done_again_and_those_that_are_gone_keep_their_texts() {
    let f = new_folder("replaced");
    let path = record(&f, "call.wav", "old", 1);
    let text = |text: &str| vec![Some(text.to_owned())];
    assert_eq!(call(&f, std::slice::from_ref(&path)), text("old"));
    record(&f, "call.wav", "new", 2); // of the same size
    f.write("list", &path);
    let said = run(&f, "name-recordings @list @out txt").stderr;
    assert!(said.contains("1 text, of other recordings or of recordings that have changed since"), "{said}");
    assert_eq!(call(&f, std::slice::from_ref(&path)), text("new"));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(call(&f, std::slice::from_ref(&path)), text("new"));
    // Another recording of the same name.
    let other = record(&f, "tuesday/call.wav", "tuesday", 3);
    assert_eq!(call(&f, &[other]), text("tuesday"));
    assert_eq!(f.read("out/text"), "call tuesday\n");
}

#[test]
fn texts_of_an_earlier_version_stay_if_they_are_newer_than_their_recordings() {
    let f = new_folder("earlier");
    let path = record(&f, "call.wav", "now", 1);
    f.write("out/names", format!("call\t{path}\n"));
    f.write("out/texts/call.txt", "call then\n");
    assert_eq!(call(&f, std::slice::from_ref(&path)), [Some("then".to_owned())]);
    std::fs::remove_file(f.path("out/recordings")).unwrap();
    record(&f, "out/texts/call.txt", "call then\n", 0);
    assert_eq!(call(&f, &[path]), [Some("now".to_owned())]);
}

#[test]
fn results_name_reasons_of_the_logs() {
    let f = new_folder("results");
    let there = record(&f, "there.wav", "x", 1);
    f.write("list", format!("{there}\n{}\n{}\nb y's\tc.mp3\n", f.path("a/x.wav"), f.path("b/x.flac")));
    output(&f, "name-recordings @list @out txt");
    f.write("out/texts/x-2.txt", "x-2 one two\n");
    assert_eq!(output(&f, "batch-recordings --size=2 @out txt @batches"), "2");
    let links = |batch: &str| {
        let all = std::fs::read_dir(f.path(&format!("batches/{batch}"))).unwrap();
        let mut names: Vec<String> =
            all.map(|link| link.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(
        (links("1"), links("2")),
        (vec!["b_y_s.mp3".into(), "there.wav".into()], vec!["x.wav".to_owned()])
    );
    f.write("out/log/try1.1.log", format!("WARNING (x) {}: no\tsound\n", f.path("batches/1/there.wav")));
    let shown = run(&f, "collect-texts @out txt @batches").stdout;
    let rows: Vec<&str> = shown.lines().collect();
    assert!(rows[0].starts_with("recording  result   words  reason"), "{shown}");
    assert!(rows[1].starts_with("there      no text         no sound") && rows.len() == 5, "{shown}");
    assert!(rows[2].ends_with("there is no such file"), "{shown}");
    assert_eq!(rows[4], "without a text: 3 recordings (of unknown length)");
    let table = f.read("out/results.tsv");
    assert!(
        table.starts_with(&format!(
            "name\tresult\twords\tfile\treason\nthere\tno text\t\t{there}\tno sound\n"
        )),
        "{table}"
    );
    assert_eq!((f.read("out/text").as_str(), f.read("out/failed").lines().count()), ("x-2 one two\n", 3));
    f.write("out/texts/x-2.txt", b"x-2 \xff\n");
    fails(&f, 255, "collect-texts @out txt @batches", &["x-2.txt: this is not UTF-8"]);
    f.write("out/recordings", "a\tb\n");
    fails(
        &f,
        255,
        "name-recordings @list @out txt",
        &["recordings: expected lines of a name, a path, a size and a time"],
    );
}
