//! Outputs that exist and must stay the same file: a client has them open, they have other names, or they are mounted singly.

use crate::common::Folder;
use crate::data::{error_line, features, shell};

/// Programs that write into a file `out`: archives, scripts, objects, FSTs.
fn writers(folder: &Folder) -> Vec<String> {
    let feats = features(folder, 3);
    folder.write("in.fst", "0 1 1 1\n1\n");
    vec![
        format!("copy-feats ark:{feats} ark:out"),
        format!("copy-feats ark:{feats} ark,scp:x.ark,out"),
        "matrix-sum --binary=false 'echo [ 1 2 ]|' 'echo [ 3 4 ]|' out".to_owned(),
        format!("compute-cmvn-stats ark:{feats} out"),
        "fstcompile in.fst out".to_owned(),
    ]
}

/// A client that made the file, empty or not, reads the whole result by the handle that it kept.
#[test]
fn clients_read_by_their_handles() {
    let folder = Folder::new("held");
    for writer in writers(&folder) {
        for before in ["", "old and long, longer than the new contents may be".repeat(100).as_str()] {
            for handle in ["7<out", "7<>out"] {
                folder.write("out", before);
                let script = format!(
                    "cd {}; exec {handle}; {writer} && cat <&7 | cmp - out && ls -A | grep -c tmp",
                    folder.path("")
                );
                let output = shell(&script);
                assert_eq!(
                    (output.status, output.stdout.trim()),
                    (1, "0"),
                    "{handle} {writer}: {}",
                    output.stderr
                );
                assert!(
                    !folder.read_bytes("out").is_empty() && folder.read_bytes("out") != before.as_bytes(),
                    "{writer}"
                );
            }
        }
    }
}

/// Another process that holds the file for writing is a client, too; one that only reads keeps the old contents.
#[test]
fn other_processes() {
    let folder = Folder::new("others");
    let feats = features(&folder, 3);
    let run = |open: &str| {
        folder.write("out", "old\n");
        let there = folder.path("");
        // The other process reads after the program has ended, which removes the file `go`.
        shell(&format!(
            "cd {there}; rm -f held; touch go; (exec {open}; touch held; while [ -e go ]; do sleep 0.01; done; cat <&7 >seen) &
             while [ ! -e held ]; do sleep 0.01; done; copy-feats ark:{feats} ark,t:out; rm go; wait; cmp -s seen out && echo new || cat seen"
        ))
        .stdout
    };
    assert_eq!(run("7<>out"), "new\n");
    assert_eq!(run("7<out"), "old\n");
}

#[test]
fn hard_links_see_the_new_contents() {
    let folder = Folder::new("links");
    for writer in writers(&folder) {
        let output = shell(&format!(
            "cd {}; rm -f out link; echo old >out; ln out link; {writer} && cmp out link && stat -c %h out",
            folder.path("")
        ));
        assert_eq!((output.status, output.stdout.trim()), (0, "2"), "{writer}: {}", output.stderr);
        assert_ne!(folder.read_bytes("link"), b"old\n");
    }
}

/// A file that a container mounts singly refuses to be replaced.
#[test]
fn mounted_files_are_filled() {
    let folder = Folder::new("mounted");
    let there = folder.path("");
    if shell(&format!("cd {there}; touch a b; unshare -m -r mount --bind a b")).status != 0 {
        return eprintln!("skipped: this system lets no user mount files");
    }
    for before in ["", "old contents\n"] {
        for writer in writers(&folder) {
            folder.write("source", before);
            folder.write("out", "");
            let output = shell(&format!(
                "cd {there}; unshare -m -r bash -c \"mount --bind source out && {}\"",
                writer.replace('"', "\\\"")
            ));
            assert_eq!(output.status, 0, "{writer}: {}", output.stderr);
            assert!(folder.read_bytes("source") != before.as_bytes(), "{writer}");
            assert_eq!(folder.read_bytes("out"), b"", "the file below the mount");
        }
    }
}

/// A file that stays the same keeps its contents if the program fails before it has all.
#[test]
fn a_failure_keeps_the_old_contents() {
    let folder = Folder::new("kept");
    let there = folder.path("");
    for command in [
        "copy-feats 'ark:echo \"a [ 1 2 ]\"; exit 3 |' ark:out",
        "matrix-sum 'echo [ 1 2 ]|' 'exit 3|' out",
        "fstcompile no-such-file out",
    ] {
        folder.write("out", "old");
        let output = shell(&format!("cd {there}; rm -f link; ln out link; exec 7<out; {command}"));
        assert_ne!(output.status, 0, "{command}");
        assert_eq!((folder.read("out"), folder.read("link")), ("old".into(), "old".into()), "{command}");
    }
}

/// A file is preferred to a command, a place or a range of the same name.
#[test]
fn files_with_names_of_commands() {
    let folder = Folder::new("names");
    let feats = features(&folder, 3);
    for name in ["touch RUN |", "a:12", "a[0:1]", "a|b", " a", "| touch RUN"] {
        folder.write(name, "");
        let output = shell(&format!(
            "cd {}; copy-feats ark:{feats} 'ark:{name}' && copy-feats 'ark:{name}' ark,t:seen && \
             copy-feats ark:{feats} ark,t:- | cmp - seen; ls RUN",
            folder.path("")
        ));
        assert!(output.stderr.contains("RUN': No such file"), "{name}: {}", output.stderr);
        assert!(
            !output.stderr.contains("ERROR") && !folder.read_bytes(name).is_empty(),
            "{name}: {}",
            output.stderr
        );
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    let output =
        shell(&format!("cd {}; echo 'a nowhere |' >x.scp; copy-feats scp:x.scp ark:-", folder.path("")));
    error_line(&output, &["x.scp, key 'a'"]);
}
