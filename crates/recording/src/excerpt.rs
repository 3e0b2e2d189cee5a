//! A part of a recording as a recording.

use perfhive_engine::{
    Ask, Catalogue, ProviderStatus, Recording, Snapshot, Source, SourceError, SourceErrorKind,
    Span, TitleDatabase,
};
use perfhive_format::{FileTime, LanguageId};
use std::num::NonZeroU64;
use std::sync::Arc;

/// The time at which an excerpt begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBound {
    /// A point in time.
    At(FileTime),
    /// The time that is this number of steps of 100 ns after the recording's beginning.
    AfterBegin(i64),
    /// The time that is this number of steps of 100 ns before the recording's end.
    BeforeEnd(i64),
}

impl TimeBound {
    fn of(self, span: Span) -> FileTime {
        match self {
            Self::At(time) => time,
            Self::AfterBegin(steps) => FileTime(span.begin.0.saturating_add(steps)),
            Self::BeforeEnd(steps) => FileTime(span.end.0.saturating_sub(steps)),
        }
    }
}

/// A part of a recording: the samples from one time to another, or every N-th of these samples.
pub struct Excerpt {
    source: Box<dyn Source>,
    begin: Option<FileTime>,
    end: Option<FileTime>,
    every: NonZeroU64,
    /// The number of samples that were returned since the excerpt's beginning or the last seek.
    taken: u64,
    /// The time of the last seek; `None` for the excerpt's beginning.
    sought: Option<FileTime>,
    span: Option<Span>,
    /// Whether the times of the whole recording go back somewhere; `None` until a sample later than
    /// the excerpt's end is read.
    goes_back: Option<bool>,
}

impl Excerpt {
    /// An excerpt of `source`: every `every`-th sample from `begin` to `end`, both included. `None`
    /// is the recording's beginning or end.
    ///
    /// # Errors
    /// [`SourceErrorKind::Mismatch`] where the source is not a recording, and the errors of reading
    /// it.
    pub fn new(
        mut source: Box<dyn Source>,
        begin: Option<TimeBound>,
        end: Option<TimeBound>,
        every: NonZeroU64,
    ) -> Result<Self, SourceError> {
        let is_relative = |bound: &TimeBound| !matches!(bound, TimeBound::At(_));
        let name = source.name().to_string();
        let Some(recording) = source.recording() else {
            let message = "has no past to choose from: only recordings have";
            return Err(SourceError::new(SourceErrorKind::Mismatch, &name, message));
        };
        // To find the end of a text log, all of it is read.
        let span = match begin.iter().chain(&end).any(is_relative) {
            true => recording.span()?,
            false => Span::new(FileTime(0), FileTime(0), 0),
        };
        let begin = begin.map(|bound| bound.of(span));
        let end = end.map(|bound| bound.of(span));
        recording.seek(begin)?;
        Ok(Self { source, begin, end, every, taken: 0, sought: None, span: None, goes_back: None })
    }

    fn end_of_data(&self) -> SourceError {
        let message = match self.taken {
            0 => "the recording has no sample in the part that was chosen",
            _ => "the part of the recording that was chosen has no more samples",
        };
        SourceError::new(SourceErrorKind::EndOfData, self.source.name(), message)
    }

    /// Reads the next sample between beginning and end. Behind a sample that is too late, others
    /// are looked for only where the clock of the recording was set back.
    fn next(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        loop {
            self.source.collect(ask, out).map_err(|error| match error.is_end_of_data() {
                true => self.end_of_data(),
                false => error,
            })?;
            let time = out.frames().first().map(|frame| frame.time());
            if time.zip(self.end).is_some_and(|(time, end)| time > end) {
                if self.goes_back.is_none() {
                    let span = self.source.recording().map(|recording| recording.span());
                    self.goes_back = Some(span.transpose()?.is_some_and(|span| span.goes_back));
                }
                if self.goes_back == Some(true) {
                    continue;
                }
                out.clear();
                return Err(self.end_of_data());
            }
            if time.zip(self.begin).is_none_or(|(time, begin)| time >= begin) {
                return Ok(());
            }
        }
    }

    /// Goes to a time, or to the excerpt's beginning where `to` is `None` or earlier.
    fn go(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        (self.taken, self.sought) = (0, to);
        let to = to.max(self.begin);
        self.source.recording().map_or(Ok(()), |recording| recording.seek(to))
    }
}

impl Source for Excerpt {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let every = if self.taken > 0 { self.every.get() } else { 1 };
        for _ in 0..every {
            self.next(ask, out)?;
        }
        self.taken += 1;
        Ok(())
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.source.catalogue(ask)
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source.titles(language, ask)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.source.providers(ask)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        Some(self)
    }
}

impl Recording for Excerpt {
    /// Goes to a time, or to the excerpt's beginning where `to` is `None` or earlier. Every N-th
    /// sample is then counted from the sample that is found there.
    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        self.go(to)
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        if let Some(span) = self.span {
            return Ok(span);
        }
        let (taken, sought) = (self.taken, self.sought);
        let mut span = Span::new(FileTime(0), FileTime(0), 0);
        let mut out = Snapshot::new();
        self.go(None)?;
        let result = loop {
            match self.collect(&Ask::everything(), &mut out) {
                Ok(()) => {
                    let time = out.frames().first().map_or(span.end, |frame| frame.time());
                    span.goes_back |= span.samples > 0 && time < span.end;
                    span.end = time;
                    span.samples += 1;
                    if span.samples == 1 {
                        span.begin = span.end;
                    }
                }
                Err(error) if error.is_end_of_data() => break Ok(span),
                Err(error) => break Err(error),
            }
        };
        self.go(sought)?;
        for _ in 0..taken {
            self.collect(&Ask::everything(), &mut out)?;
        }
        self.span = result.as_ref().ok().copied();
        result
    }
}
