//! One job and one answer between two threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// An exchange between two threads: the asking thread leaves a job, and the answering thread takes the job and
/// leaves the answer. A desk holds one job and one answer, so the asking thread should leave the next job only after
/// it took the answer to the job before. A channel would allocate when a thread waits for the first time.
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
    /// Signals a change to the thread that waits.
    changed: Condvar,
}

/// The job and the answer on a desk, and whether further ones may come.
#[derive(Debug)]
struct Papers<J, A> {
    job: Option<J>,
    answer: Option<A>,
    /// Whether the asking side is closed: no further job comes.
    closed: bool,
    /// Whether the answering side has ended: no further answer comes.
    ended: bool,
}

/// The reason why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The deadline passed.
    Late,
    /// The answering side ended.
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
        // A panic cannot leave the papers half changed.
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Papers<J, A>)) {
        change(&mut self.papers());
        self.changed.notify_all();
    }

    /// Leaves a job. It replaces a job that was left before and not yet taken.
    pub fn ask(&self, job: J) {
        self.change(|papers| papers.job = Some(job));
    }

    /// Closes the asking side: [`job`](Self::job) returns `None` from now on. A job that was left
    /// and not yet taken is lost.
    pub fn close(&self) {
        self.change(|papers| papers.closed = true);
    }

    /// Leaves an answer. It replaces an answer that was left before and not yet taken.
    pub fn reply(&self, answer: A) {
        self.change(|papers| papers.answer = Some(answer));
    }

    /// Ends the answering side. [`answer`](Self::answer) still returns an answer that was left
    /// before, and then the error [`NoAnswer::Ended`].
    pub fn end(&self) {
        self.change(|papers| papers.ended = true);
    }

    /// Waits for the next job; `None` once the asking side is closed.
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

    /// Waits for the next answer until the deadline, or without a limit for `None`.
    ///
    /// # Errors
    /// [`NoAnswer::Late`] if the deadline passed, [`NoAnswer::Ended`] if the answering side ended.
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
