//! Acoustic models (`.mdl`): a transition model, then a network, then context and priors. Wherever a raw network is
//! expected such a file is read too, and the network in it taken.

use crate::error::Result;
use kaldi_io::matrix::read_vector;
use kaldi_io::reader::KaldiReader;

/// Reads past `<TransitionModel> … </TransitionModel>`.
pub(super) fn skip_transition_model(r: &mut KaldiReader) -> Result<()> {
    r.expect_token("<TransitionModel>")?;
    if r.binary() {
        skip_binary_topology(r)?
    } else {
        skip_until(r, "</Topology>")?
    }
    // A tuple has a self-loop pdf too.
    let fields = match r.read_token()?.as_str() {
        "<Triples>" => 3,
        "<Tuples>" => 4,
        other => return Err(r.error(format!("expected <Triples> or <Tuples>, found '{other}'")).into()),
    };
    let states = r.read_i32()?;
    for _ in 0..i64::from(states) * fields {
        r.read_i32()?;
    }
    r.expect_token(if fields == 3 { "</Triples>" } else { "</Tuples>" })?;
    r.expect_token("<LogProbs>")?;
    read_vector::<f32>(r)?;
    r.expect_token("</LogProbs>")?;
    Ok(r.expect_token("</TransitionModel>")?)
}

fn skip_until(r: &mut KaldiReader, last: &str) -> Result<()> {
    while r.read_token()? != last {}
    Ok(())
}

/// Phones, their entries, then for each entry its states with pdf classes and transitions.
fn skip_binary_topology(r: &mut KaldiReader) -> Result<()> {
    r.expect_token("<Topology>")?;
    r.read_i32_vector()?;
    r.read_i32_vector()?;
    let mut entries = r.read_i32()?;
    // -1 announces the form in which self-loops have pdf classes of their own.
    let extended = entries == -1;
    if extended {
        entries = r.read_i32()?;
    }
    for _ in 0..entries {
        for _ in 0..r.read_i32()? {
            r.read_i32()?;
            if extended {
                r.read_i32()?;
            }
            for _ in 0..r.read_i32()? {
                r.read_i32()?;
                r.read_f32()?;
            }
        }
    }
    Ok(r.expect_token("</Topology>")?)
}
