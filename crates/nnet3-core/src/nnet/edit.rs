//! Edit directives.
