//! The calls that only [`check`](crate::check) makes.

use super::{CallFault, Function, HostedLibrary, Patience, TogetherResult};
use crate::hosting::process::HostProcess;
use crate::hosting::wire::{Request, Response};
use std::time::Duration;

impl HostedLibrary {
    /// Calls Close and waits at most half a second. Returns whether Close came back; `true` if no
    /// process runs or a call is in flight.
    pub(crate) fn close(mut self) -> bool {
        let process = self.process.take().filter(|_| self.in_flight.is_none());
        process.is_none_or(HostProcess::close_and_wait)
    }

    /// Calls Open once more, with the same strings; returns the error code of the call.
    pub(crate) fn open_again(&mut self) -> Result<u32, CallFault> {
        let linkage = self.registration.linkage.clone();
        let answer = self.special(Function::Open, |id| Request::OpenAgain { id, linkage })?;
        Ok(answer.code)
    }

    /// Calls Close; the process goes on.
    pub(crate) fn close_once(&mut self) -> Result<(), CallFault> {
        self.special(Function::Close, |id| Request::CloseOnce { id }).map(drop)
    }

    /// Calls Collect from several threads at once, `times` times each with the `values` in turn,
    /// for at most half of the timeout of Collect, and for at most five seconds.
    pub(crate) fn together(
        &mut self,
        threads: u32,
        times: u32,
        values: Vec<String>,
    ) -> Result<TogetherResult, CallFault> {
        const MOST: Duration = Duration::from_secs(5);
        let millis = (self.registration.collect_timeout / 2).min(MOST).as_millis() as u32;
        let request = |id| Request::Together { id, threads, times, millis, values };
        let answer = self.special(Function::Collect, request)?;
        let value = answer.reports.into_iter().next().unwrap_or_default();
        Ok(TogetherResult {
            calls: answer.bytes,
            wrong: answer.objects,
            first_wrong: answer.failure.map(|what| (value, what)),
        })
    }

    fn special(
        &mut self,
        function: Function,
        request: impl FnOnce(u32) -> Request,
    ) -> Result<Response, CallFault> {
        self.make_ready(Patience::default())?;
        let request = request(self.new_id());
        let call = self.send(&request, function)?;
        self.wait(call, Patience::default())
    }
}
