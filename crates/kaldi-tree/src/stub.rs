//! Trees before any split: roots of sets of phones, and trees without tying.

use crate::error::{Error, Result};
use crate::phone_sets::{PhoneCounts, Root, check_disjoint};
use crate::questions::most_pdf_classes;
use crate::{Message, Report};
use kaldi_hmm::event_map::{EventMap, PDF_CLASS};
use kaldi_hmm::{ContextDependency, HmmTopology};

/// Makes a tree with the roots as leaves, numbered from 0, and returns their number. `central` is the key of the
/// central phone.
pub fn roots(
    central: usize,
    roots: &[Root],
    topology: &HmmTopology,
    report: Report,
) -> Result<(EventMap, usize)> {
    check_disjoint(roots.iter().map(|root| &root.phones[..]))?;
    if roots.is_empty() {
        return Err(Error::value("there are no roots"));
    }
    let mut num_leaves = 0;
    let tree = stub(central as i32, roots, topology, &mut num_leaves, report)?;
    Ok((tree, num_leaves as usize))
}

fn stub(
    central: i32,
    roots: &[Root],
    topology: &HmmTopology,
    num_leaves: &mut i32,
    report: Report,
) -> Result<EventMap> {
    let mut new_leaf = || {
        *num_leaves += 1;
        EventMap::Constant(*num_leaves - 1)
    };
    if let [root] = roots {
        if root.shared {
            return Ok(new_leaf());
        }
        let mut most = 0;
        for &phone in &root.phones {
            let classes = topology.num_pdf_classes(phone);
            if classes == 0 {
                return Err(Error::value(format!("phone {phone} has a root, but is not in the topology")));
            }
            if most != 0 && classes != most {
                report(Message::Warning(format!(
                    "Mismatching lengths within a phone set: {classes} vs. {most} [unusual, but not necessarily fatal]. "
                )));
            }
            most = most.max(classes);
        }
        return Ok(EventMap::table(PDF_CLASS, (0..most).map(|class| (class, new_leaf()))));
    }
    let largest = roots.iter().filter_map(|root| root.phones.last()).max().copied().unwrap_or(0);
    if roots.iter().all(|root| root.phones.len() == 1) && roots.len() as i64 <= 2 * i64::from(largest) {
        let mut children = Vec::new();
        for root in roots {
            children.push((
                root.phones[0],
                stub(central, std::slice::from_ref(root), topology, num_leaves, report)?,
            ));
        }
        return Ok(EventMap::table(central, children));
    }
    let (first, second) = roots.split_at(roots.len() / 2);
    let mut yes_set: Vec<i32> = first.iter().flat_map(|root| &root.phones).copied().collect();
    yes_set.sort_unstable();
    let yes = Box::new(stub(central, first, topology, num_leaves, report)?);
    let no = Box::new(stub(central, second, topology, num_leaves, report)?);
    Ok(EventMap::Split { key: central, yes_set, yes, no })
}

/// A tree without context: each set of phones has a pdf for each pdf class.
pub fn monophone(sets: &[Vec<i32>], topology: &HmmTopology, report: Report) -> Result<ContextDependency> {
    let sets = sets.iter().map(|phones| Root { phones: phones.clone(), shared: false, split: false });
    let (tree, _) = roots(0, &sets.collect::<Vec<_>>(), topology, report)?;
    Ok(ContextDependency::new(1, 0, tree)?)
}

