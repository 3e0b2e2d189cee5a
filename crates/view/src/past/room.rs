//! Which instances have lines where there are more than lines.

use super::{Line, MOST_LINES, Past};
use crate::sample::{Value, What};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The path, machine, object and counter that several lines have in common. The lines are divided among such groups.
type Group<'a> = (&'a str, &'a str, &'a str, &'a str);

fn group<'a>(path: &'a str, what: &'a What) -> Group<'a> {
    (path, &what.machine, &what.object, &what.counter)
}

/// A candidate for one of the lines: a line that exists, or a value of the newest sample that has no line.
enum Claim<'a> {
    Line(&'a Line),
    Value(&'a Value),
}

impl Claim<'_> {
    /// The largest value, and the rank among equally large ones: 0 for a line with an instance that is there, 1 for a
    /// value without a line, 2 for a line with an instance that is not there.
    fn rank(&self) -> (f64, u8) {
        match self {
            Self::Line(line) => (line.peak, if line.is_there { 0 } else { 2 }),
            Self::Value(value) => (value.number().unwrap_or(f64::NEG_INFINITY), 1),
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        let ((one, first), (two, second)) = (self.rank(), other.rank());
        two.total_cmp(&one).then(first.cmp(&second))
    }
}

impl Past {
    /// Divides [`MOST_LINES`] lines anew among the counters of all paths. `without` has the values of the sample with
    /// this number that have no line; if there are none, nothing changes. Each counter gets as many lines as another,
    /// or as it has instances if these are fewer, and gives them to the instances with the largest value in any kept
    /// sample. The path of each value of this sample that then has no line is noted as left out; an instance that is
    /// not in this sample loses its line without a note.
    pub(super) fn divide(&mut self, without: &[&Value], number: u64) {
        if without.is_empty() {
            return;
        }
        let mut groups: HashMap<Group<'_>, Vec<Claim<'_>>> = HashMap::new();
        for line in &self.lines {
            groups.entry(group(&line.path, &line.what)).or_default().push(Claim::Line(line));
        }
        for value in without {
            groups.entry(group(&value.path, &value.what)).or_default().push(Claim::Value(value));
        }
        let mut groups: Vec<Vec<Claim<'_>>> = groups.into_values().collect();
        groups.sort_by_key(Vec::len);
        let (mut room, mut others) = (MOST_LINES, groups.len());
        let (mut given_up, mut taken) = (HashSet::new(), HashSet::new());
        for claims in &mut groups {
            let share = (room / others).min(claims.len());
            (room, others) = (room - share, others - 1);
            claims.sort_by(Claim::order);
            for (place, claim) in claims.iter().enumerate() {
                match claim {
                    Claim::Line(line) if place >= share => drop(given_up.insert(line.number)),
                    Claim::Value(value) if place < share => {
                        taken.insert(std::ptr::from_ref::<Value>(value));
                    }
                    _ => {}
                }
            }
        }
        let length = self.times.len();
        for line in &self.lines {
            if given_up.contains(&line.number) && line.values.len() == length {
                self.left_out.push(Arc::clone(&line.path));
            }
        }
        if !given_up.is_empty() {
            self.keep(|line| !given_up.contains(&line.number));
        }
        for value in without {
            let is_taken = taken.contains(&std::ptr::from_ref::<Value>(value));
            if !is_taken || !self.add(value, number) {
                self.left_out.push(Arc::clone(&value.path));
            }
        }
    }
}
