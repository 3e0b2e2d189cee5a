//! Reads the source on a thread of its own, so that a slow source delays no key.

mod growth;
mod recorded;

use super::model::Event;
use super::steered::Steered;
use super::tree::{Tree, TreeCounter, TreeObject};
use crate::command::following;
use crate::replay::Replay;
use crate::session::{Faults, Session};
use perfhive::{
    Ask, Cost, CounterPath, FileTime, LanguageId, Query, QueryError, Source as _, SourceError,
    SourceSet, TitleIndex, TitleSet,
};
use perfhive_view::past::Window;
use perfhive_view::{Names, Sampler};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// An order of the interface to the thread that reads a source.
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
    /// Read the part `window` of a recording; `samples` is about the number of samples that the part has.
    Near {
        window: Window,
        samples: u64,
    },
    Browse,
    Instances(usize, String),
    Record(Option<String>),
}

/// The most samples of a recording that are read. Of a longer recording every N-th sample is read, so that there
/// are at most so many.
const MOST_READ: u64 = 20_000;
/// The longest pause between the first and the second sample, which gives the first rates.
const SOON: Duration = Duration::from_millis(300);

pub(crate) use growth::Growth;
use growth::Recent;

/// The channel for events to the interface. Its receiver is dropped when the interface ends.
pub(super) type Events = SyncSender<super::terminal::Message>;

/// The error that the interface has ended.
struct Ended;

/// The state of the thread that reads a source: the query for the shown paths, and the place in a
/// recording.
pub(super) struct Reader {
    steered: Steered,
    query: Query,
    sampler: Sampler,
    language: LanguageId,
    faults: Faults,
    /// Whether the interface shows a reason why a part of the source cannot be read.
    has_failed: bool,
    paths: Vec<String>,
    /// The paths to objects that cannot be read at the moment; they are tried again with each sample.
    absent: Vec<String>,
    interval: Duration,
    /// The most samples of a recording, or of a part of it, that are read.
    most_read: u64,
    /// The distance of the samples of a recording that are shown: 1 for every sample, 2 for every
    /// second one.
    every: u64,
    /// The newest samples of a recording that were read.
    recent: Recent,
    /// The files of a recording, which may grow; `None` if they are not watched.
    growth: Option<Growth>,
    /// The schedule by which a recording is shown; `None` if it is shown at once.
    replay: Option<Replay>,
    events: Events,
    /// The number of the source among the shown ones, from 0.
    number: usize,
    /// The machine and the label by which paths name this source; `None` if it is the only source.
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
            has_failed: false,
            paths: Vec::new(),
            absent: Vec::new(),
            interval,
            most_read: MOST_READ,
            every: 1,
            recent: Recent::default(),
            growth: None,
            replay: None,
            events,
            number: 0,
            among: None,
        })
    }

    /// The same reader, as one of several sources. Paths name its source by `machine` or `label`.
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

    /// The path as the source knows it. With a single source a path is unchanged. With several, a path loses its
    /// machine, and the result is `None` if it names another machine than that of this source.
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

    /// The same reader, which reads what is appended to these files of a recording; `None` if they are not
    /// watched.
    pub(super) fn with_growth(mut self, growth: Option<Growth>) -> Self {
        self.growth = growth;
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

    /// Follows orders and samples a live source until the interface ends.
    fn live(&mut self, orders: &Receiver<Order>) -> Result<(), Ended> {
        let mut next = Instant::now();
        let mut is_fresh = true;
        let mut sampled: Option<Instant> = None;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match orders.recv_timeout(left) {
                Ok(order) => {
                    let is_new = |path: &String| !self.paths.contains(path);
                    let has_new = matches!(&order, Order::Paths(paths) if paths.iter().any(is_new));
                    let interval = self.interval;
                    self.follow(order)?;
                    if has_new {
                        // Rates over a shorter time would be spikes in the lines that were already drawn.
                        let soonest = sampled.map(|at| at + SOON.min(self.interval));
                        (next, is_fresh) = (soonest.unwrap_or(next).max(Instant::now()), true);
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
                sampled = Some(Instant::now());
            }
            let now = Instant::now();
            next = match std::mem::take(&mut is_fresh) {
                true => now + SOON.min(self.interval),
                false => following(next, self.interval, now),
            };
        }
    }

    /// Tries the paths again that could not be read before, then takes a sample and sends it. Takes none if no path can
    /// be read.
    fn sample(&mut self) -> Result<(), Ended> {
        let absent = std::mem::take(&mut self.absent);
        for path in absent {
            self.add(path)?;
        }
        // Without a path there is no reading, and so no time of a sample.
        if self.sampler.paths().next().is_none() {
            return Ok(());
        }
        let start = Instant::now();
        match self.query.collect() {
            Ok(()) => {
                let sample = self.sampler.sample(&self.query);
                self.send(Event::Samples(vec![sample], start.elapsed()))?;
            }
            Err(error) => return self.fail(error.to_string()),
        }
        self.tell_faults()
    }

    /// Shows a reason why a part of the source cannot be read, until a sample without a fault.
    fn fail(&mut self, why: String) -> Result<(), Ended> {
        self.has_failed = true;
        self.send(Event::Failed(Some(why)))
    }

    /// Tells the interface of an error that ended recording, of new faults, and of the end of all faults.
    fn tell_faults(&mut self) -> Result<(), Ended> {
        if let Some(error) = self.steered.take_failure() {
            self.send(Event::Recording(None))?;
            self.send(Event::Note(error.to_string()))?;
        }
        for fault in self.faults.take() {
            self.fail(fault.text)?;
        }
        match self.has_failed && self.faults.are_over() {
            true => {
                self.has_failed = false;
                self.send(Event::Failed(None))
            }
            false => Ok(()),
        }
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
                Err(error) => {
                    // The recording in progress has ended all the same.
                    self.send(Event::Recording(None))?;
                    self.send(Event::Note(error.to_string()))
                }
            },
        }
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

    /// Adds a path to the query, or sends why it cannot be read. A path to an object that cannot be read at the moment
    /// is kept as absent. For a recording without any object no error is sent: the names may come with the first
    /// sample.
    fn add(&mut self, path: String) -> Result<(), Ended> {
        let Some(own) = self.own(&path) else { return self.send(Event::Elsewhere(path)) };
        match self.query.add(&own) {
            // The names may come with the first sample.
            Err(_) if self.is_nameless() => Ok(()),
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

    /// Whether this is a recording without any object.
    fn is_nameless(&mut self) -> bool {
        let catalogue = self.steered.catalogue(&Ask::everything());
        !self.is_live() && catalogue.is_ok_and(|catalogue| catalogue.objects.is_empty())
    }

    /// Sends whether a path can be read. Takes one sample of a costly object to measure its cost.
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

    /// The name of the costly object to which a path of a live source leads; `None` if the object is not costly,
    /// and for a recording.
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

    /// The time that one sample of a path takes, and the number of its readings.
    fn cost(&self, path: &str) -> Result<(Duration, usize), QueryError> {
        let source = SourceSet::new(self.steered.unrecorded());
        let mut query = Query::over(source, self.language)?;
        query.add(path)?;
        let start = Instant::now();
        query.collect()?;
        Ok((start.elapsed(), query.readings().len()))
    }

    /// The tree of all objects and counters of the source, also of objects that are expensive even
    /// to list.
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

/// The lines that explain a counter: its type, formula, unit and scale.
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
