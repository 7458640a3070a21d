//! Forced alignment of made sounds, whose times are known.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use kaldi_corpus::eaf::Eaf;

use crate::command_lines::fails;
use crate::common::{Folder, binary, run};

const RATE: f64 = 8000.0;
/// Tones of the sounds, in Hz.
const SOUNDS: [(char, [f64; 2]); 4] =
    [('a', [350.0, 950.0]), ('b', [1500.0, 2400.0]), ('c', [2900.0, 3400.0]), ('d', [600.0, 2000.0])];
const WORDS: [&str; 8] = ["ab", "ba", "cad", "dab", "bac", "cb", "dc", "abd"];

/// Numbers from 0 up to 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() * count as f64) as usize
    }
}

/// A recording of words, with the beginnings and ends of sounds.
fn speak(words: &[&str], numbers: &mut Numbers) -> (Vec<u8>, Vec<(char, f64, f64)>) {
    let (mut samples, mut times): (Vec<i16>, _) = (Vec::new(), Vec::new());
    let pause = |samples: &mut Vec<i16>, seconds: f64, numbers: &mut Numbers| {
        (0..(seconds * RATE) as usize).for_each(|_| samples.push((40.0 * (numbers.next() - 0.5)) as i16));
    };
    pause(&mut samples, 0.2, numbers);
    for word in words {
        for letter in word.chars() {
            let tones = SOUNDS.iter().find(|(sound, _)| *sound == letter).unwrap().1;
            let begin = samples.len();
            for n in 0..((0.07 + 0.08 * numbers.next()) * RATE) as usize {
                let tone = |hz: f64| (std::f64::consts::TAU * hz * n as f64 / RATE).sin();
                let noise = 800.0 * (numbers.next() - 0.5);
                samples.push((2500.0 * (tone(tones[0]) + tone(tones[1])) + noise) as i16);
            }
            times.push((letter, begin as f64 / RATE, samples.len() as f64 / RATE));
        }
        let length = if numbers.next() < 0.4 { 0.12 } else { 0.0 };
        pause(&mut samples, length, numbers);
    }
    pause(&mut samples, 0.2, numbers);
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let size = bytes.len() as u32;
    let mut wave = [&b"RIFF"[..], &(36 + size).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0\x01\0"].concat();
    wave.extend([8000u32.to_le_bytes(), 16000u32.to_le_bytes()].concat());
    wave.extend(b"\x02\0\x10\0data");
    wave.extend(size.to_le_bytes());
    wave.extend(bytes);
    (wave, times)
}

/// Letters of a recording, with their begins and ends in seconds.
type Sounds = Vec<(char, f64, f64)>;

/// Recordings of four words each in the folder `in`, with their times.
fn corpus(name: &str, count: usize) -> (Folder, Vec<Sounds>) {
    let (f, mut numbers) = (Folder::new(name), Numbers(7));
    std::fs::create_dir(f.path("in")).unwrap();
    let times = (0..count).map(|number| {
        let words: Vec<&str> = (0..4).map(|_| WORDS[numbers.below(WORDS.len())]).collect();
        let (wave, times) = speak(&words, &mut numbers);
        f.write(&format!("in/{number:02}.wav"), wave);
        f.write(&format!("in/{number:02}.txt"), words.join(" "));
        times
    });
    let times = times.collect();
    (f, times)
}

#[test]
fn sounds_are_found_where_they_are_and_drawn() {
    let (f, times) = corpus("sounds", 40);
    let arguments = ["--speakers=one", "--num-threads=1", "--picture-of=speaker-03"];
    let picture = format!("--picture={}", f.path("p.svg"));
    let (from, to) = (f.path("in"), f.path("out"));
    let all = [&arguments[..], &[&picture, &from, "letters", &to]].concat();
    let told = run("nnet3-align", &all);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(told.stderr.contains("minutes of speech train a poor model"), "{}", told.stderr);
    let mut errors: Vec<f64> = Vec::new();
    let csv = f.read("out/alignment.csv");
    for (number, expected) in times.iter().enumerate() {
        let name = format!("{number:02}");
        let phones: Vec<Vec<&str>> = csv
            .lines()
            .map(|line| line.split(',').collect::<Vec<_>>())
            .filter(|row| row[0].ends_with(&name) && row.contains(&"phone"))
            .collect();
        assert_eq!(phones.len(), expected.len(), "{name}");
        for (row, (letter, begin, end)) in phones.iter().zip(expected) {
            let place = row.iter().position(|cell| *cell == "phone").unwrap();
            assert_eq!(row[place + 1], letter.to_string());
            errors.push((row[place + 2].parse::<f64>().unwrap() - begin).abs());
            errors.push((row[place + 3].parse::<f64>().unwrap() - end).abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors[errors.len() / 2] <= 0.015, "median {}", errors[errors.len() / 2]);
    // The last line names the results; remarks of tree building are for --verbose.
    let last = told.stderr.lines().last().unwrap();
    assert!(
        last.contains("/out: 40 TextGrids in textgrids, alignment.csv, doubtful.tsv (")
            && last.contains("files.tsv"),
        "{last}"
    );
    assert!(told.stderr.contains(" min) aligned") || told.stderr.contains(" s) aligned"), "{}", told.stderr);
    for inside in ["AutomaticallyObtainQuestions", "with no stats", "Very small count"] {
        assert!(!told.stderr.contains(inside), "{}", told.stderr);
    }
    let svg = f.read("p.svg");
    assert!(svg.contains("data:image/png;base64,") && svg.ends_with("</svg>\n"));
    fails(&f, 255, "nnet3-align --picture-of=x @in letters @o", &["beside --picture only"]);
    let unknown = ["no utterance and no recording of this name", "utterances are called 00, 01, 02"];
    fails(&f, 255, "nnet3-align --picture=@p.svg --picture-of=x @in letters @o", &unknown);
    fails(&f, 255, "nnet3-align --picture=@p.png @in letters @o", &["pictures are SVG", ".svg"]);
}

/// The likelihoods of all recordings in a table of files.
fn likelihoods(table: &str) -> f64 {
    let column = table.lines().next().unwrap().split('\t').position(|name| name == "log-likelihood").unwrap();
    let values =
        table.lines().skip(1).map(|line| line.split('\t').nth(column).unwrap().parse::<f64>().unwrap());
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_model_is_trained_on_with_other_recordings_and_options_may_stand_behind_them() {
    let (f, _) = corpus("adapted", 30);
    let first =
        run("nnet3-align", &[&f.path("in"), "letters", &f.path("out"), "--speakers=one", "--num-threads=1"]);
    assert_eq!(first.status, 0, "{}", first.stderr);
    // The others are recorded by a microphone that prefers low tones.
    std::fs::create_dir(f.path("other")).unwrap();
    for number in 0..12 {
        let mut wave = f.read_bytes(&format!("in/{number:02}.wav"));
        let (mut last, mut sum) = (0.0, 0.0);
        for sample in wave[44..].chunks_exact_mut(2) {
            let value = f64::from(i16::from_le_bytes([sample[0], sample[1]]));
            sum = 0.6 * sum + value;
            last = 0.3 * last + 0.3 * sum;
            sample.copy_from_slice(&(last as i16).to_le_bytes());
        }
        f.write(&format!("other/{number:02}.wav"), wave);
        f.write(&format!("other/{number:02}.txt"), f.read(&format!("in/{number:02}.txt")));
    }
    let model = format!("--model={}", f.path("out/model"));
    let saved = format!("--save-model={}", f.path("saved"));
    let align = |to: &str, more: &[&str]| {
        let (from, to) = (f.path("other"), f.path(to));
        let all = [&[&from, "letters", &to, "--speakers=one", "--num-threads=1", &model], more].concat();
        run("nnet3-align", &all)
    };
    for (to, more) in [("plain", &[][..]), ("adapted", &["--adapt=true", &saved])] {
        let told = align(to, more);
        assert_eq!(told.status, 0, "{}", told.stderr);
    }
    let (plain, adapted) =
        (likelihoods(&f.read("plain/files.tsv")), likelihoods(&f.read("adapted/files.tsv")));
    assert!(adapted > plain + 0.5, "{plain} {adapted}");
    assert_eq!(f.read_bytes("adapted/model/final.mdl"), f.read_bytes("saved/final.mdl"));
    assert_ne!(f.read_bytes("adapted/model/final.mdl"), f.read_bytes("out/model/final.mdl"));
    // The folder goes on with its adapted model, and is another job without it.
    let again = align("adapted", &["--adapt=true", "--formats=ctm"]);
    assert!(again.status == 0 && again.stderr.contains("going on with the model"), "{}", again.stderr);
    assert!(align("adapted", &[]).stderr.contains("other inputs or options"));
    assert!(align("x", &[&saved]).stderr.contains("no model is trained with --model"));
    fails(&f, 255, "nnet3-align --adapt=true @in letters @x", &["--adapt=true", "beside --model only"]);
}

#[test]
fn a_model_whose_features_are_not_known_has_a_warning_and_other_features_are_an_error() {
    let (f, _) = corpus("features", 12);
    let train = ["--speakers=one", "--num-threads=1", &f.path("in"), "letters", &f.path("out")];
    assert_eq!(run("nnet3-align", &train).status, 0);
    let model = format!("--model={}", f.path("out/model"));
    let align = |to: &str| {
        run(
            "nnet3-align",
            &["--speakers=one", "--num-threads=1", &model, &f.path("in"), "letters", &f.path(to)],
        )
    };
    let times = |to: &str| f.read(&format!("{to}/alignment.csv"));
    align("whole");
    // As a folder of Kaldi's scripts, with the options of its features beside it, and without.
    std::fs::remove_file(f.path("out/model/meta.json")).unwrap();
    let told = align("options");
    assert!(told.status == 0 && !told.stderr.contains("not known"), "{}", told.stderr);
    assert_eq!(times("options"), times("whole"));
    let options = f.read("out/model/mfcc.conf");
    std::fs::remove_file(f.path("out/model/mfcc.conf")).unwrap();
    let told = align("unknown");
    assert!(
        told.stderr.contains("no mfcc.conf and no meta.json")
            && told.stderr.contains("13 cepstra of 16000 Hz"),
        "{}",
        told.stderr
    );
    assert_ne!(times("unknown"), times("whole"));
    f.write("out/model/mfcc.conf", options.replace("--num-ceps=13", "--num-ceps=20"));
    fails(
        &f,
        255,
        "nnet3-align --model=@out/model @in letters @x",
        &["mfcc.conf", "for 13 cepstra", "features have 20"],
    );
}

#[test]
fn a_recogniser_is_needed_for_its_lexicon_and_must_be_whole() {
    let (f, _) = corpus("recogniser", 2);
    fails(&f, 255, "nnet3-align @in model @x", &["the lexicon model", "--model"]);
    std::fs::create_dir_all(f.path("m/am")).unwrap();
    f.write("m/am/final.mdl", "x");
    fails(&f, 255, "nnet3-align @in letters @x --model=@m", &["final.mdl"]);
    fails(
        &f,
        255,
        "nnet3-align @in letters @x --model=@in",
        &["expected a folder with final.mdl, tree and phones.txt"],
    );
}

#[test]
fn wrong_texts_are_listed_first_even_if_too_many_recordings_have_no_text() {
    let (f, _) = corpus("wrong", 63);
    for number in 60..63 {
        std::fs::remove_file(f.path(&format!("in/{number}.txt"))).unwrap();
    }
    // Texts of other recordings.
    let wrong = [5, 17, 33, 48];
    let texts: Vec<String> = wrong.iter().map(|number| f.read(&format!("in/{number:02}.txt"))).collect();
    for (place, number) in wrong.iter().enumerate() {
        f.write(&format!("in/{number:02}.txt"), &texts[(place + 1) % 4]);
    }
    let all =
        ["--validate=true", "--speakers=one", "--num-threads=1", &f.path("in"), "letters", &f.path("out")];
    let told = run("nnet3-align", &all);
    // The report is whole, and the status tells of the loss.
    assert_eq!(told.status, 255, "{}", told.stderr);
    assert!(told.stderr.contains("3 of 63 utterances (4.8 %; "), "{}", told.stderr);
    assert!(told.stderr.contains(": the report is in "), "{}", told.stderr);
    assert_eq!(f.read("out/faults.tsv").matches("\trecordings without a text\t1\t").count(), 3);
    let table = f.read("out/texts.tsv");
    let listed: Vec<&str> = table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|row| row[1] != "fits")
        .map(|row| &row[2][row[2].len() - 2..])
        .collect();
    let found = wrong.iter().filter(|number| listed.contains(&format!("{number:02}").as_str())).count();
    assert!(found >= 3 && listed.len() <= found + 3, "{table}");
    // Results of an alignment are no place for a report.
    std::fs::create_dir(f.path("aligned")).unwrap();
    f.write("aligned/inputs", "0123\ncsv\n");
    let elsewhere = all[..5].to_vec();
    let aligned = f.path("aligned");
    let refused = run("nnet3-align", &[&elsewhere[..], &[aligned.as_str()]].concat());
    assert!(
        refused.status == 255 && refused.stderr.contains("the folder has an alignment"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_dir(&aligned).unwrap().count(), 1);
    assert!(table.lines().count() == 61 && told.stderr.contains("of 60 texts, "), "{}", told.stderr);
}

#[test]
fn pronunciations_of_unknown_words_are_guessed_and_written() {
    let (f, _) = corpus("guessed", 20);
    let known = WORDS.iter().filter(|word| **word != "dab");
    let lines: String = known
        .map(|word| format!("{word} {}\n", word.chars().map(String::from).collect::<Vec<_>>().join(" ")))
        .collect();
    f.write("lexicon", lines);
    let lexicon = f.path("lexicon");
    let all = ["--unknown-words=g2p", "--speakers=one", &f.path("in"), &lexicon, &f.path("out")];
    let told = run("nnet3-align", &all);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert_eq!(f.read("out/guessed_pronunciations.txt").lines().next(), Some("dab d a b"));
    let again = run("nnet3-align", &all);
    assert!(again.status == 0 && again.stderr.contains("all is there already"), "{}", again.stderr);
    // Results that were deleted are written again.
    let table = f.read("out/alignment.csv");
    std::fs::remove_file(f.path("out/alignment.csv")).unwrap();
    std::fs::remove_dir_all(f.path("out/textgrids")).unwrap();
    let again = run("nnet3-align", &all);
    assert!(
        again.status == 0 && again.stderr.contains("is missing: the results are written again"),
        "{}",
        again.stderr
    );
    assert_eq!(f.read("out/alignment.csv"), table);
    assert_eq!(std::fs::read_dir(f.path("out/textgrids")).unwrap().count(), 20);
    // The table of unknown words is a list of words for g2p.
    let table = f.path("out/unknown_words.tsv");
    let guessed = run("g2p", &["--probabilities=false", &f.path("out/g2p.model"), &table, "-"]);
    assert!(guessed.status == 0 && guessed.stdout.starts_with("dab d a b"), "{}", guessed.stderr);
    fails(
        &f,
        255,
        "nnet3-align --unknown-words=g2p @in letters @o",
        &["--unknown-words=g2p", "lexicon of letters"],
    );
}

#[test]
fn results_of_other_texts_are_replaced_if_asked_for_and_subtitles_have_phrases() {
    let (f, _) = corpus("replaced", 20);
    let align = |more: &[&str]| {
        let (from, to) = (f.path("in"), f.path("out"));
        run("nnet3-align", &[&["--speakers=one", "--num-threads=1", &from, "letters", &to], more].concat())
    };
    let told = align(&["--formats=csv,srt", "--subtitles=phrases"]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    // Wrong texts are found by the model.
    let advice = format!("nnet3-align --validate=true --model={} ", f.path("out/model"));
    assert!(told.stderr.contains(&advice), "{}", told.stderr);
    // Four words are a phrase, as no pause is long.
    let text = f.read("in/03.txt");
    let subtitle = f.read("out/subtitles/03.srt");
    let lines: Vec<&str> = subtitle.lines().collect();
    assert!(lines.len() == 4 && lines[0] == "1" && lines[2] == text, "{subtitle}");
    let words = align(&["--formats=csv,srt"]);
    assert!(words.status == 0 && words.stderr.contains("going on with the model"), "{}", words.stderr);
    let subtitle = f.read("out/subtitles/03.srt");
    assert_eq!(subtitle.lines().filter(|line| line.contains("-->")).count(), 4, "{subtitle}");
    // Another text, and other phones, are other inputs.
    f.write("in/03.txt", text.replace(' ', " , "));
    f.write("in/04.txt", "ab ab");
    let model = f.read_bytes("out/model/final.mdl");
    for more in [&[][..], &["--digraphs=ab"]] {
        let refused = align(more);
        assert!(
            refused.status == 255 && refused.stderr.contains("--overwrite=true replaces them"),
            "{}",
            refused.stderr
        );
    }
    f.write("out/notes", "mine");
    let told = align(&["--overwrite=true", "--digraphs=ab"]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(f.read("out/notes") == "mine" && f.read_bytes("out/model/final.mdl") != model);
    assert!(!std::path::Path::new(&f.path("out/subtitles")).exists());
    let csv = f.read("out/alignment.csv");
    assert!(csv.lines().any(|line| line.contains(",phone,ab,")), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.starts_with("04,") && line.contains(",word,")).count(), 2);
    // What the job needs is not removed, nor is a folder of others.
    fails(
        &f,
        255,
        "nnet3-align --overwrite=true @out/textgrids letters @out",
        &["--overwrite=true", "whose results would be removed"],
    );
    fails(
        &f,
        255,
        "nnet3-align --overwrite=true --speakers=one @in letters @in",
        &["whose results would be removed"],
    );
    std::fs::create_dir(f.path("mine")).unwrap();
    f.write("mine/notes", "mine");
    fails(
        &f,
        255,
        "nnet3-align --overwrite=true --speakers=one @in letters @mine",
        &["found one with other files"],
    );
}

#[test]
fn options_that_cannot_be_used_are_told_before_the_work() {
    let (f, _) = corpus("options", 2);
    f.write("lexicon", "ab a b\nba b a\n");
    for (line, message) in [
        (
            "nnet3-align --digraphs=ab,c @in letters @o",
            &["--digraphs=ab,c", "two letters or more, found 'c'"][..],
        ),
        ("nnet3-align --digraphs=ab @in @lexicon @o", &["--digraphs=ab", "only a lexicon of letters"]),
        ("nnet3-align --subtitles=phrases @in letters @o", &["--subtitles=phrases", "srt or vtt"]),
        ("nnet3-align --subtitles=lines --formats=srt @in letters @o", &["expected words or phrases"]),
        ("nnet3-align @lexicon @in @o", &["the lexicon is a folder; expected FOLDER LEXICON OUT"]),
        ("corpus-to-data --lexicon=@in @in @o", &["expected a lexicon (a file, or letters), found a folder"]),
    ] {
        fails(&f, 255, line, message);
    }
}

#[test]
fn elans_files_have_the_times_of_the_tables_and_name_the_recording() {
    let (f, _) = corpus("elan", 12);
    let arguments = ["--speakers=one", "--num-threads=1", "--formats=eaf,csv"];
    let told = run("nnet3-align", &[&arguments[..], &[&f.path("in"), "letters", &f.path("out")]].concat());
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(told.stderr.contains("/out: 12 .eaf files in eaf, alignment.csv"), "{}", told.stderr);
    let csv = f.read("out/alignment.csv");
    for number in 0..12 {
        let name = format!("{number:02}");
        let eaf = Eaf::parse(&f.read(&format!("out/eaf/{name}.eaf"))).unwrap();
        let relative = eaf.media[0].relative.clone().unwrap();
        assert_eq!(relative, format!("../../in/{name}.wav"));
        assert!(std::path::Path::new(&f.path("out/eaf")).join(&relative).is_file());
        let [words, phones] = &eaf.tiers[..] else { panic!("{:?}", eaf.tiers) };
        assert_eq!((words.name.as_str(), phones.name.as_str()), ("words", "phones"));
        assert_eq!(phones.parent.as_deref(), Some("words"));
        assert_eq!(words.participant.as_deref(), Some("speaker"));
        for (tier, kind) in [(words, "word"), (phones, "phone")] {
            let expected: Vec<(String, i64, i64)> = csv
                .lines()
                .map(|line| line.split(',').collect::<Vec<_>>())
                .filter(|row| row[0].ends_with(&name) && row[3] == kind)
                .map(|row| {
                    let time = |column: usize| (row[column].parse::<f64>().unwrap() * 1000.0).round() as i64;
                    (row[4].to_owned(), time(5), time(6))
                })
                .collect();
            let (timed, unknown) = eaf.timed(tier);
            let time = |seconds: f64| (seconds * 1000.0).round() as i64;
            let found: Vec<(String, i64, i64)> =
                timed.into_iter().map(|((begin, end), text)| (text, time(begin), time(end))).collect();
            assert_eq!((found, unknown), (expected, 0), "{name}");
        }
    }
}

/// A signal in the middle of a training.
#[test]
fn an_interrupted_training_says_what_is_lost() {
    let (f, _) = corpus("interrupted", 40);
    let said = std::fs::File::create(f.path("said")).unwrap();
    // (A test may run in the background, where SIGINT is ignored.)
    let mut child = Command::new("env")
        .arg("--default-signal=INT")
        .arg(binary("nnet3-align"))
        .args(["--speakers=one", "--num-threads=1", &f.path("in"), "letters", &f.path("out")])
        .stderr(said)
        .spawn()
        .unwrap();
    let began = std::time::Instant::now();
    while !f.read("said").contains("triphones") {
        assert!(began.elapsed().as_secs() < 120 && child.try_wait().unwrap().is_none(), "{}", f.read("said"));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap();
    let said = f.read("said");
    assert_eq!(status.signal(), Some(2), "{said}");
    let sentence =
        "ended by SIGINT: nothing is lost but the time: the same command begins the training again\n";
    assert!(said.ends_with(sentence), "{said}");
    // It does.
    let told =
        run("nnet3-align", &["--speakers=one", "--num-threads=1", &f.path("in"), "letters", &f.path("out")]);
    assert!(told.status == 0 && told.stderr.contains("40 TextGrids"), "{}", told.stderr);
}
