//! From drafts of recordings and utterances to a corpus: the steps that all forms of input share.

use std::path::PathBuf;

use kaldi_sound::Channels;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::corpus::{Corpus, Recording, Source, Utterance};
use crate::fault::{Amount, Fault, Kind};
use crate::input::Options;
use crate::keys::{self, Keys};
use crate::overlap::overlaps;
use crate::probe::{self, Probed};
use crate::speakers::{Names, Speaker, SpeakerRule, Speakers};
use crate::{Result, path};

/// A recording of the input.
pub(crate) struct Sound {
    pub source: Source,
    /// Folders below the input, and the name without its ending.
    pub path: Vec<String>,
    /// The key that the input gives it.
    pub key: Option<String>,
    /// True if the input says that nobody has to have a text for it, or if a fault does.
    pub is_excused: bool,
}

/// An utterance of the input.
pub(crate) struct Draft {
    /// The number of the recording.
    pub sound: usize,
    /// The key that the input gives it.
    pub key: Option<String>,
    pub span: Option<(f64, f64)>,
    pub speaker: Option<String>,
    pub text: String,
    pub place: String,
}

/// The contents of an input.
#[derive(Default)]
pub(crate) struct Drafts {
    pub sounds: Vec<Sound>,
    pub drafts: Vec<Draft>,
    /// The file that names the speaker of each utterance, if the input has one.
    pub speakers_file: Option<PathBuf>,
    /// Clauses behind the fault of a recording without a text.
    pub hints: Hints,
    /// Faults, each with the recording whose length is lost with it.
    pub faults: Vec<(Fault, Option<usize>)>,
}

/// The texts that were looked for, and other files beside recordings that may be texts.
#[derive(Default)]
pub(crate) struct Hints {
    /// A clause that names the texts that were looked for; empty if the form of the input says that.
    pub looked_for: String,
    /// A clause of a recording with other files of its name.
    pub of_sound: FxHashMap<usize, String>,
}

impl Hints {
    fn of(&self, sound: usize) -> &str {
        self.of_sound.get(&sound).unwrap_or(&self.looked_for)
    }
}

/// An utterance may end later than its recording by so many seconds, and is cut (as extract-segments does).
const OVERSHOOT: f64 = 0.5;
/// A recording whose header promises a larger share of samples that are missing is cut off.
const MISSING: f64 = 0.05;
/// Samples that are clipped in a clean recording, at most.
const CLIPPED: f64 = 0.001;

/// A recording, times as bits, and a speaker.
type Place = (usize, Option<(u64, u64)>, Option<String>);

/// A recording that was opened, or the reason why it cannot be used.
type Opened = std::result::Result<Probed, (Kind, String)>;

impl Drafts {
    pub fn fault(&mut self, fault: Fault) {
        self.faults.push((fault, None));
    }

    /// Opens the recordings, checks times and texts, and gives names.
    pub fn finish(mut self, options: &Options) -> Result<Corpus> {
        let speakers = Speakers::new(&options.speakers)?;
        let probed = self.open(options);
        for (fault, sound) in &mut self.faults {
            if let Some(sound) = sound.filter(|_| fault.lost.utterances > 0) {
                fault.lost.seconds = probed[sound].as_ref().map_or(0.0, Probed::seconds);
            }
        }
        let mut faults: Vec<Fault> =
            std::mem::take(&mut self.faults).into_iter().map(|(fault, _)| fault).collect();
        let mut is_excused: Vec<bool> = self.sounds.iter().map(|sound| sound.is_excused).collect();
        for draft in &self.drafts {
            is_excused[draft.sound] = true;
        }
        for (number, sound) in self.sounds.iter().enumerate().filter(|(number, _)| !is_excused[*number]) {
            let place = sound.source.to_string();
            faults.push(match &probed[number] {
                Ok(probed) => {
                    let sentence = format!("there is no text for it{}", self.hints.of(number));
                    Fault::loss(Kind::SoundWithoutText, place, sentence, probed.seconds())
                }
                Err((kind, sentence)) => Fault::loss(*kind, place, sentence, 0.0),
            });
        }
        let kept = self.check(&probed, &mut faults);
        let named = self.name(kept, &speakers, &probed, &mut faults);
        let mut corpus = self.corpus(named, probed, options);
        faults.extend(overlaps(&corpus.utterances));
        corpus.faults = faults;
        corpus.found = corpus.kept();
        for fault in &corpus.faults {
            corpus.found += fault.lost;
        }
        Ok(corpus)
    }

