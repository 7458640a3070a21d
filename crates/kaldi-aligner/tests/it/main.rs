//! Alignment of made sounds with models of several kinds.

mod archives;
mod long;
mod networks;
mod sounds;
mod speech;
