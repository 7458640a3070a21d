//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! A device for tests: the kernels of `nnet3-matrix`, compiled for the CPU. The code that launches them on a GPU runs
//! them here.
//!
//! `build.rs` compiles the same sources as C++. One CPU thread runs all threads of all blocks in turn, and switches
//! stacks at barriers. Host memory serves as the device's memory. The twin stops at faults that a GPU would not report.
//! They are: elements outside of a matrix, arguments of other types than the kernel's, threads that end while others
//! wait, and matrices outside of allocated memory. On request it detects races (`races.cc`). Products run on the host.

#![allow(unsafe_code)]

use nnet3_matrix::cuda::{Engine, GpuBackend, GpuMath, Mat, Op, Outcome, Product};
use nnet3_matrix::{Device, DeviceFault, Element, Gemm, Memory};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

unsafe extern "C" {
    fn twin_run(
        name: *const c_char,
        signature: *const c_char,
        grid: *const u32,
        block: *const u32,
        args: *mut *mut c_void,
        backwards: c_int,
        expected: *mut *const c_char,
    ) -> c_int;
    fn twin_run_checked(
        name: *const c_char,
        signature: *const c_char,
        grid: *const u32,
        block: *const u32,
        args: *mut *mut c_void,
        backwards: c_int,
        expected: *mut *const c_char,
    ) -> c_int;
    fn twin_races(which: c_int, argument: c_int) -> c_int;
    fn twin_kernel(k: u32, name: *mut *const c_char, signature: *mut *const c_char) -> c_int;
}

/// The engine: counts its calls, and can be told to refuse graphs.
#[derive(Default)]
pub struct Twin {
    /// Bytes at each address.
    allocated: Mutex<BTreeMap<u64, u64>>,
    /// True if [`Engine::capture`] works.
    captures: bool,
    /// True if blocks and threads take turns from the last to the first.
    backwards: bool,
    /// True to detect races.
    checked: bool,
    /// Result of [`Engine::memory`].
    memory: Option<Memory>,
    /// Result of [`Engine::block_memory`].
    block_memory: u32,
    /// The call that fails, and how many such calls come before it.
    fails: Option<(Call, u64)>,
    /// Calls of the kind that fails.
    calls: AtomicU64,
    has_failed: AtomicBool,
    /// True if products have no biases, so that rows are set before.
    without_biases: bool,
    /// Result of [`Engine::math`]; products round their factors so.
    math: GpuMath,
    pub replays: AtomicU64,
    pub launches: AtomicU64,
    pub allocations: AtomicU64,
    pub uploads: AtomicU64,
    pub downloads: AtomicU64,
}

/// The kinds of calls that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Allocate,
    Upload,
    Download,
    Run,
    Synchronize,
}

/// A new twin, with graphs.
pub fn device() -> Device {
    Arc::new(GpuBackend::new(Twin::new(true)).expect("host memory"))
}

/// Names of all kernels with the types of their parameters, a letter each.
pub fn kernels() -> Vec<(String, String)> {
    let mut out = Vec::new();
    let (mut name, mut signature) = (std::ptr::null(), std::ptr::null());
    // SAFETY: the function sets both to strings that live as long as the program, or returns 0.
    while unsafe { twin_kernel(out.len() as u32, &mut name, &mut signature) } != 0 {
        // SAFETY: as above.
        let text = |s| unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned();
        out.push((text(name), text(signature)));
    }
    out
}

/// Number of races that the detector finds in a small kernel (`faulty.h`).
pub fn races(which: i32, argument: i32) -> i32 {
    assert!((0..3).contains(&which) && (0..256).contains(&argument), "kernel {which} with {argument}");
    // SAFETY: there are three such kernels, and their arrays are larger than the argument.
    unsafe { twin_races(which, argument) }
}

const ALIGNMENT: usize = 256;
/// Bytes of `BLOCK_MEMORY` in `twin.h`.
const BLOCK_MEMORY: u32 = 8 * 8192;

fn layout(bytes: u64) -> Layout {
    Layout::from_size_align(bytes.max(1) as usize, ALIGNMENT).expect("size overflow")
}

impl Twin {
    /// `captures`: whether work can be made into graphs.
    pub fn new(captures: bool) -> Twin {
        Twin { captures, block_memory: BLOCK_MEMORY, ..Default::default() }
    }

    /// Makes a twin that reports this memory.
    pub fn with_memory(memory: Memory) -> Twin {
        Twin { memory: Some(memory), ..Twin::new(false) }
    }

    /// Makes a twin with products and memory between layers as a device has them for this arithmetic.
    pub fn with_math(math: GpuMath) -> Twin {
        Twin { math, ..Twin::new(true) }
    }

    /// Makes a twin that multiplies without biases, as a GPU without cuBLASLt.
    pub fn without_biases() -> Twin {
        Twin { without_biases: true, ..Twin::new(true) }
    }

