//! Statistics for estimating mixtures (`gmm/mle-diag-gmm.cc`, `gmm/mle-full-gmm.cc`): sums are double precision, in files single.

use std::fmt::Debug;
use std::marker::PhantomData;

use crate::error::{Error, Result};
use crate::flags::Parts;
use crate::products::vectorized;
use crate::scorer::Covariance;
use kaldi_io::{
    DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, SymmetricMatrix, read_vector, write_vector,
};
use kaldi_numerics::symmetric::dense;
use kaldi_simd::{Kernel, Simd};
use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};

/// A kind of covariances that statistics are for: [`Diagonal`] or [`Full`].
pub trait Kind: Debug + Clone + PartialEq + 'static {
    #[doc(hidden)]
    const COVARIANCE: Covariance;
}

/// Statistics for diagonal covariances: sums of squares.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagonal;

/// Statistics for full covariances: sums of products of all pairs of elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Full;

impl Kind for Diagonal {
    const COVARIANCE: Covariance = Covariance::Diagonal;
}

impl Kind for Full {
    const COVARIANCE: Covariance = Covariance::Full;
}

/// Sums over frames for each Gaussian of a mixture: of posteriors, of frames and of products of their elements times
/// posteriors.
#[derive(Debug, Clone, PartialEq)]
pub struct GmmStats<K = Diagonal> {
    dim: usize,
    parts: Parts,
    pub(crate) occupancy: Vec<f64>,
    /// A row for each Gaussian; 0×0 if means are not among the parts.
    pub(crate) sums: DenseMatrix<f64>,
    /// A row for each Gaussian, of squares or of the lower triangle of x xᵀ; 0×0 if variances are not among the parts.
    pub(crate) products: DenseMatrix<f64>,
    kind: PhantomData<K>,
}

/// A posterior is negligible if it is at most this times the sum of the posteriors before. Double precision has 53 bits, so
/// the sum stays the same without it. Sums of frames also do, unless a sum is thousands of times smaller than its terms.
/// Most posteriors of a large mixture are of this kind.
const NEGLIGIBLE: f64 = 1.0 / (1u128 << 66) as f64;

/// Statistics for a mixture with full covariances.
pub type FullGmmStats = GmmStats<Full>;

/// A frame that is added to statistics.
struct AddFrame<'a, K> {
    stats: &'a mut GmmStats<K>,
    frame: &'a [f32],
    posteriors: &'a [f32],
}

impl<K: Kind> Kernel for AddFrame<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        self.stats.add_some(self.frame, self.posteriors.iter().copied().enumerate());
    }
}

impl<K: Kind> GmmStats<K> {
    /// Zeros for so many Gaussians of this dimension.
    pub fn new(num_gauss: usize, dim: usize, parts: Parts) -> GmmStats<K> {
        let parts = parts.for_statistics();
        let matrix =
            |wanted, cols| if wanted { DenseMatrix::new(num_gauss, cols) } else { DenseMatrix::default() };
        let (sums, products) =
            (matrix(parts.means, dim), matrix(parts.variances, K::COVARIANCE.products(dim)));
        GmmStats { dim, parts, occupancy: vec![0.0; num_gauss], sums, products, kind: PhantomData }
    }

    pub fn dim(&self) -> usize {
        self.dim
    }
    pub fn parts(&self) -> Parts {
        self.parts
    }
    pub fn num_gauss(&self) -> usize {
        self.occupancy.len()
    }
    /// The sum of the posteriors of each Gaussian.
    pub fn occupancies(&self) -> &[f64] {
        &self.occupancy
    }
    /// The sum of all posteriors.
    pub fn total(&self) -> f64 {
        self.occupancy.iter().sum()
    }

    /// Adds a frame with a posterior for each Gaussian.
    ///
    /// # Panics
    /// If sizes differ.
    pub fn add(&mut self, frame: &[f32], posteriors: &[f32]) {
        assert_eq!(posteriors.len(), self.num_gauss(), "a posterior for each Gaussian");
        vectorized(AddFrame { stats: self, frame, posteriors });
    }

