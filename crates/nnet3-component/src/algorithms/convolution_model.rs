//! The shape of a convolution over time and height: filters, heights and offsets, with their config keys and file form
//! (`ConvolutionModel` of the reference).

use crate::declared::*;
use crate::fields::key;
use crate::tdnn_keys::get_integers;
use crate::{Component, Key, Kind};
use nnet3_base::config::ConfigLine;
use nnet3_base::error::Result;

const SIZES: [Field<usize>; 5] = [
    field("num-filters-in", "<NumFiltersIn>", "input filters"),
    field("num-filters-out", "<NumFiltersOut>", "output filters"),
    field("height-in", "<HeightIn>", "input heights; input column = height * num-filters-in + filter"),
    field("height-out", "<HeightOut>", "output heights; output column = height * num-filters-out + filter"),
    field(
        "height-subsample-out",
        "<HeightSubsampleOut>",
        "output height h reads input heights h * height-subsample-out + offset",
    )
    .or(1),
];
const LISTS: [Key; 4] = [
    key(
        "offsets",
        Kind::String,
        "all pairs of the next two",
        "pairs time,height separated by semicolons: -1,0;0,-1;0,0",
    ),
    key(
        "height-offsets",
        Kind::IntList,
        "none",
        "increasing height offsets; with time-offsets, unless offsets is given",
    ),
    key(
        "time-offsets",
        Kind::IntList,
        "none",
        "increasing time offsets; with height-offsets, unless offsets is given",
    ),
    key(
        "required-time-offsets",
        Kind::IntList,
        "all time offsets",
        "time offsets without which there is no output; the others count as zeros where they are missing",
    ),
];

/// Heights beyond this are taken for a mistake.
const MOST_HEIGHTS: usize = 1 << 24;

/// y\[h, fo\] = Σ over offsets (t, o) and fi of W\[fo, offset, fi\] · x(time + t)\[h · subsample + o, fi\], with x = 0
/// outside its heights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvolutionModel {
    pub filters_in: usize,
    pub filters_out: usize,
    pub height_in: usize,
    pub height_out: usize,
    pub height_subsample: usize,
    /// Pairs (time, height), sorted, none twice.
    pub offsets: Vec<(i32, i32)>,
    /// The distinct times of `offsets`, and whether an output needs them.
    pub time_offsets: Vec<(i32, bool)>,
}

impl ConvolutionModel {
    /// Fails with a sentence if the parts do not fit each other.
    fn new(
        [filters_in, filters_out, height_in, height_out, height_subsample]: [usize; 5],
        offsets: Vec<(i32, i32)>,
        required: &[i32],
    ) -> std::result::Result<ConvolutionModel, String> {
        if offsets.is_empty() {
            return Err("there are no offsets".into());
        }
        if let Some(pair) = offsets.windows(2).find(|pair| pair[0] >= pair[1]) {
            let ((t, h), (next_t, next_h)) = (pair[0], pair[1]);
            return Err(format!(
                "offsets must be sorted and none repeated, found {t},{h} before {next_t},{next_h}"
            ));
        }
        let mut times: Vec<i32> = offsets.iter().map(|&(time, _)| time).collect();
        times.dedup();
        if let Some(other) = required.iter().find(|time| !times.contains(time)) {
            return Err(format!(
                "required-time-offsets: the required time offset {other} is not among the time offsets"
            ));
        }
        if required.is_empty() {
            return Err("there are no required time offsets".into());
        }
        let time_offsets = times.into_iter().map(|time| (time, required.contains(&time))).collect();
        let new = ConvolutionModel {
            filters_in,
            filters_out,
            height_in,
            height_out,
            height_subsample,
            offsets,
            time_offsets,
        };
        new.check_sizes()?;
        new.check_heights()?;
        Ok(new)
    }

    fn check_sizes(&self) -> std::result::Result<(), String> {
        for (name, height) in [("input", self.height_in), ("output", self.height_out)] {
            if height > MOST_HEIGHTS {
                return Err(format!("height-in, height-out: {height} {name} heights are too many"));
            }
        }
        for dim in [self.height_in * self.filters_in, self.height_out * self.filters_out] {
            if i32::try_from(dim).is_err() {
                return Err(format!("num-filters-in, num-filters-out: {dim} columns are too many"));
            }
        }
        Ok(())
    }

    /// The input height that an output height reads at an offset, if it exists.
    pub fn height(&self, output: usize, offset: i32) -> Option<usize> {
        let height = (output * self.height_subsample) as i64 + offset as i64;
        usize::try_from(height).ok().filter(|&height| height < self.height_in)
    }

