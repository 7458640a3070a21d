//! Charts as SVG that takes its colours from the page (classes `s0` … `s3`, `grid`, `axis`, `cell`).

use std::fmt::Write;

use super::escape;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// Points that get a label of their own under the pointer; more would make pages heavy.
const MOST_LABELLED: usize = 400;
/// Columns of a heat map; more iterations than that share columns.
const MOST_COLUMNS: usize = 160;

/// A line of a chart: iterations and values.
pub struct Series {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

/// How numbers are written in a chart.
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
        Unit::Seconds => format!("{} s", kaldi_io::text::format_g(value, 3)),
        Unit::Plain => kaldi_io::text::format_g(value, 4),
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
        Unit::Percent => format!("{} %", kaldi_io::text::format_g(100.0 * value, 4)),
        _ => kaldi_io::text::format_g(value, 4),
    }
}

/// The place of values in the picture.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    /// Around all points, or none if there are none.
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

    fn axes(&self, svg: &mut String, unit: Unit) {
        for tick in ticks(self.y.0, self.y.1, 5) {
            let y = self.y(tick);
            let label = tick_label(tick, unit);
            let _ = write!(
                svg,
                "<line class=grid x1={LEFT} x2={:.1} y1={y:.1} y2={y:.1} /><text x={:.1} y={:.1} \
                 text-anchor=end>{label}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0
            );
        }
        let bottom = HEIGHT - BOTTOM;
        for tick in ticks(self.x.0, self.x.1, 8).into_iter().filter(|tick| tick.fract() == 0.0) {
            let x = self.x(tick);
            let _ = write!(svg, "<text x={x:.1} y={:.1} text-anchor=middle>{tick}</text>", bottom + 16.0);
        }
        let _ = write!(
            svg,
            "<line class=axis x1={LEFT} x2={:.1} y1={bottom} y2={bottom} /><text x={:.1} y={:.1} \
             text-anchor=end>iteration</text>",
            WIDTH - RIGHT,
            WIDTH - RIGHT,
            HEIGHT - 4.0
        );
    }
}

fn open_svg(title: &str, width: f64, height: f64) -> String {
    format!("<svg viewBox=\"0 0 {width} {height:.0}\" role=img aria-label=\"{}\">", escape(title))
}

fn legend(names: impl Iterator<Item = &'static str>) -> String {
    let mut out = String::from("<p class=legend>");
    for (i, name) in names.enumerate() {
        let _ = write!(out, "<span><i class=\"b{i}\"></i>{}</span>", escape(name));
    }
    out + "</p>"
}

fn figure(title: &str, note: &str, body: &str) -> String {
    let note = if note.is_empty() { String::new() } else { format!("<p class=note>{}</p>", escape(note)) };
    format!("<figure><figcaption>{}</figcaption>{note}{body}</figure>\n", escape(title))
}

/// Lines over iterations; nothing if there are no points. Values far below the others, as of a model that knows nothing
/// yet, do not set the scale: `skip_first` leaves the first point of each series out of it.
pub fn lines(title: &str, note: &str, series: &[Series], unit: Unit, skip_first: bool) -> String {
    let skipped = |s: &Series| usize::from(skip_first && s.points.len() > 3);
    let framed: Vec<(f64, f64)> = series.iter().flat_map(|s| s.points[skipped(s)..].to_vec()).collect();
    let Some(mut frame) = Frame::around(framed.iter()) else { return String::new() };
    if let Some(first) = series.iter().filter_map(|s| s.points.first()).map(|p| p.0).reduce(f64::min) {
        frame.x.0 = first;
    }
    let mut svg = open_svg(title, WIDTH, HEIGHT);
    frame.axes(&mut svg, unit);
    for (i, s) in series.iter().enumerate() {
        let shown: Vec<&(f64, f64)> =
            s.points.iter().filter(|p| p.1 >= frame.y.0 && p.1 <= frame.y.1).collect();
        let path: Vec<String> =
            shown.iter().map(|p| format!("{:.1},{:.1}", frame.x(p.0), frame.y(p.1))).collect();
        let _ = write!(svg, "<polyline class=s{i} points=\"{}\" />", path.join(" "));
        if shown.len() <= MOST_LABELLED {
            for p in shown {
                let _ = write!(
                    svg,
                    "<circle class=\"b{i}\" cx={:.1} cy={:.1} r=2.5><title>iteration {}, {}: {}</title></circle>",
                    frame.x(p.0),
                    frame.y(p.1),
                    p.0,
                    escape(s.name),
                    readable(p.1, unit)
                );
            }
        }
    }
    svg.push_str("</svg>");
    let legend = if series.len() > 1 { legend(series.iter().map(|s| s.name)) } else { String::new() };
    figure(title, note, &(legend + &svg))
}

