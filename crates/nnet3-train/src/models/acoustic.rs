//! Acoustic models (`.mdl`): a transition model, a simple network whose output columns are its pdfs, and
//! the pdfs' priors.

use crate::error::{Error, Result};
use kaldi_hmm::TransitionModel;
use kaldi_hmm::update::TransitionCounts;
use kaldi_io::log::num;
use kaldi_io::matrix::{read_vector, write_vector};
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};
use nnet3_core::graph::FrameContext;
use nnet3_core::nnet::Nnet;

/// An acoustic model. Contexts are always those of the network.
#[derive(Clone)]
pub struct AmNnet {
    pub transitions: TransitionModel,
    nnet: Nnet,
    left_context: i32,
    right_context: i32,
    /// The prior of each pdf; empty if priors are not known.
    priors: Vec<f32>,
}

/// Priors that did not fit a changed network, and are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorsRemoved {
    pub num_priors: usize,
    pub num_pdfs: usize,
}

/// The change from old to new priors.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorChange {
    /// The pdf with the largest absolute difference.
    pub pdf: usize,
    /// Its priors before and after.
    pub old: f32,
    pub new: f32,
    /// Kullback-Leibler divergence from the old priors to the new ones, in nats.
    pub divergence: f64,
}

/// The first token of a raw network.
const RAW: &[u8] = b"<Nnet3>";

impl AmNnet {
    /// A model without priors. Fails if the network is not simple.
    pub fn new(transitions: TransitionModel, nnet: Nnet) -> Result<AmNnet> {
        let (left_context, right_context) = nnet.context()?;
        Ok(AmNnet { transitions, nnet, left_context, right_context, priors: Vec::new() })
    }

    pub fn nnet(&self) -> &Nnet {
        &self.nnet
    }
    pub fn into_nnet(self) -> Nnet {
        self.nnet
    }
    pub fn left_context(&self) -> i32 {
        self.left_context
    }
    pub fn right_context(&self) -> i32 {
        self.right_context
    }
    /// Columns of the network's output.
    pub fn num_pdfs(&self) -> usize {
        self.nnet.output_dim("output").unwrap_or(0)
    }
    /// The prior of each pdf; empty if they are not known.
    pub fn priors(&self) -> &[f32] {
        &self.priors
    }

    /// Replaces the network. Priors that do not fit it are removed.
    pub fn set_nnet(&mut self, nnet: Nnet) -> Result<Option<PriorsRemoved>> {
        self.nnet = nnet;
        self.update()
    }

    /// Calls `change` on the network. Removes priors that no longer fit.
    pub fn change_nnet<E: From<Error>>(
        &mut self,
        change: impl FnOnce(&mut Nnet) -> std::result::Result<(), E>,
    ) -> std::result::Result<Option<PriorsRemoved>, E> {
        change(&mut self.nnet)?;
        Ok(self.update()?)
    }

    fn update(&mut self) -> Result<Option<PriorsRemoved>> {
        (self.left_context, self.right_context) = self.nnet.context()?;
        let (num_priors, num_pdfs) = (self.priors.len(), self.num_pdfs());
        if num_priors == 0 || num_priors == num_pdfs {
            return Ok(None);
        }
        self.priors.clear();
        Ok(Some(PriorsRemoved { num_priors, num_pdfs }))
    }

    /// Makes the priors proportional to average or summed posteriors of the pdfs. Returns `None` if there were no priors
    /// before.
    pub fn adjust_priors(&mut self, mut posteriors: Vec<f32>) -> Result<Option<PriorChange>> {
        self.check_dim("posteriors", posteriors.len())?;
        normalize("posteriors", &mut posteriors)?;
        if !self.priors.is_empty() {
            self.check_dim("old priors", self.priors.len())?;
        }
        let old = std::mem::replace(&mut self.priors, posteriors);
        let new = &self.priors;
        let differences = old.iter().zip(new).map(|(old, new)| (old - new).abs()).enumerate();
        let largest = differences.reduce(|a, b| if b.1 > a.1 { b } else { a });
        Ok(largest.map(|(pdf, _)| PriorChange {
            pdf,
            old: old[pdf],
            new: new[pdf],
            divergence: divergence(&old, new),
        }))
    }

