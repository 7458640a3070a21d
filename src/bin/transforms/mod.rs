//! Feature transforms: LDA, PCA, MLLT, fMLLR, and their products.

mod basis;
mod lda;
mod speakers;

include!(concat!(env!("OUT_DIR"), "/transforms.rs"));
