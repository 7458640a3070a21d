//! Translates each type of component, in test mode, to operators of the ONNX standard (opset 17).

mod affine;
mod attention;
mod convolution;
mod elementwise;
mod groups;
mod over_rows;
pub(crate) mod planes;
mod recurrent;
mod time_height;

use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::graph::{Graph, Value};
use nnet3_core::component::{Component, PrecomputedIndexes};

/// One use of a component, with its rows.
pub(crate) struct Use<'a> {
    pub component: &'a dyn Component,
    pub fields: Fields,
    /// Its precomputed indexes, if it has any.
    pub indexes: Option<Fields>,
    /// `None` for components without an input.
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
    let operators = operators(component.type_name()).ok_or_else(|| {
        Error::unsupported(format!("components of type {} have no ONNX form", component.type_name()))
    })?;
    let value = operators(graph, &run)?;
    let (found, expected) = ((graph.rows(value), graph.cols(value)), (output_rows, component.output_dim()));
    if found != expected {
        return Err(run.fields.error(format!("its output should be {expected:?} and came out as {found:?}")));
    }
    Ok(value)
}

/// Makes the operators of one use of a component.
type Operators = fn(&mut Graph, &Use<'_>) -> Result<Value>;

/// The operators of a type of components.
fn operators(type_name: &str) -> Option<Operators> {
    let operators: Operators = match type_name {
        "NoOpComponent"
        | "ClipGradientComponent"
        | "GeneralDropoutComponent"
        | "SpecAugmentTimeMaskComponent" => |_, run| run.input(),
        "DropoutComponent" => elementwise::dropout,
        "BackpropTruncationComponent" => elementwise::truncation,
        "DropoutMaskComponent" => elementwise::dropout_mask,
        "ConstantComponent" | "ConstantFunctionComponent" => elementwise::constant,
        "AffineComponent" | "NaturalGradientAffineComponent" | "FixedAffineComponent" => affine::affine,
        "LinearComponent" => affine::linear,
        "TdnnComponent" => affine::tdnn,
        "BlockAffineComponent" => affine::block_affine,
        "RepeatedAffineComponent" | "NaturalGradientRepeatedAffineComponent" => affine::repeated,
        "RectifiedLinearComponent" => |graph, run| Ok(graph.unary("Relu", run.input()?)),
        "SigmoidComponent" => |graph, run| Ok(graph.unary("Sigmoid", run.input()?)),
        "TanhComponent" => |graph, run| Ok(graph.unary("Tanh", run.input()?)),
        "SoftmaxComponent" => elementwise::softmax,
        "LogSoftmaxComponent" => elementwise::log_softmax,
        "FixedScaleComponent" => |graph, run| elementwise::per_column(graph, run, "Mul", "<Scales>"),
        "PerElementScaleComponent" | "NaturalGradientPerElementScaleComponent" => {
            |graph, run| elementwise::per_column(graph, run, "Mul", "<Params>")
        }
        "FixedBiasComponent" => |graph, run| elementwise::per_column(graph, run, "Add", "<Bias>"),
        "PerElementOffsetComponent" => |graph, run| elementwise::per_column(graph, run, "Add", "<Offsets>"),
        "ScaleAndOffsetComponent" => elementwise::scale_and_offset,
        "BatchNormComponent" => elementwise::batch_norm,
        "NormalizeComponent" => groups::normalize,
        "PnormComponent" => groups::pnorm,
        "SumGroupComponent" => groups::sum_group,
        "SumBlockComponent" => groups::sum_block,
        "ElementwiseProductComponent" => groups::product,
        "PermuteComponent" => |graph, run| {
            let columns = run.fields.ints("<ColumnMap>")?;
            Ok(graph.gather_cols(run.input()?, &columns))
        },
        "ConvolutionComponent" => convolution::spatial,
        "MaxpoolingComponent" => convolution::maxpooling,
        "TimeHeightConvolutionComponent" => time_height::time_height,
        "LstmNonlinearityComponent" => recurrent::lstm,
        "GruNonlinearityComponent" => recurrent::gru,
        "OutputGruNonlinearityComponent" => recurrent::output_gru,
        "StatisticsExtractionComponent" => over_rows::extraction,
        "StatisticsPoolingComponent" => over_rows::pooling,
        "DistributeComponent" => over_rows::distribute,
        "RestrictedAttentionComponent" => attention::attention,
        "CompositeComponent" => composite,
        _ => return None,
    };
    Some(operators)
}

/// One part after another.
fn composite(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let mut value = run.input()?;
    for part in run.fields.parts()? {
        value = propagate(graph, &*part, None, Some(value), run.output_rows)?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    /// Fails if a new type of component has no operators. Otherwise users would be the first to notice.
    #[test]
    fn all_types_have_operators() {
        let types = nnet3_core::component::registry::types().map(|t| t.name);
        let missing: Vec<&str> = types.filter(|name| super::operators(name).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert!(super::operators("NoSuchComponent").is_none());
    }
}
