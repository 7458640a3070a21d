//! Decision trees and transition models: statistics, clustering, building, printing.

include!(concat!(env!("OUT_DIR"), "/trees.rs"));
