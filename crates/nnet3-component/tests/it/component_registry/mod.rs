//! Tests for every type of the registry: the list of types, config lines (`config_lines`), files good and bad
//! (`files`), operations on parameters (below).

mod config_lines;
mod files;
mod forms;
#[allow(dead_code)]
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::Result;
use nnet3_base::random::Random;
use nnet3_component::{Component, ComponentType, Properties, registry};

/// The names in files, in alphabetical order.
const NAMES: &[&str] = &[
    "AffineComponent",
    "BackpropTruncationComponent",
    "BatchNormComponent",
    "BlockAffineComponent",
    "ClipGradientComponent",
    "CompositeComponent",
    "ConstantComponent",
    "ConstantFunctionComponent",
    "ConvolutionComponent",
    "DistributeComponent",
    "DropoutComponent",
    "DropoutMaskComponent",
    "ElementwiseProductComponent",
    "FixedAffineComponent",
    "FixedBiasComponent",
    "FixedScaleComponent",
    "GeneralDropoutComponent",
    "GruNonlinearityComponent",
    "LinearComponent",
    "LogSoftmaxComponent",
    "LstmNonlinearityComponent",
    "MaxpoolingComponent",
    "NaturalGradientAffineComponent",
    "NaturalGradientPerElementScaleComponent",
    "NaturalGradientRepeatedAffineComponent",
    "NoOpComponent",
    "NormalizeComponent",
    "OutputGruNonlinearityComponent",
    "PerElementOffsetComponent",
    "PerElementScaleComponent",
    "PermuteComponent",
    "PnormComponent",
    "RectifiedLinearComponent",
    "RepeatedAffineComponent",
    "RestrictedAttentionComponent",
    "ScaleAndOffsetComponent",
    "SigmoidComponent",
    "SoftmaxComponent",
    "SpecAugmentTimeMaskComponent",
    "StatisticsExtractionComponent",
    "StatisticsPoolingComponent",
    "SumBlockComponent",
    "SumGroupComponent",
    "TanhComponent",
    "TdnnComponent",
    "TimeHeightConvolutionComponent",
];

/// The place of these tests' lines, as messages name it.
const PLACE: &str = "net.config:7";

fn try_build(name: &str, keys: &str) -> Result<Box<dyn Component>> {
    let mut line = ConfigLine::parse(PLACE, keys)?;
    registry::from_config(name, &mut line, &Random::new(1))
}

fn example(t: &ComponentType) -> Box<dyn Component> {
    try_build(t.name, t.example).unwrap_or_else(|e| panic!("the example of {}: {e}", t.name))
}

fn written(component: &dyn Component, binary: bool) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    component.write(&mut w).expect("in memory");
    w.into_bytes()
}

/// The component at the start of `bytes`.
fn try_read(bytes: &[u8], binary: bool) -> Result<Box<dyn Component>> {
    let mut r = KaldiReader::from_bytes("model.raw", bytes.to_vec());
    r.set_binary(binary);
    registry::read(&mut r)
}

#[test]
fn all_types_are_there() {
    let mut found: Vec<&str> = registry::types().map(|t| t.name).collect();
    found.sort_unstable();
    let missing: Vec<&&str> = NAMES.iter().filter(|name| !found.contains(name)).collect();
    println!("missing: {missing:?}");
    assert_eq!(found, NAMES);
}

