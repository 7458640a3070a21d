//! The messages of `onnx.proto` that a model of this kind has, with their tags (IR version 8).

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct Model {
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub producer_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub producer_version: Option<String>,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetId>,
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetId {
    #[prost(string, optional, tag = "1")]
    pub domain: Option<String>,
    #[prost(int64, optional, tag = "2")]
    pub version: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct StringEntry {
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

impl StringEntry {
    pub fn new(key: &str, value: impl Into<String>) -> StringEntry {
        StringEntry { key: Some(key.to_string()), value: Some(value.into()) }
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, optional, tag = "3")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub op_type: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    /// 2 for an integer, 7 for a list of them.
    #[prost(int32, optional, tag = "20")]
    pub kind: Option<i32>,
}

/// `TensorProto.DataType`.
pub const FLOAT: i32 = 1;
pub const INT64: i32 = 7;

#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    #[prost(string, optional, tag = "8")]
    pub name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub raw_data: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringEntry>,
    /// 1: the numbers are in another file.
    #[prost(int32, optional, tag = "14")]
    pub data_location: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ValueInfo {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub kind: Option<TypeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TensorType {
    #[prost(int32, optional, tag = "1")]
    pub elem_type: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShape>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TensorShape {
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub dim_param: Option<String>,
}

impl Dimension {
    pub fn fixed(value: usize) -> Dimension {
        Dimension { dim_value: Some(value as i64), dim_param: None }
    }
    pub fn named(name: &str) -> Dimension {
        Dimension { dim_value: None, dim_param: Some(name.to_string()) }
    }
}

impl ValueInfo {
    pub fn floats(name: &str, dim: Vec<Dimension>) -> ValueInfo {
        let tensor_type = TensorType { elem_type: Some(FLOAT), shape: Some(TensorShape { dim }) };
        ValueInfo { name: Some(name.to_string()), kind: Some(TypeProto { tensor_type: Some(tensor_type) }) }
    }
}

impl AttributeProto {
    pub fn int(name: &str, value: i64) -> AttributeProto {
        AttributeProto { name: Some(name.to_string()), i: Some(value), ints: vec![], kind: Some(2) }
    }
    pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
        AttributeProto { name: Some(name.to_string()), i: None, ints: values.to_vec(), kind: Some(7) }
    }
}
