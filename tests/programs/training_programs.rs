//! Command lines of the programs that train, evaluate and combine networks.

use crate::common::{Folder, run, succeed};
use nnet3_core::nnet::Nnet;

const CONFIG: &str = "\
input-node name=input dim=2
component name=a type=NaturalGradientAffineComponent input-dim=6 output-dim=8 max-change=0.75
component-node name=a component=a input=Append(Offset(input,-1), input, Offset(input,1))
component name=r type=RectifiedLinearComponent dim=8
component-node name=r component=r input=a
component name=b type=BatchNormComponent dim=8
component-node name=b component=b input=r
component name=c type=NaturalGradientAffineComponent input-dim=8 output-dim=3
component-node name=c component=c input=b
component name=s type=LogSoftmaxComponent dim=3
component-node name=s component=s input=c
output-node name=output input=s
";

/// A network `0.raw` and minibatches `egs.ark` of a task that it can learn: which third of a circle a point is in.
fn prepare(folder: &Folder) -> (String, String) {
    let config = folder.write("config", CONFIG);
    let network = folder.path("0.raw");
    succeed("nnet3-init", &["--srand=3", &config, &network]);
    let (mut features, mut targets) = (String::from("u  [\n"), String::from("u"));
    for t in 0..400 {
        let angle = f64::from((t * 7919) % 1000) / 1000.0;
        let radians = angle * std::f64::consts::TAU;
        features += &format!("  {} {}\n", radians.cos(), radians.sin());
        targets += &format!(" [ {} 1 ]", (angle * 3.0) as u32);
    }
    let features = folder.write("feats.txt", features + " ]\n");
    let targets = folder.write("post.txt", targets + "\n");
    let egs = folder.path("egs.ark");
    let made = format!(
        "ark:{} --num-pdfs=3 --num-frames=4 --left-context=1 --right-context=1 ark:{features} ark:{targets} ark:- |",
        crate::common::binary("nnet3-get-egs").display()
    );
    succeed("nnet3-merge-egs", &["--minibatch-size=10", &made, &format!("ark:{egs}")]);
    (network, format!("ark:{egs}"))
}

