//! Tables of row numbers for picking rows of embeddings and for adding to them.

use nnet3_matrix::IndexTable;

/// The rows of these words.
pub(crate) fn rows_of(words: &[i32]) -> IndexTable {
    IndexTable::new(words.to_vec())
}

/// For each of `count` rows the place of its number in `words`, which has none twice; -1 where there is none.
pub(crate) fn places_in(words: &[i32], count: usize) -> IndexTable {
    let mut places = vec![-1; count];
    for (place, &word) in words.iter().enumerate() {
        places[word as usize] = place as i32;
    }
    IndexTable::new(places)
}
