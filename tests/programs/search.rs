//! Tests of `nnet3-search`: places of words beside the texts of `nnet3-transcribe`.

use serde_json::Value;

use crate::command_lines::{fails, run};
use crate::common::Folder;
use crate::online_programs::{folder, model_folder};

const U7: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav");

/// A recording of two channels: u7, and u7 half as loud.
fn two_channels(f: &Folder) -> String {
    let wave = std::fs::read(U7).unwrap();
    let data = wave.windows(4).position(|name| name == b"data").unwrap() + 8;
    let mut bytes = wave[..data].to_vec();
    let rate = u32::from_le_bytes(wave[24..28].try_into().unwrap());
    let body: Vec<u8> = wave[data..]
        .chunks_exact(2)
        .flat_map(|sample| {
            let half = i16::from_le_bytes([sample[0], sample[1]]) / 2;
            [sample, &half.to_le_bytes()].concat()
        })
        .collect();
    bytes[22..24].copy_from_slice(&2u16.to_le_bytes());
    bytes[28..32].copy_from_slice(&(4 * rate).to_le_bytes());
    bytes[32..34].copy_from_slice(&4u16.to_le_bytes());
    bytes[4..8].copy_from_slice(&((data - 8 + body.len()) as u32).to_le_bytes());
    bytes[data - 4..data].copy_from_slice(&(body.len() as u32).to_le_bytes());
    std::fs::write(f.path("two.wav"), [bytes, body].concat()).unwrap();
    f.path("two.wav")
}

#[test]
fn channels_are_searched_one_by_one() {
    let f = folder("search-channels", false);
    let model = unsure_model(&f);
    let two = two_channels(&f);
    let search = |options: &[&str], word: &str, recording: &str| {
        let all = [options, &["--min-probability=0", &model, word, recording]].concat();
        let found = crate::common::run("nnet3-search", &all);
        assert_eq!(found.status, 0, "{options:?}: {}", found.stderr);
        (found.stdout, found.stderr)
    };
    let words = run(&f, &format!("nnet3-transcribe {model} {U7}")).stdout;
    let word = words.split_whitespace().nth(1).unwrap();
    let of_one = search(&[], word, U7);
    let first = search(&[], word, &two);
    assert!(first.1.contains("the first of 2 channels is taken; see --channels"), "{}", first.1);
    assert_eq!(first.0, of_one.0.replace("u7 ", "two "));
    let each = search(&["--channels=each"], word, &two).0;
    for (channel, number) in [("1", "--channels=1"), ("2", "--channels=2")] {
        let label = format!(" Channel {channel}: ");
        let of_each: Vec<String> =
            each.lines().filter(|line| line.contains(&label)).map(|line| line.replace(&label, " ")).collect();
        let alone = search(&[number], word, &two).0;
        assert_eq!(of_each, alone.lines().collect::<Vec<_>>(), "{each}");
    }
    let starts: Vec<&str> = each.lines().map(|line| &line[4..16]).collect();
    assert!(starts.is_sorted(), "{each}");
    let json = search(&["--channels=each", "--format=json"], word, &two).0;
    let channels: Vec<u64> = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["channel"].as_u64().unwrap())
        .collect();
    assert!(channels.contains(&1) && channels.contains(&2), "{json}");
    // Lattices that were kept channel by channel have the same places.
    let kept = format!("--lattices={}", f.path("kept"));
    run(&f, &format!("nnet3-transcribe --channels=each {kept} {model} {two}"));
    let of_lattices = crate::common::run("nnet3-search", &["--min-probability=0", &kept, &model, word]);
    assert_eq!((of_lattices.status, of_lattices.stdout), (0, each), "{}", of_lattices.stderr);
    fails(
        &f,
        255,
        &format!("nnet3-search --channels=2 {kept} {model} {word}"),
        &["--channels is not for --lattices"],
    );
}

#[test]
fn lattices_of_another_model_are_refused() {
    let f = folder("search-other", false);
    let model = unsure_model(&f);
    let kept = format!("--lattices={}", f.path("kept"));
    let transcribe = format!("nnet3-transcribe {kept} {model} {U7}");
    assert_eq!(run(&f, &transcribe).status, 0);
    let note = std::fs::read_to_string(f.path("kept/model.txt")).unwrap();
    assert!(note.starts_with("words ") && note.contains("\ntransition-ids "), "{note}");
    // The same model may add lattices.
    assert_eq!(run(&f, &transcribe).status, 0);
    f.write("kept/model.txt", note.replace("words ", "words 1"));
    let other = "its lattices were made with another model";
    fails(&f, 255, &transcribe, &[other, "kept/model.txt"]);
    fails(&f, 255, &format!("nnet3-search {kept} {model} w1"), &[other]);
    // Lattices without a note: a word that the model lacks.
    std::fs::remove_file(f.path("kept/model.txt")).unwrap();
    let text = run(&f, "lattice-copy ark:@kept/u7.lat ark,t:-").stdout;
    let changed = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [from, to, _, weight] => format!("{from}\t{to}\t99999\t{weight}\n"),
        _ => format!("{line}\n"),
    };
    f.write("changed", text.lines().map(changed).collect::<String>());
    assert_eq!(run(&f, "lattice-copy ark:@changed ark:@kept/u7.lat").status, 0);
    let words = [
        "the lattices were made with another model",
        "no word with the number 99999",
        "ERROR",
        "1 of 1 files",
    ];
    fails(&f, 255, &format!("nnet3-search {kept} {model} w1"), &words);
}

