//! Utterances, and how they are divided among threads.

use std::collections::HashMap;

use kaldi_feat::cmvn::{CmvnStats, Normalization};
use kaldi_io::DenseMatrix;

use crate::error::{Reason, Result};
use crate::features::Normalized;

/// A recorded sentence with its transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Utterance {
    pub key: String,
    pub speaker: String,
    /// Cepstra, without normalisation or derivatives.
    pub features: DenseMatrix<f32>,
    /// Numbers of the language's words.
    pub words: Vec<u32>,
}

impl Utterance {
    /// Says why the features cannot be used, if so.
    pub fn problem(&self, dim: usize) -> Option<Reason> {
        if self.features.rows == 0 {
            return Some(Reason::NoFrames);
        }
        if self.features.cols != dim {
            return Some(Reason::Dimension { found: self.features.cols, expected: dim });
        }
        let place = self.features.data.iter().position(|x| !x.is_finite())?;
        Some(Reason::NotFinite { frame: place / dim, value: self.features.data[place] })
    }
}

/// Frames of a piece: what a thread does at once.
const PIECE_FRAMES: usize = 20_000;

/// Utterances of one speaker that a thread does at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub speaker: usize,
    /// Places in the list of utterances.
    pub members: Vec<usize>,
    pub frames: usize,
}

/// Utterances with their speakers. The division into pieces depends on the utterances only.
#[derive(Debug)]
pub struct Corpus<'a> {
    pub utterances: &'a [Utterance],
    /// In the order of their first utterances.
    pub speakers: Vec<String>,
    pub speaker_of: Vec<usize>,
    /// Sorted by speaker. Utterances that cannot be used are in no piece.
    pub pieces: Vec<Piece>,
    /// Groups of pieces with about as many frames each: for sums over all speakers.
    pub shards: Vec<Vec<usize>>,
    /// Reasons why utterances cannot be used.
    pub problems: Vec<Option<Reason>>,
    pub dim: usize,
}

impl<'a> Corpus<'a> {
    /// Divides utterances, whose features should have dimension `dim`.
    pub fn new(utterances: &'a [Utterance], dim: usize) -> Corpus<'a> {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let (mut speakers, mut speaker_of) = (Vec::new(), Vec::new());
        for utterance in utterances {
            let number = *numbers.entry(&utterance.speaker).or_insert_with(|| {
                speakers.push(utterance.speaker.clone());
                speakers.len() - 1
            });
            speaker_of.push(number);
        }
        let problems: Vec<Option<Reason>> =
            utterances.iter().map(|utterance| utterance.problem(dim)).collect();
        let mut by_speaker: Vec<Vec<usize>> = vec![Vec::new(); speakers.len()];
        for (place, &speaker) in speaker_of.iter().enumerate() {
            if problems[place].is_none() {
                by_speaker[speaker].push(place);
            }
        }
        let mut pieces = Vec::new();
        for (speaker, members) in by_speaker.into_iter().enumerate() {
            let mut piece = Piece { speaker, members: Vec::new(), frames: 0 };
            for place in members {
                if piece.frames >= PIECE_FRAMES {
                    pieces.push(std::mem::replace(
                        &mut piece,
                        Piece { speaker, members: Vec::new(), frames: 0 },
                    ));
                }
                piece.frames += utterances[place].features.rows;
                piece.members.push(place);
            }
            if !piece.members.is_empty() {
                pieces.push(piece);
            }
        }
        let total: usize = pieces.iter().map(|piece| piece.frames).sum();
        // At most about 64 sums of statistics, each of some minutes at least.
        let wanted = PIECE_FRAMES.max(total / 64);
        let (mut shards, mut frames) = (vec![Vec::new()], 0);
        for (place, piece) in pieces.iter().enumerate() {
            if frames >= wanted {
                shards.push(Vec::new());
                frames = 0;
            }
            frames += piece.frames;
            if let Some(shard) = shards.last_mut() {
                shard.push(place);
            }
        }
        Corpus { utterances, speakers, speaker_of, pieces, shards, problems, dim }
    }

    /// The places of a shard's utterances.
    pub fn members(&self, shard: usize) -> impl Iterator<Item = usize> + '_ {
        self.shards[shard].iter().flat_map(|&piece| self.pieces[piece].members.iter().copied())
    }

    /// Frames of all utterances that can be used.
    pub fn frames(&self) -> usize {
        self.pieces.iter().map(|piece| piece.frames).sum()
    }

    /// The transforms that bring each speaker's mean to 0.
    ///
    /// # Errors
    /// None for a corpus: all features have one dimension.
    pub fn normalizations(&self, normalized: Normalized) -> Result<Vec<Option<Normalization>>> {
        if normalized == Normalized::Nothing {
            return Ok(self.speakers.iter().map(|_| None).collect());
        }
        let variances = normalized == Normalized::MeansAndVariances;
        let mut stats: Vec<CmvnStats> = self.speakers.iter().map(|_| CmvnStats::new(self.dim)).collect();
        for piece in &self.pieces {
            for &place in &piece.members {
                stats[piece.speaker].add(&self.utterances[place].features, None)?;
            }
        }
        let used = stats.into_iter().map(|stats| if stats.count > 0.0 { Some(stats) } else { None });
        used.map(|stats| Ok(stats.map(|stats| stats.normalization(variances)).transpose()?)).collect()
    }
}
