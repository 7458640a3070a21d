//! The directive `initialize name=PATTERN [part=linear|bias|all] type=… …`: parameters begin with other values.
//!
//! W is out × in: d_in are its columns, d_out its rows.

use super::Nnet;
use super::edit::{matches_pattern, some_names, to_matrix};
use kaldi_io::DenseMatrix;
use kaldi_numerics::svd::by_products::sorted_svd;
use nalgebra::DMatrix;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::ComponentId;
use nnet3_base::random::Random;
use nnet3_component::is_parameter;
use std::ops::Range;

const TYPES: &str =
    "constant, uniform, gaussian, glorot-uniform, xavier, kaiming, identity, orthonormal, array";

/// Source of initial values.
#[derive(Debug, Clone, PartialEq)]
enum Initializer {
    Constant(f32),
    Uniform {
        low: f32,
        high: f32,
    },
    Gaussian {
        mean: f32,
        stddev: f32,
    },
    /// U(-√(6 / (d_in + d_out)), √(6 / (d_in + d_out))): Glorot and Bengio, 2010.
    Glorot,
    /// U(-√(3 / d_in), √(3 / d_in)).
    Xavier,
    /// N(0, 2 / d_in): He et al., 2015.
    Kaiming,
    /// 1 if the row is the column, in each of several blocks of columns.
    Identity {
        blocks: usize,
    },
    /// Orthonormal rows or columns, times a scale: Saxe et al., 2014.
    Orthonormal {
        scale: f32,
    },
    Array(DenseMatrix<f32>),
}

impl Initializer {
    fn parse(line: &mut ConfigLine) -> Result<Initializer> {
        let kind = line.require_string("type")?;
        let mut finite = |key: &str, default: f32| match line.get_f32(key)?.unwrap_or(default) {
            value if value.is_finite() => Ok(value),
            value => Err(line.error(format!("{key}={value}: expected a finite number"))),
        };
        Ok(match &*kind {
            "constant" => Initializer::Constant(finite("value", 0.0)?),
            "uniform" => {
                let (low, high) = (finite("low", 0.0)?, finite("high", 1.0)?);
                if low > high {
                    return Err(line.error(format!("low={low} is above high={high}")));
                }
                Initializer::Uniform { low, high }
            }
            "gaussian" => {
                let (mean, stddev) = (finite("mean", 0.0)?, finite("stddev", 1.0)?);
                if stddev < 0.0 {
                    return Err(line.error(format!("stddev={stddev}: expected 0 or more")));
                }
                Initializer::Gaussian { mean, stddev }
            }
            "glorot-uniform" => Initializer::Glorot,
            "xavier" => Initializer::Xavier,
            "kaiming" => Initializer::Kaiming,
            "identity" => Initializer::Identity { blocks: line.get_dim("blocks")?.unwrap_or(1) },
            "orthonormal" => Initializer::Orthonormal { scale: finite("scale", 1.1)? },
            "array" => {
                let file = line.require_string("matrix")?;
                let array = kaldi_io::read_object(&file);
                Initializer::Array(array.map_err(|error| line.error(format!("matrix={file}: {error}")))?)
            }
            other => return Err(line.error(format!("type={other}: there are {TYPES}"))),
        })
    }

    /// Values row by row; `center` are the columns that read the place of the output itself.
    fn values(
        &self,
        rows: usize,
        cols: usize,
        center: Range<usize>,
        random: &Random,
    ) -> std::result::Result<Vec<f32>, String> {
        let uniform =
            |low: f32, high: f32| (0..rows * cols).map(|_| low + (high - low) * random.uniform()).collect();
        Ok(match *self {
            Initializer::Constant(value) => vec![value; rows * cols],
            Initializer::Uniform { low, high } => uniform(low, high),
            Initializer::Gaussian { mean, stddev } => random.normal_rows(rows, cols, mean, stddev),
            Initializer::Glorot => {
                let limit = (6.0 / (rows + cols) as f32).sqrt();
                uniform(-limit, limit)
            }
            Initializer::Xavier => {
                let limit = (3.0 / cols as f32).sqrt();
                uniform(-limit, limit)
            }
            Initializer::Kaiming => random.normal_rows(rows, cols, 0.0, (2.0 / cols as f32).sqrt()),
            Initializer::Identity { blocks } => {
                if !center.len().is_multiple_of(blocks) {
                    return Err(format!("{} columns cannot be divided into {blocks} blocks", center.len()));
                }
                let width = center.len() / blocks;
                let mut out = vec![0.0; rows * cols];
                for block in 0..blocks {
                    for k in 0..width.min(rows) {
                        out[k * cols + center.start + block * width + k] = 1.0;
                    }
                }
                out
            }
            Initializer::Orthonormal { scale } => orthonormal(rows, cols, scale, random),
            Initializer::Array(ref matrix) => match (matrix.rows, matrix.cols) {
                shape if shape == (rows, cols) => matrix.data.clone(),
                (found_rows, found_cols) => {
                    return Err(format!(
                        "expected a matrix of {rows} x {cols}, found {found_rows} x {found_cols}"
                    ));
                }
            },
        })
    }
}

