//! The epochs that `nnet3-fit` records in `events.jsonl`.

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;

use super::chart::{Series, Unit, heat_map, lines, readable};

/// round(log₂ |w|) of the first bin of histograms, which has all elements w below it and zeros as well.
pub const LOWEST: i64 = -48;
/// Bins with a smaller share of the parameters everywhere are not drawn.
const LEAST_SHARE: f64 = 1e-3;

/// An epoch of a training.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Epoch {
    pub number: u64,
    pub loss: Option<f64>,
    pub valid_loss: Option<f64>,
    /// Metrics of validation. If there are several outputs, the output comes before the name.
    pub metrics: Vec<(String, f64)>,
    /// The learning rate of each optimiser.
    pub rates: Vec<(String, f64)>,
    pub gradient_norm: Option<f64>,
    /// Share of steps with a clipped gradient.
    pub clipped: Option<f64>,
    pub seconds: Option<f64>,
    pub is_best: bool,
    /// Counts of parameters by size.
    histogram: Vec<u64>,
}

/// The epochs in a training's folder; none if another program made it. Lines that cannot be read are left out.
pub fn read(folder: &Path) -> Vec<Epoch> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut epochs: Vec<Epoch> =
        events.filter(|event| event["event"] == "epoch").filter_map(|event| epoch(&event)).collect();
    let best = epochs.iter().rposition(|epoch| epoch.is_best);
    for (k, epoch) in epochs.iter_mut().enumerate() {
        epoch.is_best = Some(k) == best;
    }
    epochs
}

