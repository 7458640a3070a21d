//! Alignment of made sounds with models of several kinds.

mod archives;
mod networks;
mod sounds;
