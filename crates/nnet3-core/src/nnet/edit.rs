//! Edit directives of `nnet3-copy` (spec compiler §2.12).
