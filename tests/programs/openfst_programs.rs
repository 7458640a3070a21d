//! OpenFst's programs, and those around graphs in tables: options, statuses, messages.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::command_lines::{fails, output};
use crate::common::{Folder, binary, run, succeed};

const A: &str = "0 1 1 1 0.5\n0 2 2 2 1.5\n1 3 3 3\n2 3 3 3 0.25\n3 0.75\n";

fn compiled(folder: &Folder, name: &str, text: &str) -> String {
    let file = folder.path(name);
    succeed("fstcompile", &[&folder.write("text", text), &file]);
    file
}

fn printed(file: &str) -> String {
    let output = run("fstprint", &[file]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    output.stdout
}

/// Standard output of a program with this input.
fn piped(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new(binary(program));
    let pipes = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}");
    output.stdout
}

/// Each of them reads standard input and writes standard output if no file is named.
#[test]
fn without_file_names() {
    let folder = Folder::new("stdin");
    let file = std::fs::read(compiled(&folder, "a", A)).unwrap();
    for program in [
        "fstclosure",
        "fstdeterminize",
        "fstminimize",
        "fstprune",
        "fstpush",
        "fstreverse",
        "fstshortestpath",
    ] {
        let arguments: &[&str] = if program == "fstminimize" { &["--allow_nondet"] } else { &[] };
        let out = piped(program, arguments, &file);
        let text = String::from_utf8(piped("fstprint", &[], &out)).unwrap();
        assert!(text.lines().count() >= 3, "{program}: {text}");
    }
    for program in ["fstconcat", "fstunion"] {
        let out = piped(program, &["-", &folder.path("a")], &file);
        assert!(String::from_utf8(piped("fstprint", &[], &out)).unwrap().lines().count() >= 10, "{program}");
    }
    let best = piped("fstshortestpath", &[], &file);
    let text = String::from_utf8(piped("fstprint", &[], &best)).unwrap();
    assert_eq!(text, "0\t1\t1\t1\t0.5\n1\t2\t3\t3\n2\t0.75\n");
    let distances = String::from_utf8(piped("fstshortestdistance", &["--reverse"], &file)).unwrap();
    assert_eq!(distances, "0\t1.25\n1\t0.75\n2\t1\n3\t0.75\n");
    let drawn = String::from_utf8(piped("fstdraw", &["--acceptor", "--title=t"], &file)).unwrap();
    assert!(drawn.contains("label = \"t\";") && drawn.contains("0 -> 2 [label = \"2/1.5\""), "{drawn}");
}

#[test]
fn states_without_arcs_are_printed() {
    let folder = Folder::new("no-arcs");
    let file = compiled(&folder, "a", "0 1 1 1\n0 2 2 2\n2\n");
    assert_eq!(printed(&file), "0\t1\t1\t1\n0\t2\t2\t2\n1\tInfinity\n2\n");
}

