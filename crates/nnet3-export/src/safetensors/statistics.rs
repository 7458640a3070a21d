//! Statistics that have no effect while their count is 0.

use super::describe::Place;
use super::model_file::ModelFile;
use crate::error::{Error, Result};

/// Keys of statistics, and the key of the number of frames that they are of.
const COUNTED: [(&str, &str); 8] = [
    ("stats_mean", "count"),
    ("stats_var", "count"),
    ("value_avg", "count"),
    ("deriv_avg", "count"),
    ("self_repair_prob", "count"),
    ("oderiv_rms", "oderiv_count"),
    ("entropy_stats", "stats_count"),
    ("posterior_stats", "stats_count"),
];

/// Returns statistics other than zeros that have a count of 0, each with the name of its count.
pub(super) fn uncounted(model: &ModelFile) -> Vec<(&Place, String)> {
    let is_zero = |place: &Place| model.bytes[place.bytes.clone()].iter().all(|&byte| byte == 0);
    let count_of = |place: &Place| {
        let (component, key) = place.name.rsplit_once('.')?;
        let (_, count) = COUNTED.iter().find(|(statistics, _)| *statistics == key)?;
        let name = format!("{component}.{count}");
        let count = model.places.iter().find(|place| place.name == name && !place.is_tensor())?;
        is_zero(count).then_some(name)
    };
    let tensors = model.places.iter().filter(|place| place.is_tensor() && !is_zero(place));
    tensors.filter_map(|place| Some((place, count_of(place)?))).collect()
}

/// Fails for statistics that have been set and have no effect.
pub(super) fn check_counts(model: &ModelFile, is_set: impl Fn(&Place) -> bool) -> Result<()> {
    match uncounted(model).into_iter().find(|(place, _)| is_set(place)) {
        None => Ok(()),
        Some((place, count)) => Err(Error::tensors(format!(
            "'{}' is set, but '{count}' of the model is 0, as if there were no statistics; give a tensor '{count}' too \
             (one number: of how many frames the statistics are)",
            place.name
        ))),
    }
}
