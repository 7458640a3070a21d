//! `BlockAffineComponent`: an affine function whose matrix is block-diagonal.

use crate::declared::*;
use crate::parameters::*;
use crate::repeated::Repeated;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::text;
use nnet3_matrix::{Blocks, GemmBlocks};

pub const TYPES: &[&ComponentType] = &[BlockAffine::TYPE];

const NUM_BLOCKS: Field<usize> =
    field("num-blocks", "<NumBlocks>", "number of blocks; divides both dimensions");
const PARAM_STDDEV: Field<f32> = stddev_key("param-stddev").or_by("1/sqrt(input-dim/num-blocks)");

#[derive(Clone, Debug)]
pub struct BlockAffine {
    settings: UpdatableSettings,
    /// O × I/B: the blocks (O/B × I/B) below each other.
    linear: Matrix,
    /// 1 × O.
    bias: Matrix,
    num_blocks: usize,
}

impl BlockAffine {
    /// Converts a repeated affine component: the same function and settings, but each repetition becomes a block with
    /// its own parameters.
    pub fn from_repeated(repeated: &Repeated) -> BlockAffine {
        let (settings, linear, bias, repeats) = repeated.parts();
        let repeat =
            |m: &Matrix, rows, cols| Matrix::from_slice(m.device(), rows, cols, &m.to_vec().repeat(repeats));
        BlockAffine {
            settings: settings.clone(),
            linear: repeat(linear, linear.rows() * repeats, linear.cols()),
            bias: repeat(bias, 1, bias.cols() * repeats),
            num_blocks: repeats,
        }
    }

    /// Inputs and outputs of a block: its columns and rows in `linear`.
    fn block_dims(&self) -> (usize, usize) {
        (self.linear.cols(), self.linear.rows() / self.num_blocks)
    }

    fn blocks(&self) -> Blocks<View<'_>> {
        let (ins, outs) = self.block_dims();
        self.linear.view().blocks((outs, ins), 1, (outs, 0), self.num_blocks)
    }
}

impl Declared for BlockAffine {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<BlockAffine>(
        "BlockAffineComponent",
        "An affine function with a block-diagonal matrix: each block of outputs sees one block of inputs.",
        "input-dim=6 output-dim=4 num-blocks=2",
    );

    fn fields(f: &mut Fields<'_, BlockAffine>) -> Result<Option<BlockAffine>> {
        let mut settings = f.settings(|c| &c.settings)?;
        let (input_dim, output_dim) = (f.key(&INPUT_DIM)?, f.key(&OUTPUT_DIM)?);
        let num_blocks = f.get(&NUM_BLOCKS, |c| c.num_blocks)?;
        if f.is_config() {
            f.check_divides((&INPUT_DIM, input_dim), (&NUM_BLOCKS, num_blocks))?;
            f.check_divides((&OUTPUT_DIM, output_dim), (&NUM_BLOCKS, num_blocks))?;
        }
        let cols = input_dim / num_blocks;
        let initial = Initial {
            shape: (output_dim, cols),
            stddev: f.key_or(&PARAM_STDDEV, stddev_for(cols))?,
            bias_dim: output_dim,
            bias_mean: f.key(&BIAS_MEAN)?,
            bias_stddev: f.key(&stddev_key("bias-stddev").or(1.0))?,
        };
        let (linear, bias) = f.initial_or_stored(initial, |c| (&c.linear, &c.bias))?;
        f.check(linear.rows().is_multiple_of(num_blocks), || {
            format!("<NumBlocks> {num_blocks} does not divide the output dimension {}", linear.rows())
        })?;
        f.note(|c, _| {
            text::rms_stats("linear-params", &c.linear.to_vec()) + &text::mean_stats("bias", &c.bias.to_vec())
        });
        read_old_is_gradient(f, &mut settings)?;
        f.done(BlockAffine { settings, linear, bias, num_blocks })
    }
}

impl Component for BlockAffine {
    fn parameters(&self) -> Parameters<'_> {
        named([("linear", &self.linear), ("bias", &self.bias)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("linear", &mut self.linear), ("bias", &mut self.bias)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        self.linear.cols() * self.num_blocks
    }
    fn output_dim(&self) -> usize {
        self.linear.rows()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::UPDATABLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::BACKPROP_ADDS
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        let (ins, outs) = self.block_dims();
        let input = input.blocks((input.rows(), ins), 1, (0, ins), self.num_blocks);
        context.backend.set_rows(output, self.bias.view());
        let output = output.blocks((output.rows(), outs), 1, (0, outs), self.num_blocks);
        context.backend.gemm_blocks(GemmBlocks::add(output, input, self.blocks().transposed()));
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let ((ins, outs), count, rows) = (self.block_dims(), self.num_blocks, args.out_deriv.rows());
        let derivs = args.out_deriv.blocks((rows, outs), 1, (0, outs), count);
        if let Some(in_deriv) = args.in_deriv {
            let in_derivs = in_deriv.blocks((rows, ins), 1, (0, ins), count);
            context.backend.gemm_blocks(GemmBlocks::add(in_derivs, derivs, self.blocks()));
        }
        let (input, deriv) = (args.in_value, args.out_deriv);
        update.products(context, Products::Blocks { count, input, deriv });
    }
}

impl Updatable for BlockAffine {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn checks() {
        check_component("type=BlockAffineComponent input-dim=6 output-dim=4 num-blocks=2");
        check_component(
            "type=BlockAffineComponent input-dim=3 output-dim=6 num-blocks=3 bias-mean=1 bias-stddev=0",
        );
        refused(
            "type=BlockAffineComponent input-dim=6 output-dim=4 num-blocks=3",
            "does not divide output-dim=4",
        );
        refused("type=BlockAffineComponent input-dim=6 output-dim=4 num-blocks=0", "num-blocks=0");
        refused("type=BlockAffineComponent input-dim=6 output-dim=4", "'num-blocks' is missing");
        let text = |blocks: i32| {
            format!(
                "<BlockAffineComponent> <NumBlocks> {blocks} <LinearParams> [ 1 2\n 3 4 ]\n<BiasParams> [ 3 4 ]\n\
                 <IsGradient> T </BlockAffineComponent> "
            )
        };
        assert_eq!(from_text(&text(2)).input_dim(), 4);
        read_refused(&text(3), "<NumBlocks> 3 does not divide the output dimension 2");
        read_refused(&text(0), "<NumBlocks>");
    }

    #[test]
    fn same_function_as_repeated() {
        let repeated = component(
            "type=RepeatedAffineComponent input-dim=6 output-dim=4 num-repeats=2 bias-stddev=1 max-change=3",
        );
        let block = BlockAffine::from_repeated(downcast(&*repeated));
        assert_eq!(block.settings.max_change, 3.0);
        round_trip(&block);
        let harness = Harness::new();
        let input = random_matrix(&Random::new(1), 5, 6);
        let [a, b] =
            [&*repeated, &block].map(|c: &dyn Component| harness.forward(c, None, &input, 5).output.to_vec());
        assert_near(&a, &b, 1e-6, "block and repeated");
    }
}
