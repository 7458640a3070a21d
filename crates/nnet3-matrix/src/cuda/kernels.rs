//! The sources of the kernels, and a number that changes with them.

use std::ffi::CStr;

/// File names and contents, in the order in which they are joined into one program.
pub const SOURCES: &[(&str, &str)] = &[
    ("prelude.cu", include_str!("../../kernels/prelude.cu")),
    ("elementwise.cu", include_str!("../../kernels/elementwise.cu")),
    ("map.cu", include_str!("../../kernels/map.cu")),
    ("transpose.cu", include_str!("../../kernels/transpose.cu")),
    ("broadcast.cu", include_str!("../../kernels/broadcast.cu")),
    ("rows.cu", include_str!("../../kernels/rows.cu")),
    ("columns.cu", include_str!("../../kernels/columns.cu")),
    ("row_sums.cu", include_str!("../../kernels/row_sums.cu")),
    ("column_sums.cu", include_str!("../../kernels/column_sums.cu")),
    ("normalized.cu", include_str!("../../kernels/normalized.cu")),
    ("numbers.cu", include_str!("../../kernels/numbers.cu")),
    ("low_rank.cu", include_str!("../../kernels/low_rank.cu")),
    ("softmax.cu", include_str!("../../kernels/softmax.cu")),
    ("norm.cu", include_str!("../../kernels/norm.cu")),
    ("lstm.cu", include_str!("../../kernels/lstm.cu")),
    ("banded.cu", include_str!("../../kernels/banded.cu")),
    ("hmm.cu", include_str!("../../kernels/hmm.cu")),
    ("learning.cu", include_str!("../../kernels/learning.cu")),
    ("random.cu", include_str!("../../kernels/random.cu")),
];

/// Threads of a block in kernels that share memory: `BLOCK` of `prelude.cu`.
pub const BLOCK: u32 = 256;

/// Options of NVRTC for the kernels. Products and sums are rounded one by one, as in the sources and on the CPU:
/// kernels wait for memory, not for arithmetic.
pub const OPTIONS: [&CStr; 2] = [c"--std=c++17", c"--fmad=false"];

/// The whole program; compilers' messages name the files.
pub fn program() -> String {
    SOURCES.iter().map(|(name, text)| format!("#line 1 \"{name}\"\n{text}")).collect()
}

/// The names of all kernels, as they occur in the sources.
pub fn names() -> Vec<&'static str> {
    let mut out = Vec::new();
    for (_, text) in SOURCES {
        for line in text.lines() {
            // `MAP(name, …)` and `MAP_WITH(name, …)` define one each.
            let rest = ["KERNEL ", "LARGE_KERNEL ", "MAP(", "MAP_WITH("]
                .iter()
                .find_map(|start| line.strip_prefix(start));
            out.extend(rest.and_then(|rest| rest.split(['(', ',']).next()));
        }
    }
    out
}

/// FNV-1a of the program and of its options: a name for the compiled result.
pub fn fingerprint() -> u64 {
    let options = OPTIONS.iter().flat_map(|option| option.to_bytes_with_nul());
    program()
        .bytes()
        .chain(options.copied())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3))
}

/// The compute capability that [`PTX`] is for: all devices of this and later ones can use it.
pub const PTX_CAPABILITY: i32 = 70;

/// The kernels as PTX, for machines without NVRTC; made by the example `build_ptx`. Its first line has the fingerprint
/// of its sources.
pub const PTX: &str = include_str!("../../kernels/kernels.ptx");

/// [`fingerprint`] of the program behind [`PTX`].
pub fn ptx_fingerprint() -> Option<u64> {
    let word = PTX.strip_prefix("// ")?.split(' ').next()?;
    u64::from_str_radix(word, 16).ok()
}