    /// Adds a frame with posteriors of some Gaussians. Leaves out posteriors that are negligible beside the sum of those
    /// before.
    ///
    /// # Panics
    /// If the dimension differs, or there is no such Gaussian.
    #[inline(always)]
    pub fn add_some(&mut self, frame: &[f32], posteriors: impl Iterator<Item = (usize, f32)>) {
        assert_eq!(frame.len(), self.dim, "the dimension of the frame");
        let frame: Vec<f64> = frame.iter().map(|&x| x.into()).collect();
        let squares: Vec<f64> = frame.iter().map(|x| x * x).collect();
        for (g, posterior) in posteriors {
            let posterior = f64::from(posterior);
            if posterior.abs() <= NEGLIGIBLE * self.occupancy[g].abs() {
                continue;
            }
            self.occupancy[g] += posterior;
            if self.parts.means {
                add_scaled(posterior, &frame, self.sums.row_mut(g));
            }
            if self.parts.variances {
                let products = self.products.row_mut(g);
                match K::COVARIANCE {
                    Covariance::Diagonal => add_scaled(posterior, &squares, products),
                    Covariance::Full => Covariance::Full.add(posterior, &frame, products),
                }
            }
        }
    }

    /// Adds a block of frames, one after the other, with a row of posteriors for each: two products of matrices.
    ///
    /// # Panics
    /// If sizes differ.
    pub fn add_block(&mut self, frames: &[f32], posteriors: &DenseMatrix<f32>) {
        let (count, num_gauss, dim) = (posteriors.rows, self.num_gauss(), self.dim);
        assert_eq!((frames.len(), posteriors.cols), (count * dim, num_gauss), "dimension and Gaussians");
        let posteriors = DMatrix::from_fn(count, num_gauss, |t, g| f64::from(posteriors.row(t)[g]));
        for (sum, column) in self.occupancy.iter_mut().zip(posteriors.column_iter()) {
            *sum += column.sum();
        }
        let frames: Vec<f64> = frames.iter().map(|&x| x.into()).collect();
        // Rows of our matrices are columns of the library's.
        let add = |to: &mut DenseMatrix<f64>, values: &[f64], width: usize| {
            let values = DMatrixView::from_slice(values, width, count);
            DMatrixViewMut::from_slice(&mut to.data, width, num_gauss).gemm(1.0, &values, &posteriors, 1.0);
        };
        if self.parts.means {
            add(&mut self.sums, &frames, dim);
        }
        if self.parts.variances {
            let mut products = Vec::with_capacity(count * self.products.cols);
            frames.chunks_exact(dim).for_each(|frame| K::COVARIANCE.append(frame, &mut products));
            let width = self.products.cols;
            add(&mut self.products, &products, width);
        }
    }

    /// Adds other statistics; an error if sizes or parts differ.
    pub fn merge(&mut self, other: &GmmStats<K>) -> Result<()> {
        let shape = |stats: &GmmStats<K>| (stats.dim, stats.num_gauss(), stats.parts.bits());
        if shape(self) != shape(other) {
            return Err(Error::data(format!(
                "statistics of {} Gaussians of dimension {} with flags {} cannot be added to such of {} Gaussians of \
                 dimension {} with flags {}",
                other.num_gauss(),
                other.dim,
                other.parts.bits(),
                self.num_gauss(),
                self.dim,
                self.parts.bits()
            )));
        }
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        add(&mut self.occupancy, &other.occupancy);
        add(&mut self.sums.data, &other.sums.data);
        add(&mut self.products.data, &other.products.data);
        Ok(())
    }

    /// Reads what precedes the second-order statistics of so many Gaussians, and returns zeros for these.
    fn read_beginning(r: &mut KaldiReader) -> kaldi_io::Result<GmmStats<K>> {
        r.expect_token("<GMMACCS>")?;
        r.expect_token("<VECSIZE>")?;
        let dim = r.read_i32().and_then(|n| r.check_count(n, "dimensions"))?;
        r.expect_token("<NUMCOMPONENTS>")?;
        let num_gauss = r.read_i32().and_then(|n| r.check_count(n, "Gaussians"))?;
        r.expect_token("<FLAGS>")?;
        let bits = r.read_u16()?;
        let parts = Parts::from_bits(bits).filter(|parts| parts.for_statistics() == *parts);
        let parts = parts.ok_or_else(|| r.error(format!("invalid flags of statistics: {bits}")))?;
        r.expect_token("<OCCUPANCY>")?;
        let occupancy = read_vector::<f64>(r)?;
        r.expect_token("<MEANACCS>")?;
        let sums = DenseMatrix::<f64>::read(r)?;
        let stats =
            GmmStats { dim, parts, occupancy, sums, products: DenseMatrix::default(), kind: PhantomData };
        let found = (stats.num_gauss(), (stats.sums.rows, stats.sums.cols));
        if found != (num_gauss, shape(parts.means, num_gauss, dim)) {
            return Err(r.error(format!(
                "statistics of {num_gauss} Gaussians of dimension {dim} with flags {bits} have {} occupancies and {}×{} sums",
                found.0, found.1.0, found.1.1,
            )));
        }
        Ok(stats)
    }