    /// Makes the priors proportional to the counts of the pdfs, at least `floor` each (before the final normalisation).
    pub fn set_priors_from_counts(&mut self, counts: &TransitionCounts, floor: f32) -> Result<()> {
        if !(floor > 0.0 && floor < 1.0) {
            return Err(Error::options(format!(
                "the floor of priors must be between 0 and 1, found {floor}"
            )));
        }
        self.check_dim("pdfs of the transition model", self.transitions.num_pdfs())?;
        let mut priors = vec![0.0_f32; self.num_pdfs()];
        for id in self.transitions.ids() {
            let prior = &mut priors[self.transitions.pdf(id) as usize];
            *prior = (f64::from(*prior) + counts.get(id)) as f32;
        }
        normalize("counts of pdfs", &mut priors)?;
        priors.iter_mut().for_each(|prior| *prior = prior.max(floor));
        normalize("priors", &mut priors)?;
        self.priors = priors;
        Ok(())
    }

    /// Logarithms of the priors; empty if they are not known.
    pub fn log_priors(&self) -> Result<Vec<f32>> {
        if !self.priors.is_empty() {
            self.check_dim("priors", self.priors.len())?;
        }
        Ok(self.priors.iter().map(|prior| prior.ln()).collect())
    }

    fn check_dim(&self, what: &str, found: usize) -> Result<()> {
        match self.num_pdfs() {
            expected if expected == found => Ok(()),
            expected => Err(Error::data(format!(
                "the network's output has dimension {expected}, but there are {found} {what}"
            ))),
        }
    }

    /// Returns the text that `nnet3-am-info` prints.
    pub fn info(&self, detailed: bool) -> String {
        let dim = |dim: Option<usize>| dim.map_or("-1".to_owned(), |dim| dim.to_string());
        let mut out = format!(
            "input-dim: {}\nivector-dim: {}\nnum-pdfs: {}\nprior-dimension: {}\n",
            dim(self.nnet.input_dim("input")),
            dim(self.nnet.input_dim("ivector")),
            self.num_pdfs(),
            self.priors.len()
        );
        if !self.priors.is_empty() {
            let (least, most) = (f32::INFINITY, f32::NEG_INFINITY);
            let [sum, min, max] = [
                self.priors.iter().sum::<f32>(),
                self.priors.iter().copied().fold(least, f32::min),
                self.priors.iter().copied().fold(most, f32::max),
            ]
            .map(|value| num(f64::from(value)));
            out += &format!("prior-sum: {sum}\nprior-min: {min}\nprior-max: {max}\n");
        }
        out + "# Nnet info follows.\n" + &self.nnet.info(detailed)
    }

    /// Reads transition model, network, contexts and priors. The contexts stored are not believed.
    pub fn read(r: &mut KaldiReader) -> Result<AmNnet> {
        r.peek_token()?;
        if r.peek_bytes(RAW.len())? == RAW {
            let message = "expected an acoustic model (.mdl), which begins with a transition model, found a raw network";
            return Err(r.error(message).into());
        }
        let transitions = TransitionModel::read(r)?;
        let nnet = Nnet::read_behind_transitions(r)?;
        for token in ["<LeftContext>", "<RightContext>"] {
            r.expect_token(token)?;
            r.read_i32()?;
        }
        r.expect_token("<Priors>")?;
        let priors = read_vector(r)?;
        let model = AmNnet::new(transitions, nnet).map_err(|e| r.error(e.to_string()))?;
        Ok(AmNnet { priors, ..model })
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.transitions.write(w)?;
        self.nnet.write(w)?;
        w.write_token("<LeftContext>")?;
        w.write_i32(self.left_context)?;
        w.write_token("<RightContext>")?;
        w.write_i32(self.right_context)?;
        w.write_token("<Priors>")?;
        Ok(write_vector(w, &self.priors)?)
    }

