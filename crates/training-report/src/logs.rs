//! Reads the logs of a training.
//!
//! Logs may grow during the reading, and their programs may fail. So missing entries and invalid numbers are left out.
//! Only an unreadable folder is an error.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::epochs::Epoch;

/// Bytes of the beginning and the end of a log. The middle of a longer log is not read, because the important lines are at
/// the ends.
const HEAD: u64 = 16 << 10;
const TAIL: u64 = 64 << 10;

/// A folder of logs that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", folder.display())]
pub struct ReadError {
    folder: PathBuf,
    source: std::io::Error,
}

/// The data of a training.
#[derive(Debug, Default)]
pub struct Training {
    /// Iterations by number.
    pub iterations: BTreeMap<usize, Iteration>,
    /// Results of the final model: after combination.
    pub last: Iteration,
    /// The epochs that `nnet3-fit` reports.
    pub epochs: Vec<Epoch>,
    /// Number of planned iterations, if `schedule.txt` gives it.
    pub planned: Option<usize>,
}

/// The data of an iteration and of its initial model.
#[derive(Debug, Default)]
pub struct Iteration {
    pub train: Option<Figures>,
    pub valid: Option<Figures>,
    /// Jobs in the order of their numbers.
    pub jobs: BTreeMap<usize, Job>,
    /// Per component: ‖change from the model before‖ / ‖parameters‖.
    pub changes: Vec<(String, f64)>,
    /// For each nonlinearity, 0 if its derivative is the largest possible on all frames, 1 if its derivative is 0.
    pub saturation: Vec<(String, f64)>,
}

/// Figures of nnet3-compute-prob or nnet3-chain-compute-prob for a model.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Mean log-likelihood, or other objective, of a frame.
    pub objective: f64,
    /// Part of the frames that are recognised.
    pub accuracy: Option<f64>,
    /// The mean log-likelihood of a frame for a chain model's output for regularisation.
    pub cross_entropy: Option<f64>,
}

/// Figures of one nnet3-train's log.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Job {
    pub learning_rate: Option<f64>,
    pub objective: Option<f64>,
    pub frames: Option<f64>,
    /// The time from start to end of the job, in seconds.
    pub elapsed: Option<f64>,
    pub times: Option<Times>,
}

/// The times that the parts of an nnet3-train took, in seconds.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Times {
    pub compiling: f64,
    pub waiting: f64,
    pub computing: f64,
}

impl Iteration {
    /// The learning rate of its jobs.
    pub fn learning_rate(&self) -> Option<f64> {
        self.jobs.values().find_map(|job| job.learning_rate)
    }

    /// Seconds that its slowest job took.
    pub fn elapsed(&self) -> Option<f64> {
        self.jobs.values().filter_map(|job| job.elapsed).reduce(f64::max)
    }

    /// Sums over the jobs.
    pub fn times(&self) -> Option<Times> {
        self.jobs.values().filter_map(|job| job.times).reduce(|a, b| Times {
            compiling: a.compiling + b.compiling,
            waiting: a.waiting + b.waiting,
            computing: a.computing + b.computing,
        })
    }
}

impl Training {
    /// Reads `folder/log` and `folder/schedule.txt`.
    pub fn read(folder: &Path) -> Result<Training, ReadError> {
        let logs = folder.join("log");
        let failed = |source| ReadError { folder: logs.clone(), source };
        let mut training = Training::default();
        for entry in std::fs::read_dir(&logs).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            training.read_log(&name, &path);
        }
        training.epochs = super::epochs::read(folder);
        let schedule = std::fs::read_to_string(folder.join("schedule.txt")).ok();
        training.planned = schedule.map(|text| text.lines().count());
        Ok(training)
    }

    fn read_log(&mut self, name: &str, path: &Path) {
        let parts: Vec<&str> = name.split('.').collect();
        match parts[..] {
            ["compute_prob_train", model, "log"] => self.of(model, |it| it.train = figures(&ends_of(path))),
            ["compute_prob_valid", model, "log"] => self.of(model, |it| it.valid = figures(&ends_of(path))),
            ["progress", model, "log"] => self.of(model, |it| {
                let log = whole(path);
                it.changes = changes(&log);
                it.saturation = saturations(&log);
            }),
            ["train", model, number, "log"] => {
                if let Ok(number) = number.parse() {
                    self.of(model, |it| {
                        it.jobs.insert(number, job(&ends_of(path)));
                    });
                }
            }
            _ => {}
        }
    }

    fn of(&mut self, model: &str, change: impl FnOnce(&mut Iteration)) {
        match (model.parse(), model) {
            (Ok(number), _) => change(self.iterations.entry(number).or_default()),
            (Err(_), "final" | "combined") => change(&mut self.last),
            _ => {}
        }
    }
}