    fn write_beginning(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<GMMACCS>")?;
        w.write_token("<VECSIZE>")?;
        w.write_i32(w.count(self.dim)?)?;
        w.write_token("<NUMCOMPONENTS>")?;
        w.write_i32(w.count(self.num_gauss())?)?;
        w.write_token("<FLAGS>")?;
        w.write_u16(self.parts.bits())?;
        w.write_token("<OCCUPANCY>")?;
        let occupancy: Vec<f32> = self.occupancy.iter().map(|&value| value as f32).collect();
        write_vector(w, &occupancy)?;
        w.write_token("<MEANACCS>")?;
        self.sums.convert::<f32>().write(w)
    }
}

/// Adds factor · x to sums.
#[inline(always)]
fn add_scaled(factor: f64, x: &[f64], sums: &mut [f64]) {
    // (Chunks as long as a vector register leave at most three elements over, at the dimensions of features.)
    let ((x, x_rest), (sums, sums_rest)) = (x.as_chunks::<4>(), sums.as_chunks_mut::<4>());
    for (sums, x) in sums.iter_mut().zip(x) {
        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * x);
    }
    sums_rest.iter_mut().zip(x_rest).for_each(|(sum, x)| *sum += factor * x);
}

/// Rows and columns of a part, which is empty if it is not wanted.
fn shape(wanted: bool, rows: usize, cols: usize) -> (usize, usize) {
    if wanted && rows > 0 && cols > 0 { (rows, cols) } else { (0, 0) }
}

impl KaldiObject for GmmStats {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<GmmStats> {
        let stats = GmmStats::read_beginning(r)?;
        r.expect_token("<DIAGVARACCS>")?;
        let products = DenseMatrix::<f64>::read(r)?;
        r.expect_token("</GMMACCS>")?;
        if (products.rows, products.cols) != shape(stats.parts.variances, stats.num_gauss(), stats.dim) {
            return Err(r.error(format!(
                "statistics of {} Gaussians of dimension {} with flags {} have {}×{} squares",
                stats.num_gauss(),
                stats.dim,
                stats.parts.bits(),
                products.rows,
                products.cols
            )));
        }
        Ok(GmmStats { products, ..stats })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        self.write_beginning(w)?;
        w.write_token("<DIAGVARACCS>")?;
        self.products.convert::<f32>().write(w)?;
        w.write_token("</GMMACCS>")
    }
}

/// Files have second-order statistics minus S₁S₁ᵀ / occupancy, so that single precision is enough.
impl KaldiObject for GmmStats<Full> {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<GmmStats<Full>> {
        let mut stats = GmmStats::<Full>::read_beginning(r)?;
        if stats.parts.variances && stats.num_gauss() > 0 {
            r.expect_token("<FULLVARACCS>")?;
            let mut data = Vec::new();
            for g in 0..stats.num_gauss() {
                let triangle = SymmetricMatrix::<f64>::read(r)?;
                if triangle.dim != stats.dim {
                    let (found, expected) = (triangle.dim, stats.dim);
                    return Err(r.error(format!(
                        "Gaussian {g} of statistics of dimension {expected} has products of dimension {found}"
                    )));
                }
                data.extend(triangle.data);
            }
            stats.products =
                DenseMatrix { rows: stats.num_gauss(), cols: data.len() / stats.num_gauss(), data };
            (0..stats.num_gauss()).for_each(|g| stats.add_square_of_sum(g, 1.0));
        }
        r.expect_token("</GMMACCS>")?;
        Ok(stats)
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        self.write_beginning(w)?;
        if self.parts.variances && self.num_gauss() > 0 {
            w.write_token("<FULLVARACCS>")?;
            let mut central = self.clone();
            for g in 0..self.num_gauss() {
                central.add_square_of_sum(g, -1.0);
                let data = central.products.row(g).iter().map(|&x| x as f32).collect();
                SymmetricMatrix::<f32> { dim: self.dim, data }.write(w)?;
            }
        }
        w.write_token("</GMMACCS>")
    }
}

impl GmmStats<Full> {
    /// Adds `sign` S₁S₁ᵀ / occupancy to the products of a Gaussian that has seen data.
    fn add_square_of_sum(&mut self, g: usize, sign: f64) {
        if self.occupancy[g] != 0.0 {
            let factor = sign / self.occupancy[g];
            Full::COVARIANCE.add(factor, self.sums.row(g), self.products.row_mut(g));
        }
    }