    /// Makes a twin with blocks and threads in the opposite order, so a missing barrier changes the result. Its
    /// launches give blocks no memory.
    pub fn backwards() -> Twin {
        Twin { backwards: true, ..Default::default() }
    }

    /// A twin that stops where threads access the same memory, one of them writing, with no barrier between.
    pub fn checked() -> Twin {
        Twin { checked: true, ..Twin::new(false) }
    }

    /// Makes a twin with a call that fails after `after` calls of the same kind. Any later call panics.
    pub fn failing(call: Call, after: u64) -> Twin {
        Twin { fails: Some((call, after)), ..Twin::new(true) }
    }

    /// True if the call that was to fail has come.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// The outcome of a call that works unless it was chosen to fail.
    fn outcome(&self, call: Call) -> Outcome {
        assert!(!self.has_failed(), "{call:?} after a failure");
        let Some((_, after)) = self.fails.filter(|(fails, _)| *fails == call) else { return Ok(()) };
        if self.calls.fetch_add(1, Ordering::Relaxed) < after {
            return Ok(());
        }
        self.has_failed.store(true, Ordering::Relaxed);
        Err(match call {
            Call::Allocate => DeviceFault::Memory { bytes: 3 << 20, free: 1 << 20, total: 8 << 20 },
            call => DeviceFault::Failed { during: format!("{call:?}"), message: "injected".to_owned() },
        })
    }

    fn allocated(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.allocated.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Panics if these bytes were not allocated.
    fn check(&self, what: &str, address: u64, bytes: u64) {
        let allocated = self.allocated();
        let block = allocated.range(..=address).next_back();
        let inside = block.is_some_and(|(start, len)| address + bytes <= start + len);
        assert!(inside || bytes == 0, "{what}: {bytes} bytes at {address:x} were not allocated");
    }

    fn multiply(&self, p: &Product) {
        let halves = [p.a, p.b].map(|m| m.element == Element::Half);
        assert!(halves[0] == halves[1], "a library multiplies factors of one form");
        assert!(halves[0] || p.c.element == Element::Float, "floats have a product in floats");
        assert!(p.bias.is_none_or(|bias| bias.element == p.c.element), "a bias has the form of the product");
        let cpu = nnet3_matrix::cpu();
        let matrix = |m: Mat| {
            let data: Vec<f32> = self.elements(m).map(|place| read(m, place)).collect();
            nnet3_matrix::Matrix::from_slice(&cpu, m.rows as usize, m.cols as usize, &data)
        };
        let factor = |m: Mat| {
            let mut values = matrix(m).to_vec();
            if self.math != GpuMath::Fp32 {
                values.iter_mut().for_each(|x| *x = rounded(*x, self.math.factor_bits()));
            }
            nnet3_matrix::Matrix::from_vec(m.rows as usize, m.cols as usize, values)
        };
        let (a, b, mut c) = (factor(p.a), factor(p.b), matrix(p.c));
        let (op_a, op_b) = (p.transpose_a.of(a.view()), p.transpose_b.of(b.view()));
        let product = Gemm::set(c.view_mut(), op_a, op_b).times(p.alpha);
        match p.bias.map(matrix) {
            Some(bias) => cpu.gemm_with_bias(product.with_bias(bias.view())),
            None => cpu.gemm(Gemm { beta: p.beta, ..product }),
        }
        for (place, &x) in self.elements(p.c).zip(&c.to_vec()) {
            let address = p.c.address_of(place) as usize;
            // SAFETY: the place lies inside of allocated memory, and no reference to it exists during an operation.
            unsafe {
                match p.c.element {
                    Element::Float => (address as *mut f32).write(x),
                    Element::Half => {
                        (address as *mut u16).write((Element::Half.nearest(x).to_bits() >> 16) as u16)
                    }
                }
            }
        }
    }

    /// The places of a product's elements, row by row. Panics if they were not allocated.
    fn elements(&self, m: Mat) -> impl Iterator<Item = u64> + use<> {
        self.check("a product's matrix", m.address, m.extent());
        let rows = (0..u64::from(m.rows)).map(move |r| r * u64::from(m.stride));
        rows.flat_map(move |first| first..first + u64::from(m.cols))
    }
}

/// An element of a matrix in allocated memory.
fn read(m: Mat, place: u64) -> f32 {
    let address = m.address_of(place) as usize;
    // SAFETY: the place lies inside of allocated memory, as the caller has checked; no reference to it exists during an operation.
    unsafe {
        match m.element {
            Element::Float => (address as *const f32).read(),
            Element::Half => f32::from_bits(u32::from((address as *const u16).read()) << 16),
        }
    }
}

/// Returns the nearest number with `bits` bits of mantissa. A tie goes to the even number.
fn rounded(x: f32, bits: u32) -> f32 {
    let (drop, pattern) = (f32::MANTISSA_DIGITS - 1 - bits, x.to_bits());
    let half = (1 << (drop - 1)) - 1 + (pattern >> drop & 1);
    f32::from_bits(pattern.wrapping_add(half) >> drop << drop)
}

impl Engine for Twin {
    type Graph = Vec<Op>;

