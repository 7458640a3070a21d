//! Feature transforms estimated from statistics: LDA.

mod lda;

include!(concat!(env!("OUT_DIR"), "/transforms.rs"));