fn orthonormal(rows: usize, cols: usize, scale: f32, random: &Random) -> Vec<f32> {
    let gaussian = random.normal_rows(rows, cols, 0.0, 1.0).into_iter().map(f64::from);
    let (u, _, vt) = sorted_svd(&DMatrix::from_row_iterator(rows, cols, gaussian));
    let chosen = if rows >= cols { u } else { vt };
    to_matrix(&chosen).to_vec().into_iter().map(|x| x * scale).collect()
}

impl Nnet {
    /// Executes a directive `initialize` and returns a report. A pattern without a match is an error.
    pub fn initialize(&mut self, line: &mut ConfigLine, random: &Random) -> Result<String> {
        let pattern = line.require_string("name")?;
        let part = line.get_string("part").unwrap_or_else(|| "linear".to_owned());
        let initializer = Initializer::parse(line)?;
        line.finish()?;
        let mut count = 0;
        for id in self.updatable_components() {
            let (component, name) = self.component_and_name(id);
            if !matches_pattern(name, &pattern) {
                continue;
            }
            let center = component.center();
            let name = name.to_owned();
            for parameter in component.parameters_mut() {
                let value = parameter.value;
                if value.is_empty() || !is_parameter(&parameter.name, &part) {
                    continue;
                }
                let (rows, cols) = (value.rows(), value.cols());
                let whole = || Ok(0..cols);
                let center =
                    if &*parameter.name == "linear" { center.clone().unwrap_or_else(whole) } else { whole() };
                let center = match (&initializer, center) {
                    (_, Ok(center)) => center,
                    (Initializer::Identity { .. }, Err(message)) => {
                        return Err(line.error(format!("component '{name}': {message}")));
                    }
                    (_, Err(_)) => 0..cols,
                };
                let values = initializer.values(rows, cols, center, random).map_err(|message| {
                    line.error(format!("component '{name}', {}: {message}", parameter.name))
                })?;
                value.device().clone().upload(value.view_mut(), &values);
                count += 1;
            }
        }
        match count {
            0 => Err(self.nothing_to_initialize(line, &pattern, &part)),
            _ => Ok(format!("Initialized {count} parameters.")),
        }
    }

