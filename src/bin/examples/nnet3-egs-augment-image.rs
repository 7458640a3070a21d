//! `nnet3-egs-augment-image`: examples of images, changed at random.

use anyhow::Result;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::Site;
use kaldi_io::TableWriter;
use nnet3::egs;
use nnet3_train::augment::AugmentOptions;
use nnet3_train::{CRand, ExampleHolder};

const SITE: Site = Site::main("nnet3-egs-augment-image.cc", 366);

/// Copy examples of images, doing image augmentation: each image is shifted, flipped and rotated at random.
///
/// Each example must have an input named 'input'. Successive t values are horizontal positions. The feature dimension
/// is the vertical position and the channel (color), with the channel varying the fastest.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-egs-augment-image --horizontal-flip-prob=0.5 --horizontal-shift=0.1 \\\n    \
    --vertical-shift=0.1 --srand=103 --num-channels=3 --fill-mode=nearest ark:- ark:-\n\
    See also: nnet3-copy-egs, nnet3-get-egs-simple"
)]
pub struct Options {
    /// Seed for the random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Number of colors in the image. It is important to specify this
    #[arg(long, default_value_t = 1)]
    num_channels: u32,
    /// Probability of doing horizontal flip
    #[arg(long, default_value_t = 0.0)]
    horizontal_flip_prob: f32,
    /// Maximum allowed horizontal shift as proportion of image width
    #[arg(long, default_value_t = 0.0)]
    horizontal_shift: f32,
    /// Maximum allowed vertical shift as proportion of image height
    #[arg(long, default_value_t = 0.0)]
    vertical_shift: f32,
    /// Maximum allowed degree to rotate the image
    #[arg(long, default_value_t = 0.0)]
    rotation_degree: f32,
    /// Probability of doing rotation
    #[arg(long, default_value_t = 0.0)]
    rotation_prob: f32,
    /// Pixels outside the image: the nearest pixel, or the image in a mirror (nearest or reflect)
    #[arg(long, default_value = "nearest", value_parser = ["nearest", "reflect"])]
    fill_mode: String,
    #[arg(value_name = "<egs-rspecifier>")]
    egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    egs_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let augmentation = AugmentOptions {
        num_channels: options.num_channels as usize,
        horizontal_flip_prob: options.horizontal_flip_prob,
        horizontal_shift: options.horizontal_shift,
        vertical_shift: options.vertical_shift,
        rotation_degree: options.rotation_degree,
        rotation_prob: options.rotation_prob,
        fill_mode: options.fill_mode.parse()?,
    };
    augmentation.check()?;
    let mut rand = CRand::new(options.srand);
    let mut egs = egs::open(&options.egs_in)?;
    if egs.at_end()? {
        return egs::nothing(&SITE, egs);
    }
    let mut writer = TableWriter::<ExampleHolder>::open(&options.egs_out)?;
    while let Some((key, mut example)) = egs.next()? {
        augmentation.augment(&mut example, &mut rand).map_err(|e| egs.blame(e))?;
        writer.write(&key, &example)?;
    }
    let count = egs.count();
    egs.close()?;
    writer.close()?;
    kaldi_log!(SITE, "Perturbed {count} neural-network training images.");
    Ok(0)
}
