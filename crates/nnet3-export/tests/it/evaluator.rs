//! A slow and obvious evaluator of those operators of ONNX that the networks of these tests need.

use nnet3_export::onnx::proto::{AttributeProto, GraphProto, INT64, Model, NodeProto, Tensor};
use prost::Message;
use std::collections::HashMap;

/// Numbers of any type, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub dims: Vec<usize>,
    pub data: Vec<f64>,
    pub is_int: bool,
}

pub type Values = HashMap<String, Array>;

impl Array {
    pub fn floats(dims: &[usize], data: Vec<f64>) -> Array {
        assert_eq!(dims.iter().product::<usize>(), data.len());
        Array { dims: dims.to_vec(), data, is_int: false }
    }

    fn ints(&self) -> Vec<i64> {
        self.data.iter().map(|&v| v as i64).collect()
    }

    /// Numbers before, along and behind an axis.
    fn around(&self, axis: usize) -> (usize, usize, usize) {
        let before = self.dims[..axis].iter().product();
        (before, self.dims[axis], self.dims[axis + 1..].iter().product())
    }

    /// The places along an axis, in this order.
    fn take(&self, axis: usize, places: &[usize]) -> Array {
        let (before, size, behind) = self.around(axis);
        let mut data = Vec::new();
        for i in 0..before {
            for &place in places {
                data.extend_from_slice(&self.data[(i * size + place) * behind..][..behind]);
            }
        }
        let mut dims = self.dims.clone();
        dims[axis] = places.len();
        Array { dims, data, is_int: self.is_int }
    }

    fn at(&self, place: &[usize]) -> f64 {
        self.data[place.iter().zip(&self.dims).fold(0, |all, (&i, &size)| all * size + i)]
    }

    fn map(&self, f: impl Fn(f64) -> f64) -> Array {
        Array { data: self.data.iter().map(|&v| f(v)).collect(), ..self.clone() }
    }

    /// Repeats numbers as numpy does when it broadcasts.
    fn expand(&self, dims: &[usize]) -> Array {
        let rank = dims.len().max(self.dims.len());
        let ones = |list: &[usize]| [vec![1; rank - list.len()], list.to_vec()].concat();
        let (mine, wanted) = (ones(&self.dims), ones(dims));
        let dims: Vec<usize> = mine.iter().zip(&wanted).map(|(&a, &b)| if a == 1 { b } else { a }).collect();
        let mut data = Vec::new();
        for i in 0..dims.iter().product() {
            let (mut rest, mut place, mut stride) = (i, 0, 1);
            for axis in (0..rank).rev() {
                let at = rest % dims[axis];
                rest /= dims[axis];
                place += if mine[axis] == 1 { 0 } else { at * stride };
                stride *= mine[axis];
            }
            data.push(self.data[place]);
        }
        Array { dims, data, is_int: self.is_int }
    }

    fn with(&self, other: &Array, f: impl Fn(f64, f64) -> f64) -> Array {
        let (a, b) = (self.expand(&other.dims), other.expand(&self.dims));
        assert_eq!(a.dims, b.dims);
        Array { data: a.data.iter().zip(&b.data).map(|(&x, &y)| f(x, y)).collect(), ..a }
    }
}

/// A model that can be run.
pub struct Evaluator {
    pub graph: GraphProto,
    constants: Values,
    pub metadata: HashMap<String, String>,
}

impl Evaluator {
    /// Makes an evaluator. External data of the model refer to `weights`.
    pub fn new(model: &[u8], weights: &[u8]) -> Evaluator {
        let model = Model::decode(model).unwrap();
        let graph = model.graph.unwrap();
        let constants = graph
            .initializer
            .iter()
            .map(|tensor| (tensor.name.clone().unwrap(), constant(tensor, weights)))
            .collect();
        let entry = |e: nnet3_export::onnx::proto::StringEntry| (e.key.unwrap(), e.value.unwrap());
        let metadata = model.metadata_props.into_iter().map(entry).collect();
        Evaluator { graph, constants, metadata }
    }

    pub fn fact(&self, key: &str) -> usize {
        self.metadata[key].parse().unwrap()
    }

    /// Returns the declared dimensions of an input or output. An open dimension is 0.
    pub fn dims(&self, name: &str) -> Vec<usize> {
        let all = self.graph.input.iter().chain(&self.graph.output);
        let info = all.clone().find(|info| info.name.as_deref() == Some(name)).unwrap();
        let shape = info.kind.as_ref().unwrap().tensor_type.as_ref().unwrap().shape.as_ref().unwrap();
        shape.dim.iter().map(|dim| dim.dim_value.unwrap_or(0) as usize).collect()
    }

    pub fn inputs(&self) -> Vec<String> {
        self.graph.input.iter().map(|info| info.name.clone().unwrap()).collect()
    }

