//! `nnet3-report` on folders that are not as they should be.

use crate::common::{Folder, run, succeed};

#[test]
fn a_page_of_whatever_logs_there_are() {
    let folder = Folder::new("report");
    let page = folder.path("page.html");
    let experiment = folder.path("");
    let output = run("nnet3-report", &[&experiment, &page]);
    assert_eq!(output.status, 255);
    assert!(output.stderr.contains("cannot read") && output.stderr.contains("log"), "{}", output.stderr);
    assert!(!std::path::Path::new(&page).exists());

    std::fs::create_dir(folder.path("log")).unwrap();
    folder.write("log/train.0.1.log", b"\xff\xfe not text \0");
    folder.write("log/train.x.log", "");
    folder.write("log/compute_prob_valid.7.log", "LOG (x) Overall log-likelihood for 'output' is ");
    let found = "LOG (x) Overall log-likelihood for 'output' is -0.25 per frame, over 10 frames.\n";
    folder.write("log/compute_prob_valid.3.log", found);
    folder.write(
        "log/progress.3.log",
        "LOG (x) Relative parameter differences per layer are [ <b>:0.5 ]\ncomponent name=",
    );
    succeed("nnet3-report", &["--title=<script>", &experiment, &page]);
    let text = folder.read("page.html");
    for part in ["<!DOCTYPE html>", "<h1>&lt;script&gt;</h1>", "<td>-0.2500</td><td>", "&lt;b&gt;", "</html>"]
    {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(
        !text.contains("<script>") && !text.contains("http:") && !text.contains("src="),
        "a page that needs nothing else"
    );
}
