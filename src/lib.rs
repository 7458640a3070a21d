//! Programs live in `src/bin`.
