//! Words and their pronunciations: spelling, transcripts as phones, the words of an adapted model.

use crate::command_lines::{fails, output};
use crate::common::{Folder, run};

#[test]
fn words_are_spelt_by_their_letters() {
    let f = Folder::new("spelling");
    f.write("text", "u1 Yes né\nu2 7up yes\n");
    f.write("arpa", "\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <s>\n-1 no\n-1 --\n\n\\end\\\n");
    output(&f, "spell-words --keys=true --arpa=@arpa @text @lexicon");
    assert_eq!(f.read("lexicon"), "7up d7 u p\nYes y e s\nno n o\nné n é\nyes y e s\n");
    f.write("more", "sey\n");
    assert_eq!(output(&f, "spell-words --lexicon=@lexicon @more -"), "sey s e y");
    f.write("bad", "u1 yes\nu2 --\n");
    fails(&f, 255, "spell-words --keys=true @bad @new", &["bad, line 2: the word '--' has no letters"]);
    f.write("foreign", "yes\nzebra\n");
    fails(
        &f,
        255,
        "spell-words --lexicon=@lexicon @foreign @new",
        &["foreign, line 2: the word 'zebra' has the letter 'z', which is no phone of"],
    );
    f.write("english", "bed B EH D\nseed S IY D\n");
    fails(
        &f,
        255,
        "spell-words --lexicon=@english @more @new",
        &["its phones are no letters: 'bed' is 'B EH D'"],
    );
}

#[test]
fn transcripts_become_phones_of_their_words() {
    let f = Folder::new("spoken");
    f.write("lexicon", "a x y\nb z\n");
    f.write("text", "u1 a b\nu2 b\n");
    output(&f, "prepare-lang --word-positions=false @lexicon @lang");
    let command = "text-to-phones --edge-silence=1 --silence-between=0 @lang @text -";
    assert_eq!(output(&f, command), "u1 1 2 3 4 1 u2 1 4 1");
    f.write("other", "u1 a c\n");
    fails(&f, 255, "text-to-phones @lang @other -", &["other, line 1: the word 'c' has no pronunciation"]);
    fails(
        &f,
        255,
        "text-to-phones --edge-silence=2 @lang @text -",
        &["--edge-silence=2: expected a number from 0 to 1"],
    );
}

/// The files of nnet3-recover.
fn old(name: &str) -> Folder {
    let f = Folder::new(name);
    std::fs::create_dir(f.path("old")).unwrap();
    let names =
        ["A", "B", "C"].iter().flat_map(|phone| ["B", "E", "I", "S"].map(|at| format!("{phone}_{at}")));
    let names: Vec<String> = ["<eps>", "SIL", "N"].map(str::to_owned).into_iter().chain(names).collect();
    let table: String = names.iter().enumerate().map(|(number, name)| format!("{name} {number}\n")).collect();
    f.write("old/phones.txt", table);
    f.write("old/lexicon.txt", "ab A_B B_E\nab B_S\nc C_S\nnoise N\nrare C_B C_E\n");
    f.write("old/silence.txt", "SIL\n");
    f.write("old/guessed.txt", "A_B A_E\n<eps> C_B\n");
    f
}

#[test]
fn an_adapted_model_has_the_words_of_its_texts() {
    let f = old("adapted");
    f.write("text", "ab aa c\nab zebra\n");
    f.write("new", "aa A A\nab 0.5 C\nbac B A C\n");
    f.write("arpa", "\\data\\\nngram 1=2\n\n\\1-grams:\n-1 <s>\n-1 noise\n\n\\end\\\n");
    assert_eq!(output(&f, "adapt-lexicon --write=missing --text=@text --new=@new @old -"), "zebra");
    fails(
        &f,
        255,
        "adapt-lexicon --text=@text --new=@new @old @out",
        &["text, line 2: the word 'zebra' has no pronunciation"],
    );
    let arguments = ["--text=", "--new=", "--old-arpa="]
        .map(|option| format!("{option}{}", f.path(&option[2..option.len() - 1].replace("old-", ""))));
    let [text, new, arpa] = &arguments;
    let told =
        run("adapt-lexicon", &[text, new, arpa, "--skip-unknown=true", &f.path("old"), &f.path("out")]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    for part in [
        "1 sentence is left out",
        "1 new word has two phones in a row that the old graph does not have",
        "most similar phones (aa)",
        "5 words, of which 2 are new; 7 pronunciations",
    ] {
        assert!(told.stderr.contains(part), "{part}: {}", told.stderr);
    }
    let entries = "aa 1.0 A_B A_E\nab 1.0 A_B B_E\nab 1.0 B_S\nab 0.5 C_S\nbac 1.0 B_B A_I C_E\nc 1.0 C_S\nnoise 1.0 N\n";
    assert_eq!(f.read("out/lexicon.txt"), entries);
    assert_eq!(f.read("out/text.txt"), "ab aa c\n");
    assert_eq!(f.read("out/vocabulary"), "aa\nab\nbac\nc\n");
    // Words with equal sounds get symbols that tell them apart, behind the phones of the model.
    output(&f, "prepare-lang --phones=@old/phones.txt @out/lexicon.txt @lang");
    assert!(f.read("lang/phones.txt").contains("SIL 1\n") && f.read("lang/phones.txt").contains("#0 15\n"));
}

#[test]
fn words_of_parts_are_those_of_the_model() {
    let f = old("parts");
    f.write("text", "abc zebra\n");
    assert_eq!(output(&f, "adapt-lexicon --write=parts --text=@text @old -"), "abc A B C");
}
