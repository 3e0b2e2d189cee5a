//! The calls that only [`check`](crate::check) makes.

use super::{CallFault, Function, HostedLibrary, Patience, TogetherResult};
use crate::hosting::wire::{Request, Response};
use std::time::Duration;

impl HostedLibrary {
    /// Calls Close for the last time and waits at most half a second for it. Then kills the
    /// process: a process that is told to end by itself would call Close again. It is an error if
    /// Close fails or does not come back in that time.
    pub(crate) fn close(mut self) -> Result<(), CallFault> {
        let moment = Patience { deadline: None, usual: Some(Duration::from_millis(500)) };
        let closed = self.close_once(moment);
        drop(self.process.take());
        closed
    }

    /// Calls Open once more, with the same linkage; returns the error code of the call.
    pub(crate) fn open_again(&mut self) -> Result<u32, CallFault> {
        let linkage = self.registration.linkage.clone();
        let request = |id| Request::OpenAgain { id, linkage };
        let answer = self.special(Function::Open, Patience::default(), request)?;
        Ok(answer.code)
    }

    /// Calls Close; the process goes on.
    pub(crate) fn close_once(&mut self, patience: Patience) -> Result<(), CallFault> {
        self.special(Function::Close, patience, |id| Request::CloseOnce { id }).map(drop)
    }

    /// Calls Collect from several threads at once, each thread `times` times with the `values` in
    /// turn. After half of the timeout of Collect, or after five seconds if that is shorter, a thread
    /// begins no further call, but each begins at least one.
    pub(crate) fn together(
        &mut self,
        threads: u32,
        times: u32,
        values: Vec<String>,
    ) -> Result<TogetherResult, CallFault> {
        const MOST: Duration = Duration::from_secs(5);
        let millis = (self.registration.collect_timeout / 2).min(MOST).as_millis() as u32;
        let request = |id| Request::Together { id, threads, times, millis, values };
        let answer = self.special(Function::Collect, Patience::default(), request)?;
        let value = answer.reports.into_iter().next().unwrap_or_default();
        Ok(TogetherResult {
            calls: answer.bytes,
            wrong: answer.objects,
            first_wrong: answer.failure.map(|what| (value, what)),
        })
    }

    /// Makes a call of `function` once the library is open, and waits for the answer.
    fn special(
        &mut self,
        function: Function,
        patience: Patience,
        request: impl FnOnce(u32) -> Request,
    ) -> Result<Response, CallFault> {
        self.make_ready(Patience::default())?;
        let request = request(self.new_id());
        let call = self.send(&request, function)?;
        self.wait(call, patience)
    }
}
