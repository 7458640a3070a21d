//! A picture of an utterance: waveform, spectrogram, words and phones.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use flate2::Crc;
use flate2::write::ZlibEncoder;
use kaldi_corpus::Corpus;
use kaldi_feat::spectral::{EnergyOptions, Extractor, FrameOptions, Kind, MelOptions, SpectralOptions};

use crate::aligned::AlignedUtterance;
use crate::cepstra::samples;
use crate::{Error, Result};

/// Pixels of a second, and the least and greatest width of the picture.
const PER_SECOND: f64 = 250.0;
const WIDTHS: (f64, f64) = (500.0, 12_000.0);
/// Left margin, and heights of the parts.
const MARGIN: f64 = 60.0;
const WAVE: f64 = 90.0;
const SPECTRUM: f64 = 180.0;
const TIER: f64 = 30.0;
const AXIS: f64 = 24.0;
/// Milliseconds of a frame of the spectrogram: short, so that formants and the pulses of the voice show, as in Praat.
const FRAME: f32 = 5.0;
/// The largest frequency, in Hz, and the levels below the maximum that show, in natural logarithms of power (50 dB).
const HIGHEST: f64 = 5000.0;
const RANGE: f32 = 11.5;

/// Writes an SVG of an utterance. The recording is read at `rate` samples per second.
///
/// # Errors
/// The recording cannot be read, or the file cannot be written.
pub fn write_picture(
    file: &Path,
    corpus: &Corpus,
    number: usize,
    aligned: &AlignedUtterance,
    rate: u32,
) -> Result<()> {
    let recording = &corpus.recordings[corpus.utterances[number].recording];
    let sound = samples(recording, rate)?;
    let place = |seconds: f64| ((seconds * f64::from(rate)).round() as usize).min(sound.len());
    let part = &sound[place(aligned.begin)..place(aligned.end).max(place(aligned.begin))];
    if part.is_empty() {
        return Err(Error::Data(format!("the utterance {} has no sound", corpus.utterances[number].id)));
    }
    super::write_file(file, &svg(part, rate, aligned, &corpus.utterances[number].id)?)
}

fn svg(part: &[f32], rate: u32, aligned: &AlignedUtterance, title: &str) -> Result<String> {
    let seconds = (aligned.end - aligned.begin).max(1e-3);
    let width = (seconds * PER_SECOND).clamp(WIDTHS.0, WIDTHS.1).round();
    let x = |time: f64| MARGIN + (time - aligned.begin) / seconds * width;
    let (spectrum, words) = (WAVE + 10.0, WAVE + 10.0 + SPECTRUM);
    let (phones, axis) = (words + TIER, words + 2.0 * TIER);
    let (all_width, height) = (MARGIN + width + 10.0, axis + AXIS);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all_width}\" height=\"{height}\" viewBox=\"0 0 {all_width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
        escaped(title)
    );
    let _ = writeln!(out, "<path d=\"{}\" stroke=\"#1f3d7a\" fill=\"none\"/>", wave(part, width));
    let (image, frequency) = spectrogram(part, rate)?;
    let _ = writeln!(
        out,
        "<image x=\"{MARGIN}\" y=\"{spectrum}\" width=\"{width}\" height=\"{SPECTRUM}\" preserveAspectRatio=\"none\" \
         href=\"data:image/png;base64,{}\"/>",
        base64(&image)
    );
    let label = |out: &mut String, y: f64, text: &str| {
        let x = MARGIN - 6.0;
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{text}</text>");
    };
    label(&mut out, spectrum + 11.0, &format!("{frequency:.0} Hz"));
    label(&mut out, words - 3.0, "0 Hz");
    label(&mut out, words + 20.0, "words");
    label(&mut out, phones + 20.0, "phones");
    let mut interval = |begin: f64, end: f64, y: f64, text: &str, size: f64| {
        let (left, right) = (x(begin), x(end));
        let _ = writeln!(
            out,
            "<rect x=\"{left:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{TIER}\" fill=\"#fff7e0\" stroke=\"#555\"/>\n\
             <text x=\"{:.2}\" y=\"{}\" font-size=\"{size}\" text-anchor=\"middle\">{}</text>",
            right - left,
            (left + right) / 2.0,
            y + 20.0,
            escaped(text)
        );
    };
    for word in &aligned.words {
        interval(word.begin, word.end, words, &word.text, 13.0);
        word.phones.iter().for_each(|phone| interval(phone.begin, phone.end, phones, &phone.name, 11.0));
    }
    // Lines of the boundaries through waveform and spectrogram.
    for phone in aligned.words.iter().flat_map(|word| &word.phones) {
        for time in [phone.begin, phone.end] {
            let at = x(time);
            let _ = writeln!(
                out,
                "<line x1=\"{at:.2}\" x2=\"{at:.2}\" y1=\"0\" y2=\"{words}\" stroke=\"#c03030\" stroke-width=\"0.6\" stroke-opacity=\"0.7\"/>"
            );
        }
    }
    let step = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * width / seconds >= 60.0);
    let step = step.unwrap_or(30.0);
    let mut tick = (aligned.begin / step).ceil();
    while tick * step <= aligned.end {
        let at = x(tick * step);
        let _ = writeln!(
            out,
            "<line x1=\"{at:.2}\" x2=\"{at:.2}\" y1=\"{axis}\" y2=\"{}\" stroke=\"black\"/>\n\
             <text x=\"{at:.2}\" y=\"{}\" text-anchor=\"middle\">{:.1} s</text>",
            axis + 5.0,
            axis + 18.0,
            tick * step
        );
        tick += 1.0;
    }
    out += "</svg>\n";
    Ok(out)
}