/// A model that thinks many texts possible.
fn unsure_model(f: &Folder) -> String {
    let model = model_folder(f);
    let settings = "--acoustic-scale=0.1\n--frame-subsampling-factor=3\n--frames-per-chunk=15\n--beam=200\n--lattice-beam=15\n";
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    model
}

/// The texts of the recording with their probabilities.
fn texts(f: &Folder, model: &str) -> Vec<(Vec<String>, f64)> {
    let lines = run(f, &format!("nnet3-transcribe --alternatives=1000 {model} {U7}")).stdout;
    let text = |line: &str| {
        let mut fields = line.split(' ').skip(3);
        let probability: f64 = fields.next().unwrap().parse().unwrap();
        (fields.map(str::to_owned).collect(), probability)
    };
    lines.lines().map(text).collect()
}

/// The expected number of times that a phrase is said.
fn expected(texts: &[(Vec<String>, f64)], phrase: &[String]) -> f64 {
    let count = |words: &Vec<String>| words.windows(phrase.len()).filter(|window| *window == phrase).count();
    texts.iter().map(|(words, probability)| count(words) as f64 * probability).sum()
}

#[test]
fn probabilities_are_those_of_all_texts() {
    let f = folder("search", false);
    let model = unsure_model(&f);
    let texts = texts(&f, &model);
    let mut phrases: Vec<Vec<String>> = texts
        .iter()
        .flat_map(|(words, _)| [1, 2].map(|n| words.windows(n).map(<[String]>::to_vec).collect::<Vec<_>>()))
        .flatten()
        .collect();
    phrases.sort();
    phrases.dedup();
    assert!(phrases.iter().any(|phrase| phrase.len() == 2) && phrases.len() > 4, "{phrases:?}");
    let list: Vec<String> = phrases.iter().map(|phrase| phrase.join(" ")).collect();
    let found = crate::common::run(
        "nnet3-search",
        &[&model, &list.join(","), U7, "--format=json", "--min-probability=0"],
    );
    assert_eq!((found.status, found.stderr.as_str()), (0, ""));
    let places: Vec<Value> = found.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (phrase, text) in phrases.iter().zip(&list) {
        let of_phrase = places.iter().filter(|place| place["phrase"] == text.as_str());
        let sum: f64 = of_phrase.map(|place| place["conf"].as_f64().unwrap()).sum();
        let expected = expected(&texts, phrase);
        assert!((sum - expected).abs() < 0.02, "{text}: {sum} instead of {expected}");
    }
    // The likeliest text has a place for its word, with the word's time and confidence.
    let recording = run(&f, &format!("nnet3-transcribe --format=json {model} {U7}")).stdout;
    let recording: Value = serde_json::from_str(&recording).unwrap();
    let word = &recording["segments"][0]["words"][0];
    let near = |place: &Value, key: &str, most: f64| {
        (place[key].as_f64().unwrap() - word[key].as_f64().unwrap()).abs() < most
    };
    let is_it = |place: &&Value| {
        place["phrase"] == word["word"]
            && near(place, "start", 0.1)
            && near(place, "end", 0.1)
            && near(place, "conf", 0.05)
    };
    assert!(places.iter().any(|place| is_it(&place)), "{word}: {places:?}");
}