    fn name(&self) -> &str {
        "twin"
    }

    fn memory(&self) -> Option<Memory> {
        self.memory
    }

    fn math(&self) -> GpuMath {
        self.math
    }

    fn block_memory(&self) -> u32 {
        self.block_memory
    }

    fn allocate(&self, bytes: u64) -> Outcome<u64> {
        self.outcome(Call::Allocate)?;
        assert!(bytes > 0, "a device has no address for nothing");
        // SAFETY: the size is not zero.
        let pointer = unsafe { alloc_zeroed(layout(bytes)) };
        assert!(!pointer.is_null(), "no memory left on the host");
        self.allocations.fetch_add(1, Ordering::Relaxed);
        self.allocated().insert(pointer.expose_provenance() as u64, bytes);
        Ok(pointer.addr() as u64)
    }

    fn free(&self, address: u64, bytes: u64) -> Outcome {
        assert_eq!(self.allocated().remove(&address), Some(bytes), "what is freed was allocated");
        // SAFETY: allocated above with the same layout, as just checked.
        unsafe { dealloc(std::ptr::with_exposed_provenance_mut(address as usize), layout(bytes)) }
        Ok(())
    }

    fn upload(&self, address: u64, data: &[u8]) -> Outcome {
        self.outcome(Call::Upload)?;
        self.uploads.fetch_add(1, Ordering::Relaxed);
        self.check("upload", address, data.len() as u64);
        // SAFETY: checked to be inside of allocated memory; `data` is a Rust value elsewhere.
        unsafe {
            let to = std::ptr::with_exposed_provenance_mut(address as usize);
            std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len())
        }
        Ok(())
    }

    fn download(&self, address: u64, out: &mut [u8]) -> Outcome {
        self.outcome(Call::Download)?;
        self.downloads.fetch_add(1, Ordering::Relaxed);
        self.check("download", address, out.len() as u64);
        // SAFETY: as for `upload`.
        unsafe {
            let from = std::ptr::with_exposed_provenance(address as usize);
            std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len())
        }
        Ok(())
    }

    fn run(&self, op: &Op) -> Outcome {
        self.outcome(Call::Run)?;
        let launch = match op {
            Op::Launch(launch) => launch,
            Op::Product(p) if self.without_biases && p.bias.is_some() => {
                let steps = p.in_two_steps().into_iter();
                return steps
                    .flat_map(|(rows, rest)| [Op::Launch(rows), Op::Product(rest)])
                    .try_for_each(|op| self.run(&op));
            }
            Op::Product(p) => {
                (0..p.count).for_each(|k| self.multiply(&p.single(k)));
                return Ok(());
            }
        };
        self.launches.fetch_add(1, Ordering::Relaxed);
        let most = self.block_memory;
        assert!(launch.block_memory <= most, "{}: {} bytes for a block", launch.kernel, launch.block_memory);
        launch.matrices().for_each(|m| self.check(launch.kernel, m.address, m.extent()));
        let name = CString::new(launch.kernel).expect("a name without zeros");
        let signature = CString::new(launch.signature()).expect("letters");
        let mut args: Vec<*mut c_void> =
            launch.args().map(|(_, words)| words.as_ptr().cast_mut().cast()).collect();
        let mut expected = std::ptr::null();
        let run = if self.checked { twin_run_checked } else { twin_run };
        // SAFETY: the callee compares the signature with the kernel's parameters before it reads arguments, and only
        // reads them. Matrices lie in allocated memory, checked above, and elements inside of matrices, checked in the
        // kernels. Sums and tables have the lengths that the launching code gives.
        let status = unsafe {
            run(
                name.as_ptr(),
                signature.as_ptr(),
                launch.grid.as_ptr(),
                launch.block.as_ptr(),
                args.as_mut_ptr(),
                self.backwards as c_int,
                &mut expected,
            )
        };
        match status {
            0 => Ok(()),
            1 => panic!("there is no kernel {}", launch.kernel),
            2 => {
                // SAFETY: set to the kernel's signature, which lives as long as the program.
                let expected = unsafe { CStr::from_ptr(expected) }.to_string_lossy();
                panic!("{} takes {expected}, was given {}", launch.kernel, launch.signature())
            }
            _ => panic!("{}: grid {:?}, block {:?}", launch.kernel, launch.grid, launch.block),
        }
    }

    fn capture(&self, ops: &[Op]) -> Option<Vec<Op>> {
        self.captures.then(|| ops.to_vec())
    }

    fn replay(&self, graph: &Vec<Op>) -> Outcome {
        self.replays.fetch_add(1, Ordering::Relaxed);
        graph.iter().try_for_each(|op| self.run(op))
    }

    fn synchronize(&self) -> Outcome {
        self.outcome(Call::Synchronize)
    }
}