    /// Opens all recordings.
    fn open(&mut self, options: &Options) -> Vec<Opened> {
        let sources: Vec<Source> = self.sounds.iter().map(|sound| sound.source.clone()).collect();
        let results = probe::probe_all(&sources, options);
        let mut first_with: FxHashMap<u64, usize> = FxHashMap::default();
        let mut opened = Vec::with_capacity(results.len());
        for (number, result) in results.into_iter().enumerate() {
            let place = sources[number].to_string();
            let problem = match &sources[number] {
                Source::File(file) => path::name_problem(file).map(|sentence| (Kind::BadName, sentence)),
                Source::Extended(_) => None,
            };
            let checked = problem.map_or(Ok(()), Err).and_then(|()| match result {
                Err(sentence) => Err((Kind::UnreadableSound, sentence)),
                Ok(probed) => self.complaints((number, options.channels), probed, &place),
            });
            if let Ok(Probed { levels: Some(levels), .. }) = &checked {
                let other = *first_with.entry(levels.hash).or_insert(number);
                if other != number {
                    let sentence = format!("it has the same samples as {}", sources[other]);
                    self.fault(Fault::warning(Kind::Duplicate, &place, sentence));
                }
            }
            opened.push(checked);
        }
        opened
    }

    /// Warns of the faults of a recording that can be read, or says why it is not used.
    fn complaints(&mut self, (number, channels): (usize, Channels), probed: Probed, place: &str) -> Opened {
        if probed.rate == 0 {
            // It was not opened.
            return Ok(probed);
        }
        if probed.samples == 0 {
            return Err((Kind::UnreadableSound, "the recording has no samples".to_owned()));
        }
        let missing = match probed.promised {
            Some(promised) if promised > probed.samples => 1.0 - probed.samples as f64 / promised as f64,
            _ => 0.0,
        };
        let sentence = |share: f64| {
            format!(
                "the header promises {} samples, of which {} are there ({:.1} % are missing)",
                probed.promised.unwrap_or(0),
                probed.samples,
                100.0 * share
            )
        };
        // Utterances with times may lie before the end of the file.
        let has_times = self.drafts.iter().any(|draft| draft.sound == number && draft.span.is_some());
        match missing {
            share if share > MISSING && !has_times => return Err((Kind::Truncated, sentence(share))),
            share if share > 0.0 => self.fault(Fault::warning(Kind::ShortHeader, place, sentence(share))),
            _ => {
                if let Some(complaint) = &probed.complaint {
                    let kind = if probed.is_wave { Kind::ShortHeader } else { Kind::Damaged };
                    self.fault(Fault::warning(kind, place, complaint));
                }
            }
        }
        if probed.channels > 1 {
            let taken = match channels {
                Channels::First | Channels::Each => "the first is taken".to_owned(),
                Channels::Mix => "their mean is taken".to_owned(),
                Channels::Number(channel) => format!("channel {channel} is taken"),
            };
            let sentence = format!("it has {} channels, and {taken} (see --channels)", probed.channels);
            self.fault(Fault::warning(Kind::SeveralChannels, place, sentence));
        }
        if let Some(levels) = &probed.levels {
            if levels.peak == 0.0 {
                return Err((Kind::Silent, "all samples are 0".to_owned()));
            }
            if levels.clipped > CLIPPED {
                let sentence = format!("{:.1} % of the samples are clipped", 100.0 * levels.clipped);
                self.fault(Fault::warning(Kind::Clipping, place, sentence));
            }
        }
        Ok(probed)
    }

