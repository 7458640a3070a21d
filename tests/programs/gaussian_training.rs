//! Gaussian models of a data folder in one process, alignment with them, and language models.

use std::fmt::Write;

use crate::command_lines::{fails, output, run};
use crate::common::Folder;

/// Numbers from 0 to 1.
struct Noise(u64);

impl Noise {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// Phones, silence last, with their means.
const PHONES: [(&str, [f64; 3]); 4] =
    [("n", [4.0, 3.0, 0.0]), ("y", [5.0, -2.0, 2.0]), ("a", [6.0, 0.0, -3.0]), ("SIL", [-6.0, 0.0, 0.0])];
const WORDS: [(&str, &[usize]); 3] = [("no", &[0, 2]), ("yes", &[1]), ("any", &[2, 0, 1])];

/// A lang folder, and a data folder of spoken words. Returns for each utterance its phones without silence, and the frames at
/// which these begin.
fn corpus(f: &Folder) -> Vec<Vec<(&'static str, usize)>> {
    f.write("lexicon", "no n a\nyes y\nany a n y\n");
    output(f, "prepare-lang --topology=hmm @lexicon @lang");
    std::fs::create_dir_all(f.path("data")).unwrap();
    let mut noise = Noise(5);
    let (mut text, mut speakers, mut feats, mut times) =
        (String::new(), String::new(), String::new(), Vec::new());
    for number in 0..24 {
        let (mut words, mut rows, mut begins) = (Vec::new(), Vec::new(), Vec::new());
        let mut put = |rows: &mut Vec<String>, phone: usize, least: usize| {
            for _ in 0..least + (10.0 * noise.draw()) as usize {
                let mut row = String::new();
                PHONES[phone].1.iter().for_each(|mean| write!(row, " {:.4}", mean + noise.draw()).unwrap());
                rows.push(row);
            }
        };
        put(&mut rows, 3, 12);
        for place in 0..4 {
            let (word, phones) = WORDS[(number * 5 + place * (number % 3 + 1)) % 3];
            words.push(word);
            for &phone in phones {
                begins.push((PHONES[phone].0, rows.len()));
                put(&mut rows, phone, 6);
            }
            if place == number % 4 {
                put(&mut rows, 3, 15);
            }
        }
        put(&mut rows, 3, 12);
        let key = format!("utt{number:02}");
        writeln!(text, "{key} {}", words.join(" ")).unwrap();
        writeln!(speakers, "{key} speaker{}", number % 2).unwrap();
        writeln!(feats, "{key}  [\n {} ]", rows.join("\n ")).unwrap();
        times.push(begins);
    }
    // One that is too short for its words, and one without features.
    text += "utt90 any any\nutt91 no\n";
    speakers += "utt90 speaker0\nutt91 speaker1\n";
    feats += "utt90  [\n 0 0 0\n 1 0 1\n 0 1 0 ]\n";
    f.write("data/text", text);
    f.write("data/utt2spk", speakers);
    f.write("feats.txt", feats);
    output(f, "copy-feats ark,t:@feats.txt ark,scp:@data/feats.ark,@data/feats.scp");
    times
}

/// The phones of a CTM that are not silence, for each utterance.
fn phones(ctm: &str) -> Vec<Vec<(String, usize)>> {
    let mut all: Vec<(String, Vec<(String, usize)>)> = Vec::new();
    for line in ctm.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        if all.last().is_none_or(|last| last.0 != fields[0]) {
            all.push((fields[0].to_owned(), Vec::new()));
        }
        let begin = (fields[2].parse::<f64>().unwrap() * 100.0).round() as usize;
        let name = fields[4].split('_').next().unwrap().to_owned();
        assert!(fields[3].parse::<f64>().unwrap() > 0.0, "{line}");
        if name != "SIL" {
            all.last_mut().unwrap().1.push((name, begin));
        }
    }
    all.into_iter().map(|utterance| utterance.1).collect()
}