/// The number after `start` in a log.
fn number(log: &str, start: &str) -> f64 {
    let (_, rest) = log.split_once(start).unwrap_or_else(|| panic!("no '{start}' in {log}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// OpenBLAS starts a thread for each processor if a program with several threads loads it, and these spin for a
/// while. So it is loaded before a thread of its own reads examples. A program that waits for examples shows how it
/// is.
#[test]
#[cfg(target_os = "linux")]
fn no_threads_but_its_own() {
    use std::process::{Command, Stdio};
    if std::env::var_os("OPENBLAS_NUM_THREADS").is_some()
        || !nnet3_matrix::cpu::library_name().contains("openblas")
    {
        return;
    }
    let folder = Folder::new("threads");
    let (network, _) = prepare(&folder);
    let mut training = Command::new(crate::common::binary("nnet3-train"))
        .args(["--use-gpu=no", "--num-threads=1", &network, "ark:-", &folder.path("1.raw")])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let of_process = |name: &str| format!("/proc/{}/{name}", training.id());
    let loaded = || std::fs::read_to_string(of_process("maps")).is_ok_and(|maps| maps.contains("openblas"));
    let started = std::time::Instant::now();
    while !loaded() && started.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    let loaded = loaded();
    let count = std::fs::read_dir(of_process("task")).map_or(0, |tasks| tasks.count());
    drop(training.stdin.take());
    assert_ne!(training.wait().unwrap().code(), Some(0), "there were no examples");
    assert!(loaded, "OpenBLAS is not loaded yet");
    assert!(count <= 2, "{count} threads, expected one more for examples at most");
}

#[test]
fn training_improves_and_repeats() {
    let folder = Folder::new("train");
    let (network, egs) = prepare(&folder);
    let prob = |network: &str| {
        let log = succeed("nnet3-compute-prob", &[network, &egs]);
        assert!(log.contains(
            "LOG (nnet3-compute-prob[5.5]:PrintTotalStats():nnet-diagnostics.cc:162) Overall \
                              log-likelihood for 'output' is -"
        ));
        number(&log, "Overall log-likelihood for 'output' is ")
    };
    let mut before = prob(&network);
    let mut from = network;
    for pass in 0..3 {
        let to = folder.path(&format!("{}.raw", pass + 1));
        let log =
            succeed("nnet3-train", &["--use-gpu=no", "--srand=5", "--print-interval=4", &from, &egs, &to]);
        for line in [
            "LOG (nnet3-train[5.5]:PrintStatsForThisPhase():nnet-training.cc:278) Average objective function for \
             'output' for minibatches 0-3 is -",
            "LOG (nnet3-train[5.5]:PrintTotalStats():nnet-training.cc:317) Overall average objective function for \
             'output' is -",
            " over 400 frames.",
            "PrintTotalStats():nnet-training.cc:324) [this line is to be parsed by a script:] log-prob-per-frame=-",
            &format!("Wrote model to {to}"),
            " seconds in all: compiling ",
            " 0.0 for the objective, ",
        ] {
            assert!(log.contains(line), "no '{line}' in {log}");
        }
        let after = prob(&to);
        assert!(after > before, "pass {pass}: {before} {after}");
        (before, from) = (after, to);
    }
    assert!(before > -0.8, "{before}");

    // Same seed, same bytes. Compiled computations of an earlier run take no random numbers, as in Kaldi, so that the
    // training has others.
    let again = folder.path("again.raw");
    let cache = folder.path("cache");
    let options =
        ["--use-gpu=no", "--srand=5", &format!("--write-cache={cache}"), &format!("--read-cache={cache}")];
    let mut cached = Vec::new();
    for warns in [true, false, false] {
        let mut arguments = options.to_vec();
        let first = folder.path("0.raw");
        arguments.extend([first.as_str(), &egs, &again]);
        let log = succeed("nnet3-train", &arguments);
        assert_eq!(log.contains("WARNING"), warns, "{log}");
        let bytes = std::fs::read(&again).unwrap();
        if warns {
            assert!(bytes == std::fs::read(folder.path("1.raw")).unwrap());
        } else {
            cached.push(bytes);
            assert!(prob(&again) > prob(&first));
        }
    }
    assert!(cached[0] == cached[1]);
}

#[test]
fn options_act() {
    let folder = Folder::new("train-options");
    let (network, egs) = prepare(&folder);
    let to = folder.path("1.raw");
    let train = |options: &[&str]| {
        let mut arguments = vec!["--use-gpu=no"];
        arguments.extend(options);
        arguments.extend([network.as_str(), &egs, &to]);
        run("nnet3-train", &arguments)
    };
    let log = train(&["--max-param-change=0.01"]).stderr;
    assert!(log.contains("The global max-change was enforced 100 % of the time."), "{log}");
    assert!(log.contains("Global max-change factor was "), "{log}");
    let log = train(&["--backstitch-training-scale=0.3", "--backstitch-training-interval=2"]).stderr;
    assert!(log.contains("Overall average objective function for 'output_backstitch' is -"), "{log}");
    for bad in [
        &["--momentum=1"][..],
        &["--print-interval=0"],
        &["--backstitch-training-scale=0.3", "--momentum=0.5"],
        &["--optimization.memory-compression-level=3"],
        &["--use-gpu=maybe"],
        &["--cuda-memory-proportion=2"],
    ] {
        assert_eq!(train(bad).status, 255, "{bad:?}");
    }
    let momentum = train(&["--momentum=0.9"]);
    assert_eq!(momentum.status, 0, "{}", momentum.stderr);
}

/// Replicas in one process are jobs that are averaged: the same parameters, and statistics as exact as jobs' files have
/// them.
#[test]
fn replicas_are_jobs() {
    let folder = Folder::new("train-replicas");
    let (network, egs) = prepare(&folder);
    let share = |i: usize| folder.path(&format!("egs.{i}.ark"));
    let job = |i: usize| folder.path(&format!("job.{i}.raw"));
    // Copies go to the tables in turn.
    let shares: Vec<String> = (0..3).map(|i| format!("ark:{}", share(i))).collect();
    succeed("nnet3-copy-egs", &[&egs, &shares[0], &shares[1], &shares[2]]);
    for (i, egs) in shares.iter().enumerate() {
        succeed("nnet3-train", &["--use-gpu=no", &format!("--srand={}", 7 + i), &network, egs, &job(i)]);
    }
    let average = folder.path("average.raw");
    succeed("nnet3-average", &[&job(0), &job(1), &job(2), &average]);

    let together = folder.path("together.raw");
    let train = |period: &str, to: &str| {
        let options = ["--use-gpu=no", "--srand=7", "--num-replicas=3", "--print-interval=4", period];
        succeed("nnet3-train", &[&options[..], &[&network, &egs, to]].concat())
    };
    let log = train("--average-period=0", &together);
    for line in [
        "Average objective function for 'output' for minibatches 0-3 is -",
        "Overall average objective function for 'output' is -",
        " over 400 frames.",
        " seconds in all: compiling ",
    ] {
        assert!(log.contains(line), "no '{line}' in {log}");
    }
    let [a, b] = [&together, &average].map(|file| Nnet::load(file).unwrap());
    let parameters = |nnet: &Nnet| -> Vec<f32> {
        nnet.components().filter_map(|c| c.as_updatable()).flat_map(|u| u.vectorize()).collect()
    };
    assert_eq!(parameters(&a), parameters(&b));
    let numbers = |name: &str, file: &str| -> Vec<f64> {
        let text = folder.path(name);
        succeed("nnet3-copy", &["--binary=false", file, &text]);
        folder.read(name).split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let (a, b) = (numbers("together.txt", &together), numbers("average.txt", &average));
    let close = a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 2e-6 * b.abs());
    assert!(a.len() == b.len() && close, "{a:?}\n{b:?}");

    let (first, second) = (folder.path("first.raw"), folder.path("second.raw"));
    assert_eq!(number(&train("--average-period=1", &first), "for minibatches 0-3 is "), {
        number(&train("--average-period=1", &second), "for minibatches 0-3 is ")
    });
    assert!(std::fs::read(&first).unwrap() == std::fs::read(&second).unwrap());
    assert!(std::fs::read(&first).unwrap() != std::fs::read(&average).unwrap());
    let refused = run("nnet3-train", &["--use-gpu=no", "--num-replicas=0", &network, &egs, &first]);
    assert_eq!(refused.status, 255, "{}", refused.stderr);
}

/// Adds up times as `summarize_compute_debug_timing.py` does: command names up to the last argument list.
fn debug_times(log: &str) -> std::collections::BTreeMap<String, f64> {
    let mut out = std::collections::BTreeMap::new();
    for line in log.lines() {
        let parts: Vec<&str> = line.split('|').collect();
        if let [command, _, time] = parts[..]
            && command.contains("DebugAfterExecute")
        {
            let words: Vec<&str> = time.split_whitespace().collect();
            assert!(words.len() == 3 && words[0] == "time:" && words[2] == "secs", "{line}");
            let command = command.split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
            let name = command.split('(').next().unwrap_or_default().to_owned();
            *out.entry(name).or_insert(0.0) += words[1].parse::<f64>().unwrap();
        }
    }
    out
}

#[test]
fn commands_are_logged_on_request() {
    let folder = Folder::new("train-debug");
    let (network, egs) = prepare(&folder);
    let to = folder.path("1.raw");
    for option in ["--computation.debug=true", "--verbose=5"] {
        let times = debug_times(&succeed("nnet3-train", &["--use-gpu=no", option, &network, &egs, &to]));
        assert!(times.keys().any(|name| name.ends_with(".Propagate")), "{option}: {times:?}");
        assert!(times.keys().any(|name| name.ends_with(".Backprop")), "{option}: {times:?}");
        let times = debug_times(&succeed("nnet3-compute-prob", &[option, &network, &egs]));
        assert!(times.keys().any(|name| name.ends_with(".Propagate")), "{option}: {times:?}");
        assert!(!times.keys().any(|name| name.ends_with(".Backprop")), "{option}: {times:?}");
    }
    let progress = succeed("nnet3-show-progress", &["--computation.debug=true", &network, &to, &egs]);
    assert!(debug_times(&progress).keys().any(|name| name.ends_with(".Backprop")), "{progress}");
    let combined = folder.path("combined.raw");
    let arguments = ["--use-gpu=no", &network, &to, &egs, &combined];
    let combine = succeed("nnet3-combine", &[&["--verbose=5"], &arguments[..]].concat());
    assert!(debug_times(&combine).keys().any(|name| name.ends_with(".Propagate")), "{combine}");
    let quiet = succeed("nnet3-combine", &arguments);
    assert!(debug_times(&quiet).is_empty(), "{quiet}");
    let quiet = succeed("nnet3-train", &["--use-gpu=no", &network, &egs, &to]);
    assert!(debug_times(&quiet).is_empty(), "{quiet}");
}

#[test]
fn nothing_is_written_over_after_an_error() {
    let folder = Folder::new("train-errors");
    let (network, egs) = prepare(&folder);
    let precious = folder.write("precious.raw", "precious");
    let egs_file = egs.trim_start_matches("ark:").to_owned();
    let bytes = std::fs::read(&egs_file).unwrap();
    let cut = format!("ark:{}", folder.path("cut.ark"));
    std::fs::write(folder.path("cut.ark"), &bytes[..bytes.len() - 100]).unwrap();
    let empty = format!("ark:{}", folder.write("empty.ark", ""));
    let text = folder.path("text.ark");
    succeed("nnet3-copy-egs", &[&egs, &format!("ark,t:{text}")]);
    let other = |name: &str, from: &str, to: &str| {
        format!("ark:{}", folder.write(name, folder.read("text.ark").replace(from, to)))
    };
    let renamed = other("renamed.ark", "<NnetIo> output ", "<NnetIo> output-0 ");
    let wider = other("wider.ark", "dim=3", "dim=4");
    let failing = format!("ark:cat {egs_file}; exit 3 |");
    let cases: &[(&str, i32, &[&str])] = &[
        (&cut, 255, &["cut.ark, key 'merged-", "end of the file"]),
        (&empty, 1, &["empty.ark: expected at least one example, found none"]),
        (&renamed, 255, &["renamed.ark, key 'merged-0-10'", "'output-0'", "outputs 'output'"]),
        (&wider, 255, &["wider.ark, key 'merged-0-10'", "dimension 3", "dimension 4"]),
        (&failing, 255, &["exit 3"]),
        ("ark:/no/such/file", 255, &["/no/such/file"]),
    ];
    for (egs, status, parts) in cases {
        let output = run("nnet3-train", &["--use-gpu=no", &network, egs, &precious]);
        assert_eq!(output.status, *status, "{egs}: {}", output.stderr);
        for part in *parts {
            assert!(output.stderr.contains(part), "{egs}: no '{part}' in {}", output.stderr);
        }
    }
    let output = run("nnet3-train", &["--use-gpu=no", &egs_file, &egs, &precious]);
    assert_eq!(output.status, 255);
    assert_eq!(folder.read("precious.raw"), "precious");
    let unwritable = run("nnet3-train", &["--use-gpu=no", &network, &egs, "/no/such/folder/1.raw"]);
    assert_eq!(unwritable.status, 255);
    assert!(unwritable.stderr.contains("/no/such/folder/1.raw"), "{}", unwritable.stderr);
}

#[test]
fn averages_progress_and_combination() {
    let folder = Folder::new("combine");
    let (network, egs) = prepare(&folder);
    let models: Vec<String> = [1, 2].map(|seed| folder.path(&format!("{seed}.raw"))).to_vec();
    for (seed, model) in models.iter().enumerate() {
        let srand = format!("--srand={seed}");
        let momentum = format!("--momentum=0.{seed}");
        succeed("nnet3-train", &["--use-gpu=no", &srand, &momentum, &network, &egs, model]);
    }
    let average = folder.path("average.raw");
    let log = succeed("nnet3-average", &["--weights=1:3", &models[0], &models[1], &average]);
    assert!(log.contains("WARNING") && log.contains("sum was 4"), "{log}");
    assert!(log.contains(&format!("Averaged parameters of 2 neural nets, and wrote to {average}")));
    // A network is 4/3 of the way from the other to their average.
    let log = succeed("nnet3-show-progress", &[&models[0], &models[1]]);
    let whole = number(&log, "Parameter differences per layer are [ a:");
    let log = succeed("nnet3-show-progress", &[&models[0], &average]);
    let part = number(&log, "Parameter differences per layer are [ a:");
    assert!((part - 0.75 * whole).abs() < 1e-3 * whole, "{part} {whole}");
    assert!(log.contains("Relative parameter differences per layer are [ a:"), "{log}");
    let log = succeed("nnet3-show-progress", &["--num-segments=2", &models[0], &models[1], &egs]);
    assert!(log.contains("At position 0.25, objf per frame is -"), "{log}");
    assert!(log.contains("Total objf change per component is [ a:"), "{log}");

    let combined = folder.path("combined.raw");
    let arguments = ["--use-gpu=no", &models[1], &models[0], &network, &egs, &combined];
    let log = succeed("nnet3-combine", &arguments);
    assert!(log.contains("Read 10 examples."), "{log}");
    assert!(log.contains("nnets, objective function changed from -"), "{log}");
    assert!(log.contains(&format!("Finished combining neural nets, wrote model to {combined}")));
    let objective = |network: &str| {
        let log = succeed("nnet3-compute-prob", &["--batchnorm-test-mode=false", network, &egs]);
        number(&log, "Overall log-likelihood for 'output' is ")
    };
    assert!(objective(&combined) >= objective(&models[1]) - 1e-5);
    for (program, arguments) in [
        ("nnet3-average", &[average.as_str()][..]),
        ("nnet3-combine", &[average.as_str(), &egs]),
        ("nnet3-show-progress", &[average.as_str()]),
    ] {
        assert_eq!(run(program, arguments).status, 1, "{program}");
    }
}
