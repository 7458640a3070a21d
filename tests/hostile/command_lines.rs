//! Random command lines over all programs: for each, the program ends without a panic, an abort or a signal.
//!
//! The long run is `dev/fuzz-command-lines.sh`.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, binary, run, succeed};
use crate::data::{examples, feature_text, network};

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n as u64) as usize
    }

    fn one_of<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }
}

struct Program {
    name: String,
    options: Vec<String>,
    /// As the usage names them.
    arguments: Vec<String>,
}

fn programs() -> Vec<Program> {
    let list = run("nnet3", &["--list=names"]).stdout;
    list.lines()
        .map(|name| {
            let help = run(name, &["--help"]).stdout;
            let synopsis = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default();
            let options = help.lines().filter_map(|line| line.strip_prefix("  --")?.split(' ').next());
            Program {
                name: name.to_owned(),
                options: options.map(|option| format!("--{option}")).collect(),
                arguments: synopsis.split('<').skip(1).map(str::to_owned).collect(),
            }
        })
        .collect()
}

/// Values that options get.
const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "10",
    "100",
    "1000000000",
    "2147483647",
    "-2147483648",
    "4294967296",
    "99999999999999999999",
    "0.5",
    "-0.5",
    "1e-30",
    "1e30",
    "nan",
    "inf",
    "-inf",
    "true",
    "false",
    "yes",
    "no",
    "",
    " ",
    ",",
    ":",
    "0:1",
    "1,2",
    "1:2:3",
    "a",
    "x=y",
    "ark:feats.txt",
    "ark:-",
    "feats.ark",
    "no-such-file",
    "é",
    "'",
    "\"",
    "[",
    "]",
    "|",
    "cat feats.txt |",
    "-",
    "--",
    "=",
    "random",
    "optional",
    "0.3@0.5",
    "1/2=3",
];

const TABLES: &[&str] = &[
    "ark:feats.txt",
    "ark:feats.ark",
    "scp:feats.scp",
    "ark:post.txt",
    "ark:ali.txt",
    "ark:egs.ark",
    "ark:cut.ark",
    "ark,p:cut.ark",
    "ark,s,cs:feats.ark",
    "ark,o:feats.ark",
    "ark,bg:egs.ark",
    "ark:empty",
    "ark:zeros",
    "ark:no-such-file",
    "ark:cat feats.txt |",
    "ark:false |",
    "ark:cat cut.ark | cat |",
    "ark,zz:feats.ark",
    "ark:",
    "scp:feats.ark",
    "scp:ranges.scp",
    "ark:vectors.txt",
    "ark:weights.txt",
    "ark:nan.txt",
    "ark:net1.raw",
];

const FILES: &[&str] = &[
    "net1.raw",
    "net1.config",
    "net3.raw",
    "cut.raw",
    "feats.ark:4",
    "feats.ark:99999",
    "feats.txt",
    "egs.ark",
    "empty",
    "zeros",
    "no-such-file",
    ".",
    "",
    "cat net1.raw |",
    "false |",
    "matrix.txt",
    "matrix.txt[0:1]",
    "vectors.txt",
    "ark:feats.ark",
];

const OUTPUTS: &[&str] = &[
    "ark:out.ark",
    "ark,t:-",
    "ark:/dev/full",
    "ark:| cat >/dev/null",
    "ark:| false",
    "ark,scp:out.ark,out.scp",
    "scp:out.scp",
    "ark:no/such/folder/x",
    "out",
    "-",
    "/dev/full",
    "| cat >/dev/null",
    "| false",
    "no/such/folder/x",
    ".",
    "",
    "ark:/dev/null",
    "/dev/null",
];

