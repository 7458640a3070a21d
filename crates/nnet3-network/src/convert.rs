//! Converts components into equivalent ones of another type.

use super::Nnet;
use nnet3_component::Component;
use nnet3_component::block_affine::BlockAffine;
use nnet3_component::composite::Composite;
use nnet3_component::repeated::Repeated;

impl Nnet {
    /// Makes block-affine components of all repeated-affine ones, also inside composite components. Returns how many.
    pub fn convert_repeated_to_block(&mut self) -> usize {
        let mut count = 0;
        for component in &mut self.components {
            if let Some(block) = as_block(&**component) {
                *component = block;
                count += 1;
            } else if let Some(composite) = component.downcast_mut::<Composite>() {
                for i in 0..composite.parts().len() {
                    if let Some(block) = as_block(&*composite.parts()[i]) {
                        composite.set_part(i, block);
                        count += 1;
                    }
                }
            }
        }
        count
    }
}

fn as_block(component: &dyn Component) -> Option<Box<dyn Component>> {
    let repeated = component.downcast_ref::<Repeated>()?;
    Some(Box::new(BlockAffine::from_repeated(repeated)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_base::config::parse_config;
    use nnet3_base::random::Random;

    #[test]
    fn repeated_affine_components() {
        let config = "
            component name=r type=NaturalGradientRepeatedAffineComponent input-dim=6 output-dim=4 num-repeats=2
            component name=c type=CompositeComponent num-components=2 component1='type=RepeatedAffineComponent \
                  input-dim=4 output-dim=4 num-repeats=4' component2='type=RectifiedLinearComponent dim=4'
            component name=a type=AffineComponent input-dim=4 output-dim=2
            input-node name=input dim=6
            component-node name=r component=r input=input
            component-node name=c component=c input=r
            component-node name=a component=a input=c
            output-node name=output input=a";
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
        assert_eq!(nnet.convert_repeated_to_block(), 2);
        let types: Vec<&str> = nnet.components().map(|c| c.type_name()).collect();
        assert_eq!(types, ["BlockAffineComponent", "CompositeComponent", "AffineComponent"]);
        // Blocks have parameters of their own: 4 × 3 + 4, 4 × 1 + 4; 2 × 4 + 2.
        assert_eq!(nnet.num_parameters(), 16 + 8 + 10);
        assert_eq!(nnet.convert_repeated_to_block(), 0);
    }
}
