//! Programs within a process that stays: the same files and lines as from processes of their own.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{Folder, binary, run, succeed};

/// Returns the replies of a worker to these requests.
fn replies(requests: &str) -> Vec<String> {
    let mut worker = Command::new(binary("nnet3-train"))
        .arg("--worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    worker.stdin.take().unwrap().write_all(requests.as_bytes()).unwrap();
    let output = worker.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn programs_one_after_the_other() {
    let folder = Folder::new("worker");
    let config = "component name=a type=FixedScaleComponent dim=3\n\
                  input-node name=input dim=3\n\
                  component-node name=a component=a input=input\n\
                  output-node name=output input=a\n";
    let config = folder.write("config", config);
    let [model, copy, alone] = ["0.raw", "1.raw", "alone.raw"].map(|name| folder.path(name));
    succeed("nnet3-init", &[&config, &model]);
    let logged = succeed("nnet3-copy", &["--verbose=1", "--scale=0.5", &model, &alone]);
    let shown = run("nnet3-info", &["--print-args=false", &model]).stdout;
    let log = |number: usize| folder.path(&format!("{number}.log"));
    folder.write("0.log", "# what was there\n");
    let requests = [
        format!("nnet3-copy --verbose=1 --scale=0.5 {model} {copy}"),
        format!("nnet3-info --print-args=false {model} && nnet3-copy 'no such' {copy}"),
        format!("nnet3-copy {model} {copy} | cat"),
        "true".to_owned(),
        format!("nnet3-copy {model}"),
        format!("nnet3-info --print-args=false {model} && nnet3-copy {model} {copy}"),
    ];
    let lines: Vec<String> = requests
        .iter()
        .enumerate()
        .map(|(number, command)| format!("{}\t{command}\n", log(number)))
        .collect();
    let all = replies(&lines.concat());
    assert_eq!(all, ["0", "255", "255", "255", "1", "0"]);

    let read = |number: usize| folder.read(&format!("{number}.log"));
    let called = binary("nnet3-copy").display().to_string();
    let logged = logged.replace(&called, "nnet3-copy").replace(&alone, &copy);
    assert_eq!(read(0), format!("# what was there\n{logged}"));
    assert!(read(1).starts_with(&shown), "{}", read(1));
    assert!(read(1).contains("ERROR (nnet3-copy[5.5]:main()") && read(1).contains("no such"), "{}", read(1));
    assert!(read(2).contains("expected a program and its arguments, found '"), "{}", read(2));
    assert!(read(3).contains("'true' is not a program of this binary"), "{}", read(3));
    assert!(read(4).contains("nnet3-copy --help"), "{}", read(4));
    assert!(read(5).starts_with(&shown) && read(5).contains("Copied raw neural net"), "{}", read(5));
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&model).unwrap());
}

#[test]
fn a_request_without_a_log_ends_it() {
    assert_eq!(replies("nnet3-info x\n"), [""; 0]);
    assert_eq!(replies("/no/such/folder/log\tnnet3-info x\n"), [""; 0]);
}