#[test]
fn trained_models_find_phones_and_each_utterance_has_its_result() {
    let f = Folder::new("train");
    let times = corpus(&f);
    let words = ["Training monophones", "Training triphones", "24 (", "1 too-short", "1 without features"];
    fails(&f, 0, "train-gaussians --num-threads=1 --last-stage=tri @data @lang @exp", &words);
    let ctm = f.read("exp/phones.ctm");
    let found = phones(&ctm);
    assert_eq!(found.len(), times.len());
    let (mut near, mut all) = (0, 0);
    for (found, times) in found.iter().zip(&times) {
        assert_eq!(found.len(), times.len());
        for ((name, begin), (phone, at)) in found.iter().zip(times) {
            assert_eq!(name, phone);
            all += 1;
            near += usize::from(begin.abs_diff(*at) <= 3);
        }
    }
    assert!(near * 10 >= all * 8, "{near} of {all} phones begin where they should: {ctm}");
    let table = f.read("exp/utterances.tsv");
    assert_eq!(table.lines().count(), 27, "{table}");
    assert!(table.contains("utt90\tspeaker0\t3\t3 frames are too few"), "{table}");
    assert!(table.contains("utt91\t\t0\tthere is no sound"), "{table}");
    // Other programs read the model and its alignments.
    assert!(output(&f, "gmm-info @exp/final.mdl").contains("number of phones"));
    let alignments = format!("ark:gunzip -c {}|", f.path("exp/ali.1.gz"));
    let copied = crate::common::run("copy-int-vector", &[&alignments, "ark,t:-"]).stdout;
    let lengths: Vec<usize> = copied.lines().map(|line| line.split_whitespace().count() - 1).collect();
    assert_eq!(lengths.len(), 24);
    assert!(lengths.iter().all(|frames| table.contains(&format!("\t{frames}\taligned\t"))), "{table}");

    fails(&f, 0, "align-gaussians --num-threads=1 @data @lang @exp @ali", &["24 (", "1 too-short"]);
    assert_eq!(f.read("ali/phones.ctm"), ctm);
    assert_eq!(f.read("ali/utterances.tsv"), table);
    // Words that all count are words without weights.
    let lines = f.read("data/text");
    let weights: String = lines
        .lines()
        .map(|line| {
            line.split(' ').next().unwrap().to_owned() + &" 1".repeat(line.split(' ').count() - 1) + "\n"
        })
        .collect();
    f.write("weights", &weights);
    fails(
        &f,
        0,
        "align-gaussians --num-threads=1 --word-weights=@weights @data @lang @exp @weighted",
        &["24 ("],
    );
    assert_eq!(f.read("weighted/phones.ctm"), ctm);
    // Phones with other numbers would be other phones.
    let phones = f.read("exp/phones.txt");
    let (name, number) = phones.lines().nth(3).unwrap().split_once(' ').unwrap();
    f.write("exp/phones.txt", phones.replace(&format!("{name} {number}\n"), &format!("{name} 99\n")));
    let message = format!(
        "exp/phones.txt: the phones of the language are not those of the model: '{name}' has number {number} in the language, and number 99 here"
    );
    fails(&f, 255, "align-gaussians --num-threads=1 @data @lang @exp @other", &[&message]);
    f.write("exp/phones.txt", phones);
    f.write("weights", weights.replace("utt03 ", "other "));
    let missing = "align-gaussians --num-threads=1 --word-weights=@weights @data @lang @exp @weighted";
    fails(&f, 255, missing, &["has no line for the utterance 'utt03'"]);
}

#[test]
fn options_of_training_that_make_no_sense_are_errors() {
    let f = Folder::new("options");
    corpus(&f);
    for (options, message) in [
        ("--last-stage=chain", "--last-stage=chain: expected mono, tri, lda or sat"),
        ("--leaves=20:x", "--leaves=20:x: expected numbers above 0 between colons"),
        ("--gauss=1:2:3:4", "--gauss: expected at most three numbers"),
        ("--beam=-1", "--beam=-1: expected a number above 0"),
    ] {
        fails(&f, 255, &format!("train-gaussians {options} @data @lang @exp"), &[message]);
    }
    fails(&f, 255, "align-gaussians @data @lang @missing @ali", &["missing"]);
    let negative = "align-gaussians --prior-frames=-1 @data @lang @missing @ali";
    fails(&f, 255, negative, &["--prior-frames=-1: expected a number of 0 or more"]);
    // An utterance without a speaker would be a speaker of its own.
    let speakers = f.read("data/utt2spk").replace("utt07 speaker1\n", "");
    f.write("data/utt2spk", speakers);
    fails(
        &f,
        255,
        "train-gaussians @data @lang @exp",
        &["utt2spk", "1 of 25 utterances", "no speaker, such as 'utt07'"],
    );
    assert!(!std::path::Path::new(&f.path("exp")).exists());
}

