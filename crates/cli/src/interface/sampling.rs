//! Reads the source on a thread of its own, so that a slow source delays no key.

use super::model::Event;
use super::steered::Steered;
use super::tree::{Tree, TreeCounter, TreeObject};
use crate::command::following;
use crate::replay::Replay;
use crate::session::{Faults, Session};
use perfhive::{
    Ask, Cost, CounterPath, FileTime, LanguageId, Query, QueryError, Recording as _, Snapshot,
    Source as _, SourceError, SourceSet, TitleIndex, TitleSet,
};
use perfhive_view::past::Window;
use perfhive_view::{Names, Sample, Sampler};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// An order to the thread.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Paths(Vec<String>),
    Try(String),
    Interval(Duration),
    Look {
        from: FileTime,
        at: FileTime,
        every: u64,
    },
    /// Read this part of a recording, which has so many samples.
    Near {
        window: Window,
        samples: u64,
    },
    Browse,
    Instances(usize, String),
    Record(Option<String>),
}

/// The most samples of a recording that are read; of more samples, every so-many-th is read.
const MOST_READ: u64 = 20_000;
/// The most readings in one message, which bounds the memory of messages that wait.
const MOST_VALUES: usize = 20_000;
/// The pause between the first and the second sample, which gives the first rates.
const SOON: Duration = Duration::from_millis(300);

/// The channel for events. Its receiver is gone when the interface ends.
pub(super) type Events = SyncSender<super::terminal::Message>;

/// The error that the interface has ended.
struct Ended;

pub(super) struct Reader {
    steered: Steered,
    query: Query,
    sampler: Sampler,
    language: LanguageId,
    faults: Faults,
    paths: Vec<String>,
    /// The paths to objects that cannot be read at the moment; they are tried again with each sample.
    absent: Vec<String>,
    interval: Duration,
    /// The most samples of a recording, or of a part of it, that are read.
    most_read: u64,
    /// The schedule by which a recording is shown; `None` if it is shown at once.
    replay: Option<Replay>,
    events: Events,
    /// The number of the source.
    number: usize,
    /// The names by which paths mean this source, if it is one of several.
    among: Option<[String; 2]>,
}

impl Reader {
    /// A reader of the session's source.
    pub(super) fn new(
        session: Session,
        interval: Duration,
        events: Events,
    ) -> Result<Self, QueryError> {
        let (language, faults) = (session.language, session.faults.clone());
        let steered = Steered::new(session.source);
        let query = Query::over(SourceSet::new(steered.clone()), language)?;
        Ok(Self {
            steered,
            query,
            sampler: Sampler::default(),
            language,
            faults,
            paths: Vec::new(),
            absent: Vec::new(),
            interval,
            most_read: MOST_READ,
            replay: None,
            events,
            number: 0,
            among: None,
        })
    }

    /// The same reader as that of one of several sources: with its number, and with its machine and label, which
    /// paths name.
    pub(super) fn among(mut self, number: usize, machine: &str, label: &str) -> Self {
        self.number = number;
        self.among = Some([machine.to_string(), label.to_string()]);
        self
    }

    /// The machine of the source; empty if it is unknown.
    pub(super) fn machine(&mut self) -> String {
        let catalogue = self.steered.unrecorded().catalogue(&Ask::nothing());
        catalogue.map(|catalogue| catalogue.machine.clone()).unwrap_or_default()
    }

    /// The path as the source knows it; `None` if it names the machine of another source.
    fn own(&self, path: &str) -> Option<String> {
        let Some(names) = &self.among else { return Some(path.to_string()) };
        let parsed = path.parse::<CounterPath>().ok();
        let Some(machine) = parsed.as_ref().and_then(|path| path.machine.clone()) else {
            return Some(path.to_string());
        };
        let is_meant = names.iter().any(|name| machine.matches(name));
        Some(CounterPath { machine: None, ..parsed? }.to_string()).filter(|_| is_meant)
    }

    /// The same reader, which reads at most so many samples of a recording.
    #[cfg(test)]
    pub(super) fn with_most(mut self, samples: u64) -> Self {
        self.most_read = samples;
        self
    }

    /// The same reader, which shows a recording by this schedule; at once if it is `None`.
    pub(super) fn with_replay(mut self, replay: Option<Replay>) -> Self {
        self.replay = replay;
        self
    }

    pub(super) fn is_live(&self) -> bool {
        self.steered.is_live()
    }

