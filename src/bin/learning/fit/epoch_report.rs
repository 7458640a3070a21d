//! Report of an epoch: a log line, an event, and files as the reference's scripts have them.

use anyhow::Result;
use kaldi_cli::log::num;
use nnet3_train::learn::fit::EpochReport;
use nnet3_train::progress::differences;
use serde_json::json;

use super::histogram;
use super::log_files::number;
use super::surroundings::Surroundings;
use nnet3::messages;

impl Surroundings {
    /// Log lines and files about an epoch.
    pub fn report(&mut self, report: &EpochReport<'_>) -> Result<()> {
        let EpochReport { state, sums, loss, rates, evaluation, times, before, trainer } = *report;
        let epoch = state.epochs;
        let mut line = format!("Epoch {epoch} of {}: loss {}", self.fit.num_epochs, num(loss));
        if let Some(evaluation) = evaluation {
            line += &format!(", valid loss {}", num(evaluation.loss));
            let several = evaluation.outputs.len() > 1;
            for (output, _, metrics) in &evaluation.outputs {
                let of = if several { format!(" of {output}") } else { String::new() };
                metrics.iter().for_each(|(metric, value)| line += &format!(", {metric}{of} {}", num(*value)));
            }
            if state.watch.without_improvement == 0 {
                line += " (best)";
            }
        }
        rates.iter().for_each(|(name, rate)| line += &format!(", rate of {name} {}", num(*rate)));
        let mean_norm = sums.norms / sums.gradients as f64;
        if sums.gradients > 0 {
            line += &format!(", gradient {}", num(mean_norm));
        }
        line += &format!(", {} seconds", kaldi_io::text::format_g(times.total.as_secs_f64(), 3));
        messages::log(&line);
        let (Some(logs), Some(before)) = (&self.logs, before) else { return Ok(()) };

        let totals = trainer.totals();
        let outputs: serde_json::Map<_, _> =
            totals.iter().map(|total| (total.output.clone(), number(-total.value.average()))).collect();
        let valid = evaluation.map(|evaluation| {
            let outputs = evaluation.outputs.iter().map(|(name, loss, metrics)| {
                let metrics: serde_json::Map<_, _> =
                    metrics.iter().map(|(metric, value)| (metric.to_string(), number(*value))).collect();
                (name.clone(), json!({"loss": number(*loss), "metrics": metrics}))
            });
            json!({"loss": number(evaluation.loss), "outputs": outputs.collect::<serde_json::Map<_, _>>()})
        });
        let rates_json: serde_json::Map<_, _> =
            rates.iter().map(|(name, rate)| (name.clone(), number(*rate))).collect();
        let nnet = trainer.nnet();
        let histograms = self.fit.callbacks.histograms.then(|| {
            let each =
                histogram::histograms(nnet).into_iter().map(|(name, bins)| (name, json!(bins.to_vec())));
            each.collect::<serde_json::Map<_, _>>()
        });
        let share = |count: u64| number(count as f64 / sums.gradients.max(1) as f64);
        logs.event(&json!({
            "event": "epoch",
            "epoch": epoch,
            "of": self.fit.num_epochs,
            "minibatches": sums.minibatches,
            "loss": number(loss),
            "outputs": outputs,
            "valid": valid,
            "best": number(state.watch.best),
            "without-improvement": state.watch.without_improvement,
            "rates": rates_json,
            "gradient-norm": number(mean_norm),
            "clipped": share(sums.clipped),
            "refused": sums.refused,
            "seconds": number(times.total.as_secs_f64()),
            "histograms": histograms,
        }))?;

        let mut train = sums.messages.clone();
        if let Some((_, rate)) = rates.first() {
            train.insert(0, format!("--learning-rate={}", num(*rate)));
        }
        train.extend(totals.iter().map(|total| total.to_string()));
        train.push(times.to_string());
        logs.log(&format!("train.{}.1.log", epoch - 1), &train)?;
        if let Some(evaluation) = evaluation {
            logs.log(&format!("compute_prob_valid.{epoch}.log"), &evaluation.lines)?;
        }
        let mut changes = vec![format!(
            "Relative parameter differences per layer are {}",
            differences(before, nnet)?.relative
        )];
        changes.extend(
            nnet.description(true)
                .lines()
                .filter(|line| line.starts_with("component name="))
                .map(str::to_owned),
        );
        logs.log(&format!("progress.{epoch}.log"), &changes)
    }
}