#[test]
fn a_language_model_gives_each_history_the_probability_1() {
    let f = Folder::new("arpa");
    f.write("words", "<eps> 0\na 1\nb 2\nc 3\n#0 4\n<s> 5\n</s> 6\n");
    f.write("text", "u1 a b a\nu2 a b\nu3 b a\n");
    output(&f, "make-arpa --order=2 --vocabulary=@words @text @lm");
    let text = f.read("lm");
    assert!(text.contains("\\data\\") && text.trim_end().ends_with("\\end\\"), "{text}");
    let mut unigrams = 0.0;
    let (mut section, mut bigrams) = (0, 0);
    for line in text.lines() {
        section = match line {
            "\\1-grams:" => 1,
            "\\2-grams:" => 2,
            _ => section,
        };
        let fields: Vec<&str> = line.split_whitespace().collect();
        let Some(Ok(probability)) = fields.first().map(|field| field.parse::<f64>()) else { continue };
        if section == 1 && fields[1] != "<s>" {
            unigrams += 10f64.powf(probability);
        }
        bigrams += usize::from(section == 2);
        assert!(!line.contains("#0"), "{line}");
    }
    assert!((unigrams - 1.0).abs() < 1e-4, "{unigrams}: {text}");
    // "c" is in no sentence, but has a probability; sentences have six different pairs.
    assert!(text.lines().any(|line| line.split_whitespace().nth(1) == Some("c")), "{text}");
    assert_eq!(bigrams, 6, "{text}");
    output(&f, "arpa2fst --disambig-symbol=#0 --read-symbol-table=@words @lm @G.fst");

    // Without a vocabulary the words are those of the text.
    output(&f, "make-arpa @text @of_text");
    let of_text = f.read("of_text");
    let has = |word: &str| of_text.lines().any(|line| line.split_whitespace().nth(1) == Some(word));
    assert!(has("a") && has("b") && !has("c"), "{of_text}");
    assert_ne!(run(&f, "make-arpa --order=0 --vocabulary=@words @text @lm2").status, 0);
    assert!(!std::path::Path::new(&f.path("lm2")).exists());
}

/// The numbers of all matrices of a table in text.
fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn assert_near(found: &str, expected: &str, most: f64) {
    let (found, expected) = (numbers(found), numbers(expected));
    assert!(
        found.len() == expected.len() && found.len() > 1000,
        "{} numbers for {}",
        found.len(),
        expected.len()
    );
    for (x, y) in found.iter().zip(&expected) {
        assert!((x - y).abs() < most * (1.0 + y.abs()), "{x} for {y}");
    }
}

#[test]
fn a_network_of_gaussians_gives_the_likelihoods_of_the_model() {
    let f = Folder::new("network");
    corpus(&f);
    // One Gaussian for each pdf, so that the best one is all.
    run(
        &f,
        "train-gaussians --num-threads=1 --last-stage=mono --mono-gauss=1 --normalize=nothing @data @lang @exp",
    );
    assert_eq!(f.read("exp/cmvn_opts"), "--norm-means=false --norm-vars=false\n");
    output(&f, "gaussians-to-network --acoustic-scale=0.5 @exp @network.mdl");
    output(&f, "nnet3-am-copy --raw=true @network.mdl @network.raw");
    let scores = output(&f, "nnet3-compute --use-gpu=no @network.raw scp:@data/feats.scp ark,t:-");
    output(&f, "add-deltas scp:@data/feats.scp ark:@deltas");
    output(&f, "gmm-compute-likes @exp/final.mdl ark:@deltas ark:@likes");
    let likes = output(&f, "copy-feats ark:@likes ark,t:-");
    let halves = numbers(&likes).iter().map(|x| format!("{}\n", 0.5 * x)).collect::<String>();
    assert_near(&numbers(&scores).iter().map(|x| format!("{x}\n")).collect::<String>(), &halves, 1e-4);

    output(&f, "train-gaussians --num-threads=1 --last-stage=mono @data @lang @means");
    fails(&f, 255, "gaussians-to-network @means @other.mdl", &["normalised for each speaker"]);
    fails(&f, 255, "gaussians-to-network --input-dim=2 @exp @other.mdl", &["--input-dim", "the first 3"]);
}