    /// Checks that each offset is used, and that each output height has input from a required time offset.
    fn check_heights(&self) -> std::result::Result<(), String> {
        for &(time, height) in &self.offsets {
            if (0..self.height_out).all(|output| self.height(output, height).is_none()) {
                return Err(format!("offsets: the offset {time},{height} reads no existing input height"));
            }
        }
        let required = |time: i32| self.time_offsets.iter().any(|&(t, required)| t == time && required);
        let heights: Vec<i32> =
            self.offsets.iter().filter(|(time, _)| required(*time)).map(|&(_, h)| h).collect();
        match (0..self.height_out).find(|&output| heights.iter().all(|&h| self.height(output, h).is_none())) {
            Some(output) => Err(format!(
                "offsets: output height {output} reads no existing input at required time offsets"
            )),
            None => Ok(()),
        }
    }

    /// Columns of the parameter matrix.
    pub(crate) fn param_cols(&self) -> usize {
        self.filters_in * self.offsets.len()
    }

    fn required(&self) -> Vec<i32> {
        self.time_offsets.iter().filter(|(_, required)| *required).map(|&(time, _)| time).collect()
    }

    // ---- fields ------------------------------------------------------------------------------------------------

    /// Visits all from `<ConvolutionModel>` to `</ConvolutionModel>`. Returns a sample unless it reads.
    pub fn fields<C: Component>(
        f: &mut Fields<'_, C>,
        of: impl Fn(&C) -> &ConvolutionModel + Copy,
    ) -> Result<ConvolutionModel> {
        f.token("<ConvolutionModel>")?;
        let sizes = |c: &C| of(c).sizes();
        let mut size = |i: usize| f.get(&SIZES[i].hidden(), |c| sizes(c)[i]);
        let sizes = [size(0)?, size(1)?, size(2)?, size(3)?, size(4)?];
        LISTS.iter().for_each(|key| f.document(key));
        let (mut offsets, mut required) = (vec![(0, 0)], vec![0]);
        if let Some((line, _)) = f.config() {
            offsets = offsets_from_config(line)?;
            required = match get_increasing(line, "required-time-offsets")? {
                Some(required) => required,
                None => offsets.iter().map(|&(time, _)| time).collect(),
            };
        } else if let Some(r) = f.reader() {
            r.expect_token("<Offsets>")?;
            offsets = r.read_i32_pairs()?;
            r.expect_token("<RequiredTimeOffsets>")?;
            required = r.read_i32_vector()?;
        } else if let Some((w, c)) = f.writer() {
            w.write_token("<Offsets>")?;
            w.write_i32_pairs(&of(c).offsets)?;
            w.write_token("<RequiredTimeOffsets>")?;
            w.write_i32_vector(&of(c).required())?;
        }
        f.token("</ConvolutionModel>")?;
        if let Some(c) = f.component() {
            return Ok(of(c).clone());
        }
        ConvolutionModel::new(sizes, offsets, &required).map_err(|defect| f.error(defect))
    }

    fn sizes(&self) -> [usize; 5] {
        [self.filters_in, self.filters_out, self.height_in, self.height_out, self.height_subsample]
    }

    pub fn info(&self) -> String {
        let offsets: Vec<String> =
            self.offsets.iter().map(|(time, height)| format!("{time},{height}")).collect();
        let required: Vec<String> = self.required().iter().map(i32::to_string).collect();
        format!(
            "num-filters-in={}, num-filters-out={}, height-in={}, height-out={}, height-subsample-out={}, \
             {{time,height}}-offsets=[{}], required-time-offsets=[{}], input-dim={}, output-dim={}",
            self.filters_in,
            self.filters_out,
            self.height_in,
            self.height_out,
            self.height_subsample,
            offsets.join(" "),
            required.join(","),
            self.height_in * self.filters_in,
            self.height_out * self.filters_out
        )
    }
}

/// A list that must increase.
fn get_increasing(line: &mut ConfigLine, key: &str) -> Result<Option<Vec<i32>>> {
    let Some(list) = get_integers(line, key)? else { return Ok(None) };
    match !list.is_empty() && list.windows(2).all(|pair| pair[0] < pair[1]) {
        true => Ok(Some(list)),
        false => {
            Err(line.error(format!("{key}: expected at least one integer, each greater than the one before")))
        }
    }
}

fn offsets_from_config(line: &mut ConfigLine) -> Result<Vec<(i32, i32)>> {
    if let Some(text) = line.get_string("offsets") {
        let pair = |item: &str| match kaldi_io::text::split_integers(item, &[','], false)?[..] {
            [time, height] => Some((time, height)),
            _ => None,
        };
        let pairs: Option<Vec<(i32, i32)>> = text.split(';').map(pair).collect();
        let mut pairs = pairs.ok_or_else(|| {
            line.error(format!(
                "offsets={text}: expected pairs time,height separated by semicolons, such as -1,0;0,0"
            ))
        })?;
        pairs.sort_unstable();
        return Ok(pairs);
    }
    let (heights, times) = (get_increasing(line, "height-offsets")?, get_increasing(line, "time-offsets")?);
    match (heights, times) {
        (Some(heights), Some(times)) => {
            Ok(times.iter().flat_map(|&time| heights.iter().map(move |&height| (time, height))).collect())
        }
        _ => Err(line.error("'offsets' is missing (or both 'height-offsets' and 'time-offsets')")),
    }
}