    fn nothing_to_initialize(&self, line: &ConfigLine, pattern: &str, part: &str) -> Error {
        let describe = |id: ComponentId| {
            let parameters = self.component(id).parameters();
            let parts: Vec<&str> =
                parameters.iter().filter(|p| !p.value.is_empty()).map(|p| &*p.name).collect();
            format!("{} ({})", self.component_name(id), parts.join(", "))
        };
        let there_are = some_names(self.updatable_components().into_iter().map(describe));
        line.error(format!("no component with a part '{part}' matches '{pattern}'; there are {there_are}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_base::config::parse_config;

    fn network() -> Nnet {
        let config = "input-node name=input dim=60\n\
            component name=a.affine type=AffineComponent input-dim=60 output-dim=40\n\
            component name=tall type=LinearComponent input-dim=40 output-dim=50\n\
            component name=conv type=TimeHeightConvolutionComponent num-filters-in=5 num-filters-out=5 height-in=10 \
            height-out=10 time-offsets=-1,0,1 height-offsets=-1,0,1\n\
            component-node name=a component=a.affine input=input\n\
            component-node name=tall component=tall input=a\n\
            component-node name=conv component=conv input=tall\n\
            output-node name=output input=conv";
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("config", config.lines()).unwrap(), &Random::new(0)).unwrap();
        nnet
    }

    fn initialized(line: &str, component: &str, part: &str) -> Result<(usize, usize, Vec<f32>)> {
        let mut nnet = network();
        let mut line = ConfigLine::parse("edits:1", format!("initialize {line}"))?;
        nnet.initialize(&mut line, &Random::new(1))?;
        let id = nnet.find_component(component).unwrap();
        let parameters = nnet.component(id).parameters();
        let found = parameters.iter().find(|p| p.name == part).unwrap().value;
        Ok((found.rows(), found.cols(), found.to_vec()))
    }

    fn mean_and_variance(values: &[f32]) -> (f64, f64) {
        let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / values.len() as f64)
    }

    /// Means, variances and ranges from the definitions.
    #[test]
    fn distributions() {
        for (text, mean, variance, limit) in [
            ("type=uniform", 0.5, 1.0 / 12.0, 1.0),
            ("type=uniform low=-.08 high=.08", 0.0, 0.08 * 0.08 / 3.0, 0.08),
            ("type=gaussian mean=1 stddev=.5", 1.0, 0.25, 10.0),
            ("type=glorot-uniform", 0.0, 2.0 / 100.0, (6.0f64 / 100.0).sqrt()),
            ("type=xavier", 0.0, 1.0 / 60.0, (3.0f64 / 60.0).sqrt()),
            ("type=kaiming", 0.0, 2.0 / 60.0, 10.0),
        ] {
            let (rows, cols, values) = initialized(&format!("name=a* {text}"), "a.affine", "linear").unwrap();
            assert_eq!((rows, cols), (40, 60));
            let (found_mean, found_variance) = mean_and_variance(&values);
            let tolerance = 4.0 * (variance / 2400.0f64).sqrt();
            assert!((found_mean - mean).abs() < tolerance, "{text}: mean {found_mean}");
            assert!((found_variance / variance - 1.0).abs() < 0.12, "{text}: variance {found_variance}");
            assert!(values.iter().all(|&x| f64::from(x.abs()) <= limit + 1e-6), "{text}");
        }
    }

    #[test]
    fn constants_of_parts() {
        let (_, _, bias) =
            initialized("name=* part=bias type=constant value=.5", "a.affine", "bias").unwrap();
        assert!(bias.iter().all(|&x| x == 0.5));
        let (_, _, linear) = initialized("name=* part=all type=constant", "conv", "linear").unwrap();
        assert!(linear.iter().all(|&x| x == 0.0));
    }

    #[test]
    fn orthonormal_rows_or_columns() {
        for (name, long) in [("a.affine", false), ("tall", true)] {
            let (rows, cols, values) = initialized("name=* type=orthonormal", name, "linear").unwrap();
            let m = DMatrix::from_row_slice(rows, cols, &values);
            let gram = if long { m.transpose() * &m } else { &m * m.transpose() };
            let expected = DMatrix::identity(gram.nrows(), gram.ncols()) * 1.21;
            assert!((gram - expected).abs().max() < 1e-5, "{name}");
        }
    }

    #[test]
    fn identities() {
        let (_, cols, values) =
            initialized("name=a.affine type=identity blocks=2", "a.affine", "linear").unwrap();
        for (k, &value) in values.iter().enumerate() {
            let (row, col) = (k / cols, k % cols);
            assert_eq!(value, if row < 30 && col % 30 == row { 1.0 } else { 0.0 }, "{row}, {col}");
        }
        // The centre tap is the fifth of nine.
        let (_, cols, values) = initialized("name=conv type=identity", "conv", "linear").unwrap();
        for (k, &value) in values.iter().enumerate() {
            assert_eq!(value, if k % cols == 20 + k / cols { 1.0 } else { 0.0 }, "{k}");
        }
    }

    #[test]
    fn mistakes() {
        for (text, message) in [
            ("name=b* type=kaiming", "there are a.affine (linear, bias), tall (linear), conv (linear, bias)"),
            ("name=tall part=bias type=constant", "no component with a part 'bias' matches 'tall'"),
            ("name=* type=he", "there are constant, uniform"),
            ("name=* type=uniform low=2", "above high"),
            ("name=* type=gaussian stddev=-1", "expected 0 or more"),
            ("name=a* type=identity blocks=7", "60 columns cannot be divided into 7 blocks"),
            ("name=a* type=kaiming gain=2", "unknown or unused key: gain=2"),
            ("name=a* type=array matrix=/nonexistent", "/nonexistent"),
        ] {
            let error = initialized(text, "tall", "linear").unwrap_err();
            let error = kaldi_io::error::chain(&error);
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