#[test]
fn comparison_of_fsts_has_openfsts_statuses() {
    let folder = Folder::new("statuses");
    let a = compiled(&folder, "a", A);
    let other = compiled(&folder, "b", &A.replace("0.75", "0.5"));
    let ambiguous = compiled(&folder, "t", "0 1 1 5\n0 1 1 6 1\n1\n");
    assert_eq!(run("fstequivalent", &[&a, &a]).status, 0);
    assert_eq!(run("fstequivalent", &[&a, &other]).status, 2);
    assert_eq!(run("fstequivalent", &["--random", "--npath=30", "--seed=3", &a, &other]).status, 2);
    assert_eq!(run("fstequivalent", &["--random", "--npath=30", &ambiguous, &ambiguous]).status, 0);
    let failed = |program: &str, arguments: &[&str], words: &str| {
        let output = run(program, arguments);
        assert_eq!(output.status, 1, "{program} {arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(words), "{program}: {}", output.stderr);
    };
    failed("fstequivalent", &[&a, &ambiguous], "input label 1 and output label 5");
    failed("fstdeterminize", &[&ambiguous], "one input has two outputs");
    failed(
        "fstdeterminize",
        &["--det_type=nonfunctional", &a],
        "--det_type must be functional or disambiguate",
    );
    failed("fstminimize", &[&ambiguous], "two arcs of state 0 have label 1");
    failed("fstreplace", &[&a, "x"], "the label of");
    failed("fstreplace", &[&a, "9", &a, "1"], "calls itself");
    failed("fstprune", &["--weight=-1", &a], "--weight must be a cost that is not negative");
    failed(
        "fstconvert",
        &["--save_relabel_opairs=x", &a],
        "--save_relabel_opairs needs --fst_type=olabel_lookahead",
    );
    failed("fstconvert", &["--fst_type=ngram", &ambiguous], "input label 1 and output label 5");
    let disambiguated = run("fstdeterminize", &["--det_type=disambiguate", &ambiguous, &folder.path("d")]);
    assert_eq!(disambiguated.status, 0);
    assert_eq!(printed(&folder.path("d")), "0\t1\t1\t5\n1\n");
    let cycle = compiled(&folder, "cycle", "0 1 0 0 1\n1 0 0 0 -2\n1\n");
    let output = run("fstdeterminizestar", &[&cycle, &folder.path("none")]);
    assert_eq!(output.status, 255);
    assert!(output.stderr.contains("is on a cycle of negative cost"), "{}", output.stderr);
    assert!(!std::fs::exists(folder.path("none")).unwrap());
}

/// The message names the empty file, or the program of a pipe that failed.
#[test]
fn empty_files_and_failed_pipes() {
    let folder = Folder::new("empty");
    let empty = folder.write("empty", "");
    for program in
        ["fstinfo", "fstprint", "fstarcsort", "fstisstochastic", "fstdeterminizestar", "fstminimize"]
    {
        let output = run(program, &[&empty]);
        assert!(output.status != 0);
        let error = format!("{empty} is empty");
        assert!(output.stderr.contains(&error), "{program}: {}", output.stderr);
    }
    let errors =
        |stderr: &str| -> String { stderr.lines().filter(|line| line.starts_with("ERROR")).collect() };
    let output = run("fstinfo", &["cat /nowhere | cat |"]);
    assert!(errors(&output.stderr).contains("'cat /nowhere' in the pipe"), "{}", output.stderr);
    let output = run("fstinfo", &["true |"]);
    assert!(errors(&output.stderr).contains("the command wrote nothing"), "{}", output.stderr);
    let script = folder.write("scp", "a cat /nowhere |\n");
    let output = run("fstcopy", &[&format!("scp:{script}"), "ark:-"]);
    assert!(errors(&output.stderr).contains("command 'cat /nowhere' failed"), "{}", output.stderr);
    let output = run("arpa2fst", &[&empty, &folder.path("G")]);
    assert!(output.stderr.contains(&format!("{empty} is empty")), "{}", output.stderr);
}

#[test]
fn names_that_share_a_number() {
    let folder = Folder::new("shared");
    let words = folder.write("words.txt", "<eps> 0\na 1\nb 2\n<s> 3\n</s> 3\n");
    let text = folder.write("text", "0 1 a </s>\n1 2 <s> b\n2\n");
    let tables = [format!("--isymbols={words}"), format!("--osymbols={words}")];
    let file = folder.path("fst");
    succeed("fstcompile", &[&tables[0], &tables[1], "--keep_isymbols", "--keep_osymbols", &text, &file]);
    assert_eq!(printed(&file), "0\t1\ta\t<s>\n1\t2\t<s>\tb\n2\n");
    succeed("fstconvert", &["--fst_type=const", &file, &folder.path("const")]);
    assert_eq!(printed(&folder.path("const")), printed(&file));
}

/// A probability that is infinite would be a cost that no program reads.
#[test]
fn infinite_probabilities() {
    let folder = Folder::new("inf");
    let model = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1 a\n-99 <s>\n-1 </s>\n\n\\end\\\n";
    for (wrong, words) in
        [("inf a", "line 5 [inf a]: invalid n-gram logprob 'inf'"), ("-1 a inf", "invalid n-gram data line")]
    {
        let arpa = folder.write("arpa", model.replace("-1 a", wrong));
        let output = run("arpa2fst", &[&arpa, &folder.path("G")]);
        assert_eq!(output.status, 255);
        assert!(output.stderr.to_lowercase().contains(&words.to_lowercase()), "{}", output.stderr);
        assert!(!std::fs::exists(folder.path("G")).unwrap());
    }
    succeed("arpa2fst", &[&folder.write("arpa", model.replace("-1 a", "-inf a")), &folder.path("G")]);
    assert!(printed(&folder.path("G")).contains("Infinity"));
}

#[test]
fn tables_of_fsts() {
    let folder = Folder::new("tables");
    let table = |text: &str| format!("\n{text}\n");
    let first = format!(
        "a {}a {}b {}",
        table("0 1 1 5 0.5\n1 1\n"),
        table("0 1 1 5 0.25\n0 1 2 6 2\n1 1\n"),
        table("0 1 3 3\n1 1 0 0 1\n1\n")
    );
    let first = format!("ark:{}", folder.write("first", first));
    let second = format!("ark:{}", folder.write("second", format!("b {}", table("0 1 7 8\n1\n"))));
    let out = |name: &str| format!("ark,t:{}", folder.path(name));
    let log = succeed("fsts-project", &["--project-output=true", &first, &out("projected")]);
    assert!(log.contains("Projected 3 FSTs"), "{log}");
    assert!(folder.read("projected").starts_with("a \n0\t1\t5\t5\t0.5\n"), "{}", folder.read("projected"));
    let log = succeed("fsts-union", &[&first, &out("united")]);
    // The third one has a cycle without labels, which costs something, so the best path does not take it.
    assert!(log.contains("Applied fst union on 3 FSTs, produced 2 FSTs"), "{log}");
    assert_eq!(folder.read("united"), "a \n0\t1\t1\t5\t1.25\n0\t1\t2\t6\t3\n1\n\nb \n0\t1\t3\t3\n1\n\n");
    let log = succeed("fsts-concat", &[&first, &second, &out("joined")]);
    assert!(log.contains("Produced 1 FSTs by concatenating 2 streams (2 keys skipped)."), "{log}");
    assert!(log.contains("Skipping 'a' due to missing the fst in 2th <rspecifier>"), "{log}");
    let log = succeed(
        "fsts-to-transcripts",
        &["--output-side=false", &out("joined").replace("ark,t", "ark"), &out("words")],
    );
    assert!(log.contains("Converted 1 FSTs, 0 with errors"), "{log}");
    assert_eq!(folder.read("words"), "b 3 7 \n");
    // A table with an incomplete last object.
    let whole = folder.read("projected");
    let cut = format!("ark:{}", folder.write("cut", &whole[..whole.len() - 1]));
    let output = run("fstcopy", &[&cut, "ark:/dev/null"]);
    assert_eq!(output.status, 255);
    assert!(output.stderr.contains("the file ends inside an FST"), "{}", output.stderr);
}

#[test]
fn transcriptions_as_fsts() {
    let f = Folder::new("transcripts-to-fsts");
    f.write("ints", "a 3 4\nb 5\nc \n");
    f.write("costs", "a 0.5\n");
    let fsts = |options: &str| output(&f, &format!("transcripts-to-fsts {options} ark,t:-"));
    assert_eq!(fsts("ark:@ints"), "a 0 1 3 3 1 2 4 4 2 b 0 1 5 5 1 c 0");
    assert_eq!(fsts("ark:@ints ark,t:@costs"), "a 0 1 3 3 0.5 1 2 4 4 2 b 0 1 5 5 1 c 0");
    f.write("map.txt", "0 0 3 13 1\n0 0 4 14 0\n0 0 5 15 0\n0\n");
    f.write("back.txt", "0 0 13 3 1\n0 0 14 4 0\n0 0 15 5 0\n0\n");
    output(&f, "fstcompile @map.txt @map.fst");
    output(&f, "fstcompile @back.txt @back.fst");
    let mapped = "a 0 1 13 13 1 1 2 14 14 2 b 0 1 15 15 1 c 0";
    assert_eq!(fsts("--right-compose=@map.fst --project-output=true ark:@ints"), mapped);
    assert_eq!(fsts("--left-compose=@back.fst --project-input=true ark:@ints"), mapped);
    fails(&f, 0, "transcripts-to-fsts ark:@ints ark:-", &["Done 3 transcriptions"]);
}

/// The example in the source of Kaldi's program.
#[test]
fn composition_with_the_rest_of_the_labels() {
    let f = Folder::new("fstrhocompose");
    f.write("a.txt", "0 1 10 10\n0 1 11 11\n1\n");
    f.write("g.txt", "0 0 11 11 0.0\n0 1 100 100 1.0\n1 0 11 11 1.0\n1\n");
    output(&f, "fstcompile @a.txt @a.fst");
    output(&f, "fstcompile @g.txt @g.fst");
    output(&f, "fstrhocompose 100 @a.fst @g.fst @c.fst");
    assert_eq!(output(&f, "fstprint @c.fst"), "0 1 10 10 1 1");
    f.write("table", "u\n0 1 10 10\n1\n\n");
    assert_eq!(output(&f, "fstrhocompose 100 ark:@table @g.fst ark,t:-"), "u 0 1 10 10 1 1");
    fails(&f, 0, "fstrhocompose 100 ark:@table @g.fst ark:-", &["Composed 1 FSTs."]);
    fails(&f, 255, "fstrhocompose 100 @a.fst ark:@table ark:-", &["expected three files, or a table"]);
    fails(&f, 255, "fstrhocompose 0 @a.fst @g.fst @c.fst", &["0"]);
}

/// A wrong choice is refused with the right ones, each of which is then taken.
#[test]
fn wrong_choices_are_refused_with_the_right_ones() {
    let f = Folder::new("choices");
    f.write("a.txt", A);
    output(&f, "fstcompile @a.txt @unsorted.fst");
    output(&f, "fstarcsort @unsorted.fst @a.fst");
    for line in [
        "fstarcsort --sort_type=",
        "fstmap --map_type=",
        "fstinfo --info_type=",
        "fstinfo --arc_filter=",
        "fstproject --project_type=",
        "fstrandgen --select=",
        "fstshortestpath --queue_type=",
        "fstshortestdistance --queue_type=",
        "fstrmepsilon --queue_type=",
        "fsttablecompose --match-side=",
        "fsttablecompose --compose-filter=",
        "fstcompose --compose_filter=",
        "fstdeterminize --det_type=",
    ] {
        let files = match line {
            _ if line.starts_with("fstinfo") => "@a.fst",
            _ if line.contains("compose") => "@a.fst @a.fst @out.fst",
            _ => "@a.fst @out.fst",
        };
        let with = |choice: &str| crate::command_lines::run(&f, &format!("{line}{choice} {files}"));
        let refused = with("foo");
        assert_ne!(refused.status, 0, "{line}");
        let error = refused.stderr.lines().find(|line| line.starts_with("ERROR")).unwrap().to_owned();
        let list =
            error.split_once("expected ").or_else(|| error.split_once("must be ")).map(|(_, list)| list);
        let list = list.unwrap_or_else(|| panic!("{line}: {error}")).split(", found").next().unwrap();
        let choices: Vec<&str> = list.split(", ").flat_map(|part| part.split(" or ")).collect();
        assert!(choices.len() >= 2 && error.contains("foo"), "{line}: {error}");
        for choice in choices {
            let said = with(choice).stderr;
            assert!(!said.contains("expected ") && !said.contains("must be "), "{line}{choice}: {said}");
        }
    }
}
