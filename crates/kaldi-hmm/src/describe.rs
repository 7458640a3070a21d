//! A transition model as text for people.

use crate::error::{Error, Result};
use crate::transitions::TransitionModel;
use kaldi_io::log::num;
use std::fmt::Write;

impl TransitionModel {
    /// Describes all transition states and transitions, with names of phones and, if given, a count for each pdf. It is
    /// an error if a name is missing, or if the number of counts is not the number of pdfs.
    pub fn describe<'a>(
        &self,
        phone_name: impl Fn(i32) -> Option<&'a str>,
        occupancies: Option<&[f64]>,
    ) -> Result<String> {
        if let Some(occupancies) = occupancies
            && occupancies.len() != self.num_pdfs()
        {
            return Err(Error::Value(format!(
                "expected a count for each of the {} pdfs, found {}",
                self.num_pdfs(),
                occupancies.len()
            )));
        }
        let is_hmm = self.topology().is_hmm();
        let mut out = String::new();
        for (s, state) in self.states().iter().enumerate() {
            let phone = phone_name(state.phone)
                .ok_or_else(|| Error::Value(format!("phone {} has no name", state.phone)))?;
            let pdfs = match state.self_loop_pdf {
                _ if is_hmm => format!("pdf = {}", state.forward_pdf),
                other => {
                    format!("forward-pdf = {} self-loop-pdf = {}", state.forward_pdf, other.unwrap_or(-1))
                }
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "Transition-state {}: phone = {phone} hmm-state = {} {pdfs}",
                s + 1,
                state.hmm_state
            );
            for id in self.ids_of_state(s) {
                let probability = num(f64::from(self.log_prob(id).exp()));
                let _ = write!(out, " Transition-id = {} p = {probability}", id.get());
                if let Some(occupancies) = occupancies {
                    let _ = write!(out, " count of pdf = {}", num(occupancies[self.pdf(id) as usize]));
                }
                let _ = match self.next_hmm_state(id) {
                    next if next == state.hmm_state => writeln!(out, " [self-loop]"),
                    next => writeln!(out, " [{} -> {next}]", state.hmm_state),
                };
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use crate::TransitionModel;
    use crate::testing::from_text;

    #[test]
    fn text() {
        let topology = "<Topology> <TopologyEntry> <ForPhones> 1 </ForPhones> \
            <State> 0 <PdfClass> 0 <Transition> 0 0.75 <Transition> 1 0.25 </State> <State> 1 </State> \
            </TopologyEntry> </Topology> ";
        let tree = "ContextDependency 1 0 ToPdf CE 0 EndContextDependency ";
        let model = TransitionModel::new(&from_text(tree).unwrap(), from_text(topology).unwrap()).unwrap();
        let name = |phone| (phone == 1).then_some("sil");
        assert_eq!(
            model.describe(name, Some(&[12.5])).unwrap(),
            "Transition-state 1: phone = sil hmm-state = 0 pdf = 0\n Transition-id = 1 p = 0.75 count of pdf = 12.5 \
             [self-loop]\n Transition-id = 2 p = 0.25 count of pdf = 12.5 [0 -> 1]\n"
        );
        assert!(model.describe(name, None).unwrap().contains(" Transition-id = 2 p = 0.25 [0 -> 1]\n"));
        assert!(model.describe(name, Some(&[1.0, 2.0])).unwrap_err().to_string().contains("found 2"));
        assert!(model.describe(|_| None, None).unwrap_err().to_string().contains("phone 1 has no name"));
    }
}
