//! Utterances between pauses, where what was heard is what the transcript says.

use kaldi_lang::plain_text::{self, fields, lines};
use rustc_hash::FxHashSet;

use super::blocks::blocks;
use super::windows::{Heard, heard};
use super::{FRAMES, lengths, speakers, write};
use crate::{Error, Result};

/// Seconds of a pause that an utterance keeps.
const EDGE: f64 = 0.1;

/// Limits for utterances.
#[derive(Debug, Clone, Copy)]
pub struct CutOptions {
    /// Seconds of an utterance, at most.
    pub longest: f64,
    /// Seconds without words at which an utterance may begin or end.
    pub pause: f64,
    /// Words of the transcript in a row that may be heard as so many others within an utterance.
    pub unmatched: usize,
    /// Seconds of the windows that were recognised.
    pub window: f64,
}

/// Totals over all recordings.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// Number of utterances.
    pub utterances: usize,
    /// Their seconds.
    pub seconds: f64,
    /// Words of their texts.
    pub kept: usize,
    /// Words of all transcripts.
    pub words: usize,
}

/// Stretches of the transcript that were heard so, from and to the begins and ends of matching words: places in the transcript
/// and in what was heard. Up to `most` words of the transcript in a row may have been heard as up to `most` others.
#[derive(Debug, Clone, PartialEq)]
struct Stretch {
    said: std::ops::Range<usize>,
    heard: std::ops::Range<usize>,
}

fn stretches(said: &[&str], spoken: &[&str], most: usize) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for block in blocks(said, spoken) {
        let (said_end, heard_end) = (block.first + block.size, block.second + block.size);
        match found.last_mut() {
            Some(last) if block.first - last.said.end <= most && block.second - last.heard.end <= most => {
                (last.said.end, last.heard.end) = (said_end, heard_end);
            }
            _ => found.push(Stretch { said: block.first..said_end, heard: block.second..heard_end }),
        }
    }
    found
}

/// Returns begin and end of each word of the stretch; `None` for words that were heard as others.
fn times(said: &[&str], spoken: &[Heard], words: &[&str], stretch: &Stretch) -> Vec<Option<(f64, f64)>> {
    let mut times = vec![None; stretch.said.len()];
    for block in blocks(&said[stretch.said.clone()], &words[stretch.heard.clone()]) {
        for place in 0..block.size {
            let word = &spoken[stretch.heard.start + block.second + place];
            times[block.first + place] = Some((word.begin, word.end));
        }
    }
    times
}

/// A pause before the word `word` of a stretch: its length, the end of speech before it, and the begin after it.
#[derive(Debug, Clone, Copy)]
struct Pause {
    word: usize,
    length: f64,
    before: f64,
    after: f64,
}

/// The pauses between matching words. `before` and `after` are the ends of what was heard around the stretch. Recordings may
/// begin and end without a pause (`at_begin`, `at_end`).
fn pauses(
    times: &[Option<(f64, f64)>],
    (before, after): (f64, f64),
    pause: f64,
    (at_begin, at_end): (bool, bool),
) -> Vec<Pause> {
    let mut found = Vec::new();
    let mut add = |word: usize, before: f64, after: f64, is_edge: bool| {
        if is_edge || after - before >= pause {
            found.push(Pause { word, length: after - before, before, after });
        }
    };
    if let Some(Some((begin, _))) = times.first() {
        add(0, before, *begin, at_begin);
    }
    for (place, pair) in times.windows(2).enumerate() {
        if let [Some((_, end)), Some((begin, _))] = pair {
            add(place + 1, *end, *begin, false);
        }
    }
    if let Some(Some((_, end))) = times.last() {
        add(times.len(), *end, after, at_end);
    }
    found
}

/// Pairs of neighbouring pauses, joined as long as an utterance is not longer than `longest` seconds; the longest pauses stay.
fn utterances_between(pauses: Vec<Pause>, longest: f64) -> Vec<(Pause, Pause)> {
    let mut kept = pauses;
    let is_short = |from: &Pause, to: &Pause| to.before - from.after + 2.0 * EDGE <= longest;
    loop {
        let joinable =
            (1..kept.len().saturating_sub(1)).filter(|&place| is_short(&kept[place - 1], &kept[place + 1]));
        // (The first of equal ones.)
        let Some(shortest) = joinable.min_by(|&a, &b| kept[a].length.total_cmp(&kept[b].length)) else {
            break;
        };
        kept.remove(shortest);
    }
    kept.windows(2).filter(|pair| is_short(&pair[0], &pair[1])).map(|pair| (pair[0], pair[1])).collect()
}

struct Utterance<'t> {
    key: String,
    recording: &'t str,
    begin: f64,
    end: f64,
    text: String,
}

