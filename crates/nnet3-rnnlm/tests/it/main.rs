//! Recurrent language models beside figures of the reference.

mod training;