    /// Reads a model from a file, pipe or `-`.
    pub fn load(rxfilename: &str) -> Result<AmNnet> {
        let mut r = KaldiReader::open(rxfilename)?;
        let model = AmNnet::read(&mut r)?;
        r.finish()?;
        Ok(model)
    }

    /// Writes a model; a file appears whole or not at all.
    pub fn save(&self, wxfilename: &str, binary: bool) -> Result<()> {
        let mut w = KaldiWriter::create(wxfilename, binary)?;
        self.write(&mut w)?;
        Ok(w.finish()?)
    }

    /// As [`Nnet::save_rounded`].
    pub fn save_rounded(&self, wxfilename: &str) -> Result<()> {
        let mut w = KaldiWriter::create(wxfilename, true)?;
        w.write_whole_numbers_as_bytes(true);
        self.write(&mut w)?;
        Ok(w.finish()?)
    }
}

/// Divides by the sum, which rounds as the reference's does.
fn normalize(what: &str, values: &mut [f32]) -> Result<()> {
    if let Some(value) = values.iter().find(|&&value| value.is_nan() || value < 0.0) {
        return Err(Error::data(format!("the {what} contain the invalid value {value}")));
    }
    let sum: f32 = values.iter().sum();
    if !(sum.is_finite() && sum > 0.0) {
        return Err(Error::data(format!("the sum of the {what} is {sum}")));
    }
    let scale = (1.0 / f64::from(sum)) as f32;
    values.iter_mut().for_each(|value| *value *= scale);
    Ok(())
}

