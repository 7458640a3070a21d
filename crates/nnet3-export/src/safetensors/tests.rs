use std::collections::HashSet;

use kaldi_io::KaldiWriter;
use kaldi_io::matrix::write_vector;
use nnet3_core::component::registry;
use nnet3_core::config::parse_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

use super::describe::Place;
use super::*;

fn network(config: &str) -> Nnet {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
    nnet
}

fn bytes(write: impl FnOnce(&mut KaldiWriter)) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(true);
    write(&mut w);
    [b"\0B", &w.into_bytes()[..]].concat()
}

fn model(config: &str) -> ModelFile {
    ModelFile::read("model", bytes(|w| network(config).write(w).unwrap())).unwrap()
}

const TDNN: &str = "input-node name=input dim=2
component name=a.1 type=TdnnComponent input-dim=2 output-dim=3 time-offsets=-1,0
component-node name=a.1 component=a.1 input=input
component name=bn type=BatchNormComponent dim=3
component-node name=bn component=bn input=a.1
component name=c type=CompositeComponent num-components=2 component1='type=AffineComponent input-dim=3 output-dim=2' component2='type=PerElementScaleComponent dim=2'
component-node name=c component=c input=bn
output-node name=output input=c
";

type Given<'a> = (&'a str, Dtype, &'a [usize], Vec<u8>);

