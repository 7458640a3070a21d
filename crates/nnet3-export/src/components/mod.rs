//! What each type of component does in test mode, with operators of the ONNX standard (opset 17).

mod affine;
mod attention;
mod convolution;
mod elementwise;
mod groups;
mod over_rows;
mod recurrent;

use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::graph::{Graph, Value};
use nnet3_core::component::{Component, PrecomputedIndexes};

/// A component with what it does on which rows.
pub(crate) struct Use<'a> {
    pub component: &'a dyn Component,
    pub fields: Fields,
    /// What it has precomputed, if anything.
    pub indexes: Option<Fields>,
    /// `None` for components that read nothing.
    pub input: Option<Value>,
    pub output_rows: usize,
}

impl Use<'_> {
    pub fn input(&self) -> Result<Value> {
        self.input.ok_or_else(|| self.fields.error("it has no input"))
    }
    pub fn indexes(&self) -> Result<&Fields> {
        self.indexes.as_ref().ok_or_else(|| self.fields.error("it has no precomputed indexes"))
    }
}

/// The operators of one use of a component; their result has `output_rows` rows.
pub(crate) fn propagate(
    graph: &mut Graph,
    component: &dyn Component,
    indexes: Option<&dyn PrecomputedIndexes>,
    input: Option<Value>,
    output_rows: usize,
) -> Result<Value> {
    let fields = Fields::of_component(component)?;
    let indexes = indexes.map(|indexes| Fields::of_indexes(component.type_name(), indexes)).transpose()?;
    let run = Use { component, fields, indexes, input, output_rows };
    let value = match component.type_name() {
        "NoOpComponent"
        | "ClipGradientComponent"
        | "GeneralDropoutComponent"
        | "SpecAugmentTimeMaskComponent" => run.input()?,
        "DropoutComponent" => elementwise::dropout(graph, &run)?,
        "BackpropTruncationComponent" => elementwise::truncation(graph, &run)?,
        "DropoutMaskComponent" => elementwise::dropout_mask(graph, &run)?,
        "ConstantComponent" | "ConstantFunctionComponent" => elementwise::constant(graph, &run)?,
        "AffineComponent" | "NaturalGradientAffineComponent" | "FixedAffineComponent" => {
            affine::affine(graph, &run)?
        }
        "LinearComponent" => affine::linear(graph, &run)?,
        "TdnnComponent" => affine::tdnn(graph, &run)?,
        "BlockAffineComponent" => affine::block_affine(graph, &run)?,
        "RepeatedAffineComponent" | "NaturalGradientRepeatedAffineComponent" => {
            affine::repeated(graph, &run)?
        }
        "RectifiedLinearComponent" => graph.unary("Relu", run.input()?),
        "SigmoidComponent" => graph.unary("Sigmoid", run.input()?),
        "TanhComponent" => graph.unary("Tanh", run.input()?),
        "SoftmaxComponent" => elementwise::softmax(graph, &run)?,
        "LogSoftmaxComponent" => elementwise::log_softmax(graph, &run)?,
        "FixedScaleComponent" => elementwise::per_column(graph, &run, "Mul", "<Scales>")?,
        "PerElementScaleComponent" | "NaturalGradientPerElementScaleComponent" => {
            elementwise::per_column(graph, &run, "Mul", "<Params>")?
        }
        "FixedBiasComponent" => elementwise::per_column(graph, &run, "Add", "<Bias>")?,
        "PerElementOffsetComponent" => elementwise::per_column(graph, &run, "Add", "<Offsets>")?,
        "ScaleAndOffsetComponent" => elementwise::scale_and_offset(graph, &run)?,
        "BatchNormComponent" => elementwise::batch_norm(graph, &run)?,
        "NormalizeComponent" => groups::normalize(graph, &run)?,
        "PnormComponent" => groups::pnorm(graph, &run)?,
        "SumGroupComponent" => groups::sum_group(graph, &run)?,
        "SumBlockComponent" => groups::sum_block(graph, &run)?,
        "ElementwiseProductComponent" => groups::product(graph, &run)?,
        "PermuteComponent" => {
            let columns = run.fields.ints("<ColumnMap>")?;
            graph.gather_cols(run.input()?, &columns)
        }
        "ConvolutionComponent" => convolution::spatial(graph, &run)?,
        "MaxpoolingComponent" => convolution::maxpooling(graph, &run)?,
        "TimeHeightConvolutionComponent" => convolution::time_height(graph, &run)?,
        "LstmNonlinearityComponent" => recurrent::lstm(graph, &run)?,
        "GruNonlinearityComponent" => recurrent::gru(graph, &run)?,
        "OutputGruNonlinearityComponent" => recurrent::output_gru(graph, &run)?,
        "StatisticsExtractionComponent" => over_rows::extraction(graph, &run)?,
        "StatisticsPoolingComponent" => over_rows::pooling(graph, &run)?,
        "DistributeComponent" => over_rows::distribute(graph, &run)?,
        "RestrictedAttentionComponent" => attention::attention(graph, &run)?,
        "CompositeComponent" => {
            let mut value = run.input()?;
            for part in run.fields.parts()? {
                value = propagate(graph, &*part, None, Some(value), output_rows)?;
            }
            value
        }
        other => return Err(Error::unsupported(format!("components of type {other} have no ONNX form"))),
    };
    let (found, expected) = ((graph.rows(value), graph.cols(value)), (output_rows, component.output_dim()));
    if found != expected {
        return Err(run.fields.error(format!("its output should be {expected:?} and came out as {found:?}")));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    /// The list above has all types; a type that is new and missing there would only be noticed when somebody exports it.
    #[test]
    fn no_type_is_missing() {
        let source = include_str!("mod.rs");
        let missing: Vec<&str> = nnet3_core::component::registry::types()
            .map(|t| t.name)
            .filter(|name| !source.contains(&format!("\"{name}\"")))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
