//! Charts as SVG that takes its colours from the page (classes `s0` … `s3`, `grid`, `axis`, `cell`).

use kaldi_io::text::format_g;
use maud::{Markup, html};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// Points with labels of their own under the pointer. More labels would make pages heavy.
const MOST_LABELLED: usize = 400;
/// Columns of a heat map; more iterations than that share columns.
const MOST_COLUMNS: usize = 160;

/// A line of a chart: iterations and values.
pub(crate) struct Series {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

/// Format of the numbers in a chart.
#[derive(Clone, Copy)]
pub enum Unit {
    Plain,
    Percent,
    Seconds,
}

/// A number as people read it.
pub fn readable(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{:.2} %", 100.0 * value),
        Unit::Seconds if value >= 7200.0 => format!("{:.1} h", value / 3600.0),
        Unit::Seconds if value >= 120.0 => format!("{:.1} min", value / 60.0),
        Unit::Seconds => format!("{} s", format_g(value, 3)),
        Unit::Plain => format_g(value, 4),
    }
}

/// About `count` round numbers from `low` to `high`.
fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count as f64;
    if !(rough > 0.0 && rough.is_finite()) {
        return vec![low];
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&s| s >= rough).unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

fn tick_label(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{} %", format_g(100.0 * value, 4)),
        _ => format_g(value, 4),
    }
}

