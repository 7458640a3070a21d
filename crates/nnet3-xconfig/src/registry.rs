//! The one list of all layer types.

use crate::layer::LayerType;
use crate::layers;

/// Iterates over all types, family by family.
pub fn types() -> impl Iterator<Item = &'static LayerType> {
    const FAMILIES: &[&[LayerType]] = &[
        layers::input_output::TYPES,
        layers::output_layer::TYPES,
        layers::basic::TYPES,
        layers::affine::TYPES,
        layers::fixed::TYPES,
        layers::idct::TYPES,
        layers::spec_augment::TYPES,
        layers::delta::TYPES,
        layers::component::TYPES,
        layers::feature_maps::TYPES,
        layers::tdnnf::TYPES,
        layers::prefinal::TYPES,
        layers::stats::TYPES,
        layers::convolution::TYPES,
        layers::res_block::TYPES,
        layers::res2_block::TYPES,
        layers::channel_average::TYPES,
        layers::attention::TYPES,
        layers::lstm::TYPES,
        layers::fast_lstm::TYPES,
        layers::gru::TYPES,
        layers::opgru::TYPES,
        layers::fast_gru::TYPES,
        layers::fast_opgru::TYPES,
    ];
    FAMILIES.iter().flat_map(|family| family.iter())
}

pub fn find(name: &str) -> Option<&'static LayerType> {
    types().find(|t| t.name == name)
}