#[test]
fn phrases_their_context_and_faults() {
    let f = folder("search-phrases", false);
    let model = unsure_model(&f);
    let texts = texts(&f, &model);
    let (best, other) = (&texts[0].0, texts.iter().find(|(words, _)| words.len() > 1).unwrap().0.join(" "));
    // Options stand behind recordings; the word around a place is that of the likeliest text.
    let (status, shown, stderr) = {
        let found = crate::common::run("nnet3-search", &[&model, &best[0], U7]);
        (found.status, found.stdout, found.stderr)
    };
    assert_eq!(status, 0, "{stderr}");
    assert!(shown.starts_with("u7 00:00:0") && shown.ends_with(&format!(" [{}]\n", best[0])), "{shown}");
    let both = format!("{other},, {} ", best[0]);
    let found = crate::common::run("nnet3-search", &[&model, &both, U7, "--min-probability=0"]);
    assert!(
        found.stdout.contains(&format!("[{other}]")) && found.stdout.contains(&format!("[{}]", best[0])),
        "{}",
        found.stdout
    );
    let rare = crate::common::run("nnet3-search", &[&model, &other, U7, "--min-probability=0.9"]);
    assert_eq!((rare.status, rare.stdout.as_str()), (1, ""), "nothing was found");
    // Faults, all of them before the model is loaded that can be known then.
    let line = |rest: &str| format!("nnet3-search {model} {rest}");
    fails(&f, 255, &line(&format!("xyz {U7}")), &["lacks the word 'xyz'", "--sounds=true"]);
    // A word with other capitals is searched as the model's own, and one unknown word leaves out its phrase alone.
    let capitals =
        crate::common::run("nnet3-search", &[&model, &format!("{},xyz w1", best[0].to_uppercase()), U7]);
    let note = format!("'{}' is searched as '{}'", best[0].to_uppercase(), best[0]);
    assert!(capitals.stderr.contains(&note), "{}", capitals.stderr);
    assert!(capitals.stderr.contains("'xyz'") && capitals.stderr.contains("this phrase is not searched"));
    let places = |text: &str| text.lines().map(|line| line[..35].to_owned()).collect::<Vec<_>>();
    assert_eq!((capitals.status, places(&capitals.stdout)), (0, places(&shown)));
    fails(&f, 255, &line("w1"), &["expected phrases and at least one recording"]);
    fails(
        &f,
        255,
        &line(&format!(", {U7}")),
        &["expected words or phrases with commas between them, found ','"],
    );
    fails(&f, 255, &line("w1 @nowhere.wav"), &["nowhere.wav: No such file", "no recording can be read"]);
    fails(&f, 255, &line(&format!("w1 {U7} --min-probability=2")), &["--min-probability=2"]);
    fails(&f, 255, &line(&format!("w1 {U7} --max-silence=-1")), &["--max-silence=-1"]);
    let some = run(&f, &line(&format!("{} @nowhere.wav {U7}", best[0])));
    assert!(
        some.status == 0 && some.stderr.contains("1 of 2 files could not be searched"),
        "{}",
        some.stderr
    );
}

#[test]
fn kept_lattices_have_the_places_of_the_sound() {
    let f = folder("search_kept", false);
    let model = unsure_model(&f);
    std::fs::copy(U7, f.path("a b.wav")).unwrap();
    let made = crate::common::run(
        "nnet3-transcribe",
        &[&format!("--lattices={}", f.path("kept")), &model, U7, &f.path("a b.wav")],
    );
    assert_eq!(made.status, 0, "{}", made.stderr);
    let words = run(&f, &format!("nnet3-transcribe {model} {U7}")).stdout;
    let word = words.split_whitespace().nth(1).unwrap();
    let kept = format!("--lattices={}", f.path("kept"));
    let of_sound = run(&f, &format!("nnet3-search --min-probability=0 {model} {word} {U7}")).stdout;
    let of_lattices = run(&f, &format!("nnet3-search --min-probability=0 {kept} {model} {word} {U7}")).stdout;
    assert!(!of_sound.is_empty());
    assert_eq!(of_lattices, of_sound);
    // Without recordings, all lattices are searched, in the order of names.
    let all = run(&f, &format!("nnet3-search --min-probability=0 {kept} {model} {word}")).stdout;
    let of_other = of_sound.replace("u7 ", "a_b ");
    assert_eq!(all, of_other + &of_sound);
    // Other programs read the archives.
    let keys = run(&f, "lattice-copy ark:@kept/u7.lat ark,t:-").stdout;
    assert!(keys.starts_with("u7-1-000000000"), "{keys}");
    let line = |rest: &str| format!("nnet3-search {kept} {model} {word} {rest}");
    fails(&f, 255, &line("other.wav"), &["there are no lattices of other.wav", "kept/other.lat"]);
    std::fs::create_dir(f.path("empty")).unwrap();
    fails(
        &f,
        255,
        &format!("nnet3-search --lattices=@empty {model} {word}"),
        &["the folder has no lattices"],
    );
}

#[test]
fn phrases_that_stand_behind_the_recording_are_noticed() {
    let f = folder("search-order", false);
    let model = model_folder(&f);
    fails(
        &f,
        255,
        &format!("nnet3-search {model} {U7} w1"),
        &["phrases come before recordings: found the file ", "u7.wav first, and then 'w1', which is no file"],
    );
}

/// As `nnet3-transcribe` does.
#[test]
fn sound_of_a_lower_rate_is_searched_with_one_warning() {
    let f = folder("search-rate", false);
    let model = unsure_model(&f);
    let conf =
        std::fs::read_to_string(format!("{model}/conf/mfcc.conf")).unwrap() + "--sample-frequency=32000\n";
    std::fs::write(format!("{model}/conf/mfcc.conf"), conf).unwrap();
    let found = run(&f, &format!("nnet3-search --min-probability=0 {model} w1 {U7}"));
    assert_eq!(found.stderr.matches("nothing from 8 to 16 kHz").count(), 1, "{}", found.stderr);
    let refused = run(&f, &format!("nnet3-search --allow-upsample=false {model} w1 {U7}"));
    assert!(refused.status != 0 && refused.stderr.contains("--allow-upsample=true"), "{}", refused.stderr);
}