    /// Removes utterances whose recording, text or times cannot be used.
    fn check(&mut self, probed: &[Opened], faults: &mut Vec<Fault>) -> Vec<Draft> {
        let drafts = std::mem::take(&mut self.drafts);
        let mut kept: Vec<Draft> = Vec::with_capacity(drafts.len());
        let mut seen: FxHashMap<Place, usize> = FxHashMap::default();
        for mut draft in drafts {
            let source = &self.sounds[draft.sound].source;
            let mut lose = |kind, sentence: String, seconds: f64| {
                faults.push(Fault::loss(kind, &draft.place, sentence, seconds));
            };
            let given = draft.span.map_or(0.0, |(begin, end)| (end - begin).max(0.0));
            let probed = match &probed[draft.sound] {
                Ok(probed) => probed,
                Err((kind, sentence)) => {
                    lose(*kind, format!("its recording {source} cannot be used: {sentence}"), given);
                    continue;
                }
            };
            let length = probed.seconds();
            let own = if draft.span.is_some() { given } else { length };
            if draft.text.is_empty() {
                lose(Kind::EmptyText, "the text is empty".to_owned(), own);
                continue;
            }
            if let Some((begin, end)) = draft.span {
                if !(begin.is_finite() && end.is_finite() && begin >= 0.0 && begin < end) {
                    let sentence =
                        format!("expected a beginning and a later end in seconds, found {begin} and {end}");
                    lose(Kind::BadSpan, sentence, 0.0);
                    continue;
                }
                if probed.rate > 0 && (begin >= length || end > length + OVERSHOOT) {
                    let sentence =
                        format!("it lasts from {begin:.2} to {end:.2} s, but {source} ends at {length:.2} s");
                    lose(Kind::BeyondEnd, sentence, given);
                    continue;
                }
                if probed.rate > 0 && end > length {
                    if end - length > 0.01 {
                        let sentence =
                            format!("it ends at {end:.2} s, but {source} at {length:.2} s: cut there");
                        faults.push(Fault::warning(Kind::SpanCut, &draft.place, sentence));
                    }
                    draft.span = Some((begin, length));
                }
            }
            let bits = draft.span.map(|(begin, end)| (begin.to_bits(), end.to_bits()));
            // Two speakers may say something at the same time.
            let who = bits.and_then(|_| draft.speaker.clone());
            let other = *seen.entry((draft.sound, bits, who)).or_insert(kept.len());
            if kept.get(other).is_some_and(|other| draft.key.is_none() || other.key == draft.key) {
                let same = if kept[other].text == draft.text { "the same text" } else { "another text" };
                let sentence =
                    format!("{} has {same} for this part of {source}, which counts", kept[other].place);
                faults.push(Fault::loss(Kind::Duplicate, &draft.place, sentence, own));
                continue;
            }
            kept.push(draft);
        }
        kept
    }

    /// Gives recordings, speakers and utterances their keys.
    fn name(
        &self,
        kept: Vec<Draft>,
        speakers: &Speakers,
        probed: &[Opened],
        faults: &mut Vec<Fault>,
    ) -> Named {
        let recordings = self.recording_keys();
        let mut found = Vec::with_capacity(kept.len());
        for draft in kept {
            let names = Names {
                path: &self.sounds[draft.sound].path,
                key: draft.key.as_deref(),
                found: draft.speaker.as_deref(),
                file: self.speakers_file.as_deref(),
            };
            match speakers.of(&names) {
                Ok(speaker) => found.push((draft, speaker)),
                Err(sentence) => {
                    let length = probed[draft.sound].as_ref().map_or(0.0, Probed::seconds);
                    let seconds = draft.span.map_or(length, |(begin, end)| end - begin);
                    faults.push(Fault::loss(Kind::BadName, &draft.place, sentence, seconds));
                }
            }
        }
        let names = || {
            found.iter().filter_map(|(_, speaker)| match speaker {
                Speaker::Named(name) => Some(name.as_str()),
                Speaker::Own => None,
            })
        };
        let cut = keys::shortened(names());
        let mut speaker_keys = Keys::default();
        let mut of_name: FxHashMap<String, String> = FxHashMap::default();
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        all.dedup();
        for name in all {
            let short = keys::speaker(cut.map_or(name, |length| &name[..length]));
            let short = if short.is_empty() { "speaker".to_owned() } else { short };
            of_name.insert(name.to_owned(), speaker_keys.unique(short, '_'));
        }
        let own: FxHashSet<usize> = found
            .iter()
            .filter(|(_, speaker)| *speaker == Speaker::Own)
            .map(|(draft, _)| draft.sound)
            .collect();
        let own = own.len();
        let mut utterance_keys = Keys::default();
        let mut utterances = Vec::with_capacity(found.len());
        for (draft, speaker) in found {
            let recording = &recordings[draft.sound];
            if let Some(key) = &draft.key {
                if !utterance_keys.take(key) {
                    let sentence = format!("the key '{key}' is there already");
                    faults.push(Fault::loss(Kind::Duplicate, &draft.place, sentence, 0.0));
                    continue;
                }
                let speaker = match speaker {
                    // (Kaldi's own keys stay.)
                    Speaker::Named(name) if draft.speaker.as_ref() == Some(&name) => keys::part(&name),
                    Speaker::Named(name) => of_name[&name].clone(),
                    Speaker::Own => key.clone(),
                };
                utterances.push((draft.sound, key.clone(), speaker, draft));
                continue;
            }
            let (speaker, base) = match speaker {
                Speaker::Named(name) => {
                    let speaker = of_name[&name].clone();
                    let has_it = recording.strip_prefix(&speaker).is_some_and(|rest| rest.starts_with('-'));
                    let base = if has_it { recording.clone() } else { format!("{speaker}-{recording}") };
                    (speaker, base)
                }
                Speaker::Own => {
                    let own = keys::speaker(recording);
                    (own.clone(), own)
                }
            };
            let base = match draft.span {
                Some((begin, end)) => format!("{base}-{:07.0}-{:07.0}", begin * 100.0, end * 100.0),
                None => base,
            };
            utterances.push((draft.sound, utterance_keys.unique(base, '-'), speaker, draft));
        }
        Named { recordings, utterances, own }
    }

