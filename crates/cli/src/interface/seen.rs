//! What was seen of each source, and the time that all of them share.

use super::layout::View;
use super::model::{Effect, Model};
use super::near::Near;
use super::tree::Tree;
use super::views::is_drawn;
use perfhive::FileTime;
use perfhive_view::Sample;
use perfhive_view::past::{MOST_BYTES, MOST_SAMPLE_BYTES, Past, Samples, Window};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// A source, and what was seen of it.
pub(crate) struct Seen {
    /// The address that the user gave.
    pub(crate) address: String,
    /// The machine of the source; empty if it is the only source or its machine is unknown.
    pub(crate) machine: String,
    /// The name that distinguishes the source from the others: its machine, or the end of its address if the machine is
    /// unknown or that of another source, too. A number follows if another source has the name.
    pub(crate) label: String,
    pub(crate) is_live: bool,
    pub(crate) past: Past,
    /// The samples of a live source, from which tables show an earlier time.
    pub(crate) samples: Samples,
    /// The newest sample.
    pub(crate) latest: Sample,
    /// The sample that tables show if the shown time is an earlier one; without values if the sample of that time is no
    /// longer kept. `None` while the newest sample is shown, and until a recording was read at the earlier time.
    pub(crate) looked: Option<Sample>,
    /// The distance of the shown samples of a recording: 1 for every sample, more if not all samples are kept.
    pub(crate) every: u64,
    pub(crate) is_loading: bool,
    /// The reason why a part of the source cannot be read at present; `None` if all can be.
    pub(crate) failure: Option<String>,
    /// The time that collecting the newest sample took.
    pub(crate) took: Duration,
    pub(crate) tree: Option<Arc<Tree>>,
    /// A part of the recording with more of its samples than `past` has; `None` if no part is read closely.
    pub(crate) near: Option<Near>,
    /// The file to which the samples are recorded; `None` if they are not.
    pub(crate) recording: Option<String>,
    /// The file of the last recording that has ended; `None` before, and while another is in progress.
    pub(crate) recorded: Option<String>,
    /// The most bytes of the samples kept for charts and of those kept for tables.
    pub(super) most_bytes: (usize, usize),
}

impl Seen {
    /// A source of which nothing was seen yet.
    pub(crate) fn new(address: &str, machine: &str, is_live: bool) -> Self {
        Self {
            address: address.to_string(),
            machine: machine.to_string(),
            label: machine.to_string(),
            is_live,
            past: Past::default(),
            samples: Samples::default(),
            latest: Sample::default(),
            looked: None,
            every: 1,
            is_loading: !is_live,
            failure: None,
            took: Duration::ZERO,
            tree: None,
            near: None,
            recording: None,
            recorded: None,
            most_bytes: (MOST_BYTES, MOST_SAMPLE_BYTES),
        }
    }

    /// Gives each source a label of its own, and an equal part of the memory for samples. Sources
    /// of one machine, or of an unknown one, are labelled by the ends of their addresses, with a
    /// number behind a label that is taken.
    pub(crate) fn together(mut all: Vec<Self>) -> Vec<Self> {
        let count = all.len().max(1);
        let machines: Vec<String> = all.iter().map(|one| one.machine.to_lowercase()).collect();
        let mut taken: HashSet<String> = HashSet::new();
        for one in &mut all {
            let machine = one.machine.to_lowercase();
            let is_alone = machines.iter().filter(|other| **other == machine).count() == 1;
            if machine.is_empty() || !is_alone {
                let end = one.address.trim_end_matches(['/', '\\', ':']);
                one.label = end.rsplit(['/', '\\', ':']).next().unwrap_or(end).to_string();
            }
            let label = one.label.clone();
            let mut number = 1;
            while !taken.insert(one.label.to_lowercase()) {
                number += 1;
                one.label = format!("{label} {number}");
            }
            one.most_bytes = (MOST_BYTES / count, MOST_SAMPLE_BYTES / count);
            one.forget();
        }
        all
    }

    /// Forgets all kept samples and lines, except the newest sample (`latest`).
    pub(crate) fn forget(&mut self) {
        self.past = Past::new(self.most_bytes.0);
        self.samples = Samples::new(self.most_bytes.1);
        self.looked = None;
        self.near = None;
    }

    /// Adds samples, the oldest first. Lines are kept only for paths that `views` draw.
    pub(crate) fn note(&mut self, samples: Vec<Sample>, views: &[&View]) {
        for sample in samples {
            self.past.note(&sample, |path| is_drawn(views, path));
            if let Some(time) = self.past.times().back().filter(|_| self.is_live) {
                self.samples.note(*time, &sample);
            }
            self.latest = sample;
        }
    }

    /// The place of the sample nearest to a time; `None` if the time lies before the first or
    /// behind the last sample by more than two of the usual intervals, and by more than two
    /// seconds.
    fn place_near(past: &Past, time: FileTime) -> Option<usize> {
        let times = past.times();
        let (first, last) = (times.front()?.0, times.back()?.0);
        let usual = last.saturating_sub(first) / (times.len() as i64 - 1).max(1);
        let reach = 2 * usual.max(FileTime::PER_SECOND);
        let is_near = time.0 >= first.saturating_sub(reach) && time.0 <= last.saturating_add(reach);
        past.nearest(time).filter(|_| is_near)
    }
}

impl Model {
    /// The source with this number; `None` if there is none.
    pub(crate) fn source(&self, number: usize) -> Option<&Seen> {
        self.sources.get(number)
    }

