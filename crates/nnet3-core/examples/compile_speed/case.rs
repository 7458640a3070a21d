//! Networks and requests, original and enlarged.

use super::Result;
use nnet3_core::config::read_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_core::{Index, Random};
use std::path::Path;

pub struct Case {
    pub name: String,
    pub nnet: Nnet,
    pub request: ComputationRequest,
}

/// The case's request with other numbers of sequences and frames.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    pub sequences: i32,
    /// Number of output frames in place of the original 150.
    pub frames: i32,
    /// If false, two rows of the first input change places: then no sequence can stand for others.
    pub alike: bool,
}

/// Output frames of the case that is grown.
const ORIGINAL_FRAMES: i32 = 150;

impl Case {
    pub fn load(folder: &Path) -> Result<Case> {
        let text = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let mut nnet = Nnet::default();
        nnet.read_config(read_config(&text("config"))?, &Random::new(0))?;
        Ok(Case {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            nnet,
            request: ComputationRequest::load(&text("request.txt"))?,
        })
    }

    pub fn grown(&self, growth: Growth) -> Result<ComputationRequest> {
        let mut request = self.request.clone();
        for io in request.inputs.iter_mut().chain(&mut request.outputs) {
            *io = grown(io, growth).ok_or("the request has no regular times")?;
        }
        if !growth.alike {
            // The longest list: others may have too few rows for an irregular order.
            let input = request.inputs.iter_mut().max_by_key(|io| io.indexes.len());
            input.ok_or("the request has no input")?.indexes.swap(0, 1);
        }
        Ok(request)
    }
}

fn grown(io: &IoSpecification, growth: Growth) -> Option<IoSpecification> {
    let times: Vec<i32> = io.indexes.iter().filter(|i| i.n == 0).map(|i| i.t).collect();
    let (first, last) = (*times.first()?, *times.last()?);
    let (step, last) = match times.get(1) {
        Some(second) => (second - first, last + growth.frames - ORIGINAL_FRAMES),
        None => (1, last),
    };
    let of_sequence = |n| (first..=last).step_by(step as usize).map(move |t| Index::new(n, t, 0));
    let indexes = (0..growth.sequences).flat_map(of_sequence).collect();
    Some(IoSpecification { name: io.name.clone(), indexes, has_deriv: io.has_deriv })
}

impl Growth {
    pub fn to_args(self) -> [String; 3] {
        [self.sequences.to_string(), self.frames.to_string(), self.alike.to_string()]
    }

    pub fn from_args(args: &[String]) -> Result<Option<Growth>> {
        match args {
            [] => Ok(None),
            [sequences, frames, alike] => Ok(Some(Growth {
                sequences: sequences.parse()?,
                frames: frames.parse()?,
                alike: alike.parse()?,
            })),
            _ => Err("a growth is sequences, frames and whether sequences are alike".into()),
        }
    }
}