/// Makes a tree that asks for the left phone, with pdfs for each pair of `sets` of phones. Phones in
/// `context_independent` (sorted) have pdfs without context. As the left phone of a pair, they count as an absent
/// phone. With `counts`, rare pairs have the pdfs of the phone without context. All rare phones share one pdf.
///
/// Phones must have at most two pdf classes; with one, `counts` are ignored, as in the reference.
pub fn full_biphone(
    sets: &[Vec<i32>],
    topology: &HmmTopology,
    context_independent: &[i32],
    counts: Option<&PhoneCounts>,
    report: Report,
) -> Result<ContextDependency> {
    let classes = most_pdf_classes(topology);
    if !(1..=2).contains(&classes) {
        return Err(Error::value(format!(
            "phones have {classes} pdf classes; biphone trees can be made for 1 or 2"
        )));
    }
    let mut sets = sets.to_vec();
    for set in &mut sets {
        set.retain(|phone| context_independent.binary_search(phone).is_err());
    }
    sets.retain(|set| !set.is_empty());
    check_disjoint(sets.iter().map(|set| &set[..]))?;
    let mut biphones = Biphones { classes, next_pdf: 0, for_rare_phones: None };
    let mut by_phone = Vec::new();
    for &phone in context_independent {
        let first = biphones.new_pdfs();
        by_phone.push((phone, biphones.by_class(first)));
    }
    for set in &sets {
        let by_left = biphones.by_left(&sets, set, context_independent, counts)?;
        let tree = EventMap::table(0, by_left);
        by_phone.extend(set.iter().map(|&phone| (phone, tree.clone())));
    }
    if by_phone.is_empty() {
        return Err(Error::value("there are no phones"));
    }
    report(Message::Log(format!("Num PDFs: {}", biphones.next_pdf)));
    Ok(ContextDependency::new(2, 1, EventMap::table(1, by_phone))?)
}

struct Biphones {
    classes: i32,
    next_pdf: i32,
    /// The first of the pdfs that all rare phones share.
    for_rare_phones: Option<i32>,
}

impl Biphones {
    /// Returns the first of the new pdfs. Their number is the number of pdf classes.
    fn new_pdfs(&mut self) -> i32 {
        self.next_pdf += self.classes;
        self.next_pdf - self.classes
    }

    fn by_class(&self, first: i32) -> EventMap {
        EventMap::table(PDF_CLASS, (0..self.classes).map(|class| (class, EventMap::Constant(first + class))))
    }

    /// Returns the subtrees of the phones of `set`, by the left phone.
    fn by_left(
        &mut self,
        sets: &[Vec<i32>],
        set: &[i32],
        context_independent: &[i32],
        counts: Option<&PhoneCounts>,
    ) -> Result<Vec<(i32, EventMap)>> {
        let mut by_left = Vec::new();
        let first = self.new_pdfs();
        if self.classes == 1 {
            by_left.push((0, EventMap::Constant(first)));
        } else {
            by_left.push((0, self.by_class(first)));
            by_left.extend(context_independent.iter().map(|&phone| (phone, self.by_class(first))));
        }
        let mut without_context = None;
        for left in sets {
            let pdf = if self.classes == 1 {
                self.new_pdfs()
            } else {
                self.pdf_of_pair(left[0], set[0], counts, &mut without_context)?
            };
            let tree = if self.classes == 1 { EventMap::Constant(pdf) } else { self.by_class(pdf) };
            by_left.extend(left.iter().map(|&phone| (phone, tree.clone())));
        }
        Ok(by_left)
    }