    /// Follows orders and takes samples until the interface ends; then it completes a recording in progress.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        let _ = match self.is_live() {
            true => self.live(orders),
            false => self.recorded(orders),
        };
        let _ = self.steered.record(None);
    }

    fn send(&self, event: Event) -> Result<(), Ended> {
        let message = super::terminal::Message::Source(self.number, event);
        self.events.send(message).map_err(|_| Ended)
    }

    fn live(&mut self, orders: &Receiver<Order>) -> Result<(), Ended> {
        let mut next = Instant::now();
        let mut is_fresh = true;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match orders.recv_timeout(left) {
                Ok(order) => {
                    let is_paths = matches!(order, Order::Paths(_));
                    let interval = self.interval;
                    self.follow(order)?;
                    if is_paths {
                        (next, is_fresh) = (Instant::now(), true);
                    } else if self.interval != interval {
                        next = next.min(Instant::now() + self.interval);
                    }
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Ended),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !self.paths.is_empty() {
                self.sample()?;
            }
            let now = Instant::now();
            next = match std::mem::take(&mut is_fresh) {
                true => now + SOON.min(self.interval),
                false => following(next, self.interval, now),
            };
        }
    }

    fn sample(&mut self) -> Result<(), Ended> {
        let absent = std::mem::take(&mut self.absent);
        for path in absent {
            self.add(path)?;
        }
        let start = Instant::now();
        match self.query.collect() {
            Ok(()) => {
                let sample = self.sampler.sample(&self.query);
                self.send(Event::Samples(vec![sample], start.elapsed()))?;
            }
            Err(error) => self.send(Event::Note(error.to_string()))?,
        }
        self.tell_faults()
    }

    fn tell_faults(&mut self) -> Result<(), Ended> {
        if let Some(error) = self.steered.take_failure() {
            self.send(Event::Recording(None))?;
            self.send(Event::Note(error.to_string()))?;
        }
        for fault in self.faults.take() {
            self.send(Event::Note(fault.text))?;
        }
        Ok(())
    }

    /// Reads a recording as a whole, and again each time that other counters or a part of it are wanted.
    fn recorded(&mut self, orders: &Receiver<Order>) -> Result<(), Ended> {
        let mut waiting = None;
        loop {
            let order = match waiting.take() {
                Some(order) => order,
                None => orders.recv().map_err(|_| Ended)?,
            };
            let part = match &order {
                Order::Paths(_) => None,
                Order::Near { window, samples } => Some((*window, *samples)),
                _ => {
                    self.follow(order)?;
                    continue;
                }
            };
            self.follow(order)?;
            match self.read(orders, part)? {
                Ok(order) => waiting = order,
                Err(error) => self.send(Event::Note(error.to_string()))?,
            }
            self.tell_faults()?;
        }
    }

    /// Reads the recording to its end, or the part of this time and of so many samples. Returns the order that ended
    /// reading, if there was one.
    fn read(
        &mut self,
        orders: &Receiver<Order>,
        part: Option<(Window, u64)>,
    ) -> Result<Result<Option<Order>, SourceError>, Ended> {
        let begun = match part {
            Some((window, samples)) => {
                if let Err(error) = self.renew() {
                    return self.send(Event::Note(error.to_string())).map(|()| Ok(None));
                }
                self.steered.seek(Some(window.from)).map(|()| samples)
            }
            None => {
                self.send(Event::Rewound)?;
                self.steered.span().and_then(|span| {
                    self.steered.seek(None)?;
                    Ok(span.samples)
                })
            }
        };
        let every = match begun {
            Ok(samples) => samples.div_ceil(self.most_read).max(1),
            Err(error) => return Ok(Err(error)),
        };
        let some = |samples: Vec<Sample>| match part {
            Some((window, _)) => Event::Near(window, samples),
            None => Event::Samples(samples, Duration::ZERO),
        };
        let mut skipped = Snapshot::new();
        let mut samples: Vec<Sample> = Vec::new();
        let mut values = 0;
        let mut is_first = true;
        let mut flushed = Instant::now();
        // The sample that was read last, and the moment when it is to be shown.
        let (mut held, mut due): (Option<Sample>, _) = (None, Instant::now());
        let outcome = loop {
            // A query without paths asks the recording for nothing, and so never comes to its end.
            if self.sampler.paths().next().is_none() {
                break None;
            }
            match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
                // Such an order is ignored, since the recording is at another place.
                Ok(Order::Look { .. }) => continue,
                Ok(order @ Order::Paths(_)) => return Ok(Ok(Some(order))),
                Ok(order @ Order::Near { .. }) if part.is_some() => return Ok(Ok(Some(order))),
                // It was asked for before the recording was read anew.
                Ok(Order::Near { .. }) => continue,
                Ok(order) => {
                    self.follow(order)?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Ended),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(sample) = held.take() {
                values += sample.values.len();
                samples.push(sample);
            }
            if !std::mem::take(&mut is_first)
                && let Err(error) = (1..every)
                    .try_for_each(|_| self.steered.collect(&Ask::everything(), &mut skipped))
            {
                break Some(error);
            }
            match self.query.collect() {
                Ok(()) => {}
                Err(QueryError::Source(error)) => break Some(error),
                Err(error) => {
                    self.send(Event::Note(error.to_string()))?;
                    continue;
                }
            }
            let sample = self.sampler.sample(&self.query);
            if part.is_some_and(|(window, _)| sample.time > window.to) {
                samples.push(sample);
                break None;
            }
            // After a change of the counters, the samples that were shown before are read again without pauses.
            let is_new =
                |replay: &&mut Replay| part.is_none() && replay.reached() < Some(sample.time);
            if let Some(replay) = self.replay.as_mut().filter(is_new) {
                due = replay.due(sample.time, Instant::now());
            }
            held = Some(sample);
            let waits = due > Instant::now() && !samples.is_empty();
            if waits || values >= MOST_VALUES || flushed.elapsed() > Duration::from_millis(100) {
                self.send(some(std::mem::take(&mut samples)))?;
                (values, flushed) = (0, Instant::now());
            }
        };
        if !samples.is_empty() {
            self.send(some(samples))?;
        }
        self.send(match part {
            Some((window, _)) => Event::NearLoaded(window, every),
            None => Event::Loaded { every },
        })?;
        Ok(outcome.filter(|error| !error.is_end_of_data()).map_or(Ok(None), Err))
    }

    fn follow(&mut self, order: Order) -> Result<(), Ended> {
        match order {
            Order::Paths(paths) => self.set_paths(paths),
            Order::Try(path) => self.probe(path),
            Order::Interval(interval) => {
                self.interval = interval;
                Ok(())
            }
            Order::Look { from, at, every } if !self.is_live() => {
                match self.look(from, at, every) {
                    Ok(sample) => self.send(Event::Looked(sample)),
                    Err(error) => self.send(Event::Note(error.to_string())),
                }
            }
            Order::Look { .. } | Order::Near { .. } => Ok(()),
            Order::Browse => match self.tree() {
                Ok(tree) => self.send(Event::Tree(Arc::new(tree))),
                Err(error) => self.send(Event::Note(error.to_string())),
            },
            Order::Instances(place, object) => match self.query.items(None, &object) {
                Ok(items) => {
                    let names = items.instances.iter().map(ToString::to_string).collect();
                    self.send(Event::Instances(place, names))
                }
                Err(error) => self.send(Event::Note(error.to_string())),
            },
            Order::Record(file) => match self.steered.record(file.as_deref()) {
                Ok(()) => self.send(Event::Recording(file)),
                Err(error) => self.send(Event::Note(error.to_string())),
            },
        }
    }

    /// Adds the paths anew, so that they do not use the sample that was read last.
    fn renew(&mut self) -> Result<(), QueryError> {
        let paths: Vec<String> = self.sampler.paths().map(str::to_string).collect();
        for path in paths {
            if let Some(id) = self.sampler.remove(&path) {
                self.query.remove(id);
                let id = self.query.add(&self.own(&path).unwrap_or_default())?;
                self.sampler.add(&self.query, id, &path);
            }
        }
        Ok(())
    }

    /// The sample of a recording at the time `at`, with rates since the sample at `from`, which is `every` samples
    /// before.
    fn look(&mut self, from: FileTime, at: FileTime, every: u64) -> Result<Sample, QueryError> {
        self.renew()?;
        self.steered.seek(Some(from))?;
        self.query.collect()?;
        if from < at {
            let mut skipped = Snapshot::new();
            for _ in 1..every {
                self.steered.collect(&Ask::everything(), &mut skipped)?;
            }
            self.query.collect()?;
        }
        Ok(self.sampler.sample(&self.query))
    }

    fn set_paths(&mut self, paths: Vec<String>) -> Result<(), Ended> {
        // A recording is read from the beginning, so that all paths are added anew.
        let is_live = self.is_live();
        let gone: Vec<String> = self
            .sampler
            .paths()
            .filter(|known| !is_live || !paths.iter().any(|path| path == known))
            .map(str::to_string)
            .collect();
        for path in gone {
            if let Some(id) = self.sampler.remove(&path) {
                self.query.remove(id);
            }
        }
        self.absent.clear();
        self.paths = paths;
        let known: Vec<String> = self.sampler.paths().map(str::to_string).collect();
        for path in self.paths.clone() {
            if !known.contains(&path) {
                self.add(path)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String) -> Result<(), Ended> {
        let Some(own) = self.own(&path) else { return self.send(Event::Elsewhere(path)) };
        match self.query.add(&own) {
            Ok(id) => {
                self.sampler.add(&self.query, id, &path);
                Ok(())
            }
            Err(QueryError::Source(error)) if error.is_transient() => {
                self.absent.push(path.clone());
                self.send(Event::Problem { path, why: error.to_string() })
            }
            Err(error) => self.send(Event::Problem { path, why: error.to_string() }),
        }
    }

    /// Finds out whether a path can be read; takes one sample of a costly object to measure its cost.
    fn probe(&mut self, path: String) -> Result<(), Ended> {
        let Some(own) = self.own(&path) else { return self.send(Event::Elsewhere(path)) };
        let why = match self.query.add(&own) {
            Ok(id) => {
                self.query.remove(id);
                None
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            return self.send(Event::Problem { path, why });
        }
        let Some(object) = self.costly_object(&own) else {
            return self.send(Event::Ready(path));
        };
        match self.cost(&own) {
            Ok((took, values)) => self.send(Event::Costly { path, object, took, values }),
            Err(error) => self.send(Event::Problem { path, why: error.to_string() }),
        }
    }

    /// The name of the costly object to which a path of a live source leads; `None` if the object is not costly.
    fn costly_object(&mut self, path: &str) -> Option<String> {
        let pattern = path.parse::<CounterPath>().ok().filter(|_| self.is_live())?.object;
        let find = |query: &Query, cost: Cost| {
            let (catalogue, titles) = (query.catalogue(0)?, query.titles(0)?);
            let is_it = |index: TitleIndex| titles.names(index).any(|name| pattern.matches(name));
            let mut found = catalogue.objects.iter().filter(|object| object.cost == cost);
            found.find(|object| is_it(object.name)).map(|object| titles.name_or_index(object.name))
        };
        if find(&self.query, Cost::Unknown).is_some() {
            // The cost is known once all objects are listed.
            let _ = self.query.objects(None);
        }
        find(&self.query, Cost::Costly)
    }

    fn cost(&self, path: &str) -> Result<(Duration, usize), QueryError> {
        let source = SourceSet::new(self.steered.unrecorded());
        let mut query = Query::over(source, self.language)?;
        query.add(path)?;
        let start = Instant::now();
        query.collect()?;
        Ok((start.elapsed(), query.readings().len()))
    }

    fn tree(&mut self) -> Result<Tree, SourceError> {
        let mut source = self.steered.unrecorded();
        let mut names = Names::load(&mut source, self.language)?;
        names.find_out(&mut source, &perfhive::NamePattern::with_wildcards("*"));
        names.list_costly(&mut source);
        // A language that cannot be read is left out of the search.
        let languages = names.catalogue.languages.clone();
        let every = TitleSet::load(languages, |one| source.titles(one, &Ask::nothing()))?;
        let search = |index| {
            let all: Vec<&str> = every.names(index).chain(names.titles().names(index)).collect();
            all.join("\n").to_lowercase()
        };
        let help = |index| names.titles().help(index).unwrap_or_default().to_string();
        let mut objects: Vec<TreeObject> = names
            .catalogue
            .objects
            .iter()
            .map(|object| TreeObject {
                source: None,
                name: names.name(object.name).into_owned(),
                search: search(object.name),
                help: help(object.help),
                is_costly: object.cost == Cost::Costly,
                has_instances: object.has_instances,
                counters: object
                    .counters
                    .iter()
                    .map(|counter| TreeCounter {
                        name: names.name(counter.name).into_owned(),
                        search: search(counter.name),
                        help: help(counter.help),
                        facts: facts(&names, object.name, counter),
                        on_request: counter.on_request,
                    })
                    .collect(),
            })
            .collect();
        objects.sort_by_key(|object| object.name.to_lowercase());
        Ok(Tree { objects })
    }
}

/// Lines with the type, the formula and the unit of a counter.
fn facts(
    names: &Names,
    object: perfhive::TitleIndex,
    counter: &perfhive::CatalogueCounter,
) -> Vec<String> {
    let mut facts = vec![format!("Type     {}", counter.counter_type)];
    if let Some(info) = counter.counter_type.info() {
        facts.push(format!("         {}", info.meaning));
        if !info.formula.is_empty() {
            facts.push(format!("Formula  {}", info.formula));
        }
    }
    let unit = names.unit(object, counter);
    facts.push(format!("Unit     {}", if unit.is_empty() { "none, a plain number" } else { unit }));
    if counter.scale != 0 {
        facts.push(format!("Scale    times 10^{} in a chart", counter.scale));
    }
    facts
}
