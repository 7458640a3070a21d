//! Writes TextGrids.

use std::fmt::Write;

use super::{Interval, Items, TextGrid, Tier};

/// The two text forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// With names before the values.
    #[default]
    Long,
    /// Values alone, one a line.
    Short,
}

/// Distances below this are rounding, in seconds.
const SAME: f64 = 1e-6;

/// Makes the intervals of a tier that touch each other from 0 to `end`: what lies between the given ones is empty. They
/// are put in order, cut at the ends and where they overlap; an interval that has no length left goes away.
pub fn touching(intervals: impl IntoIterator<Item = Interval>, end: f64) -> Vec<Interval> {
    let mut given: Vec<Interval> = intervals.into_iter().collect();
    given.sort_by(|a, b| a.begin.total_cmp(&b.begin).then(a.end.total_cmp(&b.end)));
    let empty = |begin: f64, end: f64| Interval { begin, end, text: String::new() };
    let mut out: Vec<Interval> = Vec::with_capacity(2 * given.len() + 1);
    let mut at = 0.0;
    for interval in given {
        let (mut begin, mut stop) = (interval.begin.max(at), interval.end.min(end));
        if begin - at < SAME {
            begin = at;
        }
        if end - stop < SAME {
            stop = end;
        }
        if stop - begin < SAME {
            continue;
        }
        if begin > at {
            out.push(empty(at, begin));
        }
        out.push(Interval { begin, end: stop, text: interval.text });
        at = stop;
    }
    if at < end {
        out.push(empty(at, end));
    }
    out
}

impl Tier {
    /// A tier of intervals from 0 to `end`, made by [`touching`].
    pub fn of_intervals(
        name: impl Into<String>,
        intervals: impl IntoIterator<Item = Interval>,
        end: f64,
    ) -> Tier {
        Tier { name: name.into(), begin: 0.0, end, items: Items::Intervals(touching(intervals, end)) }
    }
}

impl TextGrid {
    /// The file's text. Times have as many digits as it takes to read the same numbers again.
    pub fn to_text(&self, form: Form) -> String {
        let mut out = String::from("File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n");
        match form {
            Form::Long => self.long(&mut out),
            Form::Short => self.short(&mut out),
        }
        out
    }

    fn short(&self, out: &mut String) {
        let _ = write!(out, "{}\n{}\n<exists>\n{}\n", self.begin, self.end, self.tiers.len());
        for tier in &self.tiers {
            let (class, count) = head(&tier.items);
            let (begin, end) = (tier.begin, tier.end);
            let _ = write!(out, "\"{class}\"\n{}\n{begin}\n{end}\n{count}\n", quoted(&tier.name));
            match &tier.items {
                Items::Intervals(intervals) => intervals.iter().for_each(|interval| {
                    let _ = write!(out, "{}\n{}\n{}\n", interval.begin, interval.end, quoted(&interval.text));
                }),
                Items::Points(points) => points.iter().for_each(|point| {
                    let _ = write!(out, "{}\n{}\n", point.time, quoted(&point.mark));
                }),
            }
        }
    }

    fn long(&self, out: &mut String) {
        let _ = write!(out, "xmin = {} \nxmax = {} \n", self.begin, self.end);
        let _ = write!(out, "tiers? <exists> \nsize = {} \nitem []: \n", self.tiers.len());
        for (number, tier) in self.tiers.iter().enumerate() {
            let (class, count) = head(&tier.items);
            let name = quoted(&tier.name);
            let _ = write!(
                out,
                "    item [{}]:\n        class = \"{class}\" \n        name = {name} \n",
                number + 1
            );
            let _ = write!(out, "        xmin = {} \n        xmax = {} \n", tier.begin, tier.end);
            match &tier.items {
                Items::Intervals(intervals) => {
                    let _ = writeln!(out, "        intervals: size = {count} ");
                    for (number, interval) in intervals.iter().enumerate() {
                        let _ = writeln!(out, "        intervals [{}]:", number + 1);
                        let (begin, end) = (interval.begin, interval.end);
                        let _ = write!(out, "            xmin = {begin} \n            xmax = {end} \n");
                        let _ = writeln!(out, "            text = {} ", quoted(&interval.text));
                    }
                }
                Items::Points(points) => {
                    let _ = writeln!(out, "        points: size = {count} ");
                    for (number, point) in points.iter().enumerate() {
                        let _ = writeln!(out, "        points [{}]:", number + 1);
                        let _ = writeln!(out, "            number = {} ", point.time);
                        let _ = writeln!(out, "            mark = {} ", quoted(&point.mark));
                    }
                }
            }
        }
    }
}

fn head(items: &Items) -> (&'static str, usize) {
    match items {
        Items::Intervals(intervals) => ("IntervalTier", intervals.len()),
        Items::Points(points) => ("TextTier", points.len()),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::super::Point;
    use super::*;

    fn interval(begin: f64, end: f64, text: &str) -> Interval {
        Interval { begin, end, text: text.to_owned() }
    }

    #[test]
    fn gaps_become_empty_intervals_and_overlaps_are_cut() {
        let given = [
            interval(1.0, 1.5, "b"),
            interval(0.2, 0.4, "a"),
            interval(1.4, 9.0, "c"),
            interval(1.45, 1.46, "d"),
        ];
        let expected = [
            interval(0.0, 0.2, ""),
            interval(0.2, 0.4, "a"),
            interval(0.4, 1.0, ""),
            interval(1.0, 1.5, "b"),
            interval(1.5, 2.0, "c"),
        ];
        assert_eq!(touching(given, 2.0), expected);
        assert_eq!(touching([], 2.0), [interval(0.0, 2.0, "")]);
        assert_eq!(touching([], 0.0), []);
        // Rounding leaves no slivers.
        let given = [interval(1e-9, 0.3, "a"), interval(0.3 + 1e-12, 2.0 - 1e-9, "b")];
        assert_eq!(touching(given, 2.0), [interval(0.0, 0.3, "a"), interval(0.3, 2.0, "b")]);
    }

    #[test]
    fn the_reader_reads_both_forms_unchanged() {
        let grid = TextGrid {
            begin: 0.0,
            end: 0.1 + 0.2,
            tiers: vec![
                Tier::of_intervals("Anna \"A\"", [interval(0.1, 0.25, "a \"b\" <c> ! 3\nd")], 0.1 + 0.2),
                Tier {
                    name: "ωndω".to_owned(),
                    begin: 0.0,
                    end: 0.30000000000000004,
                    items: Items::Points(vec![Point { time: 1e-7, mark: "é".to_owned() }]),
                },
            ],
        };
        for form in [Form::Long, Form::Short] {
            assert_eq!(TextGrid::parse(&grid.to_text(form)).unwrap(), grid, "{form:?}");
        }
    }
}