/// Bars over iterations, each of several parts on top of each other.
pub fn bars(
    title: &str,
    note: &str,
    parts: [&'static str; 3],
    bars: &[(f64, [f64; 3])],
    unit: Unit,
) -> String {
    let mut tops: Vec<(f64, f64)> = bars.iter().map(|(x, values)| (*x, values.iter().sum())).collect();
    let Some(width) = tops.first().zip(tops.last()).map(|(first, last)| last.0 - first.0 + 1.0) else {
        return String::new();
    };
    tops.extend([(tops[0].0 - 0.5, 0.0), (tops[0].0 - 0.5 + width, 0.0)]);
    let Some(mut frame) = Frame::around(tops.iter()) else { return String::new() };
    frame.y.0 = 0.0;
    let mut svg = open_svg(title, WIDTH, HEIGHT);
    frame.axes(&mut svg, unit);
    for (x, values) in bars {
        let (left, right) = (frame.x(x - 0.42), frame.x(x + 0.42));
        let mut low = 0.0;
        for (i, value) in values.iter().enumerate() {
            let (top, bottom) = (frame.y(low + value), frame.y(low));
            let _ = write!(
                svg,
                "<rect class=\"b{i}\" x={left:.1} width={:.1} y={top:.1} height={:.1}><title>iteration {x}, {}: \
                 {}</title></rect>",
                (right - left).max(0.5),
                bottom - top,
                parts[i],
                readable(*value, unit)
            );
            low += value;
        }
    }
    svg.push_str("</svg>");
    figure(title, note, &(legend(parts.into_iter()) + &svg))
}

/// A table of shades: a row for each name, a column for each iteration; dark is `high`. On a logarithmic scale if
/// `logarithmic`.
pub fn heat_map(title: &str, note: &str, cells: &[(f64, Vec<(String, f64)>)], logarithmic: bool) -> String {
    const ROW: f64 = 18.0;
    const NAMES: f64 = 150.0;
    const VALUES: f64 = 70.0;
    let Some((_, newest)) = cells.last() else { return String::new() };
    let names: Vec<&str> = newest.iter().map(|(name, _)| name.as_str()).collect();
    let scale = |v: f64| if logarithmic { v.max(1e-12).log10() } else { v };
    let positive = |v: &f64| !logarithmic || *v > 0.0;
    let all: Vec<(f64, f64)> = cells
        .iter()
        .flat_map(|(x, row)| row.iter().map(|(_, v)| *v).filter(positive).map(|v| (*x, scale(v))))
        .collect();
    let Some(frame) = Frame::around(all.iter()) else { return String::new() };
    let (low, high) = if logarithmic { frame.y } else { (0.0, 1.0) };
    let height = ROW * names.len() as f64 + 22.0;
    let step = cells.len().div_ceil(MOST_COLUMNS);
    let columns: Vec<&(f64, Vec<(String, f64)>)> = cells.iter().step_by(step).collect();
    let width = (WIDTH - NAMES - VALUES) / columns.len() as f64;
    let mut svg = open_svg(title, WIDTH, height);
    for (r, name) in names.iter().enumerate() {
        let y = r as f64 * ROW;
        let _ = write!(
            svg,
            "<text x={:.1} y={:.1} text-anchor=end>{}</text><text x={:.1} y={:.1}>{}</text>",
            NAMES - 6.0,
            y + 13.0,
            escape(&shortened(name, 22)),
            WIDTH - VALUES + 6.0,
            y + 13.0,
            kaldi_io::text::format_g(newest[r].1, 3)
        );
        for (c, (x, row)) in columns.iter().enumerate() {
            let Some((_, value)) = row.iter().find(|(n, _)| n == name) else { continue };
            let shade = ((scale(*value) - low) / (high - low)).clamp(0.0, 1.0);
            let _ = write!(
                svg,
                "<rect class=cell x={:.1} y={y} width={:.2} height={} fill-opacity={:.2}><title>iteration {x}, {}: \
                 {}</title></rect>",
                NAMES + c as f64 * width,
                width + 0.2,
                ROW - 2.0,
                0.06 + 0.94 * shade,
                escape(name),
                kaldi_io::text::format_g(*value, 4)
            );
        }
    }
    let _ = write!(
        svg,
        "<text x={NAMES} y={:.1}>iteration {}</text><text x={:.1} y={:.1} text-anchor=end>{}</text></svg>",
        height - 5.0,
        cells[0].0,
        WIDTH - VALUES,
        height - 5.0,
        cells[cells.len() - 1].0
    );
    figure(title, note, &svg)
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
        let map = heat_map("t", "", &cells, true);
        assert!(!map.contains("<script>") && map.contains("&lt;script&gt;"), "{map}");
        assert_eq!(shortened("abcdef", 4), "…def");
        assert_eq!(shortened("äöüß", 4), "äöüß");
    }

    #[test]
    fn nothing_for_nothing() {
        assert_eq!(lines("t", "", &[Series { name: "a", points: vec![] }], Unit::Plain, true), "");
        assert_eq!(bars("t", "", ["a", "b", "c"], &[], Unit::Seconds), "");
        assert_eq!(heat_map("t", "", &[(0.0, vec![])], true), "");
    }

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(readable(0.98765, Unit::Percent), "98.77 %");
        assert_eq!(readable(7300.0, Unit::Seconds), "2.0 h");
        assert_eq!(readable(150.0, Unit::Seconds), "2.5 min");
        assert_eq!(readable(3.4567, Unit::Seconds), "3.46 s");
    }
}
