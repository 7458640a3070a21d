use super::*;
use crate::testing::*;

const GRU: &str = Gru::TYPE.name;
const OUTPUT_GRU: &str = OutputGru::TYPE.name;

#[test]
fn derivatives_and_files() {
    for keys in ["", "recurrent-dim=3 max-change=1", "recurrent-dim=1 alpha=2 rank-in=3", "recurrent-dim=-1"]
    {
        check_component(&format!("type={GRU} cell-dim=3 self-repair-scale=0 {keys}"));
    }
    for keys in ["", "param-mean=1 param-stddev=0.1 rank=2 update-period=3 l2-regularize=0.5"] {
        check_component(&format!("type={OUTPUT_GRU} cell-dim=3 self-repair-scale=0 {keys}"));
    }
}

#[test]
fn wrong_configs_and_files_are_refused() {
    for name in [GRU, OUTPUT_GRU] {
        refused(&format!("type={name}"), "'cell-dim' is missing");
        refused(&format!("type={name} cell-dim=4 alpha=-1"), "alpha");
        refused(&format!("type={name} cell-dim=4 self-repair-threshold=-1"), "self-repair-threshold");
        refused(&format!("type={name} cell-dim=4 update-period=0"), "update-period=0");
    }
    refused(&format!("type={GRU} cell-dim=4 recurrent-dim=5"), "expected 1 to cell-dim=4");
    refused(&format!("type={GRU} cell-dim=4 recurrent-dim=0"), "expected 1 to cell-dim=4");
    refused(&format!("type={OUTPUT_GRU} cell-dim=4 recurrent-dim=4"), "recurrent-dim=4");

    let text = written_text(&*component(&format!("type={OUTPUT_GRU} cell-dim=2")));
    read_refused(&text.replace("<CellDim> 2", "<CellDim> 3"), "expected 1 x 3 elements, found 1 x 2");
    read_refused(&text.replace("<Rank> 8", "<Rank> -8"), "greater than 0, found -8");
    let text = written_text(&*component(&format!("type={GRU} cell-dim=2")));
    read_refused(&text.replace("<RecurrentDim> 2", "<RecurrentDim> 3"), "at most <CellDim> 2, found 3");
    read_refused(&text.replace("<ValueAvg>  [ 0 0 ]", "<ValueAvg>  [ 0 ]"), "expected 2 elements, found 1");
}
