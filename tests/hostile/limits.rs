//! Limits of the system: threads, memory and address space that are not to be had.

use std::process::Command;

use crate::common::{Folder, Output, binary, succeed};
use crate::data::{error_line, examples, features, network, outcome, refused, shell};

/// Runs a command with a limit on the number of processes and threads. (The superuser has no such limit, so it becomes
/// nobody.)
fn with_threads(most: u32, command: &str) -> Output {
    let own = binary("copy-feats").parent().unwrap().display().to_string();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap());
    let limited = format!("ulimit -u {most}; exec {command}");
    let is_root = shell("id -u").stdout.trim() == "0";
    let mut line = match is_root {
        true => Command::new("setpriv"),
        false => Command::new("bash"),
    };
    if is_root {
        line.args(["--reuid", "65534", "--clear-groups", "bash"]);
    }
    outcome(line.args(["-c", &limited]).env("PATH", path))
}

/// A thread that cannot be started was a panic.
#[test]
fn threads_that_cannot_be_started() {
    let folder = Folder::new("hostile-threads");
    let (feats, net) = (features(&folder, 5), network(&folder, 1));
    let egs = examples(&folder, 6, &[]);
    for (command, result) in [
        (format!("copy-feats ark,bg:{feats} ark,t:-"), Some(format!("copy-feats ark:{feats} ark,t:-"))),
        (
            format!("nnet3-compute --use-gpu=no --num-threads=4 {net} ark:{feats} ark,t:-"),
            Some(format!("nnet3-compute --use-gpu=no {net} ark:{feats} ark,t:-")),
        ),
        (format!("nnet3-average --num-threads=2 {net} {net} {net} {net} /dev/null"), None),
        (
            format!(
                "nnet3-combine --use-gpu=no --num-threads=3 {net} {net} 'ark:nnet3-merge-egs --minibatch-size=2 ark:{egs} \
                 ark:- |' /dev/null"
            ),
            None,
        ),
        (
            format!(
                "nnet3-train --use-gpu=no {net} 'ark:nnet3-merge-egs --minibatch-size=2 ark:{egs} ark:- |' /dev/null"
            ),
            None,
        ),
    ] {
        let output = with_threads(1, &command);
        assert_eq!(output.status, 0, "{command}: {}", output.stderr);
        assert!(!output.stderr.contains("panicked"), "{command}: {}", output.stderr);
        if let Some(expected) = result {
            assert_eq!(output.stdout, shell(&expected).stdout, "{command}");
        }
        let warnings = output.stderr.matches("cannot start a thread for ").count();
        assert!(warnings <= 1, "{command}: {}", output.stderr);
    }
    // Replicas cannot do without.
    let command = format!(
        "nnet3-train --use-gpu=no --num-replicas=2 {net} 'ark:nnet3-merge-egs --minibatch-size=2 ark:{egs} ark:- |' /dev/null"
    );
    let output = with_threads(1, &command);
    assert_eq!(output.status, 255, "{}", output.stderr);
    error_line(&output, &["cannot start a thread for replica", "ulimit -u"]);
}

/// A file that would become larger than `ulimit -f` allows ended the program by a signal, without a word.
#[test]
fn files_that_may_not_be_larger() {
    let folder = Folder::new("hostile-file-size");
    let (feats, net) = (features(&folder, 50), network(&folder, 1));
    let old = folder.write("old.ark", "old");
    for (command, file) in [
        (format!("copy-feats ark:{feats} ark,t:{old}"), old.clone()),
        (
            format!("copy-feats ark:{feats} ark,t:- >{}", folder.path("redirected")),
            "standard output".to_owned(),
        ),
        (
            format!("nnet3-compute --use-gpu=no {net} ark:{feats} ark,t,f:{}", folder.path("new.ark")),
            "new.ark".to_owned(),
        ),
        (format!("nnet3-copy {net} {}", folder.path("new.mdl")), "new.mdl".to_owned()),
    ] {
        let output = shell(&format!("ulimit -f 0; {command}"));
        assert_eq!(output.status, 255, "{command}: {}", output.stderr);
        error_line(&output, &[&file, "File too large"]);
    }
    assert_eq!(folder.read("old.ark"), "old");
    // Commands that are started have the usual action.
    let output =
        shell(&format!("ulimit -f 0; copy-feats ark:{feats} 'ark,t:| cat > {}'", folder.path("by_cat")));
    assert_eq!(output.status, 255, "{}", output.stderr);
    error_line(&output, &["cat", "failed"]);
}

#[test]
fn numbers_of_threads_within_reason() {
    let folder = Folder::new("hostile-thread-numbers");
    let (feats, net) = (features(&folder, 2), network(&folder, 1));
    let tables = [format!("ark:{feats}"), "ark:/dev/null".to_owned()];
    for number in ["0", "1025", "99999999"] {
        let option = format!("--num-threads={number}");
        let arguments = ["--use-gpu=no", &option, &net, &tables[0], &tables[1]];
        refused("nnet3-compute", &arguments, &[&option, "expected a number of threads from 1 to 1024"]);
    }
    // There are no more threads than utterances.
    let log = succeed("nnet3-compute", &["--use-gpu=no", "--num-threads=1000", &net, &tables[0], &tables[1]]);
    assert!(log.contains("Done 2 utterances"), "{log}");
}

