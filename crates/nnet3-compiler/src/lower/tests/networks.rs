//! Networks that the passes change, as configs. `tests/it/lowering` runs the same ones.

/// Products into derivatives of more than one reader.
pub const SMALL: &str = "
    input-node name=input dim=4
    component name=a type=AffineComponent input-dim=4 output-dim=4
    component name=b type=LinearComponent input-dim=4 output-dim=4
    component name=c type=AffineComponent input-dim=4 output-dim=4
    component name=d type=RectifiedLinearComponent dim=4
    component-node name=a component=a input=Offset(input, 1)
    component-node name=b component=b input=a
    component-node name=c component=c input=a
    component-node name=d component=d input=Sum(b, c, Offset(a, 1))
    output-node name=output input=d";

/// A bypass around products of several offsets, in matrices that are worked on in blocks; statistics of windows.
pub const BYPASS: &str = "
    input-node name=input dim=4
    component name=a type=LinearComponent input-dim=4 output-dim=64
    component name=b type=TdnnComponent input-dim=64 output-dim=8 time-offsets=-1,0 use-bias=false
    component name=c type=TdnnComponent input-dim=8 output-dim=64 time-offsets=0,1
    component name=d type=NoOpComponent dim=64
    component name=e type=AffineComponent input-dim=64 output-dim=2
    component name=f type=StatisticsExtractionComponent input-dim=2
    component name=g type=StatisticsPoolingComponent input-dim=5 left-context=2 right-context=2
    component name=h type=LinearComponent input-dim=4 output-dim=4
    component-node name=a component=a input=input
    component-node name=b component=b input=a
    component-node name=c component=c input=b
    component-node name=d component=d input=Sum(Scale(0.66, a), c, Offset(c, 2))
    component-node name=e component=e input=d
    component-node name=f component=f input=e
    component-node name=g component=g input=f
    component-node name=h component=h input=g
    output-node name=output input=h";

/// A recurrence: affine functions of the input from below (several kinds) and of the previous step.
pub const RECURRENT: &str = "
    input-node name=input dim=4
    component name=a type=AffineComponent input-dim=4 output-dim=40
    component name=b type=AffineComponent input-dim=44 output-dim=8
    component name=c type=AffineComponent input-dim=8 output-dim=4
    component name=d type=TanhComponent dim=4
    component-node name=a component=a input=Sum(input, Offset(input, 1))
    component-node name=b component=b input=Append(INPUT)
    component-node name=c component=c input=b
    component-node name=d component=d input=c
    output-node name=output input=d";

/// Time-spliced layers, of three and of two taps, wide and long enough for filters to pay.
pub const SPLICED: &str = "
    input-node name=input dim=4
    component name=a type=AffineComponent input-dim=4 output-dim=64
    component name=b type=AffineComponent input-dim=192 output-dim=64
    component name=c type=TanhComponent dim=64
    component name=d type=AffineComponent input-dim=128 output-dim=64
    component name=e type=AffineComponent input-dim=64 output-dim=4
    component-node name=a component=a input=input
    component-node name=b component=b input=Append(Offset(a, -1), a, Offset(a, 1))
    component-node name=c component=c input=b
    component-node name=d component=d input=Append(Offset(c, -3), c)
    component-node name=e component=e input=d
    output-node name=output input=e";

/// An LSTM layer on a wide layer.
pub fn lstm_on_wide(input: &str, output: &str) -> String {
    format!(
        "input-node name=input dim=4
        component name=a type=AffineComponent input-dim=4 output-dim=40
        component name=w type=AffineComponent input-dim=44 output-dim=12
        component name=l type=LstmNonlinearityComponent cell-dim=3
        component name=r type=AffineComponent input-dim=3 output-dim=4
        component-node name=a component=a input=input
        component-node name=w component=w input=Append({input})
        component-node name=l component=l input=Append(w, IfDefined(Offset(c, -1)))
        dim-range-node name=c input-node=l dim-offset=0 dim=3
        dim-range-node name=m input-node=l dim-offset=3 dim=3
        component-node name=r component=r input=m
        {output}\n"
    )
}

pub const WIDE_OUTPUT: &str = "output-node name=output input=r";

/// The layer below has another reader.
pub const WIDE_BYPASSED: &str = "
    component name=e type=AffineComponent input-dim=40 output-dim=4
    component-node name=e component=e input=a
    output-node name=output input=Sum(r, e)";

/// [`lstm_on_wide`] without another reader.
pub fn common_derivative() -> String {
    lstm_on_wide("a, IfDefined(Offset(r, -1))", WIDE_OUTPUT)
}

