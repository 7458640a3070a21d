//! Puts the page together.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::{Series, Unit, bars, heat_map, lines, readable};
use super::epochs::section;
use super::logs::{Figures, Iteration, Training};
use super::style::STYLE;

/// The whole page, in one file that needs no other.
pub fn page(title: &str, training: &Training) -> String {
    let finished = training.last.valid.is_some() || training.last.train.is_some();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                @if !finished { meta http-equiv="refresh" content="20"; }
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                (summary(training, finished))
                (tiles(training))
                div class="charts" { (charts(training)) }
                (section(&training.epochs))
                h2 { "Iterations" }
                (table(training))
            }
        }
    };
    page.into_string() + "\n"
}

fn summary(training: &Training, finished: bool) -> Markup {
    let done = training.iterations.values().filter(|it| it.elapsed().is_some()).count();
    let planned = training.planned.unwrap_or(done).max(done);
    let state = if finished { "finished" } else { "in training" };
    let share = if finished { 100.0 } else { 100.0 * done as f64 / planned.max(1) as f64 };
    html! {
        p class="soft" { (state) ": " (done) " of " (planned) " iterations" }
        div class="track" { i style=(format!("width:{share:.1}%")) {} }
    }
}

/// The newest model with figures: its name and them.
fn newest(training: &Training) -> Option<(String, &Iteration)> {
    if training.last.valid.is_some() {
        return Some(("final model".to_owned(), &training.last));
    }
    let last = training.iterations.iter().rev().find(|(_, it)| it.valid.is_some());
    last.map(|(number, it)| (format!("model {number}"), it))
}

fn tiles(training: &Training) -> Markup {
    let mut tiles: Vec<(String, String)> = Vec::new();
    if let Some((name, it)) = newest(training) {
        for (part, figures) in [("validation", it.valid), ("training", it.train)] {
            let Some(figures) = figures else { continue };
            tiles.push((readable(figures.objective, Unit::Plain), format!("{part} objective, {name}")));
            if let Some(accuracy) = figures.accuracy {
                tiles.push((readable(accuracy, Unit::Percent), format!("{part} accuracy, {name}")));
            }
            if let Some(objective) = figures.cross_entropy {
                tiles.push((
                    readable(objective, Unit::Plain),
                    format!("{part} cross-entropy objective, {name}"),
                ));
            }
        }
    }
    let spent: f64 = training.iterations.values().filter_map(Iteration::elapsed).sum();
    let frames: f64 =
        training.iterations.values().flat_map(|it| it.jobs.values()).filter_map(|job| job.frames).sum();
    let busy: f64 = training
        .iterations
        .values()
        .flat_map(|it| it.jobs.values())
        .filter(|job| job.frames.is_some())
        .filter_map(|job| job.times.map(|t| t.compiling + t.waiting + t.computing).or(job.elapsed))
        .sum();
    tiles.push((readable(spent, Unit::Seconds), "in the slowest jobs of the iterations".to_owned()));
    if busy > 0.0 {
        tiles.push((format!("{:.0}", frames / busy), "frames with targets a second and job".to_owned()));
    }
    html! {
        div class="tiles" {
            @for (value, what) in tiles { div { b { (value) } span { (what) } } }
        }
    }
}

/// Values of a function of figures over iterations; the final model comes after the last of them.
fn figures(training: &Training, of: impl Fn(&Iteration) -> Option<f64>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        training.iterations.iter().filter_map(|(&i, it)| Some((i as f64, of(it)?))).collect();
    let after = training.planned.or_else(|| training.iterations.keys().last().map(|last| last + 1));
    points.extend(after.zip(of(&training.last)).map(|(i, value)| (i as f64, value)));
    points
}

fn charts(training: &Training) -> Markup {
    let both = |of: &dyn Fn(Figures) -> Option<f64>| {
        [
            Series { name: "training", points: figures(training, |it| it.train.and_then(of)) },
            Series { name: "validation", points: figures(training, |it| it.valid.and_then(of)) },
        ]
    };
    let rate = [Series { name: "learning rate", points: figures(training, Iteration::learning_rate) }];
    let rows = |of: &dyn Fn(&Iteration) -> Vec<(String, f64)>| -> Vec<(f64, Vec<(String, f64)>)> {
        let all = training.iterations.iter().map(|(&i, it)| (i as f64, of(it)));
        all.filter(|(_, row)| !row.is_empty()).collect()
    };
    let times: Vec<(f64, [f64; 3])> = training
        .iterations
        .iter()
        .filter_map(|(&i, it)| it.times().map(|t| (i as f64, [t.computing, t.waiting, t.compiling])))
        .collect();
    let charts = [
        lines(
            "Objective",
            "per frame; the last point is the final model",
            &both(&|f| Some(f.objective)),
            Unit::Plain,
            true,
        ),
        lines(
            "Cross-entropy objective",
            "of output-xent, per frame",
            &both(&|f| f.cross_entropy),
            Unit::Plain,
            true,
        ),
        lines("Accuracy", "share of frames recognised", &both(&|f| f.accuracy), Unit::Percent, true),
        lines("Learning rate", "as the jobs use it", &rate, Unit::Plain, false),
        bars(
            "Time",
            "seconds of all jobs of an iteration",
            ["computing", "waiting for examples", "compiling"],
            &times,
            Unit::Seconds,
        ),
        heat_map(
            "Change of parameters",
            "‖change in an iteration‖ / ‖parameters‖; shades are logarithmic, numbers the latest",
            &rows(&|it| it.changes.clone()),
            true,
        ),
        heat_map(
            "Saturation",
            "1 − mean derivative / largest derivative: 0 linear, 1 stuck. A rectifier's is the share of frames where it is off",
            &rows(&|it| it.saturation.clone()),
            false,
        ),
    ];
    html! { @for chart in charts { (chart) } }
}