    /// All outputs, or the name of the node that cannot be computed.
    pub fn run(&self, given: &Values) -> Result<Values, String> {
        let mut values = self.constants.clone();
        for name in self.inputs() {
            let declared = self.dims(&name);
            let array = &given[&name];
            let fits = declared.len() == array.dims.len()
                && declared.iter().zip(&array.dims).all(|(&want, &have)| want == 0 || want == have);
            assert!(fits, "{name}: {declared:?} {:?}", array.dims);
            values.insert(name, array.clone());
        }
        for node in &self.graph.node {
            let inputs: Vec<&Array> = node.input.iter().map(|name| &values[name]).collect();
            let result = compute(node, &inputs).ok_or_else(|| node.name.clone().unwrap())?;
            values.insert(node.output[0].clone(), result);
        }
        let outputs = self.graph.output.iter().map(|info| info.name.clone().unwrap());
        Ok(outputs.map(|name| (name.clone(), values[&name].clone())).collect())
    }
}

fn constant(tensor: &Tensor, weights: &[u8]) -> Array {
    let place = |key: &str| {
        let entry = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some(key)).unwrap();
        entry.value.as_ref().unwrap().parse::<usize>().unwrap()
    };
    let raw = match &tensor.raw_data {
        Some(raw) => raw.as_slice(),
        None => &weights[place("offset")..][..place("length")],
    };
    let is_int = tensor.data_type == Some(INT64);
    let data: Vec<f64> = match is_int {
        true => raw.chunks(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f64).collect(),
        false => raw.chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect(),
    };
    let dims: Vec<usize> = tensor.dims.iter().map(|&d| d as usize).collect();
    assert_eq!(dims.iter().product::<usize>(), data.len());
    Array { dims, data, is_int }
}

pub fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name.as_deref() == Some(name))
}

fn list<'a>(node: &'a NodeProto, name: &str) -> impl Iterator<Item = usize> + 'a {
    attribute(node, name).unwrap().ints.iter().map(|&i| i as usize)
}

/// All places of a tensor, the last axis first.
fn places(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..dims.iter().product()).map(|mut rest: usize| {
        let mut at = vec![0; dims.len()];
        for axis in (0..dims.len()).rev() {
            (at[axis], rest) = (rest % dims[axis], rest / dims[axis]);
        }
        at
    })
}

/// As the standard defines it: a sum over input filters and the places of the kernel, with zeros outside.
fn convolution(node: &NodeProto, x: &Array, w: &Array, bias: &Array) -> Array {
    let numbers = |name| list(node, name).collect::<Vec<_>>();
    let (dilations, pads, strides) = (numbers("dilations"), numbers("pads"), numbers("strides"));
    assert_eq!(numbers("kernel_shape"), w.dims[2..]);
    let size = |axis: usize| {
        let padded = x.dims[2 + axis] + pads[axis] + pads[2 + axis];
        (padded - (w.dims[2 + axis] - 1) * dilations[axis] - 1) / strides[axis] + 1
    };
    let dims = [x.dims[0], w.dims[0], size(0), size(1)];
    let value = |at: Vec<usize>| -> f64 {
        let terms = places(&w.dims[1..]).map(|k| {
            let place = |axis: usize| {
                let place = at[2 + axis] * strides[axis] + k[1 + axis] * dilations[axis];
                place.checked_sub(pads[axis]).filter(|&place| place < x.dims[2 + axis])
            };
            let (Some(row), Some(height)) = (place(0), place(1)) else { return 0.0 };
            x.at(&[at[0], k[0], row, height]) * w.at(&[at[1], k[0], k[1], k[2]])
        });
        bias.data[at[1]] + terms.sum::<f64>()
    };
    Array::floats(&dims, places(&dims).map(value).collect())
}

fn axis(node: &NodeProto, rank: usize) -> usize {
    let axis = attribute(node, "axis").and_then(|attribute| attribute.i).unwrap_or(0);
    if axis < 0 { (rank as i64 + axis) as usize } else { axis as usize }
}

