//! Work sent to a device: launches of kernels, and matrix products. The types are plain values, so that lists can be
//! compared.

use crate::backend::Transpose;
use crate::element::Element;

/// A matrix as kernels take it: the layout of `struct Mat` in `kernels/prelude.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mat {
    pub address: u64,
    pub rows: u32,
    pub cols: u32,
    /// Elements from one row to the next.
    pub stride: u32,
    pub element: Element,
}

impl Mat {
    pub const EMPTY: Mat = Mat { address: 0, rows: 0, cols: 0, stride: 0, element: Element::Float };

    /// Floats in rows that follow each other without gaps.
    pub const fn plain(address: u64, rows: u32, cols: u32) -> Mat {
        Mat { address, rows, cols, stride: cols, element: Element::Float }
    }

    /// The address of this number of elements from the first one.
    pub fn address_of(&self, elements: u64) -> u64 {
        self.address + self.element.bytes() as u64 * elements
    }

    /// Bytes from the first element to the end of the last one.
    pub fn extent(&self) -> u64 {
        match self.rows == 0 || self.cols == 0 {
            true => 0,
            false => {
                let elements = u64::from(self.rows - 1) * u64::from(self.stride) + u64::from(self.cols);
                self.element.bytes() as u64 * elements
            }
        }
    }
}

/// The type of a kernel's parameter, as [`Launch::signature`] writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `Mat`: three words.
    Mat,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `i32`.
    Int,
    /// `u64`.
    Key,
    /// `const i32*`.
    Ints,
    /// `const i64*`.
    Longs,
    /// `double*`, constant or not.
    Doubles,
}

impl Kind {
    pub fn letter(self) -> char {
        match self {
            Kind::Mat => 'm',
            Kind::Float => 'f',
            Kind::Double => 'd',
            Kind::Int => 'i',
            Kind::Key => 'u',
            Kind::Ints => 'I',
            Kind::Longs => 'L',
            Kind::Doubles => 'D',
        }
    }

    fn words(self) -> usize {
        if self == Kind::Mat { 3 } else { 1 }
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    Mat(Mat),
    Float(f32),
    Double(f64),
    Int(i32),
    Key(u64),
    /// Addresses of tables and sums on the device.
    Ints(u64),
    Longs(u64),
    Doubles(u64),
}

const MOST_ARGS: usize = 17;
const MOST_WORDS: usize = 27;

/// One launch of a kernel. Arguments are kept as 64-bit words in which each begins with its own first byte (all
/// machines that CUDA runs on are little-endian).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    pub kernel: &'static str,
    pub grid: [u32; 2],
    pub block: [u32; 2],
    /// Bytes of memory that each block gets, besides the kernel's own arrays.
    pub block_memory: u32,
    words: [u64; MOST_WORDS],
    kinds: [Option<Kind>; MOST_ARGS],
}

impl Launch {
    pub fn new(kernel: &'static str, grid: [u32; 2], block: [u32; 2], args: &[Arg]) -> Launch {
        let mut launch =
            Launch { kernel, grid, block, block_memory: 0, words: [0; MOST_WORDS], kinds: [None; MOST_ARGS] };
        let mut at = 0;
        for (arg, kind) in args.iter().zip(&mut launch.kinds) {
            let (k, words) = match *arg {
                Arg::Mat(m) => {
                    let half = u64::from(m.element == Element::Half);
                    let pair = |low: u32, high: u64| u64::from(low) | high << 32;
                    (Kind::Mat, [m.address, pair(m.rows, m.cols.into()), pair(m.stride, half)])
                }
                Arg::Float(x) => (Kind::Float, [x.to_bits() as u64, 0, 0]),
                Arg::Double(x) => (Kind::Double, [x.to_bits(), 0, 0]),
                Arg::Int(x) => (Kind::Int, [x as u32 as u64, 0, 0]),
                Arg::Key(x) => (Kind::Key, [x, 0, 0]),
                Arg::Ints(x) => (Kind::Ints, [x, 0, 0]),
                Arg::Longs(x) => (Kind::Longs, [x, 0, 0]),
                Arg::Doubles(x) => (Kind::Doubles, [x, 0, 0]),
            };
            *kind = Some(k);
            launch.words[at..at + k.words()].copy_from_slice(&words[..k.words()]);
            at += k.words();
        }
        assert!(args.len() <= MOST_ARGS, "{} arguments for {kernel}", args.len());
        launch
    }

    pub(crate) fn with_block_memory(self, bytes: u32) -> Launch {
        Launch { block_memory: bytes, ..self }
    }

    /// The kinds of the arguments in order, a letter each.
    pub fn signature(&self) -> String {
        self.kinds.iter().flatten().map(|kind| kind.letter()).collect()
    }

    /// Iterates over the words of each argument.
    pub fn args(&self) -> impl Iterator<Item = (Kind, &[u64])> {
        let mut at = 0;
        self.kinds.iter().flatten().map(move |&kind| {
            let words = &self.words[at..at + kind.words()];
            at += kind.words();
            (kind, words)
        })
    }

    /// The matrices among the arguments.
    pub fn matrices(&self) -> impl Iterator<Item = Mat> {
        self.args().filter(|(kind, _)| *kind == Kind::Mat).map(|(_, w)| Mat {
            address: w[0],
            rows: w[1] as u32,
            cols: (w[1] >> 32) as u32,
            stride: w[2] as u32,
            element: if w[2] >> 32 == 0 { Element::Float } else { Element::Half },
        })
    }
}

/// c = alpha · op(a) · op(b) + beta · c, all row-major and not empty; `count` times, with matrices at a constant
/// distance. With a bias, c = alpha · op(a) · op(b) + 1 bias; then beta is 0 and `count` is 1.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub c: Mat,
    pub alpha: f32,
    pub a: Mat,
    pub transpose_a: Transpose,
    pub b: Mat,
    pub transpose_b: Transpose,
    pub beta: f32,
    /// 1 × columns of c: is added to each row.
    pub bias: Option<Mat>,
    pub count: u32,
    /// Elements from one c, a and b to the next.
    pub steps: [u64; 3],
}

impl Product {
    /// Number k of the products, as a single one.
    pub fn single(&self, k: u32) -> Product {
        let moved = |m: Mat, step: u64| Mat { address: m.address_of(step * u64::from(k)), ..m };
        let [c, a, b] = self.steps;
        Product { c: moved(self.c, c), a: moved(self.a, a), b: moved(self.b, b), count: 1, ..*self }
    }

    /// Terms of each sum.
    pub fn inner(&self) -> u32 {
        if self.transpose_a == Transpose::No { self.a.cols } else { self.a.rows }
    }

    fn words(&self) -> impl PartialEq + std::hash::Hash + use<> {
        let transposed = (self.transpose_a == Transpose::Yes, self.transpose_b == Transpose::Yes);
        let times = (self.count, self.steps);
        (self.c, self.alpha.to_bits(), self.a, self.b, transposed, self.beta.to_bits(), self.bias, times)
    }
}

impl PartialEq for Product {
    fn eq(&self, other: &Product) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Product {}

impl std::hash::Hash for Product {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.words().hash(state)
    }
}

/// A piece of work for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant)]
pub enum Op {
    Launch(Launch),
    Product(Product),
}
