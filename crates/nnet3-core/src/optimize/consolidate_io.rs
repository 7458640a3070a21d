//! Within each part between markers, inputs first and outputs last (spec compiler §6.12).

use crate::computation::{Command, Computation};

pub fn run(computation: &mut Computation) {
    let commands = std::mem::take(&mut computation.commands);
    for segment in commands.split_inclusive(|c| *c == Command::Marker) {
        let (body, marker) = match segment.split_last() {
            Some((Command::Marker, body)) => (body, true),
            _ => (segment, false),
        };
        let rank = |c: &Command| match c {
            Command::AcceptInput { .. } => 0,
            Command::ProvideOutput { .. } => 2,
            _ => 1,
        };
        let mut body = body.to_vec();
        body.sort_by_key(rank);
        computation.commands.append(&mut body);
        if marker {
            computation.commands.push(Command::Marker);
        }
    }
}
