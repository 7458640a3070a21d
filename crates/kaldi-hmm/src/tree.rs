//! Context dependency: the pdf of a pdf class of a phone, given the phones around it (`tree/context-dep.cc`).

use crate::event_map::{EventMap, PDF_CLASS};
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, Result};
use std::collections::BTreeSet;

/// A pdf for a state's transitions to other states, and one for its self-loop, if it has one.
pub(crate) type PdfPair = (i32, Option<i32>);

/// The largest window. Windows of 3 phones are common; wider ones than this are taken for damage.
const WIDEST: usize = 1000;

/// The largest valid number of pdfs if `occurring` numbers occur as leaves of a tree or states of a model. Tables by
/// pdf have this size, so a damaged number must not fill the memory.
pub(crate) fn most_pdfs(occurring: usize) -> usize {
    occurring.saturating_mul(16).saturating_add(1 << 16)
}

/// A tree with the size of its window of phones.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextDependency {
    context_width: usize,
    central_position: usize,
    /// Positions of the phones that the tree asks for.
    asked: Vec<usize>,
    to_pdf: EventMap,
    num_pdfs: usize,
}

impl ContextDependency {
    /// Makes a tree for windows of `context_width` phones. The tree gives the pdf of the phone at `central_position`.
    pub fn new(
        context_width: usize,
        central_position: usize,
        to_pdf: EventMap,
    ) -> crate::Result<ContextDependency> {
        let error = |message: String| Err(crate::Error::model(message));
        if central_position >= context_width {
            return error(format!(
                "the central position {central_position} is not within the context width {context_width}"
            ));
        }
        if context_width > WIDEST {
            return error(format!("the context width is {context_width}, expected at most {WIDEST}"));
        }
        let mut asked = Vec::new();
        for key in to_pdf.keys() {
            match usize::try_from(key) {
                Ok(position) if position < context_width => asked.push(position),
                _ if key == PDF_CLASS => {}
                _ => {
                    return error(format!(
                        "the tree has a question about position {key}, but its context windows have {context_width} phones"
                    ));
                }
            }
        }
        let answers = to_pdf.all_answers(&[]);
        let (Some(&least), Some(&largest)) = (answers.first(), answers.last()) else {
            return error("the tree has no leaves".to_owned());
        };
        if least < 0 {
            return error(format!("the tree has a leaf with the number {least}, which is not a pdf-id"));
        }
        let num_pdfs = largest as usize + 1;
        if num_pdfs > most_pdfs(answers.len()) {
            return error(format!(
                "a leaf has the pdf-id {largest}, which is too large for a tree of {} pdfs",
                answers.len()
            ));
        }
        Ok(ContextDependency { context_width, central_position, asked, to_pdf, num_pdfs })
    }

    /// Number of phones in the window.
    pub fn context_width(&self) -> usize {
        self.context_width
    }
    /// Position, from 0, of the phone whose pdf the tree gives.
    pub fn central_position(&self) -> usize {
        self.central_position
    }
    /// Pdf-ids are below this.
    pub fn num_pdfs(&self) -> usize {
        self.num_pdfs
    }
    pub fn to_pdf(&self) -> &EventMap {
        &self.to_pdf
    }

    /// Returns the pdf-id of a pdf class of the central phone of `window`. Its length is the context's width; a 0 is a
    /// position beyond the utterance. `None` if the tree does not know the phone or class.
    pub fn pdf(&self, window: &[i32], pdf_class: i32) -> Option<i32> {
        assert_eq!(window.len(), self.context_width, "as many phones as the context is wide");
        let phones = (0..).zip(window.iter().copied());
        self.to_pdf.map(&phones.chain([(PDF_CLASS, pdf_class)]).collect::<Vec<_>>())
    }

    /// All pdfs that a pdf class of a phone can have in any context.
    pub fn pdfs(&self, phone: i32, pdf_class: i32) -> Vec<i32> {
        self.to_pdf.all_answers(&[(self.central_position as i32, phone), (PDF_CLASS, pdf_class)])
    }

