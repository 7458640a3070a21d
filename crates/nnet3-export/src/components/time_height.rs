//! Convolutions over time and height.

use super::Use;
use super::affine::floats;
use super::convolution::add_row;
use super::planes::{self, Planes};
use crate::error::Result;
use crate::fields::{Fields, Table};
use crate::graph::{Attribute, Graph, Value};
use kaldi_io::reader::record::Entry;

/// One step of a convolution over time and height.
struct Step {
    time_shift: usize,
    first_param: usize,
    /// Input heights, or -1 for padding: all of the first output height, then all of the next one.
    height_map: Vec<i32>,
}

fn steps(indexes: &Fields) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut time_shift, mut first_param) = (0, 0);
    for pair in indexes.entries().windows(2) {
        match (&pair[0], &pair[1]) {
            (Entry::Token(token), Entry::Int(value)) if token == "<TimeShift>" => {
                time_shift = *value as usize
            }
            (Entry::Token(token), Entry::Int(value)) if token == "<ParamsStartCol>" => {
                first_param = *value as usize;
            }
            (Entry::Token(token), Entry::Ints(map)) if token == "<HeightMap>" => {
                steps.push(Step { time_shift, first_param, height_map: map.clone() });
            }
            _ => {}
        }
    }
    steps
}

struct Convolution {
    steps: Vec<Step>,
    /// A row for each output filter.
    linear: Table,
    bias: Vec<f32>,
    filters_in: usize,
    /// Frames of a row of the input, side by side, if the output has fewer frames than the input.
    frames: usize,
    /// Heights of the input's frames and of the output's.
    heights: [usize; 2],
    images: usize,
}

/// The rows of an image that belong to one output are adjacent.
pub(super) fn time_height(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (indexes, linear) = (run.indexes()?, run.fields.table("<LinearParams>")?);
    let filters_in = indexes.sizes("<NumFiltersInOut>", 2)?[0];
    let heights = indexes.sizes("<HeightInOut>", 2)?;
    let bias = floats(&run.fields.table("<BiasParams>")?.data);
    let height = run.fields.size("<HeightIn>")?;
    if !heights[0].is_multiple_of(height) {
        return Err(run
            .fields
            .error(format!("its rows have {} heights, not a multiple of {height}", heights[0])));
    }
    let convolution = Convolution {
        steps: steps(indexes),
        linear,
        bias,
        filters_in,
        frames: heights[0] / height,
        heights: [height, heights[1]],
        images: indexes.size("<NumImages>")?,
    };
    let input = graph.reshaped(run.input()?, heights[0] * filters_in);
    match convolution.kernel() {
        Some(kernel) => Ok(convolution.convolved(graph, input, run.output_rows, &kernel)),
        None => convolution.gathered(graph, run, input),
    }
}

/// A kernel along one axis.
#[derive(Clone, Copy)]
struct Axis {
    /// Places in the kernel.
    size: usize,
    dilation: usize,
    /// The place in the input of the kernel's first place at the first output.
    first: i64,
}

impl Axis {
    /// The kernel that has all these places.
    fn over(places: impl Iterator<Item = i64> + Clone) -> Option<Axis> {
        let (first, last) = (places.clone().min()?, places.clone().max()?);
        let dilation = places.fold(0, |all, place| gcd(all, place - first)).max(1);
        Some(Axis { size: ((last - first) / dilation) as usize + 1, dilation: dilation as usize, first })
    }

    fn index(&self, place: i64) -> usize {
        (place - self.first) as usize / self.dilation
    }

