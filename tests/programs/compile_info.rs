//! `nnet3-compile-info` as a program, and computations that are stored, edited and run.

use crate::common::{Folder, Output, run};
use std::path::{Path, PathBuf};

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/conformance").join(name)
}

fn file(case: &Path, name: &str) -> String {
    case.join(name).display().to_string()
}

/// With these options on the network and request of a case.
fn info(case: &Path, options: &[&str]) -> Output {
    let (model, request) = (file(case, "model.raw"), file(case, "request.txt"));
    run("nnet3-compile-info", &[options, &[&model, &request]].concat())
}

fn stdout(output: Output) -> String {
    assert_eq!(output.status, 0, "{}", output.stderr);
    output.stdout
}

#[test]
fn listings_are_the_references() {
    let mut count = 0;
    for kind in ["arch", "component", "random"] {
        for entry in std::fs::read_dir(case(kind)).unwrap() {
            let case = entry.unwrap().path();
            let listing = stdout(info(&case, &[]));
            let expected = std::fs::read_to_string(case.join("computation.txt")).unwrap();
            assert!(listing == expected, "{}", case.display());
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn tables_stand_in_for_the_listing() {
    let tdnn = case("arch/tdnn");
    let passes = stdout(info(&tdnn, &["--passes=true"]));
    let rows: Vec<&str> = passes.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(rows[..3], ["#", "compile", "consolidate-model-update"]);
    let total = rows.iter().position(|row| *row == "total").unwrap();
    assert_eq!(rows[total - 2..total], ["expand", "plan"]);
    assert!(rows[total..].contains(&"zeroing") && rows.last() == Some(&"blocks"), "{passes}");
    let plain = stdout(info(&tdnn, &["--passes=true", "--optimize=false"]));
    assert_eq!(plain.lines().count(), 3, "{plain}");

    let summary = stdout(info(&tdnn, &["--summary=true"]));
    let value = |key: &str| -> usize {
        let line = summary.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
        line.unwrap_or_else(|| panic!("{key} in {summary}")).parse().unwrap()
    };
    let (arena, live) = (value("arena-bytes"), value("live-bytes"));
    assert!(live <= arena && 100 * arena <= 105 * live && value("commands") > 0, "{summary}");
    let both = stdout(info(&tdnn, &["--summary=true", "--passes=true"]));
    assert!(both.starts_with("commands: ") && both.contains("\n# pass"), "{both}");
}

#[test]
fn profiles_show_times_and_nodes() {
    let tdnn = case("arch/tdnn");
    let options = ["--profile=true", "--profile-seconds=0"];
    let text = stdout(info(&tdnn, &options));
    let line = text.lines().find(|line| line.contains(": output.affine.Propagate(")).unwrap();
    assert!(line.ends_with("  # output.affine"), "{line}");
    assert!(line.split_whitespace().take(3).all(|word| word.parse::<f64>().is_ok()), "{line}");
    assert!(text.lines().last().unwrap().starts_with("total, mean of 1 runs"), "{text}");
    let tables =
        stdout(info(&tdnn, &[&options[..], &["--summary=true", "--natural-gradient=false"]].concat()));
    assert!(
        tables.contains("\nNaturalGradientAffineComponent.Backprop ") && !tables.contains("c0: "),
        "{tables}"
    );
    let json = stdout(info(&tdnn, &[&options[..], &["--format=json", "--passes=true"]].concat()));
    assert!(json.starts_with("{\n  \"summary\": ") && json.ends_with("}\n"), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(json["passes"][0]["ms"].is_number(), "{json}");
    let dot = stdout(info(&tdnn, &[&options[..], &["--format=dot"]].concat()));
    assert!(dot.starts_with("digraph computation {") && dot.contains(" GFLOP/s"), "{dot}");
}

#[test]
fn outputs_are_explained() {
    let tdnn = case("arch/tdnn");
    let good = stdout(info(&tdnn, &["--explain-output=output:0,3"]));
    assert!(good.starts_with("output(0,3) can be computed"), "{good}");
    assert!(good.ends_with("rows of inputs used: 25: input[(0,-9:15)]\n"), "{good}");
    let bad = stdout(info(&tdnn, &["--explain-output=output:0,300"]));
    assert!(bad.starts_with("output(0,300) cannot be computed"), "{bad}");
    assert!(bad.ends_with("missing rows of inputs: 25: input[(0,288:312)]\n"), "{bad}");
}

/// Stored, run; edited, run: with one step less the output is another.
#[test]
fn stored_computations_run() {
    let folder = Folder::new("stored-computations");
    for name in ["arch/tdnn", "arch/lstmp", "random/0010", "component/TdnnComponent-1"] {
        let case = case(name);
        let stored = folder.write("stored", stdout(info(&case, &["--format=stored"])));
        let listed =
            run("nnet3-compile-info", &[&format!("--computation={stored}"), &file(&case, "model.raw")]);
        assert_eq!(stdout(listed), stdout(info(&case, &[])), "{name}");
        let compute = |options: &[&str], to: &str| {
            let (to, derivs) = (format!("ark,t:{}", folder.path(to)), file(&case, "output_derivs.ark"));
            let (derivs, inputs) = (format!("--output-derivs=ark:{derivs}"), file(&case, "inputs.ark"));
            let inputs = format!("ark:{inputs}");
            let (model, request) = (file(&case, "model.raw"), file(&case, "request.txt"));
            let arguments = [options, &[&derivs, &model, &request, &inputs, &to]].concat();
            run("nnet3-compute-request", &arguments)
        };
        assert_eq!(compute(&[], "compiled.ark").status, 0);
        let from_file = format!("--computation={stored}");
        let output = compute(&[&from_file], "stored.ark");
        assert_eq!(output.status, 0, "{}", output.stderr);
        assert!(folder.read("compiled.ark") == folder.read("stored.ark"), "{name}");
    }
    // The last copy of rows of the forward pass doubles them.
    let tdnn = case("arch/tdnn");
    let text = stdout(info(&tdnn, &["--format=stored"]));
    let copy = text[..text.find("kNoOperationMarker").unwrap()].rfind("kCopyRows\n<Alpha> 1 ").unwrap();
    let edited = format!("{}2{}", &text[..copy + 18], &text[copy + 19..]);
    folder.write("edited", &edited);
    let request = |computation: &str, to: &str| {
        let (option, to) =
            (format!("--computation={}", folder.path(computation)), format!("ark,t:{}", folder.path(to)));
        let (inputs, derivs) = (file(&tdnn, "inputs.ark"), file(&tdnn, "output_derivs.ark"));
        let (inputs, derivs) = (format!("ark:{inputs}"), format!("--output-derivs=ark:{derivs}"));
        let arguments =
            [&option, &derivs, &file(&tdnn, "model.raw"), &file(&tdnn, "request.txt"), &inputs, &to];
        run("nnet3-compute-request", &arguments.map(String::as_str))
    };
    folder.write("as-compiled", &text);
    assert_eq!(request("as-compiled", "1.ark").status, 0);
    assert_eq!(request("edited", "2.ark").status, 0);
    let numbers = |name: &str| -> Vec<f32> {
        folder.read(name).split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let (once, twice) = (numbers("1.ark"), numbers("2.ark"));
    assert!(once.len() > 100 && once.len() == twice.len());
    assert!(once.iter().zip(&twice).all(|(a, b)| (2.0 * a - b).abs() <= 1e-4 * b.abs()));
    // What does not fit is refused, with the command.
    folder.write(
        "broken",
        text.replacen("kPropagate\n<Alpha> 1 <Args> 0 ", "kPropagate\n<Alpha> 1 <Args> 99 ", 1),
    );
    let refused = request("broken", "3.ark");
    assert_eq!(refused.status, 255);
    for part in ["broken does not fit the network", "there is no such component", "Propagate"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let tdnn = case("arch/tdnn");
    for (options, message) in [
        (&["--format=svg"][..], "\"svg\" of --format: expected one of text, json, dot, stored"),
        (&["--profile-seconds=-1"], "--profile-seconds=-1"),
        (&["--computation=x"], "give one of them"),
        (&["--explain-output=output"], "NODE:N,T"),
        (&["--explain-output=none:0,0"], "no output 'none'"),
    ] {
        let output = info(&tdnn, options);
        assert_eq!(output.status, 255, "{options:?}");
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
    let model = file(&tdnn, "model.raw");
    for (options, message) in [
        (["--computation=x", "--passes=true"], "--passes=true"),
        (["--computation=x", "--explain-output=output:0,0"], "--explain-output"),
        (["--computation=/nowhere/x", "--summary=true"], "/nowhere/x"),
    ] {
        let output = run("nnet3-compile-info", &[&options[..], &[&model]].concat());
        assert_eq!(output.status, 255, "{options:?}");
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
}