    /// All combinations of pdfs that a state of a phone with these two pdf classes can have. `phones` are all phones that
    /// may surround it.
    pub(crate) fn pdf_pairs(
        &self,
        phones: &[i32],
        phone: i32,
        forward_class: i32,
        self_loop_class: Option<i32>,
    ) -> BTreeSet<PdfPair> {
        let mut window = vec![None; self.context_width];
        window[self.central_position] = Some(phone);
        let mut pairs = BTreeSet::new();
        self.collect_pairs(phones, (forward_class, self_loop_class), &mut window, &mut pairs);
        pairs
    }

    /// Collects combinations of pdfs. If one of the two pdfs is certain, all combinations are taken. Otherwise, the
    /// next unknown phone in the tree's questions is replaced by each of its possible values.
    fn collect_pairs(
        &self,
        phones: &[i32],
        (forward_class, self_loop_class): (i32, Option<i32>),
        window: &mut [Option<i32>],
        pairs: &mut BTreeSet<PdfPair>,
    ) {
        let answers = |class: i32| {
            let known = (0..).zip(window.iter()).filter_map(|(position, phone)| Some((position, (*phone)?)));
            self.to_pdf.all_answers(&known.chain([(PDF_CLASS, class)]).collect::<Vec<_>>())
        };
        let forward = answers(forward_class);
        let Some(self_loop_class) = self_loop_class else {
            pairs.extend(forward.into_iter().map(|pdf| (pdf, None)));
            return;
        };
        let self_loop = answers(self_loop_class);
        let unknown = self.asked.iter().copied().filter(|&at| window[at].is_none());
        let nearest = unknown.min_by_key(|at| at.abs_diff(self.central_position));
        let Some(position) = nearest.filter(|_| forward.len() > 1 && self_loop.len() > 1) else {
            for &pdf in &forward {
                pairs.extend(self_loop.iter().map(|&other| (pdf, Some(other))));
            }
            return;
        };
        for phone in [0].iter().chain(phones) {
            window[position] = Some(*phone);
            self.collect_pairs(phones, (forward_class, Some(self_loop_class)), window, pairs);
        }
        window[position] = None;
    }
}