/// Σ p ln(p/q), with p and q normalised.
fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let [sum_p, sum_q] = [p, q].map(|values| values.iter().sum::<f32>());
    let terms = p.iter().zip(q).map(|(&p, &q)| (p / sum_p, q / sum_q)).filter(|pair| pair.0 != 0.0);
    terms.map(|(p, q)| f64::from(p * (p / q).ln())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_core::Random;
    use nnet3_core::config::parse_config;

    fn object<T: KaldiObject>(text: &str) -> T {
        T::read(&mut KaldiReader::from_bytes("test", text.as_bytes().to_vec())).unwrap()
    }

    /// Transition-ids 1 and 2 have pdf 0, 3 and 4 pdf 1.
    fn transitions() -> TransitionModel {
        let topology = "<Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones> \
            <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> \
            </TopologyEntry> </Topology> ";
        let tree = "ContextDependency 1 0 ToPdf SE 0 [ 1 ] { CE 0 CE 1 } EndContextDependency ";
        TransitionModel::new(&object(tree), object(topology)).unwrap()
    }

    fn network(output_dim: usize, offset: i32) -> Nnet {
        let config = format!(
            "component name=a type=AffineComponent input-dim=4 output-dim={output_dim}
             input-node name=input dim=2
             component-node name=a component=a input=Append(input, Offset(input, {offset}))
             output-node name=output input=a"
        );
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(3)).unwrap();
        nnet
    }

    fn stored(model: &AmNnet, binary: bool) -> Vec<u8> {
        let mut w = KaldiWriter::in_memory(binary);
        model.write(&mut w).unwrap();
        w.into_bytes()
    }

    fn read(bytes: Vec<u8>, binary: bool) -> Result<AmNnet> {
        let mut r = KaldiReader::from_bytes("test", bytes);
        r.set_binary(binary);
        AmNnet::read(&mut r)
    }

    #[test]
    fn stored_like_the_reference() {
        let mut model = AmNnet::new(transitions(), network(2, 3)).unwrap();
        model.priors = vec![0.75, 0.25];
        let text = String::from_utf8(stored(&model, false)).unwrap();
        assert!(
            text.ends_with("</Nnet3> <LeftContext> 0 <RightContext> 3 <Priors>  [ 0.75 0.25 ]\n"),
            "{text}"
        );
        for binary in [false, true] {
            let bytes = stored(&model, binary);
            let again = read(bytes.clone(), binary).unwrap();
            assert_eq!(stored(&again, binary), bytes);
            assert_eq!(again.priors(), [0.75, 0.25]);
            let mut r = KaldiReader::from_bytes("test", bytes.clone());
            r.set_binary(binary);
            assert_eq!(Nnet::read(&mut r).unwrap().num_parameters(), 10);
            for end in (0..bytes.len() - 4).step_by(7) {
                assert!(read(bytes[..end].to_vec(), binary).is_err(), "{end} of {}", bytes.len());
            }
        }
        let wrong_contexts =
            text.replace("<LeftContext> 0 <RightContext> 3", "<LeftContext> 8 <RightContext> 9");
        assert_eq!(read(wrong_contexts.into_bytes(), false).unwrap().right_context(), 3);
        let nnet = text[text.find("<Nnet3>").unwrap()..].to_owned();
        let error = read(nnet.into_bytes(), false).err().unwrap().to_string();
        assert!(error.contains("found a raw network"), "{error}");
        let two = text.replace("output-node name=output", "output-node name=other");
        let error = read(two.into_bytes(), false).err().unwrap().to_string();
        assert!(error.starts_with("test, line") && error.contains("not simple"), "{error}");
    }

    #[test]
    fn another_network() {
        let mut model = AmNnet::new(transitions(), network(2, 3)).unwrap();
        model.priors = vec![0.75, 0.25];
        assert_eq!(model.set_nnet(network(2, -1)).unwrap(), None);
        assert_eq!((model.left_context(), model.right_context(), model.priors().len()), (1, 0, 2));
        let removed = model.change_nnet(|nnet| {
            *nnet = network(3, 2);
            Ok::<_, Error>(())
        });
        assert_eq!(removed.unwrap(), Some(PriorsRemoved { num_priors: 2, num_pdfs: 3 }));
        assert!(model.priors().is_empty() && model.log_priors().unwrap().is_empty());
    }

    #[test]
    fn priors_from_posteriors() {
        let mut model = AmNnet::new(transitions(), network(2, 3)).unwrap();
        assert_eq!(model.adjust_priors(vec![3.0, 1.0]).unwrap(), None);
        assert_eq!(model.priors(), [0.75, 0.25]);
        let change = model.adjust_priors(vec![2.0, 2.0]).unwrap().unwrap();
        assert_eq!((change.pdf, change.old, change.new), (0, 0.75, 0.5));
        let expected = 0.75 * 1.5_f64.ln() + 0.25 * 0.5_f64.ln();
        assert!((change.divergence - expected).abs() < 1e-6, "{change:?}");
        assert_eq!(model.log_priors().unwrap(), [0.5f32.ln(); 2]);
        let info = model.info(false);
        assert!(info.starts_with(
            "input-dim: 2\nivector-dim: -1\nnum-pdfs: 2\nprior-dimension: 2\nprior-sum: 1\nprior-min: 0.5\nprior-max: 0.5\n\
             # Nnet info follows.\nleft-context: 0\nright-context: 3\n"
        ));
        for (posteriors, words) in [
            (vec![1.0; 3], "has dimension 2, but there are 3 posteriors"),
            (vec![0.0; 2], "the sum of the posteriors is 0"),
            (vec![1.0, f32::NAN], "contain the invalid value NaN"),
        ] {
            let error = model.adjust_priors(posteriors).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn priors_from_counts() {
        let mut model = AmNnet::new(transitions(), network(2, 3)).unwrap();
        let mut counts = TransitionCounts::new(&model.transitions);
        assert!(
            model
                .set_priors_from_counts(&counts, 0.25)
                .unwrap_err()
                .to_string()
                .contains("sum of the counts")
        );
        counts.add(model.transitions.transition_id(1).unwrap(), 3.0);
        counts.add(model.transitions.transition_id(2).unwrap(), 5.0);
        model.set_priors_from_counts(&counts, 0.25).unwrap();
        assert_eq!(model.priors(), [0.8, 0.2]);
        assert!(model.set_priors_from_counts(&counts, 0.0).is_err());
        model.set_nnet(network(3, 0)).unwrap();
        let error = model.set_priors_from_counts(&counts, 0.25).unwrap_err().to_string();
        assert!(error.contains("dimension 3, but there are 2 pdfs of the transition model"), "{error}");
    }
}