fn whole(path: &Path) -> String {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Beginning and end of a file.
fn ends_of(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        if length <= HEAD + TAIL {
            file.read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        (&mut file).take(HEAD).read_to_end(&mut bytes)?;
        file.seek(SeekFrom::Start(length - TAIL))?;
        bytes.push(b'\n');
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The number at the beginning of a text.
fn number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(text.len());
    text[..end].trim_end_matches('.').parse().ok().filter(|x: &f64| x.is_finite())
}

/// The number after the last occurrence of a text.
fn last_number(log: &str, before: &str) -> Option<f64> {
    log.rsplit_once(before).and_then(|(_, rest)| number(rest))
}

fn figures(log: &str) -> Option<Figures> {
    let objective = last_number(log, " Overall log-likelihood for 'output' is ")
        .or_else(|| last_number(log, " Overall objective for 'output' is "))
        .or_else(|| last_number(log, " Overall log-probability for 'output' is "))?;
    Some(Figures {
        objective,
        accuracy: last_number(log, " Overall accuracy for 'output' is "),
        cross_entropy: last_number(log, " Overall log-probability for 'output-xent' is "),
    })
}

fn job(log: &str) -> Job {
    let total =
        log.lines().rfind(|line| line.contains("Overall average objective function for 'output' is "));
    let took = log.lines().rfind(|line| line.contains(" seconds in all: "));
    let part = |name: &str| took.and_then(|line| line.split_once(name)).and_then(|(_, rest)| number(rest));
    Job {
        learning_rate: last_number(log, "--learning-rate="),
        // With an auxiliary term the line has `A + B = SUM over`.
        objective: total
            .and_then(|line| line.split_once(" over ")?.0.rsplit(' ').next()?.parse().ok())
            .filter(|x: &f64| x.is_finite()),
        frames: total.and_then(|line| number(line.split_once(" over ")?.1)),
        elapsed: took
            .and_then(|line| number(line.split_once(") ")?.1))
            .or_else(|| last_number(log, "# Accounting: time=")),
        times: part("compiling ")
            .zip(part("waiting for examples "))
            .zip(part("computing "))
            .map(|((compiling, waiting), computing)| Times { compiling, waiting, computing }),
    }
}

/// `Relative parameter differences per layer are [ a:0.1 b:0.2 ]`
fn changes(log: &str) -> Vec<(String, f64)> {
    let list = log.rsplit_once("Relative parameter differences per layer are [").map(|(_, rest)| rest);
    let list = list.and_then(|rest| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split_whitespace()
        .filter_map(|item| item.rsplit_once(':'))
        .filter_map(|(name, value)| Some((name.to_owned(), number(value)?)))
        .collect()
}

/// The saturations of all nonlinearities for which `nnet3-info` prints the mean of the derivatives.
fn saturations(log: &str) -> Vec<(String, f64)> {
    let mut out = Vec::new();
    for line in log.lines() {
        let Some((name, rest)) =
            line.strip_prefix("component name=").and_then(|rest| rest.split_once(" type="))
        else {
            continue;
        };
        let kind = rest.split(',').next().unwrap_or_default();
        let mean = |text: &str| {
            let (_, statistics) = text.split_once("deriv-avg=[")?;
            number(statistics.split_once("mean=")?.1)
        };
        // Beside the largest derivative that the function has.
        let mut add = |name: String, text: &str, largest: f64| {
            out.extend(mean(text).map(|mean| (name, (1.0 - mean / largest).clamp(0.0, 1.0))));
        };
        match kind {
            "SigmoidComponent" => add(name.to_owned(), rest, 0.25),
            "LstmNonlinearityComponent" => {
                for gate in ["i_t_sigmoid", "f_t_sigmoid", "o_t_sigmoid", "c_t_tanh", "m_t_tanh"] {
                    if let Some((_, text)) = rest.split_once(&format!("{gate}={{")) {
                        let largest = if gate.ends_with("sigmoid") { 0.25 } else { 1.0 };
                        add(format!("{name} {}", &gate[..3]), text, largest);
                    }
                }
            }
            "TanhComponent" | "RectifiedLinearComponent" => add(name.to_owned(), rest, 1.0),
            kind if kind.ends_with("GruNonlinearityComponent") => add(name.to_owned(), rest, 1.0),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_model() {
        let log = "LOG (nnet3-compute-prob[5.5]:PrintTotalStats():nnet-diagnostics.cc:162) Overall log-likelihood for \
                   'output' is -0.1875 per frame, over 10000 frames.\nLOG (x) Overall accuracy for 'output' is 0.9375 \
                   per frame, over 10000 frames.\n";
        assert_eq!(
            figures(log),
            Some(Figures { objective: -0.1875, accuracy: Some(0.9375), cross_entropy: None })
        );
        let dense = "LOG (x) Overall objective for 'output' is -2e-05 per frame, over 9 frames.\n";
        assert_eq!(figures(dense), Some(Figures { objective: -2e-5, ..Figures::default() }));
        assert_eq!(figures("LOG (x) Overall log-likelihood for 'output' is -nan per frame"), None);
        assert_eq!(
            figures("LOG (x) Overall log-likelihood for 'output' is -0.1 per"),
            Some(Figures { objective: -0.1, ..Figures::default() })
        );
        let chain = "LOG (x) Overall log-probability for 'output' is -0.125 + -0.0625 = -0.1875 per frame, over 20 frames.\n\
                     LOG (x) Overall log-probability for 'output-xent' is -0.5 per frame, over 20 frames.\n";
        assert_eq!(
            figures(chain),
            Some(Figures { objective: -0.125, accuracy: None, cross_entropy: Some(-0.5) })
        );
    }

    #[test]
    fn figures_of_a_job() {
        let log = "nnet3-train --srand=5 'nnet3-copy --learning-rate=0.00025 --scale=1 5.raw - |' x 6.1.raw \n\
                   LOG (nnet3-train[5.5]:PrintTotalStats():nnet-training.cc:317) Overall average objective function for \
                   'output' is -1.5 + -0.25 = -1.75 over 2560 frames.\n\
                   LOG (nnet3-train[5.5]:main():nnet3-train.cc:110) 12.5 seconds in all: compiling 0.5, waiting for \
                   examples 2, computing 10.\n# Accounting: time=13 threads=1\n";
        let expected = Job {
            learning_rate: Some(0.00025),
            objective: Some(-1.75),
            frames: Some(2560.0),
            elapsed: Some(12.5),
            times: Some(Times { compiling: 0.5, waiting: 2.0, computing: 10.0 }),
        };
        assert_eq!(job(log), expected);
        assert_eq!(job("garbage seconds in all: "), Job::default());
        // If the program's log lacks the time, the runner's line has it.
        assert_eq!(job("LOG (x) y\n# Accounting: time=13 threads=1\n").elapsed, Some(13.0));
    }

    #[test]
    fn progress() {
        let log = "component name=a type=SigmoidComponent, dim=4, deriv-avg=[0.1 0.2, mean=0.2, stddev=0.1], x\n\
                   component name=l type=LstmNonlinearityComponent, i_t_sigmoid={ x, deriv-avg=[1, mean=0.125, s] }, \
                   m_t_tanh={ x, deriv-avg=[1, mean=0.75, s] }\n\
                   component name=b type=AffineComponent, deriv-avg=[1, mean=0.5]\n\
                   LOG (x) Parameter differences per layer are [ a:7 ]\n\
                   LOG (x) Relative parameter differences per layer are [ a:0.5 b.c:1e-3 d:nan ]\n";
        assert_eq!(changes(log), [("a".to_owned(), 0.5), ("b.c".to_owned(), 1e-3)]);
        let found = saturations(log);
        let expected = [("a", 0.2), ("l i_t", 0.5), ("l m_t", 0.25)];
        assert_eq!(found.len(), expected.len());
        for ((name, value), (expected_name, expected)) in found.iter().zip(expected) {
            assert!(name == expected_name && (value - expected).abs() < 1e-12, "{name} {value}");
        }
    }
}
