//! Tables of row numbers for picking rows of embeddings and for adding to them.

use nnet3_matrix::backend::Backend;
use nnet3_matrix::{IndexTable, View, ViewMut, Workspace};

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

/// Adds each row of `src` to the row of its word: dst\[words\[i\]\] += src\[i\]. Words may come several times.
pub(crate) fn add_to_words(workspace: &Workspace, dst: ViewMut<'_>, words: &[i32], src: View<'_>) {
    let backend: &dyn Backend = &**workspace.device();
    let mut order: Vec<i32> = (0..words.len() as i32).collect();
    order.sort_by_key(|&row| words[row as usize]);
    let mut ranges = vec![-1; 2 * dst.rows()];
    for (place, &row) in order.iter().enumerate() {
        let word = words[row as usize] as usize;
        if ranges[2 * word] < 0 {
            ranges[2 * word] = place as i32;
        }
        ranges[2 * word + 1] = place as i32 + 1;
    }
    let mut sorted = workspace.take(src.rows(), src.cols());
    backend.copy_rows(sorted.view_mut(), 1.0, src, &IndexTable::new(order));
    backend.add_row_ranges(dst, 1.0, sorted.view(), &IndexTable::new(ranges));
}
