//! The rows of a table, filtered, and ordered as a list or a tree. Each instance has a row. If a path is that of
//! several counters, the instance has a row for each of them.

use super::layout::Pane;
use super::model::{Model, Row};
use crate::text::escape::Escaped;
use perfhive::{Identity, InstanceRole};
use perfhive_view::Value;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// The title index of the counter `Creating Process ID` of Process.
const PARENT: u32 = 1410;

pub(super) fn rows(model: &Model, place: usize) -> Vec<Row<'_>> {
    let (Some(pane), Some(state)) = (model.view.panes.get(place), model.states.get(place)) else {
        return Vec::new();
    };
    let mut rows = unordered(model, pane);
    let filter = state.filter.to_lowercase();
    if !filter.is_empty() {
        let number = |row: &Row<'_>| row.process.map(|id| id.to_string());
        rows.retain(|row| {
            row.name.to_lowercase().contains(&filter) || number(row).is_some_and(|id| id == filter)
        });
    }
    sort(pane, &mut rows);
    // The first rows of the order, also where a tree shows them at other places.
    rows.truncate(pane.top.unwrap_or(usize::MAX));
    if pane.is_tree {
        rows = below_parents(rows);
    }
    rows
}

/// The rows of a pane before filtering and sorting, in the order of the sources and their readings.
fn unordered<'a>(model: &'a Model, pane: &Pane) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    // A path to several counters would put all of them into one cell: each has a row of its own.
    type Key<'a> = (usize, &'a str, Option<&'a Identity>, Option<(&'a str, u32)>);
    let mut places: HashMap<Key<'_>, usize> = HashMap::new();
    let columns = pane.counters.len();
    let mut column = 0;
    let sources = 0..model.sources.len();
    let shown = sources.filter_map(|source| Some((source, model.shown(source)?)));
    let values =
        shown.flat_map(|(source, one)| one.values.iter().map(move |value| (source, value)));
    for (source, value) in values {
        let path = &*value.path;
        if pane.counters.get(column).is_none_or(|counter| counter.path != path) {
            match pane.counters.iter().position(|counter| counter.path == path) {
                Some(found) => column = found,
                None => continue,
            }
        }
        // A vanished instance has no row, nor has an object that is missing.
        let is_gone = matches!(value.value, Err(perfhive::NoValue::Vanished));
        if is_gone || value.instance.is_none() && value.value.is_err() {
            continue;
        }
        let is_one_of_several = pane.counters.get(column).is_some_and(|one| one.has_several);
        let counter = is_one_of_several.then_some(value.what.counter.as_str());
        let what = counter.map(|counter| (counter, value.what.index.0));
        let key = (source, value.what.object.as_str(), value.identity.as_ref(), what);
        let place = *places.entry(key).or_insert_with(|| {
            let name = match &value.instance {
                Some(label) => Escaped(&label.plain()).to_string(),
                None => Escaped(&value.what.object).to_string(),
            };
            let name = match counter {
                Some(counter) => format!("{name}  {}", Escaped(counter)),
                None => name,
            };
            rows.push(Row {
                name,
                counter,
                source,
                identity: value.identity.as_ref(),
                cells: vec![None; columns],
                process: value.process,
                depth: 0,
                is_sum: value.role != InstanceRole::Single,
            });
            rows.len() - 1
        });
        if let Some(cell) = rows.get_mut(place).and_then(|row| row.cells.get_mut(column)) {
            *cell = Some(value);
        }
    }
    rows
}

fn sort(pane: &Pane, rows: &mut [Row<'_>]) {
    let number = |row: &Row<'_>, column: usize| {
        row.cells.get(column).copied().flatten().and_then(Value::number)
    };
    let reversed =
        |ordering: Ordering| if pane.is_reversed { ordering.reverse() } else { ordering };
    rows.sort_by(|a, b| {
        let by = match pane.sort {
            None if pane.is_reversed => b.name.to_lowercase().cmp(&a.name.to_lowercase()),
            None => Ordering::Equal,
            Some(column) => match (number(a, column), number(b, column)) {
                (Some(a), Some(b)) => reversed(b.total_cmp(&a)),
                // Rows without a value come last in either order.
                (a, b) => b.is_some().cmp(&a.is_some()),
            },
        };
        a.is_sum.cmp(&b.is_sum).then(by)
    });
}

/// The rows with children below their parents; siblings keep their order. A process begins a tree of its own if the
/// rows lack its parent, or if it is its own parent. Of processes that are ancestors of one another, the first begins a
/// tree.
fn below_parents(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let parent = |row: &Row<'_>| {
        let cell = row.cells.iter().flatten().find(|value| value.what.index.0 == PARENT)?;
        cell.number().map(|number| number as u32)
    };
    let numbered = rows.iter().enumerate();
    let places: HashMap<(usize, u32), usize> =
        numbered.filter_map(|(place, row)| Some(((row.source, row.process?), place))).collect();
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let above = parent(row).and_then(|id| places.get(&(row.source, id)).copied());
        match above.filter(|above| *above != place) {
            Some(above) => children.entry(above).or_default().push(place),
            None => roots.push(place),
        }
    }
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(rows.len());
    let mut seen: HashSet<usize> = HashSet::new();
    let all = 0..rows.len();
    // The processes of a circle have no root; they follow at the end.
    for root in roots.into_iter().chain(all) {
        let mut stack = vec![(root, 0)];
        while let Some((place, depth)) = stack.pop() {
            if !seen.insert(place) {
                continue;
            }
            order.push((place, depth));
            let below = children.get(&place).into_iter().flatten().rev();
            stack.extend(below.map(|child| (*child, depth + 1)));
        }
    }
    let mut rows: Vec<Option<Row<'_>>> = rows.into_iter().map(Some).collect();
    let placed = order.into_iter().filter_map(|(place, depth)| {
        let row = rows.get_mut(place)?.take()?;
        Some(Row { depth, ..row })
    });
    placed.collect()
}