/// For any limit on the address space, a program ends, by itself or with an ERROR line. (OpenBLAS once asked for memory
/// for ever; the message of a program without memory once asked for memory.)
#[test]
fn address_spaces_of_all_sizes() {
    let folder = Folder::new("hostile-address-space");
    let config = folder.write(
        "wide.config",
        "input-node name=input dim=2\n\
         component name=a type=NaturalGradientAffineComponent input-dim=6 output-dim=400\n\
         component name=r type=RectifiedLinearComponent dim=400\n\
         component name=b type=NaturalGradientAffineComponent input-dim=400 output-dim=400\n\
         component name=q type=RectifiedLinearComponent dim=400\n\
         component name=c type=NaturalGradientAffineComponent input-dim=400 output-dim=3\n\
         component name=d type=LogSoftmaxComponent dim=3\n\
         component-node name=a component=a input=Append(Offset(input,-1),input,Offset(input,1))\n\
         component-node name=r component=r input=a\n\
         component-node name=b component=b input=r\n\
         component-node name=q component=q input=b\n\
         component-node name=c component=c input=q\n\
         component-node name=d component=d input=c\n\
         output-node name=output input=d objective=linear\n",
    );
    let raw = folder.path("wide.raw");
    succeed("nnet3-init", &["--srand=1", &config, &raw]);
    let egs = examples(&folder, 20, &[]);
    let merged = folder.path("merged.ark");
    succeed("nnet3-merge-egs", &["--minibatch-size=20", &format!("ark:{egs}"), &format!("ark:{merged}")]);
    let train = format!("nnet3-train --use-gpu=no {raw} ark:{merged} /dev/null");
    let size = std::fs::metadata(binary("nnet3")).unwrap().len() >> 10;
    let mut ended = [0; 2];
    for extra in [4_000, 8_000, 20_000, 80_000, 200_000, 640_000] {
        let limit = size + extra;
        let output = shell(&format!("ulimit -v {limit}; timeout 60 {train}"));
        // (127: the loader has no room for the libraries. -1: nor for itself, or the C library has none for itself.)
        let c_library = output.stderr.contains("Fatal glibc error");
        if matches!(output.status, 127 | -1) && (c_library || !output.stderr.contains("LOG (")) {
            continue;
        }
        assert!(matches!(output.status, 0 | 255), "ulimit -v {limit}: {} {}", output.status, output.stderr);
        ended[usize::from(output.status == 255)] += 1;
        if output.status == 255 {
            error_line(&output, &[]);
        }
    }
    assert!(ended[0] > 0, "no training has succeeded");
}

/// With less than 3 MB of data the functions that mimalloc runs at the end of a process crashed, or waited for ever.
#[test]
fn programs_with_hardly_any_memory_end_with_a_status() {
    let folder = Folder::new("hostile-data-limit");
    let (feats, egs) = (features(&folder, 3), examples(&folder, 3, &[]));
    let mut ended = 0;
    for command in
        [format!("copy-feats ark:{feats} ark:/dev/null"), format!("nnet3-copy-egs ark:{egs} ark:/dev/null")]
    {
        for limit in [1_400, 1_700, 2_000, 2_400, 3_000, 4_000, 6_000, 40_000] {
            let output = shell(&format!("ulimit -d {limit}; exec timeout 20 {command}"));
            // (127, or a signal before the first line: the system or the loader has no room for the program.)
            let never_began = output.stderr.is_empty() || output.stderr.contains("loading shared libraries");
            if never_began && matches!(output.status, 127 | 139 | -1) {
                continue;
            }
            assert!(
                matches!(output.status, 0 | 255),
                "{command}, {limit}: {} {}",
                output.status,
                output.stderr
            );
            ended += 1;
        }
    }
    assert!(ended >= 4, "only {ended} programs have begun");
}

/// A stack of 64 kB ended programs by SIGABRT.
#[test]
fn programs_have_enough_stack_whatever_its_limit() {
    let folder = Folder::new("hostile-stack");
    let (feats, net) = (features(&folder, 3), network(&folder, 1));
    let (egs, merged) = (examples(&folder, 3, &[]), folder.path("merged.ark"));
    for command in [
        format!("copy-feats ark:{feats} ark,t:-"),
        format!("nnet3-compute --use-gpu=no {net} ark:{feats} ark,t:-"),
        format!("nnet3-info {net}"),
        format!("nnet3-merge-egs --minibatch-size=3 ark:{egs} ark:{merged}"),
        format!("nnet3-train --use-gpu=no --print-interval=1 {net} ark:{merged} /dev/null"),
        "nnet3-transcribe --help".to_owned(),
        "nnet3 --list=names".to_owned(),
    ] {
        let expected = shell(&command);
        assert_eq!(expected.status, 0, "{command}: {}", expected.stderr);
        for limit in [32, 64, 200] {
            let output = shell(&format!("ulimit -s {limit}; exec {command}"));
            assert_eq!(output.status, 0, "ulimit -s {limit}; {command}: {}", output.stderr);
            assert_eq!(output.stdout, expected.stdout, "ulimit -s {limit}; {command}");
        }
    }
    // Where there can be no other thread either, the limit is named.
    let output = with_threads(1, &format!("bash -c 'ulimit -s 64; exec copy-feats ark:{feats} ark,t:-'"));
    assert!(
        output.status == 255 && output.stderr.contains("the limit on the stack (ulimit -s 64)"),
        "{} {}",
        output.status,
        output.stderr
    );
}