    /// Second-order statistics of a Gaussian, Σ posterior · x xᵀ.
    pub(crate) fn product(&self, g: usize) -> DMatrix<f64> {
        dense(&SymmetricMatrix { dim: self.dim, data: self.products.row(g).to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;
    use crate::testing_models::features;

    /// Random posteriors of `frames` frames, a third of them 0.
    fn random_posteriors(frames: usize, num_gauss: usize) -> DenseMatrix<f32> {
        let mut out = features(frames, num_gauss, 77);
        out.data.iter_mut().for_each(|x| *x = (*x - 0.3).max(0.0));
        out
    }

    /// Blocks against frames one by one, and these against sums in the obvious order.
    fn blocks<K: Kind>(parts: &str) -> GmmStats<K> {
        let (features, posteriors) = (features(20, 4, 9), random_posteriors(20, 3));
        let parts = Parts::parse(parts).unwrap();
        let [mut block, mut single] = [(); 2].map(|()| GmmStats::<K>::new(3, 4, parts));
        block.add_block(&features.data[..28], &posteriors.block(0, 7, 0, 3));
        block.add_block(&features.data[28..], &posteriors.block(7, 13, 0, 3));
        (0..20).for_each(|t| single.add(features.row(t), posteriors.row(t)));
        let near =
            |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&block.occupancy, &single.occupancy) && near(&block.sums.data, &single.sums.data));
        assert!(near(&block.products.data, &single.products.data));
        single
    }

    #[test]
    fn full_statistics() {
        let stats: FullGmmStats = blocks("mvw");
        let (features, posteriors) = (features(20, 4, 9), random_posteriors(20, 3));
        for (i, j, g) in [(0, 0, 1), (3, 1, 0), (1, 3, 2)] {
            let term = |t: usize| {
                let x = |d: usize| f64::from(features.row(t)[d]);
                f64::from(posteriors.row(t)[g]) * x(i) * x(j)
            };
            assert!((stats.product(g)[(i, j)] - (0..20).map(term).sum::<f64>()).abs() < 1e-12);
        }
        blocks::<Diagonal>("mvw");
        assert_eq!(blocks::<Full>("m").products, DenseMatrix::default());
        assert_eq!(blocks::<Diagonal>("w").sums, DenseMatrix::default());
    }

    #[test]
    fn negligible_posteriors_change_no_sum() {
        let features = features(40, 4, 9);
        let small = 2f32.powi(-70);
        let [mut with, mut without] = [(); 2].map(|()| GmmStats::<Diagonal>::new(3, 4, Parts::ALL));
        for t in 0..40 {
            // The first posterior of Gaussian 2 is small, but not beside 0.
            let rest = if t == 0 { small } else { 0.0 };
            without.add(features.row(t), &[0.75, 0.25, rest]);
            with.add(features.row(t), &[0.75, 0.25, small]);
            with.add(features.row(t), &[small, -small, 0.0]);
        }
        assert_eq!(with.sums.row(0), without.sums.row(0));
        assert_eq!(with.products.row(1), without.products.row(1));
        assert_eq!(with.occupancy[..2], without.occupancy[..2]);
        assert_eq!((with.occupancy[2], without.occupancy[2]), (40.0 * f64::from(small), f64::from(small)));
    }

    #[test]
    fn files_of_full_statistics() {
        let write = |stats: &FullGmmStats| {
            let mut w = KaldiWriter::in_memory(false);
            stats.write(&mut w).unwrap();
            String::from_utf8(w.into_bytes()).unwrap()
        };
        let mut stats: FullGmmStats = blocks("mvw");
        let text = write(&stats);
        let again: FullGmmStats = from_text(&text).unwrap();
        for (a, b) in again.products.data.iter().zip(&stats.products.data) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        assert!(text.contains("<FLAGS> 7 ") && text.contains("<FULLVARACCS> [\n"), "{text}");
        // A single frame has no variance.
        stats = GmmStats::new(1, 2, Parts::parse("v").unwrap());
        stats.add(&[1.0, 2.0], &[0.5]);
        assert!(write(&stats).contains("<FULLVARACCS> [\n0 \n0 0 ]\n"), "{}", write(&stats));
        let means = write(&blocks("m"));
        assert!(!means.contains("FULLVARACCS"), "{means}");
        assert_eq!(from_text::<FullGmmStats>(&means).unwrap().num_gauss(), 3);
        let refused = |text: &str, words: &str| {
            let error = from_text::<FullGmmStats>(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused(&text.replace("<FULLVARACCS>", "<DIAGVARACCS>"), "<FULLVARACCS>");
        refused(&text.replace("<FULLVARACCS> [\n", "<FULLVARACCS> [\n1 ]\n[\n"), "products of dimension 1");
        assert!(from_text::<GmmStats>(&text).unwrap_err().to_string().contains("<DIAGVARACCS>"));
    }
}
