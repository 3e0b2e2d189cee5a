//! Help for providers of other machines' counters: connections that are made inside Collect, kept,
//! tested on every request, and made again when they break.
//!
//! Source: Microsoft, "The Collect Function", on foreign computer interfaces.

use perfhive_engine::{BlockClock, Cost, ObjectDescription, ObjectWriter, ProviderError, StdClock};
use perfhive_format::{
    BlockHead, BlockWriter, CalendarTime, Clocks, CounterSpec, CounterType, ObjectSpec,
    ObjectTemplate, TitleIndex, WriteError,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A means of connecting to other machines.
pub trait Reach: Send {
    /// A connection to one machine.
    type Link: Link;

    /// Connects to a machine. `None` if no known machine has this name, which is not a failure.
    /// This method is called within Collect, so it must return soon.
    ///
    /// # Errors
    /// Why the machine cannot be reached at the moment.
    fn connect(&mut self, machine: &str) -> Result<Option<Self::Link>, ProviderError>;
}

/// A connection to a machine.
pub trait Link: Send {
    /// Tests the connection and writes the machine's objects to `out`. Returns
    /// the machine's clocks.
    ///
    /// # Errors
    /// Why the machine gave no data. The connection is then dropped.
    fn collect(&mut self, out: &mut BlockWriter) -> Result<RemoteTimes, ProviderError>;
}

/// The clocks of another machine. Where a clock is `None`, the local clock is used instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteTimes {
    /// The value of the machine's performance counter, and the counter's ticks per second; `None`
    /// to use those of the local clock.
    pub counter: Option<(i64, i64)>,
    /// The machine's time in units of 100 ns since the start of 1601, UTC; `None` to use the local
    /// time.
    pub time_100ns: Option<i64>,
    /// The machine's calendar time, UTC; `None` to use the local calendar time.
    pub system_time: Option<CalendarTime>,
}

/// The object that shows whether a machine can be reached. Its only counter is 1 if the machine's
/// data in the block is current, and 0 if the block has older data of the machine or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusObject {
    /// Title index of the object.
    pub object: TitleIndex,
    /// Title index of the object's counter.
    pub counter: TitleIndex,
}

impl StatusObject {
    const KIND: CounterType = CounterType::PERF_COUNTER_RAWCOUNT;

    /// The description of this object that its provider returns: one counter, with the cost
    /// [`Cost::Foreign`].
    #[must_use]
    pub fn description(self) -> ObjectDescription {
        ObjectDescription::new(
            ObjectSpec::new(self.object),
            vec![CounterSpec::new(self.counter, Self::KIND)],
        )
        .with_cost(Cost::Foreign)
    }
}

/// The other machines that a session was asked for last, at most [`MOST`](Self::MOST), each with
/// its connection and its last data.
///
/// ```
/// use perfhive_contract::foreign::{ForeignMachines, Link, Reach, RemoteTimes, StatusObject};
/// use perfhive_engine::{Collection, ObjectQuery, ObjectWriter, ProviderError, Session};
/// use perfhive_format::BlockWriter;
///
/// # struct Telnet;
/// # struct Line;
/// # impl Link for Line {
/// #     fn collect(&mut self, _: &mut BlockWriter) -> Result<RemoteTimes, ProviderError> {
/// #         Ok(RemoteTimes::default())
/// #     }
/// # }
/// # impl Reach for Telnet {
/// #     type Link = Line;
/// #     fn connect(&mut self, _: &str) -> Result<Option<Line>, ProviderError> { Ok(None) }
/// # }
/// struct Remote(ForeignMachines<Telnet>);
///
/// impl Session for Remote {
///     fn collect(
///         &mut self,
///         collection: &Collection<'_>,
///         out: &mut ObjectWriter<'_>,
///     ) -> Result<(), ProviderError> {
///         match collection.query() {
///             ObjectQuery::Foreign(machine) => self.0.answer(machine, out),
///             _ => Ok(()),
///         }
///     }
/// }
/// ```
pub struct ForeignMachines<R: Reach> {
    reach: R,
    status: TitleIndex,
    template: ObjectTemplate,
    clock: Box<dyn BlockClock>,
    machines: HashMap<String, Machine<R::Link>>,
    pause: Duration,
}

/// What is kept of one machine.
struct Machine<L> {
    link: Option<L>,
    /// The objects that the machine delivered last, as written into a block.
    objects: Vec<u8>,
    clocks: Clocks,
    system_time: CalendarTime,
    /// When an attempt to connect failed last; `None` if none has failed since the machine last
    /// delivered data.
    tried: Option<Instant>,
    asked: Instant,
}

impl<R: Reach> ForeignMachines<R> {
    /// The most machines that are kept. The machine with the oldest last request is dropped first.
    pub const MOST: usize = 64;
    /// The default pause after a failed attempt to connect, since an attempt may take long;
    /// [`pause`](Self::pause) sets another.
    pub const PAUSE: Duration = Duration::from_secs(5);

