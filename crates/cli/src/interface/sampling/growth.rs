//! Recordings that grow while they are shown.
//!
//! An open recording has only the samples that its files had when it was opened. Once the files have grown, the
//! recording is opened again and read on from a little before the sample that was read last.

use super::recorded::Reach;
use super::{Ended, Event, Order, Reader};
use perfhive::{FileTime, QueryError, Recording as _, Source};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The shortest time between two looks at the files.
const PAUSE: Duration = Duration::from_millis(500);
/// The pause before the next look at the files, as a multiple of the time that opening the recording and finding the
/// place took, so that these take less than a tenth of the time.
const REST: u32 = 10;

/// A function that opens a recording again; the error is a message for people.
type Reopen = Box<dyn FnMut() -> Result<Box<dyn Source>, String> + Send>;

/// The distance before the newest sample at which reading begins again, in steps of 100 ns. The
/// lines of several event sources of an experiment are written in batches at most a second after
/// the event, and not in the order of time.
const BACK: i64 = 2 * FileTime::PER_SECOND;
/// The most samples that are kept to be read again.
const MOST_AGAIN: usize = 10_000;

/// The samples that were read last, the oldest first: the time by which the recording finds a sample, and the time
/// that the sample shows. Reading begins again behind the first one.
#[derive(Default)]
pub(super) struct Recent(VecDeque<(FileTime, FileTime)>);

impl Recent {
    /// Adds a sample, and drops the oldest ones as long as the second of the samples is at least
    /// [`BACK`] older than the new one, or more than [`MOST_AGAIN`] are kept.
    pub(super) fn push(&mut self, found_by: FileTime, time: FileTime) {
        self.0.push_back((found_by, time));
        let is_old = |(_, other): &(_, FileTime)| time.0.saturating_sub(other.0) >= BACK;
        while self.0.get(1).is_some_and(is_old) || self.0.len() > MOST_AGAIN {
            self.0.pop_front();
        }
    }
}

/// The files of a recording, and their total length when it was last opened.
pub(crate) struct Growth {
    files: Vec<PathBuf>,
    length: u64,
    reopen: Reopen,
    pause: Duration,
}

impl Growth {
    /// These files with their present length. The function must be called before the recording is opened. `None` if
    /// there are no files, or if one is no regular file.
    pub(crate) fn of(files: Vec<PathBuf>, reopen: Reopen) -> Option<Self> {
        let length = length(&files)?;
        Some(Self { files, length, reopen, pause: PAUSE })
    }

    /// Makes the next look open the recording again, since not all of it was read.
    pub(super) fn look_again(&mut self) {
        self.length = u64::MAX;
    }

    /// The recording, opened again, or the reason why that failed; `None` if its files have the
    /// same length as before, or one is no regular file.
    fn changed(&mut self) -> Option<Result<Box<dyn Source>, String>> {
        let length = length(&self.files).filter(|length| *length != self.length)?;
        self.length = length;
        Some((self.reopen)())
    }
}

/// The length of all files together in bytes; `None` if there is no file or one is no regular file.
fn length(files: &[PathBuf]) -> Option<u64> {
    let of = |file: &PathBuf| {
        let found = std::fs::metadata(file).ok()?;
        found.is_file().then_some(found.len())
    };
    files.iter().map(of).sum::<Option<u64>>().filter(|_| !files.is_empty())
}

impl Reader {
    /// The next order; `None` if it is time to look whether the recording has grown. An error if
    /// the interface has ended.
    pub(super) fn wait(&self, orders: &Receiver<Order>) -> Result<Option<Order>, Ended> {
        match &self.growth {
            Some(growth) => match orders.recv_timeout(growth.pause) {
                Ok(order) => Ok(Some(order)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(Ended),
            },
            None => orders.recv().map(Some).map_err(|_| Ended),
        }
    }

    /// Opens the recording again if it has grown, and tells the interface if it has names now that it lacked.
    /// Returns how much of it is to be read; `None` for nothing.
    pub(super) fn grow(&mut self) -> Result<Option<Reach>, Ended> {
        let begun = Instant::now();
        let Some(source) = self.growth.as_mut().and_then(Growth::changed) else { return Ok(None) };
        let was_nameless = self.is_nameless();
        let found = match source {
            Ok(source) => {
                self.steered.replace(source);
                self.find().map_err(|error| error.to_string())
            }
            Err(why) => Err(why),
        };
        if let Some(growth) = &mut self.growth {
            growth.pause = PAUSE.max(begun.elapsed() * REST);
        }
        if found.is_ok() && (self.finds_more() || was_nameless && !self.is_nameless()) {
            self.send(Event::Named)?;
        }
        match found {
            Ok(true) => {
                let again = self.recent.0.len().saturating_sub(1);
                self.recent.0.truncate(1);
                Ok(Some(Reach::On(again)))
            }
            // The file is another one now.
            Ok(false) => Ok(Some(Reach::Whole)),
            Err(why) => self.fail(why).map(|()| None),
        }
    }

    /// Whether a shown path that the recording lacked before can be read now.
    fn finds_more(&mut self) -> bool {
        let known: Vec<&str> = self.sampler.paths().collect();
        let lacking = self.paths.iter().filter(|path| !known.contains(&path.as_str()));
        let lacking: Vec<String> = lacking.filter_map(|path| self.own(path)).collect();
        lacking.iter().any(|path| self.query.add(path).is_ok_and(|id| self.query.remove(id)))
    }

    /// Moves the place of reading behind the first of the recent samples. `false` if there are none, or
    /// if the recording does not have that sample any more.
    fn find(&mut self) -> Result<bool, QueryError> {
        self.renew()?;
        let Some((time, _)) = self.recent.0.front().copied() else { return Ok(false) };
        self.steered.seek(Some(time))?;
        // Where the clock was set back, the first sample of that time or later is an earlier one.
        loop {
            match self.query.collect() {
                Ok(()) if self.steered.reached() == time => return Ok(true),
                Ok(()) => {}
                Err(error) if error.is_end_of_data() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}