    pub(crate) fn has_several(&self) -> bool {
        self.sources.len() > 1
    }

    /// Whether at least one of the sources is live.
    pub(crate) fn is_live(&self) -> bool {
        self.sources.iter().any(|one| one.is_live)
    }

    /// Whether a recording among the sources is not read to its end yet.
    pub(crate) fn is_loading(&self) -> bool {
        self.sources.iter().any(|one| one.is_loading)
    }

    /// The text of a pane without a sample: that it waits for the first one, or that there is none, since every source
    /// is a recording that was read to its end.
    pub(crate) fn waiting(&self) -> &'static str {
        match self.is_live() || self.is_loading() {
            true => "waiting for the first sample",
            false => "there is no sample in the time that is read",
        }
    }

    /// The time of the newest sample of all sources; `None` before the first sample.
    pub(crate) fn newest(&self) -> Option<FileTime> {
        self.sources.iter().filter_map(|one| one.past.times().back().copied()).max()
    }

    /// The time of the oldest kept sample of all sources; `None` before the first sample.
    pub(crate) fn oldest(&self) -> Option<FileTime> {
        self.sources.iter().filter_map(|one| one.past.times().front().copied()).min()
    }

    /// The time from the oldest to the newest sample; `None` before there are two times.
    pub(crate) fn span(&self) -> Option<Window> {
        let (from, to) = (self.oldest()?, self.newest()?);
        (to > from).then_some(Window { from, to })
    }

    /// The time of the next sample of any source behind `time` (`forward`), or of the last before it; `None` if
    /// there is none.
    pub(crate) fn neighbour(&self, time: FileTime, forward: bool) -> Option<FileTime> {
        let window = self.window();
        let of = |one: &Seen| {
            let times = one.past_in(window).0.times();
            match forward {
                true => times.get(times.partition_point(|known| *known <= time)).copied(),
                false => {
                    let before = times.partition_point(|known| *known < time).checked_sub(1)?;
                    times.get(before).copied()
                }
            }
        };
        let all = self.sources.iter().filter_map(of);
        if forward { all.min() } else { all.max() }
    }

    /// The time of the sample of any source that is nearest to a time; `None` before the first sample.
    pub(crate) fn nearest(&self, time: FileTime) -> Option<FileTime> {
        let window = self.window();
        let of = |one: &Seen| {
            let (past, _) = one.past_in(window);
            past.times().get(past.nearest(time)?).copied()
        };
        self.sources.iter().filter_map(of).min_by_key(|known| known.0.abs_diff(time.0))
    }

    /// The place, in the past of a source, of the sample nearest to the shown time. `None` without samples, and with
    /// several sources also if none is [near](Seen::place_near).
    pub(crate) fn place_in(&self, past: &Past) -> Option<usize> {
        match self.time().or(self.newest())? {
            time if self.has_several() => Seen::place_near(past, time),
            time => past.nearest(time),
        }
    }

    /// The sample of a source that tables show; `None` if it is one of several sources and has no sample near the
    /// shown time.
    pub(crate) fn shown(&self, source: usize) -> Option<&Sample> {
        let seen = self.source(source)?;
        if self.has_several() && self.place_in(&seen.past).is_none() {
            return None;
        }
        Some(seen.looked.as_ref().unwrap_or(&seen.latest))
    }

    /// The time of the samples that tables show; `None` before the first sample.
    pub(crate) fn shown_time(&self) -> Option<FileTime> {
        let looked = self.sources.iter().filter_map(|one| Some(one.looked.as_ref()?.time)).max();
        let latest = self.sources.iter().map(|one| one.latest.time).max();
        let shown = self.time().filter(|_| !self.has_table());
        looked.or(shown).or(latest).filter(|time| time.0 != 0)
    }

    /// Makes tables show the samples at the shown time: kept ones of live sources; those of recordings are read
    /// again. Without a shown time tables show the newest samples.
    pub(super) fn look(&mut self, effects: &mut Vec<Effect>) {
        let has_table = self.has_table();
        let window = self.window();
        let places: Vec<Option<usize>> =
            self.sources.iter().map(|one| self.place_in(one.past_in(window).0)).collect();
        let is_past = self.time().is_some() && has_table;
        for (source, (seen, place)) in self.sources.iter_mut().zip(places).enumerate() {
            seen.looked = None;
            let Some(place) = place.filter(|_| is_past) else { continue };
            let (past, every) = seen.past_in(window);
            let time = |place: usize| past.times().get(place).copied();
            let (Some(from), Some(at)) = (time(place.saturating_sub(1)), time(place)) else {
                continue;
            };
            if seen.is_live {
                let gone = Sample { time: at, values: Vec::new() };
                seen.looked = Some(seen.samples.at(at).unwrap_or(gone));
            } else if !seen.is_loading {
                effects.push(Effect::Look { source, from, at, every });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_one_machine_are_distinguished_by_their_addresses() {
        let of = |address: &str, machine: &str| Seen::new(address, machine, false);
        let labels = |all: Vec<Seen>| -> Vec<String> {
            Seen::together(all).into_iter().map(|one| one.label).collect()
        };
        let all = vec![of("local:", "A"), of("file:x/b.blg", "B"), of("file:c", "")];
        assert_eq!(labels(all), ["A", "B", "c"]);
        let all = vec![of("local:", "A"), of("file:x/b.blg", "a"), of("file:y/b.blg", "A")];
        assert_eq!(labels(all), ["local", "b.blg", "b.blg 2"]);
    }
}
