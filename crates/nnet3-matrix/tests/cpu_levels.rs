//! The suite with each set of vector instructions that this machine has. Alone in its process, because the level is
//! the whole process's.

use nnet3_matrix::cpu::{VectorLevel, set_vector_level};
use nnet3_matrix::{Device, IndexTable, Matrix, Start, ViewMut, WeightForm, cpu};

#[test]
fn every_level() {
    let mut whole_numbers = Vec::new();
    for level in [VectorLevel::Portable, VectorLevel::Avx2, VectorLevel::Avx512] {
        if set_vector_level(level) == level {
            println!("{level:?}");
            nnet3_primitives_suite::run_all(&cpu());
            large_results_are_those_of_rows(&cpu());
            whole_numbers.push(products_of_whole_numbers(&cpu()));
        } else {
            eprintln!("skipped: this processor has no {level:?}");
        }
    }
    assert!(whole_numbers.iter().all(|found| *found == whole_numbers[0]), "levels differ");
}

/// Products with 8-bit weights, as bits. Among the terms are values that are not finite, and very small ones.
fn products_of_whole_numbers(device: &Device) -> Vec<u32> {
    let (rows, outputs, terms) = (19, 75, 203);
    let values = |count: usize, seed: usize| {
        (0..count).map(|i| ((i * 7919 + seed) % 2003) as f32 / 700.0 - 1.1).collect::<Vec<_>>()
    };
    let weights = Matrix::from_vec(outputs, terms, values(outputs * terms, 5));
    let mut x = values(rows * terms, 17);
    (x[terms + 3], x[2 * terms + 100], x[3 * terms]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    x[4 * terms..5 * terms].fill(0.0);
    x[5 * terms..6 * terms].fill(-1e-35);
    let x = Matrix::from_vec(rows, terms, x);
    let mut out = Matrix::zeros(device, rows, outputs);
    let products = device.panels().expect("the host has them");
    let panels = products.arrange(weights, WeightForm::Int8);
    products.multiply(out.view_mut(), Start::Zero, &mut std::iter::once(x.view()), panels.view());
    let found = out.to_vec();
    for row in 0..rows {
        let finite = found[row * outputs..(row + 1) * outputs].iter().all(|x| x.is_finite());
        assert_eq!(finite, !(1..4).contains(&row), "row {row}");
    }
    assert!(found[4 * outputs..6 * outputs].iter().all(|&x| x == 0.0));
    found.iter().map(|x| x.to_bits()).collect()
}

/// Of matrices that are written past the caches, with rows that begin in the middle of cache lines too.
fn large_results_are_those_of_rows(device: &Device) {
    let (rows, cols) = (1101, 2003);
    let values = |seed: usize| (0..rows * cols).map(|i| (i * 31 % 1009 + seed) as f32 / 500.0).collect();
    let src = Matrix::from_vec(rows, cols, values(1));
    let from: Vec<i32> =
        (0..rows as i32).map(|i| if i % 7 == 3 { -1 } else { i * 5 % rows as i32 }).collect();
    let numbers = IndexTable::new(from.clone());
    for columns in [0..cols, 3..cols, 16..cols - 2] {
        let src = src.view().col_range(columns.clone());
        let row = |i: usize| src.row_range(i..i + 1);
        let compare = |whole: &dyn Fn(ViewMut<'_>), one: &dyn Fn(ViewMut<'_>, usize)| {
            let mut found = Matrix::from_vec(rows, cols, vec![5.0; rows * cols]);
            let mut expected = Matrix::from_vec(rows, cols, vec![5.0; rows * cols]);
            whole(found.view_mut().col_range(columns.clone()));
            (0..rows).for_each(|i| one(expected.view_mut().row(i).col_range(columns.clone()), i));
            assert!(found.to_vec() == expected.to_vec(), "columns {columns:?}");
        };
        compare(&|to| device.copy(to, src), &|to, i| device.copy(to, row(i)));
        compare(&|to| device.copy_rows(to, 1.0, src, &numbers), &|to, i| match from[i] {
            -1 => device.set(to, 0.0),
            from => device.copy(to, row(from as usize)),
        });
        let (mean, scale) = (row(7), row(8));
        compare(&|to| device.normalize_cols(to, src, mean, scale), &|to, i| {
            device.normalize_cols(to, row(i), mean, scale)
        });
    }
}
