//! Weighted averages of networks.

use crate::error::{Error, Result};
use kaldi_io::threads::{self, ScopedThread};
use nnet3_core::nnet::Nnet;

/// Largest deviation of a sum of weights from 1 without a warning.
const WEIGHT_SUM_TOLERANCE: f64 = 0.01;

/// Weights for `count` networks, and their sum before they were made to sum to one. `text` has them separated by
/// colons; if it is empty they are equal.
pub fn parse_weights(text: &str, count: usize) -> Result<(Vec<f32>, f64)> {
    if text.is_empty() {
        return Ok((vec![1.0 / count as f32; count], 1.0));
    }
    let parts: Vec<&str> = text.split(':').filter(|part| !part.is_empty()).collect();
    let weights: Option<Vec<f64>> = parts.iter().map(|part| part.trim().parse().ok()).collect();
    let weights = weights.filter(|weights| weights.len() == count).ok_or_else(|| {
        Error::options(format!("`weights`={text}: expected {count} numbers separated by colons"))
    })?;
    let sum: f64 = weights.iter().sum();
    if !sum.is_finite() || sum == 0.0 {
        return Err(Error::options(format!("`weights`={text}: the sum of the weights is {sum}")));
    }
    Ok((weights.iter().map(|weight| (weight / sum) as f32).collect(), sum))
}

/// True if the sum of weights deserves a warning.
pub fn is_unusual_sum(sum: f64) -> bool {
    (sum - 1.0).abs() > WEIGHT_SUM_TOLERANCE
}

/// Default number of threads that read `networks` networks.
pub fn default_threads(networks: usize) -> usize {
    match networks {
        0..=5 => 1,
        6..=10 => 2,
        _ => 3,
    }
}

/// Returns the weighted sum of networks of the same structure, including statistics. Calls `load` once for each name,
/// on up to `threads` threads. At most `threads` + 1 networks are in memory at a time.
pub fn average<L>(names: &[String], weights: &[f32], threads: usize, load: L) -> Result<Nnet>
where
    L: Fn(&str) -> Result<Nnet> + Sync,
{
    average_numbered(names, weights, threads, |i| load(&names[i]))
}

/// As [`average`]; `load` gets the numbers of the networks, and messages use the names.
pub(crate) fn average_numbered<L>(names: &[String], weights: &[f32], threads: usize, load: L) -> Result<Nnet>
where
    L: Fn(usize) -> Result<Nnet> + Sync,
{
    if names.is_empty() {
        return Err(Error::options("expected at least one network to average"));
    }
    // One network for each thread would not be faster.
    let threads = threads.clamp(1, (names.len() / 2).max(1));
    let load = &load;
    let sum_every = move |first: usize| -> Result<Nnet> {
        let mut sum = load(first)?;
        sum.scale(weights[first]);
        for i in (first + threads..names.len()).step_by(threads) {
            let next = load(i)?;
            same_structure(&sum, &names[first], &next, &names[i])?;
            sum.add(weights[i], &next);
        }
        Ok(sum)
    };
    let parts: Vec<Result<Nnet>> = std::thread::scope(|scope| {
        let start = |first| threads::start_in_or_return(scope, "networks", first, sum_every);
        let running: Vec<_> = (0..threads).map(start).collect();
        // (Those for which there is no thread are done here.)
        running.into_iter().map(|thread| thread.map_or_else(sum_every, ScopedThread::join)).collect()
    });
    let mut parts = parts.into_iter();
    let mut sum =
        parts.next().unwrap_or_else(|| Err(Error::options("expected at least one network to average")))?;
    for (i, part) in parts.enumerate() {
        let part = part?;
        same_structure(&sum, &names[0], &part, &names[i + 1])?;
        sum.add(1.0, &part);
    }
    Ok(sum)
}

fn same_structure(a: &Nnet, a_name: &str, b: &Nnet, b_name: &str) -> Result<()> {
    a.check_same_structure(b)
        .map_err(|e| Error::data(format!("{a_name} and {b_name} cannot be combined: {e}")))
}

/// Makes `mean`, the mean of `count - 1` networks, the mean of those and `next`.
pub(crate) fn add_to_mean(mean: &mut Nnet, next: &Nnet, count: usize) -> Result<()> {
    mean.check_same_structure(next)?;
    mean.scale((count as f32 - 1.0) / count as f32);
    mean.add(1.0 / count as f32, next);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{affine_network, parameters, with_parameters};

    #[test]
    fn weights() {
        assert_eq!(parse_weights("", 4).unwrap().0, [0.25; 4]);
        let (weights, sum) = parse_weights("1:2:5", 3).unwrap();
        assert_eq!((weights, sum), (vec![0.125, 0.25, 0.625], 8.0));
        assert!(is_unusual_sum(sum) && !is_unusual_sum(1.005));
        for bad in ["1:2", "1:2:x", "1:-1:0", "nan:1:1"] {
            assert!(parse_weights(bad, 3).is_err(), "{bad}");
        }
    }

    #[test]
    fn threads_do_not_change_the_average() {
        let names: Vec<String> = (0..7).map(|i| i.to_string()).collect();
        let load = |name: &str| {
            let mut nnet = affine_network(2, 3);
            let value: f32 = name.parse().unwrap_or(0.0);
            with_parameters(&mut nnet, |p| p.iter_mut().enumerate().for_each(|(i, p)| *p = value * i as f32));
            Ok(nnet)
        };
        let weights = [0.5, 0.125, 0.0, 0.25, 0.0625, 0.0, 0.0625];
        let factor: f32 = weights.iter().enumerate().map(|(i, weight)| i as f32 * weight).sum();
        for threads in [1, 2, 3, 100] {
            let average = average(&names, &weights, threads, load).unwrap();
            let expected: Vec<f32> = (0..9).map(|i| factor * i as f32).collect();
            assert_eq!(parameters(&average), expected, "{threads} threads");
        }
    }

    #[test]
    fn other_structures_are_refused() {
        let names = ["2".to_owned(), "3".to_owned()];
        let load = |name: &str| Ok(affine_network(2, name.parse().unwrap_or(1)));
        let error = average(&names, &[0.5, 0.5], 1, load).err().expect("an error").to_string();
        assert!(error.starts_with("2 and 3 cannot be combined"), "{error}");
    }

    #[test]
    fn running_means() {
        let network = |value: f32| {
            let mut nnet = affine_network(1, 1);
            with_parameters(&mut nnet, |p| p.fill(value));
            nnet
        };
        let mut mean = network(1.0);
        add_to_mean(&mut mean, &network(3.0), 2).unwrap();
        add_to_mean(&mut mean, &network(8.0), 3).unwrap();
        assert!(parameters(&mean).iter().all(|p| (p - 4.0).abs() < 1e-6));
    }
}
