//! Several recordings of one machine, one after the other.

use crate::replay::{Sample, Samples};
use perfhive_engine::{CatalogueObject, Fault, SourceError, SourceErrorKind, Span};
use perfhive_format::FileTime;

/// The recordings, one after the other in the order of their first samples' times.
pub(crate) struct Chain {
    /// The recordings, at least one, each with its name for messages.
    parts: Vec<(String, Box<dyn Samples>)>,
    at: usize,
    /// The faults behind the last samples of the recordings that were read to their end.
    left: Vec<Fault>,
}

impl Chain {
    /// Chains recordings, given in any order, each with its name for messages.
    ///
    /// # Errors
    /// [`SourceErrorKind::Mismatch`] where the recordings are of different machines; an error of
    /// reading them is returned as it is.
    pub(crate) fn new(mut parts: Vec<(String, Box<dyn Samples>)>) -> Result<Self, SourceError> {
        let mut first: Option<(String, String)> = None;
        for (name, part) in &mut parts {
            let (machine, _) = part.objects()?;
            let (first_name, wanted) = first.get_or_insert((name.clone(), machine.clone()));
            if *wanted != machine {
                let message = format!(
                    "comes from machine {machine:?}, but {first_name} from {wanted:?}: samples \
                     must be of one machine"
                );
                return Err(SourceError::new(SourceErrorKind::Mismatch, name, message));
            }
        }
        let mut timed = Vec::with_capacity(parts.len());
        for (name, mut part) in parts {
            // An error here is ignored: it is returned when the sample is read again.
            let first = part.next().ok().flatten();
            part.seek(None)?;
            let time = first.and_then(|sample| Some(sample.frames.first()?.time()));
            timed.push((time, name, part));
        }
        // A shell's pattern gives files in the order of their names, not of their times.
        timed.sort_by_key(|(time, ..)| *time);
        let parts = timed.into_iter().map(|(_, name, part)| (name, part)).collect();
        Ok(Self { parts, at: 0, left: Vec::new() })
    }
}

impl Samples for Chain {
    fn next(&mut self) -> Result<Option<Sample>, SourceError> {
        while let Some((_, part)) = self.parts.get_mut(self.at) {
            if let Some(sample) = part.next()? {
                return Ok(Some(sample));
            }
            self.left.extend(part.left());
            self.at += 1;
            if let Some((_, next)) = self.parts.get_mut(self.at) {
                next.seek(None)?;
            }
        }
        Ok(None)
    }

    fn left(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.left)
    }

    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        let mut at = 0;
        if let Some(to) = to {
            for (_, part) in &mut self.parts {
                if part.latest()? >= to {
                    break;
                }
                at += 1;
            }
        }
        self.at = at;
        self.parts.get_mut(at).map_or(Ok(()), |(_, part)| part.seek(to))
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        let mut all = Span::new(FileTime(0), FileTime(0), 0);
        for (_, part) in &mut self.parts {
            let span = part.span()?;
            if span.samples > 0 {
                if all.samples == 0 {
                    all.begin = span.begin;
                }
                all.goes_back |= span.goes_back || span.begin < all.end;
                all.end = span.end;
                all.samples += span.samples;
            }
        }
        Ok(all)
    }

    fn objects(&mut self) -> Result<(String, Vec<CatalogueObject>), SourceError> {
        let (mut machine, mut all) = (String::new(), Vec::new());
        for (_, part) in &mut self.parts {
            let (name, objects) = part.objects()?;
            machine = name;
            all.extend(objects);
        }
        Ok((machine, all))
    }
}