/// Cuts recordings that were recognised window by window. The folder `work` has `ctm`, `lengths`, `transcripts` and `wav.scp`.
/// Writes `wav.scp`, `segments`, `text` and `utt2spk` into the folder `to`. Speakers are those of the data folder.
///
/// # Errors
/// A file is no table, or nothing was heard as the transcripts say.
pub fn cut(data: &str, words: &str, work: &str, to: &str, options: &CutOptions) -> Result<Cut> {
    let heard_in = heard(&format!("{work}/ctm"), words, options.window)?;
    let lengths = lengths(&format!("{work}/lengths"))?;
    let speakers = speakers(&format!("{data}/utt2spk"))?;
    let transcripts = plain_text::read(&format!("{work}/transcripts"))?;
    let mut found = Vec::new();
    let mut done = Cut { utterances: 0, seconds: 0.0, kept: 0, words: 0 };
    for (_, line) in lines(&transcripts) {
        let columns = fields(line);
        let (recording, said) = (columns[0], &columns[1..]);
        done.words += said.len();
        let spoken = heard_in.get(recording).map_or(&[][..], Vec::as_slice);
        let words: Vec<&str> = spoken.iter().map(|heard| heard.word.as_str()).collect();
        let seconds = lengths.get(recording).map_or(0.0, |&frames| frames as f64 / FRAMES);
        for stretch in stretches(said, &words, options.unmatched) {
            let Stretch { said: within, heard } = &stretch;
            let before = if heard.start > 0 { spoken[heard.start - 1].end } else { 0.0 };
            let after = spoken.get(heard.end).map_or(seconds, |next| next.begin);
            let edges = (
                heard.start == 0 && within.start == 0,
                heard.end == spoken.len() && within.end == said.len(),
            );
            let pauses =
                pauses(&times(said, spoken, &words, &stretch), (before, after), options.pause, edges);
            for (from, to) in utterances_between(pauses, options.longest) {
                let edge = |pause: &Pause| EDGE.min(pause.length.max(0.0) / 2.0);
                let (begin, end) = (from.after - edge(&from), to.before + edge(&to));
                let centiseconds = |time: f64| (time * 100.0).round_ties_even() as i64;
                found.push(Utterance {
                    key: format!("{recording}-{:07}-{:07}", centiseconds(begin), centiseconds(end)),
                    recording,
                    begin,
                    end,
                    text: said[within.start + from.word..within.start + to.word].join(" "),
                });
                done.kept += to.word - from.word;
                done.seconds += end - begin;
            }
        }
    }
    if found.is_empty() {
        let sentence = "no part of the recordings was recognised as its transcript says; are the transcripts those of the recordings?";
        return Err(Error::Data(sentence.to_owned()));
    }
    found.sort_by(|a, b| {
        a.key.cmp(&b.key).then(a.recording.cmp(b.recording)).then(a.begin.total_cmp(&b.begin))
    });
    done.utterances = found.len();
    let used: FxHashSet<&str> = found.iter().map(|utterance| utterance.recording).collect();
    let scp = plain_text::read(&format!("{work}/wav.scp"))?;
    let mut sounds: Vec<&str> =
        lines(&scp).map(|(_, line)| line).filter(|line| used.contains(fields(line)[0])).collect();
    sounds.sort_unstable();
    write(&format!("{to}/wav.scp"), sounds.into_iter())?;
    let put = |name: &str, line: &dyn Fn(&Utterance) -> String| {
        let lines: Vec<String> = found.iter().map(line).collect();
        write(&format!("{to}/{name}"), lines.iter().map(String::as_str))
    };
    put("segments", &|Utterance { key, recording, begin, end, .. }| {
        format!("{key} {recording} {begin:.2} {end:.2}")
    })?;
    put("text", &|utterance| format!("{} {}", utterance.key, utterance.text))?;
    put("utt2spk", &|Utterance { key, recording, .. }| {
        format!("{key} {}", speakers.get(*recording).map_or(*recording, String::as_str))
    })?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of 0.4 s, one after another, with pauses before some of them.
    fn spoken(text: &str, gaps: &[(usize, f64)]) -> Vec<Heard> {
        let mut time = 0.0;
        let word = |(place, word): (usize, &str)| {
            time += gaps.iter().find(|(at, _)| *at == place).map_or(0.0, |(_, gap)| *gap);
            let begin = time;
            time += 0.4;
            Heard { begin, end: time, word: word.to_owned() }
        };
        text.split(' ').enumerate().map(word).collect()
    }

    fn words(spoken: &[Heard]) -> Vec<&str> {
        spoken.iter().map(|heard| heard.word.as_str()).collect()
    }

    #[test]
    fn stretches_may_have_single_words_that_were_heard_as_others() {
        let said: Vec<&str> = "a b c d e f g h".split(' ').collect();
        let found = |text: &str, most: usize| -> Vec<[usize; 4]> {
            let spoken: Vec<&str> = text.split(' ').collect();
            let all = stretches(&said, &spoken, most);
            all.iter().map(|s| [s.said.start, s.said.end, s.heard.start, s.heard.end]).collect()
        };
        assert_eq!(found("a b c d e f g h", 0), [[0, 8, 0, 8]]);
        assert_eq!(found("a b c x e f g h", 0), [[0, 3, 0, 3], [4, 8, 4, 8]]);
        assert_eq!(found("a b c x e f g h", 1), [[0, 8, 0, 8]]);
        assert_eq!(found("a b c x y z f g h", 1), [[0, 3, 0, 3], [5, 8, 6, 9]]);
        assert!(found("q r s", 1).is_empty());
    }

    #[test]
    fn cuts_are_pauses_between_matching_words() {
        let heard = spoken("a b x d e", &[(1, 0.3), (2, 0.5), (4, 0.2)]);
        let said: Vec<&str> = "a b c d e".split(' ').collect();
        let times = times(&said, &heard, &words(&heard), &Stretch { said: 0..5, heard: 0..5 });
        assert_eq!(times.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, true, true]);
        let end = heard[4].end;
        let places = |edges| -> Vec<usize> {
            pauses(&times, (0.0, end), 0.15, edges).iter().map(|p| p.word).collect()
        };
        // The pause before the word that was heard as another is no cut, and the last word ends without one.
        assert_eq!(places((true, false)), [0, 1, 4]);
        assert_eq!(places((false, true)), [1, 4, 5]);
        assert!((pauses(&times, (0.0, end), 0.15, (true, false))[1].length - 0.3).abs() < 1e-9);
    }

    #[test]
    fn the_longest_pauses_stay() {
        let heard = spoken("a b c d", &[(1, 0.2), (2, 0.6), (3, 0.3)]);
        let times: Vec<_> = heard.iter().map(|word| Some((word.begin, word.end))).collect();
        let found = |longest: f64| -> Vec<(usize, usize)> {
            let pauses = pauses(&times, (0.0, heard[3].end), 0.15, (true, true));
            utterances_between(pauses, longest).iter().map(|(from, to)| (from.word, to.word)).collect()
        };
        assert_eq!(found(10.0), [(0, 4)]);
        assert_eq!(found(1.5), [(0, 2), (2, 4)]);
        assert_eq!(found(0.9), [(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert!(found(0.5).is_empty());
    }

    #[test]
    fn tables_have_what_the_figures_say() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (name, text) in [
            ("utt2spk", "r anna\n"),
            ("words", "a 1\nb 2\nc 3\nd 4\n"),
            ("ctm", "r@0 1 0.50 0.40 1\nr@0 1 0.90 0.40 2\nr@0 1 2.30 0.40 4\nr@0 1 2.70 0.40 4\n"),
            ("lengths", "r 400\nq 100\n"),
            ("transcripts", "q a b\nr a b x c d\n"),
            ("wav.scp", "r r.wav\nq q.wav\n"),
        ] {
            std::fs::write(path(name), text).unwrap();
        }
        std::fs::create_dir(path("out")).unwrap();
        let options = CutOptions { longest: 15.0, pause: 0.15, unmatched: 0, window: 30.0 };
        let done = cut(&path(""), &path("words"), &path(""), &path("out"), &options).unwrap();
        let read = |name: &str| std::fs::read_to_string(path(&format!("out/{name}"))).unwrap();
        // (The first d begins at a pause, and ends without one.)
        assert_eq!(read("segments"), "r-0000040-0000140 r 0.40 1.40\n");
        assert_eq!(read("text"), "r-0000040-0000140 a b\n");
        assert_eq!(read("utt2spk"), "r-0000040-0000140 anna\n");
        assert_eq!(read("wav.scp"), "r r.wav\n");
        assert_eq!((done.utterances, done.kept, done.words), (1, 2, 7));
        assert!((done.seconds - 1.0).abs() < 1e-9);
        // Rounding is to the even digit, as in the tables that Python writes.
        assert_eq!(format!("{:.2} {:.2} {:.2}", 0.125, 0.375, 2.675), "0.12 0.38 2.67");
        std::fs::write(path("transcripts"), "r c c\n").unwrap();
        let error =
            cut(&path(""), &path("words"), &path(""), &path("out"), &options).unwrap_err().to_string();
        assert!(error.starts_with("no part of the recordings"), "{error}");
    }
}