fn tensors(given: &[Given<'_>]) -> Vec<u8> {
    let view = |(name, dtype, shape, data): &Given<'_>| {
        (name.to_string(), TensorView::new(*dtype, shape.to_vec(), data).unwrap().data().to_vec())
    };
    let data: Vec<(String, Vec<u8>)> = given.iter().map(view).collect();
    let views = given.iter().zip(&data).map(|((name, dtype, shape, _), (_, data))| {
        (name.to_string(), TensorView::new(*dtype, shape.to_vec(), data).unwrap())
    });
    let views: Vec<_> = views.collect();
    safetensors::serialize(views.iter().map(|(name, view)| (name, view)), None).unwrap()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The numbers of a place, as the model file has them.
fn numbers(model: &[u8], name: &str) -> Vec<f64> {
    let model = ModelFile::read("model", model.to_vec()).unwrap();
    let place = model.places.iter().find(|place| place.name == name).unwrap();
    let bytes = &model.bytes[place.bytes.clone()];
    match place.dtype {
        Dtype::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        _ => bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
    }
}

#[test]
fn every_type_goes_both_ways() {
    let mut types = 0;
    for t in registry::types() {
        let line = format!("component name=a type={} {}", t.name, t.example);
        let config = format!("input-node name=input dim=1\n{line}\noutput-node name=output input=input\n");
        let whole = bytes(|w| network(&config).write(w).unwrap());
        // Bytes after a model belong to the file, too.
        for end in ["", "<More> \u{1}"] {
            let whole = [&whole[..], end.as_bytes()].concat();
            let read = ModelFile::read("model", whole.clone()).unwrap();
            let file = export(&read).unwrap();
            assert_eq!(restore(&file).unwrap(), whole, "{}", t.name);
            assert_eq!(export(&read).unwrap(), file);
            let names: HashSet<&str> = read.names().collect();
            assert_eq!(names.len(), read.names().count(), "{}", t.name);
            assert_eq!(read.components[0]["type"], t.name);
            // All parameters are among the tensors.
            let elements: usize =
                read.places.iter().filter(|p| p.is_tensor()).map(|p| p.shape.iter().product::<usize>()).sum();
            assert!(elements >= network(&config).num_parameters(), "{}: {elements}", t.name);
        }
        types += 1;
    }
    assert_eq!(types, 46);
}

#[test]
fn names_shapes_and_metadata() {
    let model = model(TDNN);
    let file = export(&model).unwrap();
    let opened = open(&file).unwrap();
    let shape = |name: &str| opened.tensor(name).unwrap().shape().to_vec();
    assert_eq!(shape("a.1.linear_params"), [3, 4]);
    assert_eq!(shape("a.1.bias_params"), [3]);
    assert_eq!(shape("bn.stats_mean"), [3]);
    assert_eq!(shape("c.1.linear_params"), [2, 3]);
    assert_eq!(shape("c.2.params"), [2]);
    assert_eq!(opened.len(), 8);
    // The parameters are those of the network.
    let nnet = network(TDNN);
    let linear = nnet.components().next().unwrap().parameters()[0].value.to_vec();
    assert_eq!(opened.tensor("a.1.linear_params").unwrap().data(), floats(&linear));

    let (_, header) = SafeTensors::read_metadata(&file).unwrap();
    let metadata: Value = serde_json::from_str(&header.metadata().as_ref().unwrap()["nnet3"]).unwrap();
    assert_eq!(metadata["nodes"][1], "component-node name=a.1 component=a.1 input=input");
    let [tdnn, bn, composite] = &metadata["components"].as_array().unwrap()[..] else { panic!("{metadata}") };
    assert_eq!((&tdnn["name"], &tdnn["type"]), (&json!("a.1"), &json!("TdnnComponent")));
    assert_eq!(tdnn["fields"]["time_offsets"], json!([-1, 0]));
    assert_eq!(bn["fields"]["target_rms"], json!(1.0));
    assert_eq!(bn["fields"]["test_mode"], json!(false));
    assert_eq!(composite["parts"][1]["type"], "PerElementScaleComponent");
}

#[test]
fn acoustic_models_have_priors() {
    let whole = bytes(|w| {
        w.write_str("<TransitionModel> what is in it </TransitionModel> ").unwrap();
        network(TDNN).write(w).unwrap();
        for token in ["<LeftContext>", "<RightContext>"] {
            w.write_token(token).unwrap();
            w.write_i32(1).unwrap();
        }
        w.write_token("<Priors>").unwrap();
        write_vector::<f32>(w, &[0.25, 0.75]).unwrap();
    });
    let read = ModelFile::read("model", whole.clone()).unwrap();
    let file = export(&read).unwrap();
    assert_eq!(open(&file).unwrap().tensor("priors").unwrap().data(), floats(&[0.25, 0.75]));
    assert_eq!(restore(&file).unwrap(), whole);
    let half = tensors(&[("priors", Dtype::F32, &[2], floats(&[0.5, 0.5]))]);
    let done = assign(&read, &half, &NameMap::default(), true).unwrap();
    assert_eq!(numbers(&done.model, "priors"), [0.5, 0.5]);
}

#[test]
fn values_by_name() {
    let model = model(TDNN);
    let given = [
        ("w", Dtype::F64, &[3, 4][..], doubles(&[0.1; 12])),
        ("a.1.bias_params", Dtype::F16, &[3], [0x3c00u16, 0xc000, 0x3555].map(u16::to_le_bytes).concat()),
        ("c.2.params", Dtype::BF16, &[2], [0x3f80u16, 0xbf00].map(u16::to_le_bytes).concat()),
        ("bn.stats_mean", Dtype::F32, &[3], floats(&[1.0, 2.0, 3.0])),
        ("bn.stats_var", Dtype::F32, &[3], floats(&[4.0, 5.0, 6.0])),
        ("bn.count", Dtype::F32, &[], floats(&[8.0])),
        ("steps", Dtype::I64, &[1], vec![0; 8]),
    ];
    let names = NameMap::parse("# theirs ours\nw a.1.linear_params\n\nsteps -\n").unwrap();
    let done = assign(&model, &tensors(&given), &names, true).unwrap();
    assert_eq!(numbers(&done.model, "a.1.linear_params"), [f64::from(0.1f32); 12]);
    assert_eq!(numbers(&done.model, "a.1.bias_params"), [1.0, -2.0, 0.333_251_953_125]);
    assert_eq!(numbers(&done.model, "c.2.params"), [1.0, -0.5]);
    assert_eq!(numbers(&done.model, "bn.stats_var"), [4.0, 5.0, 6.0]);
    assert_eq!(numbers(&done.model, "bn.count"), [8.0]);
    assert_eq!(done.kept, ["c.1.linear_params", "c.1.bias_params"]);
    assert_eq!(done.set.len(), 6);
    // All other bytes are unchanged.
    let same = numbers(&done.model, "c.1.linear_params");
    assert_eq!(same, numbers(&model.bytes, "c.1.linear_params"));
    assert_eq!(done.model.len(), model.bytes.len());

    let extra = tensors(&[given[1].clone(), ("more", Dtype::F32, &[1], floats(&[1.0]))]);
    assert_eq!(assign(&model, &extra, &NameMap::default(), false).unwrap().ignored, ["more"]);
    // The tensors of a whole model are as good as others.
    assert_eq!(
        assign(&model, &export(&model).unwrap(), &NameMap::default(), true).unwrap().model,
        model.bytes
    );
    let trained = ModelFile::read("model", done.model).unwrap();
    let again = assign(&trained, &export(&trained).unwrap(), &NameMap::default(), true).unwrap();
    assert_eq!(again.model, trained.bytes);
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = model(TDNN);
    let bias = "a.1.bias_params";
    let refused = |given: &[Given<'_>], names: &str, words: &str| {
        let names = NameMap::parse(names).unwrap();
        let error = assign(&model, &tensors(given), &names, true).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    };
    let ones = || floats(&[1.0; 3]);
    refused(
        &[("a.1.bias_param", Dtype::F32, &[3], ones())],
        "",
        "no parameter or node 'a.1.bias_param'; did you mean 'a.1.bias_params'?",
    );
    refused(&[("b", Dtype::F32, &[3], ones())], "b a.2", "no parameter or node 'a.2' (the tensor 'b')");
    refused(&[("b", Dtype::F32, &[3], ones())], "c a.2", "no tensor 'c', which has a line");
    refused(
        &[(bias, Dtype::F32, &[1, 3], ones())],
        "",
        "the shape [1, 3], but 'a.1.bias_params' of the model has [3]",
    );
    refused(
        &[(bias, Dtype::I32, &[3], vec![0; 12])],
        "",
        "numbers of type I32; expected F32, F64, F16 or BF16",
    );
    refused(&[(bias, Dtype::BF16, &[3], vec![0xff; 6])], "", "at element 0 (from 0) the value NaN");
    refused(
        &[(bias, Dtype::F32, &[3], floats(&[0.0, 0.0, f32::INFINITY]))],
        "",
        "at element 2 (from 0) the value inf",
    );
    refused(&[(bias, Dtype::F64, &[3], doubles(&[0.0, -1e300, 0.0]))], "", "-1e300, which no F32 can hold");
    let mut wide = [0.0; 12];
    wide[6] = f32::NAN;
    refused(
        &[("a.1.linear_params", Dtype::F32, &[3, 4], floats(&wide))],
        "",
        "at row 1, column 2 (both from 0) the value NaN",
    );
    refused(
        &[("b", Dtype::F32, &[3], ones()), (bias, Dtype::F32, &[3], ones())],
        "b a.1.bias_params",
        "'a.1.bias_params' and 'b' are both for 'a.1.bias_params'",
    );
    refused(&[("bn.stats_mean", Dtype::F32, &[3], ones())], "", "'bn.count' of the model is 0");
    let error = assign(&model, b"no such file", &NameMap::default(), true).err().unwrap().to_string();
    assert!(error.contains("no safetensors file"), "{error}");
}

#[test]
fn lists_of_names() {
    let refused = |text: &str, words: &str| {
        let error = NameMap::parse(text).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused("a b\na b c\n", "line 2: expected two names");
    refused("a b\na c\n", "line 2: the tensor 'a' has a line already");
    refused("a b\nc b\n", "line 2: 'b' has a tensor already");
    assert_eq!(NameMap::parse("").unwrap(), NameMap::default());
}

/// The file of [`export`] with other metadata and other tensors.
fn changed(file: &[u8], change: impl FnOnce(&mut Value, &mut Vec<Given<'_>>)) -> Vec<u8> {
    let (_, header) = SafeTensors::read_metadata(file).unwrap();
    let mut metadata: Value = serde_json::from_str(&header.metadata().as_ref().unwrap()["nnet3"]).unwrap();
    let opened = open(file).unwrap();
    let mut all: Vec<(String, TensorView<'_>)> = opened.tensors();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let mut given: Vec<Given<'_>> =
        all.iter().map(|(name, t)| (name.as_str(), t.dtype(), t.shape(), t.data().to_vec())).collect();
    change(&mut metadata, &mut given);
    let views: Vec<_> = given
        .iter()
        .map(|(name, dtype, shape, data)| (*name, TensorView::new(*dtype, shape.to_vec(), data).unwrap()))
        .collect();
    let metadata = [("nnet3".to_owned(), metadata.to_string())].into_iter().collect();
    safetensors::serialize(views.iter().map(|(name, view)| (*name, view)), Some(metadata)).unwrap()
}

#[test]
fn damaged_files_are_refused() {
    let model = model(TDNN);
    let file = export(&model).unwrap();
    assert_eq!(changed(&file, |_, _| ()), file);
    let refused = |file: &[u8], words: &str| {
        let error = restore(file).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    for end in [0, 7, 100, file.len() - 1] {
        refused(&file[..end], "no safetensors file");
    }
    refused(&tensors(&[("x", Dtype::F32, &[1], floats(&[1.0]))]), "no metadata 'nnet3'");
    refused(&changed(&file, |m, _| m["version"] = json!(2)), "expected version 1, found 2");
    refused(&changed(&file, |m, _| m["file"] = json!(7)), "no list 'file'");
    refused(&changed(&file, |m, _| m["file"][0] = json!(-1)), "neither a number nor a tensor");
    refused(&changed(&file, |m, _| m["file"][0] = json!(1u64 << 40)), "'nnet3.rest' is too short");
    refused(&changed(&file, |m, _| m["file"][0] = json!(1)), "bytes too many");
    refused(&changed(&file, |m, _| m["file"][1]["name"] = json!("x")), "no tensor 'x', which the model has");
    refused(
        &changed(&file, |m, _| m["file"][1]["shape"] = json!([4, 3])),
        "is F32 [3, 4], but F32 [4, 3] in the model",
    );
    refused(&changed(&file, |m, _| m["file"][3] = m["file"][1].clone()), "twice");
    refused(&changed(&file, |_, given| given.retain(|t| t.0 != REST)), "no tensor 'nnet3.rest'");
    refused(
        &changed(&file, |_, given| given.push(("z", Dtype::F32, &[1], vec![0; 4]))),
        "'z' is no part of the model",
    );
    refused(
        &changed(&file, |_, given| given.iter_mut().filter(|t| t.0 == REST).for_each(|t| t.3[3] ^= 1)),
        "the model in it, byte",
    );
    // All other values are allowed.
    let mut values = Vec::new();
    let other = changed(&file, |_, given| {
        let tensor = given.iter_mut().find(|t| t.0 == "a.1.bias_params").unwrap();
        tensor.3 = floats(&[1.5, f32::NAN, 0.0]);
        values.clone_from(&tensor.3);
    });
    let place = model.places.iter().find(|place| place.name == "a.1.bias_params").unwrap();
    assert_eq!(restore(&other).unwrap()[place.bytes.clone()], values);
}

/// The bytes of ones, as a place has them.
fn ones(place: &Place) -> Vec<u8> {
    let count = place.shape.iter().product();
    if place.dtype == Dtype::F64 { doubles(&vec![1.0; count]) } else { floats(&vec![1.0; count]) }
}

/// The tensors of a new network are set to ones, one after another.
#[test]
fn no_tensor_of_any_type_is_taken_and_forgotten() {
    let mut refused = HashSet::new();
    for t in registry::types() {
        let line = format!("component name=a type={} {}", t.name, t.example);
        let config = format!("input-node name=input dim=1\n{line}\noutput-node name=output input=input\n");
        let read = model(&config);
        let file = export(&read).unwrap();
        for place in read.places.iter().filter(|place| place.is_tensor() && !place.bytes.is_empty()) {
            let (name, ones) = (place.name.as_str(), ones(place));
            let other = changed(&file, |_, given| {
                given.iter_mut().find(|t| t.0 == name).unwrap().3.clone_from(&ones);
            });
            let network = |bytes: &[u8]| {
                let mut r = kaldi_io::KaldiReader::from_bytes("model", bytes.to_vec());
                assert!(r.detect_header().unwrap());
                Nnet::read(&mut r).unwrap()
            };
            match restore(&other) {
                Ok(whole) => {
                    let again = bytes(|w| network(&whole).write(w).unwrap());
                    assert_eq!(numbers(&again, name), numbers(&whole, name), "{}: {name}", t.name);
                }
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.contains("count' of the model is 0"), "{}: {name}: {message}", t.name);
                    refused.insert(name.to_owned());
                }
            }
        }
    }
    for name in ["a.stats_mean", "a.stats_var", "a.value_avg", "a.deriv_avg"] {
        assert!(refused.contains(name), "{name}: {refused:?}");
    }
}

#[test]
fn statistics_of_a_whole_model_need_a_count() {
    let model = model(TDNN);
    let file = export(&model).unwrap();
    let with = |count: Option<f64>| {
        changed(&file, |_, given| {
            given.iter_mut().find(|t| t.0 == "bn.stats_var").unwrap().3 = floats(&[4.0; 3]);
            given.extend(count.map(|count| ("bn.count", Dtype::F64, &[1][..], doubles(&[count]))));
        })
    };
    for count in [None, Some(0.0)] {
        let error = restore(&with(count)).unwrap_err().to_string();
        assert!(error.contains("'bn.stats_var' is set, but 'bn.count' of the model is 0"), "{error}");
    }
    let counted = restore(&with(Some(9.0))).unwrap();
    assert_eq!((numbers(&counted, "bn.count"), numbers(&counted, "bn.stats_var")), (vec![9.0], vec![4.0; 3]));
    assert!(restore(&with(Some(f64::NAN))).unwrap_err().to_string().contains("the value NaN"));
    // A file that has statistics without a count already is the same file afterwards.
    let mut odd = model.bytes.clone();
    let place = model.places.iter().find(|place| place.name == "bn.stats_var").unwrap();
    odd[place.bytes.clone()].copy_from_slice(&floats(&[4.0; 3]));
    assert_eq!(restore(&export(&ModelFile::read("odd", odd.clone()).unwrap()).unwrap()).unwrap(), odd);
}