    /// A key for each recording: the name of its file, with its folders if another one has the same.
    fn recording_keys(&self) -> Vec<String> {
        let last = |sound: &Sound| keys::part(sound.path.last().map_or("", String::as_str));
        let mut counts: FxHashMap<String, usize> = FxHashMap::default();
        for sound in &self.sounds {
            *counts.entry(last(sound)).or_default() += 1;
        }
        let mut all = Keys::default();
        for key in self.sounds.iter().filter_map(|sound| sound.key.as_deref()) {
            all.take(key);
        }
        let mut key = |sound: &Sound| {
            if let Some(key) = &sound.key {
                return key.clone();
            }
            let name = last(sound);
            let name = if counts[&name] > 1 { keys::part(&sound.path.join("-")) } else { name };
            all.unique(if name.is_empty() { "recording".to_owned() } else { name }, '-')
        };
        self.sounds.iter().map(&mut key).collect()
    }

    /// The folders below the input and the name of a recording; the key alone if it lies elsewhere, of which the path has all
    /// folders.
    fn place(&self, sound: usize, key: &str) -> Vec<String> {
        let sound = &self.sounds[sound];
        let is_elsewhere = match &sound.source {
            Source::File(file) => {
                let mut whole = PathBuf::from("/");
                whole.extend(&sound.path);
                file.with_extension("") == whole
            }
            Source::Extended(_) => true,
        };
        if is_elsewhere { vec![key.to_owned()] } else { sound.path.clone() }
    }

    fn corpus(&self, named: Named, probed: Vec<Opened>, options: &Options) -> Corpus {
        let mut order: Vec<usize> = (0..self.sounds.len()).collect();
        order.sort_by(|&a, &b| named.recordings[a].cmp(&named.recordings[b]));
        let mut numbers = vec![0; order.len()];
        let mut recordings = Vec::with_capacity(order.len());
        let channel = match options.channels {
            Channels::First | Channels::Each => Some(0),
            Channels::Mix => None,
            Channels::Number(number) => Some(number.saturating_sub(1)),
        };
        for sound in order {
            numbers[sound] = recordings.len();
            let probed = probed[sound].clone().unwrap_or_default();
            recordings.push(Recording {
                id: named.recordings[sound].clone(),
                path: self.place(sound, &named.recordings[sound]),
                source: self.sounds[sound].source.clone(),
                channel,
                channels: probed.channels,
                rate: probed.rate,
                seconds: probed.seconds(),
                promised_seconds: probed.promised_seconds(),
                is_wave: probed.is_wave,
                levels: probed.levels,
            });
        }
        let mut utterances: Vec<Utterance> = named
            .utterances
            .into_iter()
            .map(|(sound, id, speaker, draft)| {
                let (span, text, place) = (draft.span, draft.text, draft.place);
                Utterance { id, recording: numbers[sound], span, speaker, text, place }
            })
            .collect();
        utterances.sort_by(|a, b| a.id.cmp(&b.id));
        let own_speakers = if options.speakers == SpeakerRule::Found { named.own } else { 0 };
        let mut corpus =
            Corpus { recordings, utterances, faults: Vec::new(), found: Amount::default(), own_speakers };
        corpus.drop_unused_recordings();
        corpus
    }
}

/// Keys of recordings, and utterances with theirs and the speaker.
struct Named {
    recordings: Vec<String>,
    utterances: Vec<(usize, String, String, Draft)>,
    /// Recordings without the name of a speaker.
    own: usize,
}
