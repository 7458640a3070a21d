//! `PerElementScaleComponent`, `NaturalGradientPerElementScaleComponent` (y = s ⊙ x) and `PerElementOffsetComponent`
//! (y = x + b).

mod offset;
mod scale;

use crate::ComponentType;
use crate::declared::Declared;
pub use offset::PerElementOffset;
pub use scale::PerElementScale;

pub const TYPES: &[&ComponentType] = &[scale::PLAIN, scale::NATURAL, PerElementOffset::TYPE];