    fn span(&self) -> usize {
        (self.size - 1) * self.dilation
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The form of a convolution with the same height offsets everywhere.
struct Kernel {
    time: Axis,
    /// Heights that become filters of one height. So a stride can be 1.
    group: usize,
    /// Offsets from output height times stride to input height, in groups.
    height: Axis,
    stride: usize,
    /// Heights of padding, in groups.
    before: usize,
    behind: usize,
    /// For each step, and each height that it reads, the frame in the row, and the offset, in heights.
    offsets: Vec<Vec<(usize, i64)>>,
}

impl Convolution {
    /// `None` if it is not the same at all heights.
    fn kernel(&self) -> Option<Kernel> {
        let stride = self.stride()?;
        let [heights_in, heights_out] = self.heights;
        let offsets_of = |step: &Step| -> Option<Vec<(usize, i64)>> {
            let count = step.height_map.len() / heights_out;
            let offset = |j: usize| {
                let column = (0..heights_out).map(|h| (h, i64::from(step.height_map[h * count + j])));
                let (h, height) = column.clone().find(|(_, height)| *height >= 0)?;
                let frame = height as usize / heights_in;
                let first = (frame * heights_in) as i64;
                let offset = height - first - (h * stride) as i64;
                let fits = |(h, height): (usize, i64)| {
                    let wanted = (h * stride) as i64 + offset;
                    height == if (0..heights_in as i64).contains(&wanted) { first + wanted } else { -1 }
                };
                column.clone().all(fits).then_some((frame, offset))
            };
            (0..count).map(offset).collect()
        };
        let offsets = self.steps.iter().map(offsets_of).collect::<Option<Vec<_>>>()?;
        let time = Axis::over(self.steps.iter().map(|step| (step.time_shift * self.images) as i64))?;
        let group = if heights_in.is_multiple_of(stride) { stride } else { 1 };
        let all_offsets = offsets.iter().flatten();
        let places = all_offsets.map(|&(_, offset)| offset.div_euclid(group as i64));
        // The kernel begins at the first height or before it.
        let first = places.clone().min().filter(|&first| first > 0).map(|_| 0);
        let height = Axis::over(places.chain(first))?;
        let (stride, heights) = (stride / group, heights_in / group);
        let before = height.first.unsigned_abs() as usize;
        let needed = (heights_out - 1) * stride + height.span() + 1;
        let behind = needed.saturating_sub(before + heights);
        // Otherwise there would be more output heights.
        let all = before + heights + behind < needed + stride;
        all.then_some(Kernel { time, group, height, stride, before, behind, offsets })
    }

    /// The input heights from one output height to the next.
    fn stride(&self) -> Option<usize> {
        let heights_out = self.heights[1];
        if heights_out == 1 {
            return Some(1);
        }
        self.steps.iter().find_map(|step| {
            let count = step.height_map.len() / heights_out;
            step.height_map
                .iter()
                .zip(&step.height_map[count..])
                .find_map(|(&here, &next)| (here >= 0 && next > here).then_some((next - here) as usize))
        })
    }

    /// The parameters as [output filters, input filters, times, heights].
    fn weights(&self, kernel: &Kernel) -> Vec<f32> {
        let Kernel { time, group, height, offsets, .. } = kernel;
        let (filters_out, channels) = (self.linear.rows, self.frames * group * self.filters_in);
        let mut weights = vec![0.0; filters_out * channels * time.size * height.size];
        for (step, offsets) in self.steps.iter().zip(offsets) {
            let t = time.index((step.time_shift * self.images) as i64);
            for (j, &(frame, offset)) in offsets.iter().enumerate() {
                let h = height.index(offset.div_euclid(*group as i64));
                let within = offset.rem_euclid(*group as i64) as usize;
                for (filter, channel) in
                    (0..filters_out).flat_map(|filter| (0..self.filters_in).map(move |c| (filter, c)))
                {
                    let param = step.first_param + j * self.filters_in + channel;
                    let channel = (frame * group + within) * self.filters_in + channel;
                    let at = ((filter * channels + channel) * time.size + t) * height.size + h;
                    weights[at] += self.linear.data[filter * self.linear.cols + param] as f32;
                }
            }
        }
        weights
    }

    fn convolved(&self, graph: &mut Graph, input: Value, rows: usize, kernel: &Kernel) -> Value {
        let Kernel { time, group, height, stride, before, behind, .. } = *kernel;
        let ([heights_in, heights_out], filters_out) = (self.heights, self.linear.rows);
        let first = time.first as usize;
        let input = graph.rows_of(input, first as u32..(first + time.span() + rows) as u32);
        let planes = Planes { heights: heights_in, filters: self.filters_in };
        let x = planes::of(graph, input, planes, self.frames, group);
        let dims = [filters_out, self.frames * group * self.filters_in, time.size, height.size];
        let w = graph.floats(&dims, self.weights(kernel));
        let bias = graph.row(self.bias.clone());
        // The dilation of an axis with one place has no meaning; some runtimes want both to be equal.
        let dilations = match (time.size, height.size) {
            (1, _) => [height.dilation; 2],
            (_, 1) => [time.dilation; 2],
            _ => [time.dilation, height.dilation],
        };
        let ints = |list: &[usize]| Attribute::Ints(list.iter().map(|&i| i as i64).collect());
        let attributes = [
            ("dilations", ints(&dilations)),
            ("kernel_shape", ints(&dims[2..])),
            ("pads", ints(&[0, before, 0, behind])),
            ("strides", ints(&[1, stride])),
        ];
        let y = graph.standard("Conv", &[x, w, bias], &attributes, (rows, heights_out * filters_out));
        planes::rows(graph, y, Planes { heights: heights_out, filters: filters_out })
    }

    /// Computes a product for each distinct time offset, with the columns of the rows that it reads.
    fn gathered(&self, graph: &mut Graph, run: &Use<'_>, input: Value) -> Result<Value> {
        let (linear, filters_in) = (&self.linear, self.filters_in);
        let heights = [self.frames * self.heights[0], self.heights[1]];
        let rows = run.output_rows as u32;
        let mut sum = None;
        for Step { time_shift, first_param, height_map } in &self.steps {
            let first = (time_shift * self.images) as u32;
            let source = graph.rows_of(input, first..first + rows);
            // A column of zeros stands for heights outside.
            let padded = height_map.iter().any(|&height| height < 0);
            let source = if padded {
                let zeros = graph.fill(vec![0.0], rows as usize);
                graph.concat_cols(&[source, zeros])
            } else {
                source
            };
            let zero = (heights[0] * filters_in) as i64;
            let columns: Vec<i64> = height_map
                .iter()
                .flat_map(|&height| (0..filters_in as i64).map(move |f| (height, f)))
                .map(|(height, f)| if height < 0 { zero } else { i64::from(height) * filters_in as i64 + f })
                .collect();
            let gathered = match columns.iter().copied().eq(0..zero) {
                true => source,
                false => graph.gather_cols(source, &columns),
            };
            let cols = height_map.len() / heights[1] * filters_in;
            let gathered = graph.reshaped(gathered, cols);
            let weights = (0..linear.rows)
                .flat_map(|o| linear.data[o * linear.cols + first_param..][..cols].iter().copied())
                .collect();
            let product = graph.matmul(gathered, &Table { rows: linear.rows, cols, data: weights });
            sum = Some(match sum {
                None => product,
                Some(sum) => graph.binary("Add", sum, product),
            });
        }
        let sum = sum.ok_or_else(|| run.fields.error("a convolution without steps"))?;
        let sum = add_row(graph, sum, &run.fields.table("<BiasParams>")?);
        Ok(graph.reshaped(sum, run.component.output_dim()))
    }
}