fn table(training: &Training) -> Markup {
    let all = || training.iterations.values().chain([&training.last]);
    let of_chain = all().any(|it| [it.train, it.valid].iter().flatten().any(|f| f.cross_entropy.is_some()));
    let second = if of_chain { "cross-entropy" } else { "accuracy" };
    let training_second = format!("training {second}");
    let validation_second = format!("validation {second}");
    let names = [
        "iteration",
        "jobs",
        "learning rate",
        "training",
        "validation",
        &training_second,
        &validation_second,
        "objective in jobs",
        "time",
    ];
    let rows = training.iterations.iter().map(|(i, it)| (i.to_string(), it));
    let has_last = training.last.valid.is_some() || training.last.train.is_some();
    let rows = rows.chain(has_last.then(|| ("final".to_owned(), &training.last)));
    html! {
        div class="scroll" {
            table {
                tr { @for name in names { th { (name) } } }
                @for (name, it) in rows {
                    tr {
                        td { (name) }
                        @for cell in cells(it) { td { (cell.as_deref().unwrap_or("–")) } }
                    }
                }
            }
        }
    }
}

/// Cells of an iteration's row, behind its name.
fn cells(it: &Iteration) -> [Option<String>; 8] {
    let objective = |f: Option<Figures>| f.map(|f| format!("{:.4}", f.objective));
    let second = |f: Option<Figures>| {
        let accuracy = |f: Figures| f.accuracy.map(|a| readable(a, Unit::Percent));
        f.and_then(|f| f.cross_entropy.map(|x| format!("{x:.4}")).or_else(|| accuracy(f)))
    };
    let jobs: Vec<f64> = it.jobs.values().filter_map(|job| job.objective).collect();
    [
        (!it.jobs.is_empty()).then(|| it.jobs.len().to_string()),
        it.learning_rate().map(|rate| readable(rate, Unit::Plain)),
        objective(it.train),
        objective(it.valid),
        second(it.train),
        second(it.valid),
        (!jobs.is_empty()).then(|| format!("{:.4}", jobs.iter().sum::<f64>() / jobs.len() as f64)),
        it.elapsed().map(|seconds| readable(seconds, Unit::Seconds)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::Job;

    fn training() -> Training {
        let mut training = Training { planned: Some(3), ..Default::default() };
        for i in 0..2 {
            let figures =
                Some(Figures { objective: -1.0 / (i + 1) as f64, accuracy: Some(0.5), cross_entropy: None });
            let it = Iteration {
                train: figures,
                valid: figures,
                jobs: [(1, Job { elapsed: Some(2.0), learning_rate: Some(0.1), ..Job::default() })].into(),
                changes: vec![("a<b".to_owned(), 0.1)],
                saturation: vec![],
            };
            training.iterations.insert(i, it);
        }
        training
    }

    #[test]
    fn a_page_of_an_unfinished_training() {
        let text = page("exp/<x>", &training());
        for part in [
            "<h1>exp/&lt;x&gt;</h1>",
            "in training: 2 of 3",
            "http-equiv=\"refresh\"",
            "a&lt;b",
            "<td>-0.5000</td><td>",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(!text.contains("Saturation") && !text.contains("a<b"));
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }

    #[test]
    fn a_finished_training_is_not_reloaded() {
        let mut training = training();
        training.last.valid = Some(Figures { objective: -0.25, ..Figures::default() });
        let text = page("x", &training);
        assert!(
            !text.contains("http-equiv=\"refresh\"")
                && text.contains("<td>final</td><td>–</td><td>–</td><td>–</td><td>-0.2500"),
            "{text}"
        );
    }

    #[test]
    fn a_chain_model_has_a_second_objective() {
        let mut training = training();
        let figures = Figures { objective: -0.25, accuracy: None, cross_entropy: Some(-0.75) };
        training.last = Iteration { train: Some(figures), valid: Some(figures), ..Iteration::default() };
        let text = page("x", &training);
        for part in [
            "<th>validation cross-entropy",
            "<td>-0.2500</td><td>-0.2500</td><td>-0.7500</td><td>-0.7500",
            "validation cross-entropy objective",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }

    #[test]
    fn a_page_of_nothing() {
        assert!(page("x", &Training::default()).contains("0 of 0 iterations"));
    }
}
