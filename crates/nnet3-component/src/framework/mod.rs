//! Parts shared by all components: the registry of types, config keys and files, parameters by name, gradients.

pub mod capabilities;
pub mod declared;
pub mod field;
pub mod fields;
pub mod fit;
pub mod gradient;
pub mod named;
pub mod parameters;
pub mod plain;
pub mod preconditioners;
pub mod registry;
pub mod tally;
pub mod target;
pub mod updatable;