#[test]
fn entries_say_what_components_are() {
    for t in registry::types() {
        let component = example(t);
        assert_eq!(component.type_name(), t.name);
        assert!(
            component.input_dim() > 0 || !component.properties().contains(Properties::SIMPLE),
            "{}",
            t.name
        );
        assert!(component.output_dim() > 0, "{}", t.name);
        let updatable = component.properties().contains(Properties::UPDATABLE);
        assert_eq!(component.as_updatable().is_some(), updatable, "{}", t.name);
        // The parts of a composite have their own keys, so it takes no common ones.
        assert!(updatable == t.updatable || t.name == "CompositeComponent", "{}", t.name);
        let start = format!("{},", t.name);
        let info = component.info(false);
        assert!(info.starts_with(&start) || t.name == "CompositeComponent", "{info}");
        assert!(t.purpose.ends_with('.'), "the purpose of {} is a sentence", t.name);
        let keys = t.keys();
        for (i, key) in keys.iter().enumerate() {
            assert!(!key.meaning.is_empty(), "{}: {}", t.name, key.name);
            assert!(keys[..i].iter().all(|k| k.name != key.name), "{}: {} twice", t.name, key.name);
        }
    }
}

#[test]
fn parameters_have_names() {
    for t in registry::types().filter(|t| t.name != "CompositeComponent") {
        let component = example(t);
        let parameters = component.parameters();
        assert_eq!(parameters.is_empty(), component.as_updatable().is_none(), "{}", t.name);
        for (i, p) in parameters.iter().enumerate() {
            let known = ["linear", "bias", "scale", "offset", "peephole"].contains(&&*p.name);
            assert!(
                known && parameters[..i].iter().all(|other| other.name != p.name),
                "{}: {}",
                t.name,
                p.name
            );
            assert!(!p.value.is_empty(), "{}: {}", t.name, p.name);
        }
    }
    let keys = "num-components=2 \
                component1='type=AffineComponent input-dim=4 output-dim=3' \
                component2='type=PerElementScaleComponent dim=3'";
    let composite = try_build("CompositeComponent", keys).unwrap();
    let names: Vec<_> = composite.parameters().into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["1.linear", "1.bias", "2.scale"]);
}

#[test]
fn parameters_are_a_vector_space() {
    let sum_of_products =
        |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| a as f64 * b as f64).sum::<f64>();
    for t in registry::types() {
        let component = example(t);
        let Some(updatable) = component.as_updatable() else { continue };
        let own = updatable.vectorize();
        assert!(!own.is_empty() && own.len() == updatable.num_parameters(), "{}", t.name);

        let values: Vec<f32> = (0..own.len()).map(|i| 0.25 * i as f32 - 1.0).collect();
        let mut other = component.clone_box();
        other.as_updatable_mut().unwrap().unvectorize(&values);
        assert_eq!(other.as_updatable().unwrap().vectorize(), values, "{}: unvectorize", t.name);
        assert_eq!(component.as_updatable().unwrap().vectorize(), own, "{}: a clone is a copy", t.name);
        let (found, expected) = (updatable.dot_product(&*other), sum_of_products(&own, &values));
        assert!((found - expected).abs() <= 1e-4 * (1.0 + expected.abs()), "{}: {found} {expected}", t.name);

        other.add(-2.0, &*component);
        let expected: Vec<f32> = values.iter().zip(&own).map(|(v, o)| v - 2.0 * o).collect();
        let found = other.as_updatable().unwrap().vectorize();
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
        assert!(found.iter().zip(&expected).all(near), "{}: add gave {found:?}, not {expected:?}", t.name);

        other.scale(0.5);
        let halved: Vec<f32> = found.iter().map(|v| 0.5 * v).collect();
        assert_eq!(other.as_updatable().unwrap().vectorize(), halved, "{}: scale", t.name);
        other.as_updatable_mut().unwrap().unvectorize(&vec![f32::NAN; values.len()]);
        other.scale(0.0);
        assert!(other.as_updatable().unwrap().vectorize().iter().all(|&v| v == 0.0), "{}: scale(0)", t.name);
        assert_eq!(other.as_updatable().unwrap().dot_product(&*component), 0.0, "{}", t.name);
        let mut r = KaldiReader::from_bytes("zeros", written(&*other, true));
        r.set_binary(true);
        let again = registry::read(&mut r).unwrap();
        assert!(again.as_updatable().unwrap().vectorize().iter().all(|&v| v == 0.0), "{}", t.name);
    }
}