/// The least and the greatest sample of each pixel.
fn wave(part: &[f32], width: f64) -> String {
    let pixels = (width as usize).max(1);
    let largest = part.iter().fold(1.0_f32, |most, sample| most.max(sample.abs()));
    let y = |sample: f32| WAVE / 2.0 - f64::from(sample / largest) * (WAVE / 2.0 - 2.0);
    let mut path = String::new();
    for pixel in 0..pixels {
        let (begin, end) = (pixel * part.len() / pixels, (pixel + 1) * part.len() / pixels);
        let of_pixel = &part[begin..end.max(begin + 1).min(part.len())];
        let (low, high) =
            of_pixel.iter().fold((f32::MAX, f32::MIN), |(low, high), &s| (low.min(s), high.max(s)));
        if low <= high {
            let _ = write!(path, "M{:.1} {:.1}V{:.1}", MARGIN + pixel as f64 + 0.5, y(high), y(low) + 0.5);
        }
    }
    path
}

/// A grey picture of the spectrum as a PNG, and its highest frequency.
fn spectrogram(part: &[f32], rate: u32) -> Result<(Vec<u8>, f64)> {
    let seconds = part.len() as f32 / rate as f32;
    // (About a column for each pixel, at most.)
    let shift = (1000.0 * seconds / (WIDTHS.1 as f32)).max(1000.0 / PER_SECOND as f32).max(0.5);
    let options = SpectralOptions {
        frames: FrameOptions {
            sample_rate: rate as f32,
            length: FRAME.max(shift),
            shift,
            dither: 0.0,
            preemphasis: 0.97,
            snip_edges: false,
            ..FrameOptions::default()
        },
        mel: MelOptions::default(),
        energy: EnergyOptions { used: false, floor: 0.0, raw: true, htk_compat: false },
        kind: Kind::Spectrogram { raw_fft: false },
    };
    let frames = Extractor::new(options)?.features(part, rate as f32, 1.0)?;
    let half = f64::from(rate) / 2.0;
    let frequency = HIGHEST.min(half);
    let bins = ((frames.cols as f64 * frequency / half) as usize).clamp(1, frames.cols);
    // (The first value is the energy.)
    let values = |row: usize, bin: usize| frames.row(row)[bin.max(1).min(frames.cols - 1)];
    let mut most = f32::MIN;
    (0..frames.rows).for_each(|row| (0..bins).for_each(|bin| most = most.max(values(row, bin))));
    let mut pixels = Vec::with_capacity((frames.rows + 1) * bins);
    for bin in (0..bins).rev() {
        pixels.push(0); // No filter.
        pixels.extend((0..frames.rows).map(|row| {
            let level = ((values(row, bin) - most + RANGE) / RANGE).clamp(0.0, 1.0);
            (255.0 * (1.0 - level)) as u8
        }));
    }
    let png =
        png(frames.rows as u32, bins as u32, &pixels).map_err(|error| Error::Data(error.to_string()))?;
    Ok((png, frequency))
}

/// A PNG with 8 bits of grey a pixel. Each row begins with its filter.
fn png(width: u32, height: u32, rows: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(rows)?;
    let data = encoder.finish()?;
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        out.extend((data.len() as u32).to_be_bytes());
        let mut crc = Crc::new();
        [&kind[..], data].iter().for_each(|part| {
            crc.update(part);
            out.extend(*part);
        });
        out.extend(crc.sum().to_be_bytes());
    };
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    chunk(b"IHDR", &header);
    chunk(b"IDAT", &data);
    chunk(b"IEND", &[]);
    Ok(out)
}

fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(data.len().div_ceil(3) * 4);
    for three in data.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            out.push(if digit <= three.len() { char::from(DIGITS[value]) } else { '=' });
        }
    }
    out
}

/// A text within XML. Control characters, which XML cannot have, become blanks.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aligned::{AlignedPhone, AlignedWord};

    #[test]
    fn base64_is_that_of_the_standard() {
        let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        pairs.iter().for_each(|(data, expected)| assert_eq!(base64(data.as_bytes()), *expected));
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let phone = AlignedPhone { name: "<a>".to_owned(), begin: 2.1, end: 2.3, score: None };
        let word = AlignedWord {
            text: "a&\"b\u{1}".to_owned(),
            begin: 2.1,
            end: 2.3,
            is_unknown: false,
            is_any_speech: false,
            phones: vec![phone],
            score: None,
            is_doubtful: false,
        };
        let aligned =
            AlignedUtterance { begin: 2.0, end: 2.5, words: vec![word], log_likelihood: 0.0, retried: false };
        let sound: Vec<f32> = (0..4000).map(|n| 1000.0 * (n as f32 * 0.3).sin()).collect();
        let text = svg(&sound, 8000, &aligned, "</title>").unwrap();
        assert!(text.contains(">&lt;a&gt;</text>") && text.contains(">a&amp;&quot;b </text>"), "{text}");
        assert!(text.contains("<title>&lt;/title&gt;</title>"));
        // The word begins at a fifth of the width of 500 pixels, behind the margin.
        assert!(text.contains("<rect x=\"160.00\""), "{text}");
    }
}
