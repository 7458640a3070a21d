//! Labels of nonterminals in graphs: a nonterminal symbol and the phone beside it in one number (Kaldi's `doc/grammar.dox`).

/// In graphs, labels of nonterminals with phones begin here.
pub const FIRST_LABEL: i32 = 10_000_000;
/// The distance of labels of one nonterminal from those of the next is a multiple of this.
const UNIT: i32 = 1000;

/// The nonterminal symbols of a set of phones, which are numbered from `#nonterm_bos` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonterminals {
    /// The number of `#nonterm_bos`. It stands for the beginning, where there is no phone before.
    pub first_symbol: i32,
}

impl Nonterminals {
    pub fn begin(self) -> i32 {
        self.first_symbol.saturating_add(1)
    }

    pub fn end(self) -> i32 {
        self.first_symbol.saturating_add(2)
    }

    pub fn reenter(self) -> i32 {
        self.first_symbol.saturating_add(3)
    }

    /// The first symbol that users have defined; all that follow are such symbols too.
    pub fn first_user_defined(self) -> i32 {
        self.first_symbol.saturating_add(4)
    }

    fn distance(self) -> Option<i32> {
        UNIT.checked_mul(self.first_symbol.checked_add(UNIT)? / UNIT).filter(|&distance| distance > 0)
    }

    /// Returns the label of a nonterminal symbol and the phone beside it. `None` if the two make no sense.
    pub fn label(self, nonterminal: i32, phone: i32) -> Option<i32> {
        if nonterminal <= self.first_symbol || phone <= 0 || phone > self.first_symbol {
            return None;
        }
        nonterminal.checked_mul(self.distance()?)?.checked_add(FIRST_LABEL)?.checked_add(phone)
    }

    /// Returns the nonterminal symbol and the phone of a label. `None` if the label has none, or they make no sense.
    pub fn meaning(self, label: i32) -> Option<(i32, i32)> {
        let distance = self.distance()?;
        let code = label.checked_sub(FIRST_LABEL).filter(|&code| code >= 0)?;
        let (nonterminal, phone) = (code / distance, code % distance);
        (nonterminal > self.first_symbol && phone > 0 && phone <= self.first_symbol)
            .then_some((nonterminal, phone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let nonterminals = Nonterminals { first_symbol: 27 };
        assert_eq!(nonterminals.label(28, 4), Some(10_028_004));
        assert_eq!(nonterminals.meaning(10_028_004), Some((28, 4)));
        let many = Nonterminals { first_symbol: 1003 };
        for (nonterminal, phone) in [(1004, 1), (1500, 1003)] {
            let label = many.label(nonterminal, phone).unwrap();
            assert_eq!(label, FIRST_LABEL + nonterminal * 2000 + phone);
            assert_eq!(many.meaning(label), Some((nonterminal, phone)));
        }
        for (nonterminal, phone) in [(27, 1), (28, 0), (28, 28), (i32::MAX, 1)] {
            assert_eq!(nonterminals.label(nonterminal, phone), None);
        }
        for label in [0, 28_004, 10_000_000, 10_027_004, 10_028_000, 10_028_028, i32::MIN] {
            assert_eq!(nonterminals.meaning(label), None, "{label}");
        }
        assert_eq!(Nonterminals { first_symbol: i32::MAX }.meaning(FIRST_LABEL), None);
        assert_eq!(Nonterminals { first_symbol: -5000 }.meaning(FIRST_LABEL + 3), None);
    }
}