fn data(name: &str) -> Folder {
    let folder = Folder::new(name);
    examples(&folder, 4, &[]);
    let raw = network(&folder, 1);
    network(&folder, 3);
    let cut = |from: &str, to: &str| {
        let bytes = std::fs::read(folder.path(from)).unwrap();
        folder.write(to, &bytes[..bytes.len() * 2 / 3]);
    };
    cut("feats.ark", "cut.ark");
    cut("net1.raw", "cut.raw");
    assert!(raw.ends_with("net1.raw"));
    folder.write("empty", "");
    folder.write("zeros", [0; 5000]);
    folder.write("nan.txt", feature_text(2).replace("0.2", "nan"));
    folder.write("ali.txt", "u00 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1\nu01 1 1 1\n");
    folder.write("vectors.txt", "u00  [ 1 2 ]\nu01  [ 3 4 ]\n");
    folder.write("weights.txt", "u00 0.5\nu01 2\n");
    folder.write("matrix.txt", " [\n 1 2\n 3 4 ]\n");
    let table = [
        format!("ark:{}", folder.path("feats.ark")),
        format!("ark,scp:{0},{1}", folder.path("all.ark"), folder.path("feats.scp")),
    ];
    succeed("copy-feats", &[&table[0], &table[1]]);
    let ranges: String = folder.read("feats.scp").lines().map(|line| format!("{line}[0:3]\n")).collect();
    folder.write("ranges.scp", ranges);
    folder
}

fn random_line(random: &mut Random, program: &Program) -> Vec<String> {
    let mut words = Vec::new();
    for _ in 0..random.below(4) {
        let option = if random.below(20) == 0 || program.options.is_empty() {
            "--no-such-option"
        } else {
            random.one_of(&program.options)
        };
        if matches!(option, "--help" | "--generate") {
            continue;
        }
        words.push(match random.below(12) {
            0 => option.to_owned(),
            _ => format!("{option}={}", random.one_of(VALUES)),
        });
    }
    let count = program.arguments.len() as i64 + [0, 0, 0, 0, 0, 0, 0, 0, 1, -1][random.below(10)];
    for i in 0..count.max(0) as usize {
        let name = program.arguments.get(i).map_or("", String::as_str);
        let pool = match () {
            () if name.contains("wspecifier") || name.contains("out") => OUTPUTS,
            () if name.contains("rspecifier") => TABLES,
            () if name.is_empty() => *random.one_of(&[OUTPUTS, TABLES, FILES]),
            () => FILES,
        };
        words.push((*random.one_of(pool)).to_owned());
    }
    words
}

/// Describes a wrong end of a command line, if there is one.
fn problem(folder: &Folder, program: &str, words: &[String]) -> Option<String> {
    const LONGEST: Duration = Duration::from_secs(30);
    let own = binary(program);
    let path = format!("{}:{}", own.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let errors = std::fs::File::create(folder.path("stderr")).unwrap();
    let mut child = Command::new("bash")
        .args(["-c", "ulimit -v 6000000 -f 2000000; exec \"$@\"", "bash"])
        .arg(&own)
        .args(words)
        .env("PATH", path)
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .unwrap();
    let began = Instant::now();
    let mut pause = Duration::from_micros(300);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if began.elapsed() > LONGEST => {
                child.kill().unwrap();
                child.wait().unwrap();
                return Some(format!("still running after {} s", LONGEST.as_secs()));
            }
            None => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let mut log = Vec::new();
    std::fs::File::open(folder.path("stderr")).unwrap().take(100_000).read_to_end(&mut log).unwrap();
    let log = String::from_utf8_lossy(&log);
    let fine = matches!(status.code(), Some(0 | 1 | 255)) && !log.contains("panicked at");
    (!fine).then(|| format!("{status}: {}", log.chars().take(2000).collect::<String>()))
}

fn random_command_lines(name: &str, seed: u64, count: usize) {
    let folder = data(name);
    let programs = programs();
    assert!(programs.len() > 80);
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut problems = Vec::new();
    for number in 0..count {
        let program = &programs[random.below(programs.len())];
        let words = random_line(&mut random, program);
        if let Some(problem) = problem(&folder, &program.name, &words) {
            let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            eprintln!("{number}: {} {}\n    {problem}", program.name, line.join(" "));
            problems.push(number);
        }
    }
    eprintln!("seed {seed}: {count} command lines, {} problems", problems.len());
    assert!(problems.is_empty(), "{problems:?}");
}

/// As many as NNET3_COMMAND_LINES says, or a few, from the seed NNET3_SEED.
#[test]
fn random_command_lines_end_by_themselves() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    random_command_lines(
        "hostile-lines",
        number("NNET3_SEED", 1),
        number("NNET3_COMMAND_LINES", 150) as usize,
    );
}
