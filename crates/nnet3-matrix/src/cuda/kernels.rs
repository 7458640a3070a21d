//! The sources of the kernels, and a number that changes with them.

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
    ("softmax.cu", include_str!("../../kernels/softmax.cu")),
    ("norm.cu", include_str!("../../kernels/norm.cu")),
    ("lstm.cu", include_str!("../../kernels/lstm.cu")),
    ("banded.cu", include_str!("../../kernels/banded.cu")),
    ("random.cu", include_str!("../../kernels/random.cu")),
];

/// Threads of a block in kernels that share memory: `BLOCK` of `prelude.cu`.
pub const BLOCK: u32 = 256;

/// The whole program; compilers' messages name the files.
pub fn program() -> String {
    SOURCES.iter().map(|(name, text)| format!("#line 1 \"{name}\"\n{text}")).collect()
}

/// FNV-1a of the program: names what was compiled from it.
pub fn fingerprint() -> u64 {
    program()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3))
}