impl KaldiObject for ContextDependency {
    /// Reads `ContextDependency … EndContextDependency`.
    fn read(r: &mut KaldiReader) -> Result<ContextDependency> {
        r.expect_token("ContextDependency")?;
        let context_width = r.read_i32().and_then(|n| r.check_count(n, "phones in a window"))?;
        let central_position = r.read_i32().and_then(|n| r.check_count(n, "phones in a window"))?;
        let mut token = r.read_token()?;
        if token == "ToLength" {
            // Older trees store the number of pdf classes of each phone. Now topologies have this number.
            EventMap::read(r)?;
            token = r.read_token()?;
        }
        if token != "ToPdf" {
            return Err(r.error(format!("expected ToPdf, found '{token}'")));
        }
        let to_pdf = EventMap::read(r)?.ok_or_else(|| r.error("the tree is NULL"))?;
        r.expect_token("EndContextDependency")?;
        ContextDependency::new(context_width, central_position, to_pdf).map_err(|e| r.error(e.to_string()))
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("ContextDependency")?;
        w.write_i32(self.context_width as i32)?;
        w.write_i32(self.central_position as i32)?;
        w.write_token("ToPdf")?;
        self.to_pdf.write(w)?;
        w.write_token("EndContextDependency")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{from_text, in_both_forms};

    /// A biphone tree: phone 1 has classes 0 and 1, both split by whether the phone before is 2; phone 2 one class.
    pub(crate) const BIPHONE: &str = "ContextDependency 2 1 ToPdf TE 1 3 ( NULL TE -1 2 ( \
        SE 0 [ 2 ]\n{ CE 0 CE 1 } \nSE 0 [ 2 ]\n{ CE 2 CE 3 } \n) \nCE 4 ) \nEndContextDependency ";

    #[test]
    fn what_a_tree_answers() {
        let tree = from_text::<ContextDependency>(BIPHONE).unwrap();
        assert_eq!((tree.context_width(), tree.central_position(), tree.num_pdfs()), (2, 1, 5));
        assert_eq!(
            (tree.pdf(&[2, 1], 0), tree.pdf(&[1, 1], 1), tree.pdf(&[0, 2], 0)),
            (Some(0), Some(3), Some(4))
        );
        assert_eq!((tree.pdf(&[2, 1], 2), tree.pdf(&[2, 0], 0), tree.pdf(&[2, 3], 0)), (None, None, None));
        assert_eq!((tree.pdfs(1, 1), tree.pdfs(3, 0)), (vec![2, 3], vec![]));
    }

    /// The phone before decides about both pdfs at once.
    #[test]
    fn pairs_of_pdfs() {
        let tree = from_text::<ContextDependency>(BIPHONE).unwrap();
        let pairs = |self_loop| Vec::from_iter(tree.pdf_pairs(&[1, 2], 1, 0, self_loop));
        assert_eq!(pairs(Some(1)), [(0, Some(2)), (1, Some(3))]);
        assert_eq!(pairs(None), [(0, None), (1, None)]);
        assert_eq!(Vec::from_iter(tree.pdf_pairs(&[1, 2], 2, 0, Some(0))), [(4, Some(4))]);
    }

    /// A window of more phones than the tree asks about takes no longer.
    #[test]
    fn positions_that_nobody_asks_about() {
        let wide = from_text::<ContextDependency>(&BIPHONE.replacen("2 1", "900 1", 1)).unwrap();
        let pairs = Vec::from_iter(wide.pdf_pairs(&[1, 2], 1, 0, Some(1)));
        assert_eq!(pairs, [(0, Some(2)), (1, Some(3))]);
    }

    #[test]
    fn text_and_binary() {
        let tree = from_text::<ContextDependency>(BIPHONE).unwrap();
        assert_eq!(in_both_forms(&tree).0, BIPHONE);
        let old = BIPHONE.replace("ToPdf", "ToLength TE 1 2 ( NULL CE 2 ) ToPdf");
        assert_eq!(from_text::<ContextDependency>(&old).unwrap(), tree);
    }

    #[test]
    fn wrong_files() {
        let refused = |text: &str, words: &str| {
            let error = from_text::<ContextDependency>(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused(&BIPHONE.replacen("2 1", "2 2", 1), "central position 2");
        refused(&BIPHONE.replacen("CE 1", "XE 1", 1), "found 'XE'");
        refused(&BIPHONE.replacen("CE 1", "NULL", 1), "NULL for a child");
        refused(&BIPHONE.replacen("CE 4", "CE -4", 1), "number -4");
        refused(&BIPHONE.replacen("2 1", "2000 1", 1), "context width is 2000");
        refused(
            &BIPHONE.replacen("TE 1 3", "TE 2 3", 1),
            "question about position 2, but its context windows have 2 phones",
        );
        refused(&BIPHONE.replacen("CE 4", "CE 70000", 1), "pdf-id 70000, which is too large for a tree of 5");
        refused("ContextDependency 1 0 ToPdf NULL EndContextDependency ", "the tree is NULL");
        refused("ContextDependency 1 0 ToPdf TE 0 0 ( ) EndContextDependency ", "no leaves");
        let deep = format!("ContextDependency 1 0 ToPdf {}", "TE 0 1 ( ".repeat(2000));
        refused(&deep, "1000 levels");
        for end in 0..BIPHONE.len() - 1 {
            assert!(from_text::<ContextDependency>(&BIPHONE[..end]).is_err(), "{end}");
        }
    }
}