/// `None` if an index is out of bounds.
fn compute(node: &NodeProto, inputs: &[&Array]) -> Option<Array> {
    let x = inputs[0];
    let whole = |dims: Vec<usize>, data: Vec<f64>| Array { dims, data, is_int: true };
    Some(match node.op_type.as_deref().unwrap() {
        "Identity" => x.clone(),
        "Relu" => x.map(|v| v.max(0.0)),
        "Tanh" => x.map(f64::tanh),
        "Sigmoid" => x.map(|v| 1.0 / (1.0 + (-v).exp())),
        "Add" => x.with(inputs[1], |a, b| a + b),
        "Sub" => x.with(inputs[1], |a, b| a - b),
        "Mul" => x.with(inputs[1], |a, b| a * b),
        "Div" if x.is_int => x.with(inputs[1], |a, b| (a / b).trunc()),
        "Div" => x.with(inputs[1], |a, b| a / b),
        "Clip" => {
            let low = x.with(inputs[1], f64::max);
            inputs.get(2).map_or(low.clone(), |high| low.with(high, f64::min))
        }
        "Min" => x.with(inputs[1], f64::min),
        "Sqrt" => x.map(f64::sqrt),
        "Expand" => x.expand(&inputs[1].ints().iter().map(|&d| d as usize).collect::<Vec<_>>()),
        "Shape" => whole(vec![x.dims.len()], x.dims.iter().map(|&d| d as f64).collect()),
        "Transpose" => {
            let order: Vec<usize> = list(node, "perm").collect();
            let dims: Vec<usize> = order.iter().map(|&axis| x.dims[axis]).collect();
            let data = places(&dims).map(|at| {
                let mut old = vec![0; order.len()];
                order.iter().zip(at).for_each(|(&axis, i)| old[axis] = i);
                x.at(&old)
            });
            Array::floats(&dims, data.collect())
        }
        "Conv" => convolution(node, x, inputs[1], inputs[2]),
        "Squeeze" => whole(vec![], x.data.clone()),
        "Range" => {
            let (start, limit, step) = (x.data[0], inputs[1].data[0], inputs[2].data[0]);
            let count = ((limit - start) / step).ceil().max(0.0) as usize;
            whole(vec![count], (0..count).map(|i| start + i as f64 * step).collect())
        }
        "Concat" => {
            let axis = axis(node, x.dims.len());
            let (before, ..) = x.around(axis);
            let mut data = Vec::new();
            for i in 0..before {
                for part in inputs {
                    let size = part.data.len() / before;
                    data.extend_from_slice(&part.data[i * size..(i + 1) * size]);
                }
            }
            let mut dims = x.dims.clone();
            dims[axis] = inputs.iter().map(|part| part.dims[axis]).sum();
            Array { dims, data, is_int: x.is_int }
        }
        "Slice" => {
            let (start, end) = (inputs[1].ints()[0], inputs[2].ints()[0]);
            let axis = inputs[3].ints()[0] as usize;
            let step = inputs.get(4).map_or(1, |steps| steps.ints()[0]) as usize;
            let size = x.dims[axis] as i64;
            let place = |v: i64| (if v < 0 { v.saturating_add(size) } else { v }).clamp(0, size) as usize;
            x.take(axis, &(place(start)..place(end)).step_by(step).collect::<Vec<_>>())
        }
        "Gather" => {
            let axis = axis(node, x.dims.len());
            let places: Vec<usize> = inputs[1].ints().iter().map(|&place| place as usize).collect();
            if places.iter().any(|&place| place >= x.dims[axis]) {
                return None;
            }
            x.take(axis, &places)
        }
        "Reshape" => {
            let wanted = inputs[1].ints();
            let fixed = |(i, &d): (usize, &i64)| if d == 0 { x.dims[i] } else { d.max(1) as usize };
            let dims: Vec<usize> = wanted.iter().enumerate().map(fixed).collect();
            let rest = x.data.len() / dims.iter().product::<usize>();
            let dims = dims.iter().zip(&wanted).map(|(&d, &w)| if w == -1 { rest } else { d }).collect();
            Array { dims, ..x.clone() }
        }
        "MatMul" => matmul(x, inputs[1]),
        "LogSoftmax" => {
            let cols = *x.dims.last().unwrap();
            let row = |row: &[f64]| {
                let sum: f64 = row.iter().map(|v| v.exp()).sum();
                row.iter().map(move |v| v - sum.ln()).collect::<Vec<_>>()
            };
            Array { data: x.data.chunks(cols).flat_map(row).collect(), ..x.clone() }
        }
        other => panic!("the evaluator does not know {other}"),
    })
}

/// The last two axes; a matrix without others is the same for all products.
fn matmul(x: &Array, w: &Array) -> Array {
    let [inner, cols] = w.dims[w.dims.len() - 2..] else { panic!("{:?}", w.dims) };
    let rows = x.dims[x.dims.len() - 2];
    let mut data = Vec::new();
    for (i, row) in x.data.chunks(inner).enumerate() {
        let w = if w.dims.len() == 2 { &w.data[..] } else { &w.data[i / rows * inner * cols..] };
        for j in 0..cols {
            data.push((0..inner).map(|k| row[k] * w[k * cols + j]).sum());
        }
    }
    let mut dims = x.dims.clone();
    *dims.last_mut().unwrap() = cols;
    Array { dims, data, is_int: false }
}