#[test]
fn a_network_for_a_speaker_makes_features_as_the_programs_do() {
    let f = Folder::new("speaker");
    corpus(&f);
    run(&f, "train-gaussians --num-threads=1 --last-stage=lda @data @lang @exp");
    output(&f, "compute-cmvn-stats scp:@data/feats.scp ark:@each");
    output(&f, "matrix-sum ark:@each @stats");
    output(&f, "apply-cmvn @stats scp:@data/feats.scp ark:@centred");
    output(&f, "splice-feats --left-context=3 --right-context=3 ark:@centred ark:@spliced");
    output(&f, "transform-feats @exp/final.mat ark:@spliced ark:@lda");
    let dim: usize = output(&f, "feat-to-dim ark:@lda -").trim().parse().unwrap();
    let rows: String = (0..dim)
        .map(|r| {
            (0..=dim).map(|c| format!(" {}", ((r * 7 + c * 3) % 5) as f64 - 1.5)).collect::<String>() + "\n"
        })
        .collect();
    f.write("transform", format!(" [\n{rows} ]\n"));
    output(&f, "transform-feats @transform ark:@lda ark:@adapted");
    let pdfs = output(&f, "tree-info @exp/tree");
    let pdfs = pdfs.lines().find_map(|line| line.strip_prefix("num-pdfs ")).unwrap();
    let pdfs = pdfs.split(' ').next().unwrap().to_owned();
    f.write(
        "config",
        format!(
            "input-node name=input dim={dim}\ncomponent name=a type=NaturalGradientAffineComponent input-dim={dim} output-dim={pdfs}\n\
             component-node name=a component=a input=input\noutput-node name=output input=a\n"
        ),
    );
    output(&f, "nnet3-init @config @old.raw");
    output(&f, "nnet3-am-init @exp/final.mdl @old.raw @old.mdl");
    output(&f, "nnet3-am-add-features --cmvn-stats=@stats --transform=@transform @exp @old.mdl @new.mdl");
    output(&f, "nnet3-am-copy --raw=true @new.mdl @new.raw");
    let found = output(&f, "nnet3-compute --use-gpu=no @new.raw scp:@data/feats.scp ark,t:-");
    let expected = output(&f, "nnet3-compute --use-gpu=no @old.raw ark:@adapted ark,t:-");
    assert_near(&found, &expected, 1e-3);

    // Cepstra that are the first coefficients of wider frames.
    output(
        &f,
        "nnet3-am-add-features --input-dim=6 --cmvn-stats=@stats --transform=@transform @exp @old.mdl @wide.mdl",
    );
    output(&f, "nnet3-am-copy --raw=true @wide.mdl @wide.raw");
    output(&f, "paste-feats scp:@data/feats.scp scp:@data/feats.scp ark:@both");
    assert_near(&output(&f, "nnet3-compute --use-gpu=no @wide.raw ark:@both ark,t:-"), &expected, 1e-3);

    fails(&f, 255, "nnet3-am-add-features @exp @new.mdl @other.mdl", &["reads features of dimension 3"]);
    f.write("transform", " [ 1 2 3 ]\n");
    fails(
        &f,
        255,
        "nnet3-am-add-features --transform=@transform @exp @old.mdl @other.mdl",
        &["of 3 columns"],
    );
}
