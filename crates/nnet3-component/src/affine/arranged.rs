//! Affine, linear and TDNN components of networks that only run forward. Their weights exist only in the order in which
//! products read them.

use super::Weights;
use super::tdnn::{self, Tdnn};
use crate::{Arrangement, Backprop, Component, Context, Indexed, Propagate, Properties, Stored, Update};
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::{Error, Result};
use nnet3_matrix::{Matrix, Panels, Start, View};
use std::sync::Arc;

/// The replacement of a component in a network that only runs forward.
#[derive(Clone, Debug)]
pub struct Arranged {
    type_name: &'static str,
    properties: Properties,
    /// Copies share them.
    weights: Arc<Panels>,
    /// 1 × O, or empty: propagate adds to its output.
    bias: Matrix,
    /// A TDNN without its parameters, which knows its indexes.
    tdnn: Option<Tdnn>,
}

impl Arranged {
    /// Makes the replacement of a component of this type. `linear`, O × I, and `bias`, 1 × O or empty, are its
    /// parameters.
    pub fn new(
        (type_name, properties): (&'static str, Properties),
        how: Arrangement<'_>,
        linear: Matrix,
        bias: Matrix,
    ) -> Arranged {
        let properties = properties - Properties::UPDATABLE;
        Arranged {
            type_name,
            properties,
            weights: Arc::new(how.products.arrange(linear, how.form)),
            bias,
            tdnn: None,
        }
    }

    /// `tdnn` has offsets, but no parameters.
    pub(crate) fn with_indexes_of(self, tdnn: Tdnn) -> Arranged {
        Arranged { tdnn: Some(tdnn), ..self }
    }

    /// Number of weights.
    pub fn elements(&self) -> usize {
        self.weights.view().layout().elements()
    }
}

impl Stored for Arranged {
    fn type_name(&self) -> &'static str {
        self.type_name
    }
    fn info(&self, _: bool) -> String {
        format!("{}, input-dim={}, output-dim={}", self.type_name, self.input_dim(), self.output_dim())
    }
    fn write(&self, _: &mut KaldiWriter) -> Result<()> {
        Err(Error::network(format!("a {} that is only run cannot be written", self.type_name)))
    }
}

impl Component for Arranged {
    fn input_dim(&self) -> usize {
        let taps = self.tdnn.as_ref().map_or(1, |tdnn| tdnn.time_offsets().len());
        self.weights.view().terms() / taps
    }
    fn output_dim(&self) -> usize {
        self.weights.view().outputs()
    }
    fn properties(&self) -> Properties {
        self.properties
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        self.tdnn.as_ref().map(|tdnn| tdnn as &dyn Indexed)
    }

    fn propagate(&self, context: Context<'_>, args: Propagate<'_>) {
        let start = match (self.bias.is_empty(), args.sets) {
            (false, _) => Start::Row(self.bias.view()),
            (true, true) => Start::Zero,
            (true, false) => Start::Output,
        };
        let weights = Weights::Panels(self.weights.view());
        match self.tdnn {
            Some(_) => tdnn::multiply(context, args.indexes, weights, args.input, args.output, start),
            None => weights.multiply(context.backend, args.output, start, std::iter::once(args.input)),
        }
    }
    fn sets_output(&self) -> bool {
        true
    }
    fn as_affine(&self) -> Option<(Weights<'_>, View<'_>)> {
        let affine = self.tdnn.is_none() && !self.bias.is_empty();
        affine.then(|| (Weights::Panels(self.weights.view()), self.bias.view()))
    }

    fn backprop(&mut self, _: Context<'_>, args: Backprop<'_>, _: Update<'_>) {
        unreachable!("backward pass of {}, whose network is only run", args.name)
    }
}
