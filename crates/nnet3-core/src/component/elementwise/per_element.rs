//! `PerElementScaleComponent`, `NaturalGradientPerElementScaleComponent` (y = s ⊙ x) and `PerElementOffsetComponent`
//! (y = x + b).

mod offset;
mod scale;

use crate::component::ComponentType;
pub use offset::PerElementOffset;
pub use scale::PerElementScale;

pub const TYPES: &[ComponentType] = &[scale::PLAIN_TYPE, scale::NATURAL_TYPE, offset::TYPE];
