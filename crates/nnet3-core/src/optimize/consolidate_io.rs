//! Within each part between markers, inputs first and outputs last (spec compiler §6.12).

use crate::computation::{Command, Computation};

pub fn run(computation: &mut Computation) {
    for segment in computation.commands.split_mut(|c| matches!(c, Command::Marker)) {
        let rank = |c: &Command| match c {
            Command::AcceptInput { .. } => 0,
            Command::ProvideOutput { .. } => 2,
            _ => 1,
        };
        if !segment.is_sorted_by_key(rank) {
            let old = segment.to_vec();
            let mut counts = [0; 3];
            old.iter().for_each(|c| counts[rank(c)] += 1);
            let mut next = [0, counts[0], counts[0] + counts[1]];
            for command in old {
                let place = &mut next[rank(&command)];
                segment[*place] = command;
                *place += 1;
            }
        }
    }
}