fn numbers(map: &Value) -> Vec<(String, f64)> {
    let entries = map.as_object().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

fn epoch(event: &Value) -> Option<Epoch> {
    let outputs: Vec<(&String, &Value)> =
        event["valid"]["outputs"].as_object().into_iter().flatten().collect();
    let several = outputs.len() > 1;
    let metrics = outputs.iter().flat_map(|(output, value)| {
        let named = move |(name, value)| (if several { format!("{output} {name}") } else { name }, value);
        numbers(&value["metrics"]).into_iter().map(named)
    });
    let mut histogram = Vec::new();
    for bins in event["histograms"].as_object().into_iter().flatten().filter_map(|(_, bins)| bins.as_array())
    {
        histogram.resize(bins.len().max(histogram.len()), 0);
        histogram.iter_mut().zip(bins).for_each(|(sum, bin)| *sum += bin.as_u64().unwrap_or(0));
    }
    Some(Epoch {
        number: event["epoch"].as_u64()?,
        loss: event["loss"].as_f64(),
        valid_loss: event["valid"]["loss"].as_f64(),
        metrics: metrics.collect(),
        rates: numbers(&event["rates"]),
        gradient_norm: event["gradient-norm"].as_f64(),
        clipped: event["clipped"].as_f64(),
        seconds: event["seconds"].as_f64(),
        is_best: event["without-improvement"] == 0 && event["valid"].is_object(),
        histogram,
    })
}

/// Charts and a table; empty without epochs.
pub fn section(epochs: &[Epoch]) -> Markup {
    let Some(newest) = epochs.last() else { return html! {} };
    let points = |of: &dyn Fn(&Epoch) -> Option<f64>| -> Vec<(f64, f64)> {
        epochs.iter().filter_map(|epoch| Some((epoch.number as f64, of(epoch)?))).collect()
    };
    let losses = [
        Series { name: "training", points: points(&|epoch| epoch.loss) },
        Series { name: "validation", points: points(&|epoch| epoch.valid_loss) },
    ];
    let norms = [Series { name: "gradient", points: points(&|epoch| epoch.gradient_norm) }];
    let find = |values: &[(String, f64)], name: &str| values.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
    let cell = |value: Option<f64>, unit: Unit| html! { td { @if let Some(value) = value { (readable(value, unit)) } } };
    html! {
        h2 { "Epochs" }
        div class="charts" {
            (lines("Loss by epochs", "", &losses, Unit::Plain, true))
            (lines("Norm of the gradient, mean of an epoch", "", &norms, Unit::Plain, false))
            (heat_map("Sizes of parameters", "shares by round(log2 |w|), after each epoch", &sizes(epochs), true))
        }
        div class="scroll" {
            table {
                tr {
                    th { "epoch" }
                    th { "training loss" }
                    th { "validation loss" }
                    @for (name, _) in &newest.metrics { th { (name) } }
                    @for (name, _) in &newest.rates { th { "rate of " (name) } }
                    @for name in ["gradient", "clipped", "time"] { th { (name) } }
                }
                @for epoch in epochs {
                    tr {
                        td { (epoch.number) @if epoch.is_best { " (best)" } }
                        (cell(epoch.loss, Unit::Plain))
                        (cell(epoch.valid_loss, Unit::Plain))
                        @for (name, _) in &newest.metrics { (cell(find(&epoch.metrics, name), Unit::Plain)) }
                        @for (name, _) in &newest.rates { (cell(find(&epoch.rates, name), Unit::Plain)) }
                        (cell(epoch.gradient_norm, Unit::Plain))
                        (cell(epoch.clipped, Unit::Percent))
                        (cell(epoch.seconds, Unit::Seconds))
                    }
                }
            }
        }
    }
}

/// Shares of the parameters in each bin, the largest first.
fn sizes(epochs: &[Epoch]) -> Vec<(f64, Vec<(String, f64)>)> {
    let share = |epoch: &Epoch, bin: usize| {
        let all: u64 = epoch.histogram.iter().sum();
        epoch.histogram.get(bin).map_or(0.0, |&count| count as f64 / all.max(1) as f64)
    };
    let drawn: BTreeMap<i64, usize> =
        (0..epochs.iter().map(|epoch| epoch.histogram.len()).max().unwrap_or(0))
            .filter(|&bin| epochs.iter().any(|epoch| share(epoch, bin) >= LEAST_SHARE))
            .map(|bin| (-(bin as i64), bin))
            .collect();
    let row = |epoch: &Epoch| {
        let cells = drawn.values().map(|&bin| (format!("{}", bin as i64 + LOWEST), share(epoch, bin)));
        (epoch.number as f64, cells.collect())
    };
    epochs.iter().filter(|epoch| !epoch.histogram.is_empty()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_of_a_training() {
        let event = |epoch: u64, loss: f64, waiting: u64| {
            serde_json::json!({
                "event": "epoch", "epoch": epoch, "loss": 2.0 * loss, "rates": {"main": 0.5, "<ng>": 1e-3},
                "valid": {"loss": loss, "outputs": {"output": {"loss": loss, "metrics": {"accuracy": 0.75}}}},
                "without-improvement": waiting, "gradient-norm": null, "clipped": 0.25, "seconds": 3.0,
                "histograms": {"a.linear": [0, 3, 1], "a.bias": [0, 1, 0]},
            })
        };
        let folder = std::env::temp_dir().join(format!("nnet3-report-epochs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let lines = [event(1, 0.5, 0), event(2, 0.25, 0), event(3, 0.75, 1)].map(|event| event.to_string());
        std::fs::write(folder.join("events.jsonl"), lines.join("\n") + "\n{\"event\":").unwrap();
        let epochs = read(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(epochs.len(), 3);
        assert_eq!(
            (epochs[1].valid_loss, epochs[1].loss, epochs[1].gradient_norm),
            (Some(0.25), Some(0.5), None)
        );
        assert_eq!(epochs.iter().map(|epoch| epoch.is_best).collect::<Vec<_>>(), [false, true, false]);
        let bins = sizes(&epochs);
        assert_eq!(bins[0].1, [("-46".to_owned(), 0.2), ("-47".to_owned(), 0.8)]);
        let page = section(&epochs).into_string();
        assert!(
            page.contains("<th>rate of main")
                && page.contains("rate of &lt;ng&gt;")
                && !page.contains("<ng>")
        );
        assert!(page.contains("<tr><td>2 (best)</td><td>0.5</td><td>0.25</td><td>0.75</td><td>"), "{page}");
        assert_eq!(section(&[]).into_string(), "");
    }
}