    fn pdf_of_pair(
        &mut self,
        left: i32,
        phone: i32,
        counts: Option<&PhoneCounts>,
        without_context: &mut Option<i32>,
    ) -> Result<i32> {
        let Some(counts) = counts else { return Ok(self.new_pdfs()) };
        let unknown = |phone| Error::value(format!("phone {phone} has no count"));
        let pairs = counts.pairs.get(left as usize).ok_or_else(|| unknown(left))?;
        let of_pair = *pairs.get(phone as usize).ok_or_else(|| unknown(phone))?;
        let of_phone = *counts.phones.get(phone as usize).ok_or_else(|| unknown(phone))?;
        if of_pair >= counts.min_pair {
            return Ok(self.new_pdfs());
        }
        let shared = if of_phone > counts.min_phone { *without_context } else { self.for_rare_phones };
        let pdf = shared.unwrap_or_else(|| self.new_pdfs());
        *(if of_phone > counts.min_phone { without_context } else { &mut self.for_rare_phones }) = Some(pdf);
        Ok(pdf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;

    fn topology(classes: i32) -> HmmTopology {
        let state = if classes == 2 { "<ForwardPdfClass> 0 <SelfLoopPdfClass> 1" } else { "<PdfClass> 0" };
        from_text(&format!(
            "<Topology> <TopologyEntry> <ForPhones> 1 2 3 4 </ForPhones> <State> 0 {state} <Transition> 0 0.5 \
             <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> </Topology> "
        ))
        .unwrap()
    }

    fn root(phones: &[i32], shared: bool) -> Root {
        Root { phones: phones.to_vec(), shared, split: true }
    }

    #[test]
    fn leaves_of_roots() {
        let list = [root(&[1], false), root(&[2, 4], true), root(&[3], false)];
        let (tree, num_leaves) = roots(1, &list, &topology(2), &mut |_| {}).unwrap();
        let leaf = |phone, class| tree.map(&[(-1, class), (1, phone)]);
        assert_eq!(num_leaves, 5);
        assert_eq!([leaf(1, 0), leaf(1, 1)], [Some(0), Some(1)]);
        assert_eq!([leaf(2, 0), leaf(4, 1)], [Some(2), Some(2)]);
        assert_eq!([leaf(3, 0), leaf(3, 1)], [Some(3), Some(4)]);
        let error = |list: &[Root]| roots(1, list, &topology(2), &mut |_| {}).unwrap_err().to_string();
        assert!(
            error(&[root(&[1], true), root(&[1, 2], true)]).contains("phone 1 appears twice in the sets")
        );
        assert!(error(&[root(&[7], false)]).contains("phone 7 has a root, but is not in the topology"));
        assert!(error(&[]).contains("no roots"));
    }

    #[test]
    fn pairs_of_phones() {
        let sets = [vec![1], vec![2, 3], vec![4]];
        let tree = full_biphone(&sets, &topology(2), &[1], None, &mut |_| {}).unwrap();
        let pdfs =
            |left, phone| [tree.pdf(&[left, phone], 0), tree.pdf(&[left, phone], 1)].map(Option::unwrap);
        // Phone 1 has 2, the others have 2 after no phone and after each of two sets.
        assert_eq!(tree.num_pdfs(), 2 + 2 * 3 * 2);
        assert_eq!((pdfs(0, 1), pdfs(3, 1)), ([0, 1], [0, 1]));
        assert_eq!((pdfs(0, 2), pdfs(1, 3), pdfs(2, 2), pdfs(3, 3)), ([2, 3], [2, 3], [4, 5], [4, 5]));
        assert_eq!((pdfs(4, 2), pdfs(4, 4)), ([6, 7], [12, 13]));
        let counts = PhoneCounts {
            phones: vec![0, 50, 50, 50, 1],
            pairs: (0..5).map(|left| vec![left; 5]).collect(),
            min_phone: 20,
            min_pair: 3,
        };
        // Pairs after phones 1 and 2 are too rare; so is phone 4.
        let tree = full_biphone(&sets[1..], &topology(2), &[], Some(&counts), &mut |_| {}).unwrap();
        let pdf = |left, phone| tree.pdf(&[left, phone], 0).unwrap();
        assert_eq!([pdf(0, 2), pdf(2, 2), pdf(4, 2)], [0, 2, 4]);
        assert_eq!([pdf(0, 4), pdf(2, 4), pdf(4, 4)], [6, 8, 10]);
        let one = full_biphone(&sets, &topology(1), &[], None, &mut |_| {}).unwrap();
        assert_eq!(one.num_pdfs(), 3 * 4);
        assert_eq!(
            [one.pdf(&[0, 4], 0), one.pdf(&[3, 1], 0), one.pdf(&[2, 1], 0)],
            [Some(8), Some(2), Some(2)]
        );
        let error = full_biphone(&[], &topology(2), &[], None, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("no phones"));
    }
}