/// A recurrent layer: an LSTM cell and a projection, which both go to the next step.
pub fn step_layer(name: &str, input: &str) -> String {
    format!(
        "component name={name}w type=AffineComponent input-dim=8 output-dim=12
        component name={name}l type=LstmNonlinearityComponent cell-dim=3
        component name={name}r type=AffineComponent input-dim=3 output-dim=4
        component-node name={name}w component={name}w input=Append({input}, IfDefined(Offset({name}r, -1)))
        component-node name={name}l component={name}l input=Append({name}w, IfDefined(Offset({name}c, -1)))
        dim-range-node name={name}c input-node={name}l dim-offset=0 dim=3
        dim-range-node name={name}m input-node={name}l dim-offset=3 dim=3
        component-node name={name}r component={name}r input={name}m\n"
    )
}

pub fn step_network(layers: &str, output: &str) -> String {
    format!("input-node name=input dim=4\n{layers}output-node name=output input={output}")
}

/// One [`step_layer`].
pub fn step_updates() -> String {
    step_network(&step_layer("a", "input"), "ar")
}

/// A second input is read at all times; `time` is where.
pub fn row_sums(time: &str) -> String {
    format!(
        "input-node name=input dim=4
        component name=a type=AffineComponent input-dim=4 output-dim=4
        component name=b type=AffineComponent input-dim=8 output-dim=4
        component name=c type=TanhComponent dim=4
        component-node name=a component=a input=input
        component-node name=b component=b input=Append(Offset(a, 1), {time})
        component-node name=c component=c input=b
        output-node name=output input=c"
    )
}

/// Two layers with a bypass. `masks` is the second component after normalisation, `bypass` the other term.
pub fn normalized(masks: &str, bypass: &str) -> String {
    format!(
        "input-node name=input dim=4
        component name=a type=AffineComponent input-dim=4 output-dim=8
        component name=b type=AffineComponent input-dim=8 output-dim=8
        component name=r type=RectifiedLinearComponent dim=8
        component name=n type=BatchNormComponent dim=8
        component name=s type=NoOpComponent dim=8
        component name=c type=AffineComponent input-dim=8 output-dim=4
        component-node name=a component=a input=input
        component-node name=b component=b input=a
        component-node name=r component=r input=b
        component-node name=n component=n input=r
        {masks}
        component-node name=s component=s input=Sum(Scale(0.66, {bypass}), d)
        component-node name=c component=c input=s
        output-node name=output input=c"
    )
}

pub const MASKED: &str =
    "component name=d type=GeneralDropoutComponent dim=8 dropout-proportion=0.3 continuous=true
    component-node name=d component=d input=n";

pub const WITHOUT: &str = "dim-range-node name=d input-node=n dim=8 dim-offset=0";

/// Two layers of [`normalized`], one above the other.
pub fn stacked(masks: &str) -> String {
    let above = "
        component name=b2 type=AffineComponent input-dim=8 output-dim=8
        component name=r2 type=RectifiedLinearComponent dim=8 self-repair-scale=1e-5
        component name=n2 type=BatchNormComponent dim=8 target-rms=0.5
        component name=d2 type=GeneralDropoutComponent dim=8 dropout-proportion=0.2
        component name=s2 type=NoOpComponent dim=8
        component-node name=b2 component=b2 input=Append(Offset(s, -3))
        component-node name=r2 component=r2 input=b2
        component-node name=n2 component=n2 input=r2
        component-node name=d2 component=d2 input=n2
        component-node name=s2 component=s2 input=Sum(Scale(0.66, s), d2)
        component-node name=c component=c input=s2";
    normalized(masks, "a").replace("component-node name=c component=c input=s", above)
}

/// A wide output (of four columns) after a narrow layer.
pub fn output_rows(narrow: usize, last: &str) -> String {
    format!(
        "input-node name=input dim=4
        component name=a type=AffineComponent input-dim=4 output-dim={narrow}
        component name=r type=TanhComponent dim={narrow}
        component name=b type=AffineComponent input-dim={narrow} output-dim=4
        component name=l type=LogSoftmaxComponent dim=4
        component-node name=a component=a input=Sum(input, Offset(input, 1))
        component-node name=r component=r input=a
        component-node name=b component=b input=r
        component-node name=l component=l input=b
        output-node name=output input={last}"
    )
}

/// An LSTM layer with a projection. The derivatives of the affine component are 16 of 20 columns of a step; the input of the
/// projection is 4 of 8.
pub const STACKED: &str = "
    input-node name=input dim=4
    component name=w type=AffineComponent input-dim=8 output-dim=16
    component name=l type=LstmNonlinearityComponent cell-dim=4
    component name=r type=AffineComponent input-dim=4 output-dim=4
    component-node name=w component=w input=Append(input, IfDefined(Offset(r, -1)))
    component-node name=l component=l input=Append(w, IfDefined(Offset(c, -1)))
    dim-range-node name=c input-node=l dim-offset=0 dim=4
    dim-range-node name=m input-node=l dim-offset=4 dim=4
    component-node name=r component=r input=m
    output-node name=output input=r";
