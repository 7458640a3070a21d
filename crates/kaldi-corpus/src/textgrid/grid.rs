//! The order of values in a TextGrid, which all forms share.

use super::{Interval, Items, Malformed, Point, TextGrid, Tier};

pub(super) type Result<T> = std::result::Result<T, Malformed>;

/// The values of a file, one after another. `what` names the value in faults.
pub(super) trait Source {
    /// The fault of the place that was read last.
    fn fault<T>(&self, message: String) -> Result<T>;

    /// A finite number.
    fn number(&mut self, what: &str) -> Result<f64>;

    /// A text of the user.
    fn text(&mut self, what: &str) -> Result<String>;

    /// The name of a class of Praat's objects.
    fn class(&mut self, what: &str) -> Result<String>;

    /// A number of parts, which is not larger than 1e9.
    fn count(&mut self, what: &str) -> Result<usize>;

    /// True if tiers follow.
    fn has_tiers(&mut self) -> Result<bool>;

    /// A beginning and an end.
    fn span(&mut self, what: &str) -> Result<(f64, f64)> {
        let begin = self.number(&format!("the beginning of {what}"))?;
        let end = self.number(&format!("the end of {what}"))?;
        match begin <= end {
            true => Ok((begin, end)),
            false => self.fault(format!("{what} ends at {end}, before it begins at {begin}")),
        }
    }
}

/// The beginning of a text, for messages.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(30) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reads what follows the type of the file.
pub(super) fn grid(values: &mut impl Source) -> Result<TextGrid> {
    let class = values.class("the class of the object, \"TextGrid\"")?;
    if class != "TextGrid" {
        return values
            .fault(format!("expected an object of the class \"TextGrid\", found \"{}\"", short(&class)));
    }
    let (begin, end) = values.span("the TextGrid")?;
    let mut grid = TextGrid { begin, end, tiers: Vec::new() };
    if !values.has_tiers()? {
        return Ok(grid);
    }
    // (A count is trusted only as far as there are data.)
    for _ in 0..values.count("the number of tiers")? {
        grid.tiers.push(tier(values)?);
    }
    Ok(grid)
}

fn tier(values: &mut impl Source) -> Result<Tier> {
    let class = values.class("the class of a tier")?;
    let name = values.text("the name of a tier")?;
    let (begin, end) = values.span("the tier")?;
    let items = match class.as_str() {
        "IntervalTier" => {
            let mut intervals = Vec::new();
            for _ in 0..values.count("the number of intervals")? {
                let (begin, end) = values.span("the interval")?;
                intervals.push(Interval { begin, end, text: values.text("the text of an interval")? });
            }
            Items::Intervals(intervals)
        }
        "TextTier" => {
            let mut points = Vec::new();
            for _ in 0..values.count("the number of points")? {
                let time = values.number("the time of a point")?;
                points.push(Point { time, mark: values.text("the mark of a point")? });
            }
            Items::Points(points)
        }
        other => {
            let other = short(other);
            return values
                .fault(format!("expected a tier \"IntervalTier\" or \"TextTier\", found \"{other}\""));
        }
    };
    Ok(Tier { name, begin, end, items })
}
