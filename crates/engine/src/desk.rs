//! Where a job and its answer change hands between two threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Where one thread leaves jobs for another and finds the answers: one of each at
/// most, since who asks asks nothing before it has the answer to what it asked before.
/// A channel would take memory whenever somebody waits for the first time.
///
/// ```
/// use perfhive_engine::Desk;
/// use std::sync::Arc;
///
/// let desk = Arc::new(Desk::default());
/// let theirs = Arc::clone(&desk);
/// let thread = std::thread::spawn(move || {
///     while let Some(number) = theirs.job() {
///         theirs.reply(number + 1);
///     }
///     theirs.end();
/// });
/// desk.ask(1);
/// assert_eq!(desk.answer(None), Ok(2));
/// desk.close();
/// thread.join().unwrap();
/// ```
#[derive(Debug)]
pub struct Desk<J, A> {
    papers: Mutex<Papers<J, A>>,
    /// Somebody waits for a job, or for an answer.
    changed: Condvar,
}

#[derive(Debug)]
struct Papers<J, A> {
    job: Option<J>,
    answer: Option<A>,
    /// Nobody asks any more.
    closed: bool,
    /// Nobody answers any more.
    ended: bool,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// It did not come in time.
    Late,
    /// Nobody answers any more.
    Ended,
}

impl<J, A> Default for Desk<J, A> {
    fn default() -> Self {
        let papers = Papers { job: None, answer: None, closed: false, ended: false };
        Self { papers: Mutex::new(papers), changed: Condvar::new() }
    }
}

impl<J, A> Desk<J, A> {
    fn papers(&self) -> MutexGuard<'_, Papers<J, A>> {
        // What is behind the lock is whole at every moment.
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Papers<J, A>)) {
        change(&mut self.papers());
        self.changed.notify_all();
    }

    /// Leaves a job.
    pub fn ask(&self, job: J) {
        self.change(|papers| papers.job = Some(job));
    }

    /// Asks nothing any more.
    pub fn close(&self) {
        self.change(|papers| papers.closed = true);
    }

    /// Leaves an answer.
    pub fn reply(&self, answer: A) {
        self.change(|papers| papers.answer = Some(answer));
    }

    /// Answers nothing any more.
    pub fn end(&self) {
        self.change(|papers| papers.ended = true);
    }

    /// Waits for the next job; `None` once nobody asks any more.
    pub fn job(&self) -> Option<J> {
        let mut papers = self.papers();
        loop {
            if papers.closed {
                return None;
            }
            if let Some(job) = papers.job.take() {
                return Some(job);
            }
            papers = self.changed.wait(papers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the next answer, by a deadline if there is one.
    ///
    /// # Errors
    /// Why there is none.
    pub fn answer(&self, deadline: Option<Instant>) -> Result<A, NoAnswer> {
        let mut papers = self.papers();
        loop {
            if let Some(answer) = papers.answer.take() {
                return Ok(answer);
            }
            if papers.ended {
                return Err(NoAnswer::Ended);
            }
            papers = match deadline {
                None => self.changed.wait(papers).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(NoAnswer::Late);
                    }
                    let waited = self.changed.wait_timeout(papers, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