    /// A set of machines that are reached through `reach`, empty at first.
    ///
    /// # Errors
    /// If the status object cannot be written.
    pub fn new(reach: R, status: StatusObject) -> Result<Self, WriteError> {
        let description = status.description();
        Ok(Self {
            reach,
            status: status.object,
            template: ObjectTemplate::new(&description.spec, &description.counters)?,
            clock: Box::new(StdClock::default()),
            machines: HashMap::new(),
            pause: Self::PAUSE,
        })
    }

    /// The same set, with `clock` as the clock of the local machine.
    #[must_use]
    pub fn clock(mut self, clock: impl BlockClock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// The same set, with `pause` as the pause after a failed attempt to connect.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Answers `Foreign MACHINE` with a block of that machine. The block has the machine's current
    /// data, its last data or none, and the status object that shows whether the data is current.
    /// If the machine cannot be reached, a fault says why. During the pause after a failed attempt
    /// to connect nothing is tried, and there is no fault. An unknown machine, or an empty name,
    /// gives no block.
    ///
    /// # Errors
    /// [`ProviderError`] if the machine's objects are invalid or too large for a block.
    pub fn answer(
        &mut self,
        machine: &str,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let now = Instant::now();
        if machine.is_empty() {
            return Ok(());
        }
        let mut kept = match self.machines.remove(machine) {
            Some(kept) => kept,
            None => Machine {
                link: None,
                objects: Vec::new(),
                clocks: Clocks::default(),
                system_time: CalendarTime::default(),
                tried: None,
                asked: now,
            },
        };
        kept.asked = now;
        let mut why = None;
        // A connection that broke since the last request is made again at once.
        let mut fresh = false;
        for _ in 0..2 {
            if kept.link.is_none() {
                let since = kept.tried.map(|tried| now.saturating_duration_since(tried));
                if since.is_some_and(|since| since < self.pause) {
                    break;
                }
                match self.reach.connect(machine) {
                    Ok(Some(link)) => kept.link = Some(link),
                    Ok(None) => return Ok(()),
                    Err(error) => {
                        why = Some(error);
                        kept.tried = Some(now);
                        break;
                    }
                }
            }
            let Some(link) = &mut kept.link else { break };
            let mut block = BlockWriter::new();
            block.start(&BlockHead::default());
            let mark = block.mark();
            match link.collect(&mut block) {
                Ok(times) => {
                    let (local, system_time) = self.clock.read();
                    let (perf_time, perf_freq) =
                        times.counter.unwrap_or((local.perf_time, local.perf_freq));
                    let time_100ns = times.time_100ns.unwrap_or(local.time_100ns);
                    kept.clocks = Clocks { perf_time, perf_freq, time_100ns, ..local };
                    kept.system_time = times.system_time.unwrap_or(system_time);
                    kept.objects.clear();
                    kept.objects.extend_from_slice(block.since(mark));
                    kept.tried = None;
                    (fresh, why) = (true, None);
                    break;
                }
                Err(error) => {
                    why = Some(error);
                    kept.link = None;
                }
            }
        }
        if let Some(why) = &why {
            out.fault(self.status, None, format_args!("{machine} cannot be reached: {why}"));
        }
        let block = self.block(machine, &mut kept, fresh);
        self.keep(machine, kept);
        out.foreign_block(block?);
        Ok(())
    }

    /// The block of a machine: its kept objects, and the status object, which is 1 if `fresh`.
    fn block(
        &mut self,
        machine: &str,
        kept: &mut Machine<R::Link>,
        fresh: bool,
    ) -> Result<Vec<u8>, ProviderError> {
        if kept.objects.is_empty() && !fresh {
            // Without data of the machine the block has only the status, at the local time.
            (kept.clocks, kept.system_time) = self.clock.read();
        }
        let mut block = BlockWriter::new();
        block.start(&BlockHead {
            system_name: machine,
            default_object: None,
            system_time: kept.system_time,
            clocks: kept.clocks,
        });
        block.raw_objects(&kept.objects)?;
        block.object(&self.template)?.values(&[u64::from(fresh)])?.finish()?;
        block.finish();
        Ok(block.into_buffer())
    }

    /// Keeps a machine. If [`MOST`](Self::MOST) are kept, the machine with the oldest last request
    /// is dropped first.
    fn keep(&mut self, machine: &str, kept: Machine<R::Link>) {
        if self.machines.len() >= Self::MOST {
            let oldest = self.machines.iter().min_by_key(|(_, one)| one.asked);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.machines.remove(&oldest);
            }
        }
        self.machines.insert(machine.to_string(), kept);
    }
}

#[cfg(test)]
mod tests;
