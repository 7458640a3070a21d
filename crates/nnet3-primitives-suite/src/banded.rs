//! Products with rows a fixed distance apart.

use super::*;

/// Terms of up to a hundred or so products.
const SUM: f64 = 1e-6;

/// (n, k, context, shift) for each size.
fn sizes(device: &Device, mut check: impl FnMut(&mut Case, usize, usize, usize, usize)) {
    cases(device, |case, n, k| {
        let (context, shift) = (1 + case.below(12), case.below(9));
        check(case, n, k, context, shift)
    });
}

fn summed(old: f64, terms: impl Iterator<Item = f64>) -> (f64, f64) {
    terms.fold((old, old.abs()), |(sum, size), x| (sum + x, size + x.abs()))
}

pub(crate) fn banded_dots(device: &Device) {
    sizes(device, |case, n, k, context, shift| {
        let (mut c, a, b) =
            (case.normals(n, context), case.normals(n, k), case.normals(n + (context - 1) * shift, k));
        device.banded_dots(c.view_mut(), 0.6, a.view(), b.view(), shift);
        c.expect(SUM, |i, o| summed(0.0, (0..k).map(|j| 0.6 * a.at(i, j) * b.at(i + o * shift, j))));
    });
}

pub(crate) fn banded_apply(device: &Device) {
    sizes(device, |case, n, k, context, shift| {
        let (c, mut a, b) =
            (case.normals(n, context), case.normals(n, k), case.normals(n + (context - 1) * shift, k));
        device.banded_apply(a.view_mut(), 0.6, c.view(), b.view(), shift);
        a.expect(SUM, |i, j| {
            summed(a.at(i, j), (0..context).map(|o| 0.6 * c.at(i, o) * b.at(i + o * shift, j)))
        });
    });
}

pub(crate) fn banded_scatter(device: &Device) {
    sizes(device, |case, n, k, context, shift| {
        let (c, a, mut b) =
            (case.normals(n, context), case.normals(n, k), case.normals(n + (context - 1) * shift, k));
        device.banded_scatter(b.view_mut(), 0.6, c.view(), a.view(), shift);
        b.expect(SUM, |r, j| {
            let sources =
                (0..context).filter_map(|o| r.checked_sub(o * shift).filter(|&i| i < n).map(|i| (i, o)));
            summed(b.at(r, j), sources.map(|(i, o)| 0.6 * c.at(i, o) * a.at(i, j)))
        });
    });
}