/// The place of values in the picture.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    /// Returns a frame around all points, or `None` without points.
    fn around<'a>(points: impl Iterator<Item = &'a (f64, f64)> + Clone) -> Option<Frame> {
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        };
        let mut x = range(&mut points.clone().map(|p| p.0));
        let mut y = range(&mut points.map(|p| p.1));
        if x.0 > x.1 {
            return None;
        }
        if x.0 == x.1 {
            x = (x.0, x.0 + 1.0);
        }
        let margin = if y.0 == y.1 { y.0.abs().max(1e-6) * 0.1 } else { (y.1 - y.0) * 0.05 };
        y = (y.0 - margin, y.1 + margin);
        Some(Frame { x, y })
    }

    fn x(&self, x: f64) -> f64 {
        LEFT + (x - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - (y - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn axes(&self, unit: Unit) -> Markup {
        let bottom = HEIGHT - BOTTOM;
        let right = WIDTH - RIGHT;
        let iterations = ticks(self.x.0, self.x.1, 8).into_iter().filter(|tick| tick.fract() == 0.0);
        html! {
            @for tick in ticks(self.y.0, self.y.1, 5) {
                @let y = self.y(tick);
                line class="grid" x1=(LEFT) x2=(place(right)) y1=(place(y)) y2=(place(y)) {}
                text x=(place(LEFT - 6.0)) y=(place(y + 4.0)) text-anchor="end" { (tick_label(tick, unit)) }
            }
            @for tick in iterations {
                text x=(place(self.x(tick))) y=(place(bottom + 16.0)) text-anchor="middle" { (tick) }
            }
            line class="axis" x1=(LEFT) x2=(place(right)) y1=(bottom) y2=(bottom) {}
            text x=(place(right)) y=(place(HEIGHT - 4.0)) text-anchor="end" { "iteration" }
        }
    }
}

/// A coordinate with one decimal place, in pixels of the picture.
fn place(value: f64) -> String {
    format!("{value:.1}")
}

fn svg(title: &str, height: f64, body: Markup) -> Markup {
    let view = format!("0 0 {WIDTH} {height:.0}");
    html! { svg viewBox=(view) role="img" aria-label=(title) { (body) } }
}

fn legend(names: impl Iterator<Item = &'static str>) -> Markup {
    html! {
        p class="legend" {
            @for (i, name) in names.enumerate() { span { i class={ "b" (i) } {} (name) } }
        }
    }
}

fn figure(title: &str, note: &str, body: Markup) -> Markup {
    html! {
        figure {
            figcaption { (title) }
            @if !note.is_empty() { p class="note" { (note) } }
            (body)
        }
    }
}

/// Draws lines over iterations; empty if there are no points. With `skip_first` the first point of each series does not
/// set the scale, since the value of an untrained model may be far below the others.
pub fn lines(title: &str, note: &str, series: &[Series], unit: Unit, skip_first: bool) -> Markup {
    let skipped = |s: &Series| usize::from(skip_first && s.points.len() > 3);
    let framed: Vec<(f64, f64)> = series.iter().flat_map(|s| s.points[skipped(s)..].to_vec()).collect();
    let Some(mut frame) = Frame::around(framed.iter()) else { return html! {} };
    if let Some(first) = series.iter().filter_map(|s| s.points.first()).map(|p| p.0).reduce(f64::min) {
        frame.x.0 = first;
    }
    let line = |i: usize, s: &Series| {
        let shown: Vec<&(f64, f64)> =
            s.points.iter().filter(|p| p.1 >= frame.y.0 && p.1 <= frame.y.1).collect();
        let path: Vec<String> =
            shown.iter().map(|p| format!("{:.1},{:.1}", frame.x(p.0), frame.y(p.1))).collect();
        html! {
            polyline class={ "s" (i) } points=(path.join(" ")) {}
            @if shown.len() <= MOST_LABELLED {
                @for p in shown {
                    circle class={ "b" (i) } cx=(place(frame.x(p.0))) cy=(place(frame.y(p.1))) r="2.5" {
                        title { "iteration " (p.0) ", " (s.name) ": " (readable(p.1, unit)) }
                    }
                }
            }
        }
    };
    let drawn = html! {
        (frame.axes(unit))
        @for (i, s) in series.iter().enumerate() { (line(i, s)) }
    };
    let body = html! {
        @if series.len() > 1 { (legend(series.iter().map(|s| s.name))) }
        (svg(title, HEIGHT, drawn))
    };
    figure(title, note, body)
}

/// Bars over iterations, each of several parts on top of each other.
pub(crate) fn bars(
    title: &str,
    note: &str,
    parts: [&'static str; 3],
    bars: &[(f64, [f64; 3])],
    unit: Unit,
) -> Markup {
    let mut tops: Vec<(f64, f64)> = bars.iter().map(|(x, values)| (*x, values.iter().sum())).collect();
    let Some(width) = tops.first().zip(tops.last()).map(|(first, last)| last.0 - first.0 + 1.0) else {
        return html! {};
    };
    tops.extend([(tops[0].0 - 0.5, 0.0), (tops[0].0 - 0.5 + width, 0.0)]);
    let Some(mut frame) = Frame::around(tops.iter()) else { return html! {} };
    frame.y.0 = 0.0;
    let part = |x: f64, values: &[f64; 3], i: usize| {
        let (left, right) = (frame.x(x - 0.42), frame.x(x + 0.42));
        let low: f64 = values[..i].iter().sum();
        let (top, bottom) = (frame.y(low + values[i]), frame.y(low));
        html! {
            rect class={ "b" (i) } x=(place(left)) width=(place((right - left).max(0.5))) y=(place(top))
                height=(place(bottom - top)) {
                title { "iteration " (x) ", " (parts[i]) ": " (readable(values[i], unit)) }
            }
        }
    };
    let drawn = html! {
        (frame.axes(unit))
        @for (x, values) in bars { @for i in 0..parts.len() { (part(*x, values, i)) } }
    };
    figure(title, note, html! { (legend(parts.into_iter())) (svg(title, HEIGHT, drawn)) })
}

/// A table of shades: a row for each name, a column for each iteration; high values are dark. The scale is
/// logarithmic if `logarithmic`.
pub(crate) fn heat_map(
    title: &str,
    note: &str,
    cells: &[(f64, Vec<(String, f64)>)],
    logarithmic: bool,
) -> Markup {
    const ROW: f64 = 18.0;
    const NAMES: f64 = 150.0;
    const VALUES: f64 = 70.0;
    let Some((_, newest)) = cells.last() else { return html! {} };
    let scale = |v: f64| if logarithmic { v.max(1e-12).log10() } else { v };
    let positive = |v: &f64| !logarithmic || *v > 0.0;
    let all: Vec<(f64, f64)> = cells
        .iter()
        .flat_map(|(x, row)| row.iter().map(|(_, v)| *v).filter(positive).map(|v| (*x, scale(v))))
        .collect();
    let Some(frame) = Frame::around(all.iter()) else { return html! {} };
    let (low, high) = if logarithmic { frame.y } else { (0.0, 1.0) };
    let height = ROW * newest.len() as f64 + 22.0;
    let columns: Vec<&(f64, Vec<(String, f64)>)> =
        cells.iter().step_by(cells.len().div_ceil(MOST_COLUMNS)).collect();
    let width = (WIDTH - NAMES - VALUES) / columns.len() as f64;
    let cell = |y: f64, column: usize, name: &str| {
        let (x, row) = columns[column];
        let value = row.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        html! {
            @if let Some(value) = value {
                @let shade = ((scale(value) - low) / (high - low)).clamp(0.0, 1.0);
                rect class="cell" x=(place(NAMES + column as f64 * width)) y=(y)
                    width=(format!("{:.2}", width + 0.2)) height=(ROW - 2.0)
                    fill-opacity=(format!("{:.2}", 0.06 + 0.94 * shade)) {
                    title { "iteration " (x) ", " (name) ": " (format_g(value, 4)) }
                }
            }
        }
    };
    let row = |r: usize, name: &str, value: f64| {
        let y = r as f64 * ROW;
        html! {
            text x=(place(NAMES - 6.0)) y=(place(y + 13.0)) text-anchor="end" { (shortened(name, 22)) }
            text x=(place(WIDTH - VALUES + 6.0)) y=(place(y + 13.0)) { (format_g(value, 3)) }
            @for column in 0..columns.len() { (cell(y, column, name)) }
        }
    };
    let drawn = html! {
        @for (r, (name, value)) in newest.iter().enumerate() { (row(r, name, *value)) }
        text x=(NAMES) y=(place(height - 5.0)) { "iteration " (cells[0].0) }
        text x=(place(WIDTH - VALUES)) y=(place(height - 5.0)) text-anchor="end" { (cells[cells.len() - 1].0) }
    };
    figure(title, note, svg(title, height, drawn))
}

fn shortened(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(count - most + 1).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_ticks() {
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(-3.1, -0.2, 4), [-3.0, -2.0, -1.0]);
        assert_eq!(ticks(2.0, 2.0, 4), [2.0]);
        assert_eq!(ticks(0.0, f64::INFINITY, 4), [0.0]);
    }

    #[test]
    fn points_lie_where_they_should() {
        let frame = Frame::around([(0.0, 1.0), (10.0, 3.0)].iter()).unwrap();
        assert_eq!((frame.x(0.0), frame.x(10.0)), (LEFT, WIDTH - RIGHT));
        assert!(frame.y(3.0) > TOP && frame.y(1.0) < HEIGHT - BOTTOM && frame.y(3.0) < frame.y(1.0));
        assert!(Frame::around([].iter()).is_none());
    }

    #[test]
    fn names_are_escaped_and_shortened() {
        let cells = [(1.0, vec![("<script>alert(1)</script>&".to_owned(), 0.5)])];
        let map = heat_map("t", "", &cells, true).into_string();
        assert!(!map.contains("<script>") && map.contains("&lt;script&gt;"), "{map}");
        assert_eq!(shortened("abcdef", 4), "…def");
        assert_eq!(shortened("äöüß", 4), "äöüß");
    }

    #[test]
    fn nothing_for_nothing() {
        assert_eq!(
            lines("t", "", &[Series { name: "a", points: vec![] }], Unit::Plain, true).into_string(),
            ""
        );
        assert_eq!(bars("t", "", ["a", "b", "c"], &[], Unit::Seconds).into_string(), "");
        assert_eq!(heat_map("t", "", &[(0.0, vec![])], true).into_string(), "");
    }

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(readable(0.98765, Unit::Percent), "98.77 %");
        assert_eq!(readable(7300.0, Unit::Seconds), "2.0 h");
        assert_eq!(readable(150.0, Unit::Seconds), "2.5 min");
        assert_eq!(readable(3.4567, Unit::Seconds), "3.46 s");
    }
}
