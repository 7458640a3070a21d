//! Questions that trees may ask: sets of values for each key (`tree/build-tree-questions.cc`).

use crate::cluster::RefineOptions;
use kaldi_hmm::HmmTopology;
use kaldi_hmm::event_map::PDF_CLASS;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, Result};
use std::collections::BTreeMap;

/// Questions about one key.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionsForKey {
    /// Sets of values, each sorted.
    pub sets: Vec<Vec<i32>>,
    /// Refinement of the best set at each split, if any.
    pub refine: RefineOptions,
}

/// Questions by key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Questions {
    by_key: BTreeMap<i32, QuestionsForKey>,
}

impl Questions {
    pub fn set(&mut self, key: i32, questions: QuestionsForKey) {
        self.by_key.insert(key, questions);
    }

    pub fn get(&self, key: i32) -> Option<&QuestionsForKey> {
        self.by_key.get(&key)
    }

    /// Keys with their questions, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &QuestionsForKey)> {
        self.by_key.iter().map(|(key, questions)| (*key, questions))
    }

    /// Makes questions about the phone at each of `context_width` positions (membership in each of these sorted sets),
    /// and about the pdf class (below any number). `compile-questions` asks the same.
    pub fn about_phones(
        sets: &[Vec<i32>],
        topology: &HmmTopology,
        context_width: usize,
        num_iters_refine: i32,
    ) -> Questions {
        let refine = RefineOptions { num_iters: num_iters_refine, top_n: 2 };
        let mut questions = Questions::default();
        for position in 0..context_width {
            questions.set(position as i32, QuestionsForKey { sets: sets.to_vec(), refine });
        }
        let classes = most_pdf_classes(topology);
        let below = (1..classes).map(|end| (0..end).collect()).collect();
        questions.set(PDF_CLASS, QuestionsForKey { sets: below, refine });
        questions
    }
}

/// Largest number of pdf classes of a phone.
pub fn most_pdf_classes(topology: &HmmTopology) -> i32 {
    topology.phones().iter().map(|&phone| topology.num_pdf_classes(phone)).max().unwrap_or(0)
}

impl KaldiObject for QuestionsForKey {
    fn read(r: &mut KaldiReader) -> Result<QuestionsForKey> {
        r.expect_token("<QuestionsForKey>")?;
        let count = r.read_i32().and_then(|n| r.check_count(n, "questions"))?;
        let mut sets = Vec::new();
        for _ in 0..count {
            let set = r.read_i32_vector()?;
            if !set.is_sorted() || set.first().is_some_and(|&value| value < 0) {
                return Err(r.error("a question is not a sorted set of values that are not negative"));
            }
            sets.push(set);
        }
        r.expect_token("<RefineClustersOptions>")?;
        let refine = RefineOptions { num_iters: r.read_i32()?, top_n: r.read_i32()? };
        r.expect_token("</RefineClustersOptions>")?;
        if refine.num_iters > 0 && refine.top_n < 2 {
            return Err(
                r.error(format!("expected at least 2 clusters for each point, found {}", refine.top_n))
            );
        }
        r.expect_token("</QuestionsForKey>")?;
        Ok(QuestionsForKey { sets, refine })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<QuestionsForKey>")?;
        w.write_i32(self.sets.len() as i32)?;
        for set in &self.sets {
            w.write_i32_vector(set)?;
        }
        w.write_token("<RefineClustersOptions>")?;
        w.write_i32(self.refine.num_iters)?;
        w.write_i32(self.refine.top_n)?;
        w.write_token("</RefineClustersOptions>")?;
        w.write_token("</QuestionsForKey>")
    }
}

impl KaldiObject for Questions {
    fn read(r: &mut KaldiReader) -> Result<Questions> {
        r.expect_token("<Questions>")?;
        let mut questions = Questions::default();
        loop {
            match r.read_token()?.as_str() {
                "</Questions>" => return Ok(questions),
                "<Key>" => {
                    let key = r.read_i32()?;
                    questions.set(key, QuestionsForKey::read(r)?);
                }
                other => return Err(r.error(format!("expected <Key> or </Questions>, found '{other}'"))),
            }
        }
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<Questions>")?;
        for (key, questions) in self.iter() {
            w.write_token("<Key>")?;
            w.write_i32(key)?;
            questions.write(w)?;
        }
        w.write_token("</Questions>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{from_text, in_both_forms};

    const TEXT: &str = "<Questions> <Key> -1 <QuestionsForKey> 1 [ 0 ]\n<RefineClustersOptions> 0 2 \
        </RefineClustersOptions> </QuestionsForKey> <Key> 0 <QuestionsForKey> 2 [ 1 2 ]\n[ 3 ]\n\
        <RefineClustersOptions> 0 2 </RefineClustersOptions> </QuestionsForKey> </Questions> ";

    #[test]
    fn files() {
        let topology = from_text::<HmmTopology>(
            "<Topology> <TopologyEntry> <ForPhones> 1 2 3 </ForPhones> <State> 0 <ForwardPdfClass> 0 \
             <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> \
             </TopologyEntry> </Topology> ",
        );
        let questions = Questions::about_phones(&[vec![1, 2], vec![3]], &topology.unwrap(), 1, 0);
        assert_eq!(in_both_forms(&questions).0, TEXT);
        for end in 0..TEXT.len() - 1 {
            assert!(from_text::<Questions>(&TEXT[..end]).is_err(), "{end}");
        }
        let refused = |old: &str, new: &str, words: &str| {
            let error = from_text::<Questions>(&TEXT.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("1 2 ]", "2 1 ]", "not a sorted set");
        refused("[ 0 ]", "[ -1 0 ]", "not negative");
        refused("<Key>", "<Kay>", "found '<Kay>'");
        refused("0 2 <", "5 1 <", "at least 2 clusters for each point, found 1");
    }
}
