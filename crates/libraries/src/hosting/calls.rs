//! The calls that a host process makes, on every system.

mod together;

use crate::hosting::library::{LoadedLibrary, Names, Returned};
use crate::hosting::wire::{Lane, OpenRequest, Request, Response};
use perfhive_contract::abi::{ERROR_NOT_ENOUGH_MEMORY, ERROR_SUCCESS};
use std::thread;
use std::time::{Duration, Instant};

/// The size of the stack of a thread that collects costly objects, in bytes: as large as
/// that of a main thread on Linux.
const STACK: usize = 8 << 20;

/// Loads a library and calls Open. Returns the response, and the library if both succeed.
pub(crate) fn open(request: &OpenRequest) -> (Response, Option<LoadedLibrary>) {
    let names = Names {
        library: &request.library,
        open: request.open.as_deref(),
        collect: &request.collect,
        close: request.close.as_deref(),
        first_counter: request.first_counter,
        first_help: request.first_help,
    };
    let mut response = Response { id: request.id, ..Response::default() };
    // SAFETY: this process may be lost if the library does harm.
    match unsafe { LoadedLibrary::load(&names) } {
        Ok(library) => {
            let (code, reports) = library.open(request.linkage.as_deref());
            (response.code, response.reports) = (code, reports);
            (response, (code == ERROR_SUCCESS).then_some(library))
        }
        Err(message) => {
            response.failure = Some(message);
            (response, None)
        }
    }
}

/// Calls Collect with a buffer of `room` bytes: on this thread, or for [`Lane::Costly`] on a new thread
/// of lowered priority. `id` is the number of the request, and `value` the name of the requested value,
/// such as `Global`.
///
/// # Safety
/// `room` bytes behind `start` may be written.
pub(crate) unsafe fn collect(
    library: &LoadedLibrary,
    (id, lane, value): (u32, Lane, &str),
    start: *mut u8,
    room: u32,
) -> Response {
    let mut value = perfhive_contract::abi::wide(value);
    let began = Instant::now();
    let answer = match lane {
        // SAFETY: as promised by the caller.
        Lane::Usual => Some(unsafe { library.collect(&mut value, start, room) }),
        Lane::Costly => {
            let address = start.expose_provenance();
            on_low_priority(|| {
                let start = core::ptr::with_exposed_provenance_mut(address);
                // SAFETY: as above; this thread waits until it is done.
                unsafe { library.collect(&mut value, start, room) }
            })
        }
    };
    let Some((returned, reports)) = answer else {
        return failed(id, "no thread can be started for costly objects");
    };
    let Returned { code, moved, bytes, objects } = returned;
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Response { id, code, moved: moved as i64, bytes, objects, took, reports, ..Response::default() }
}

/// The response to a request for which a library could not be called.
pub(crate) fn failed(id: u32, message: &str) -> Response {
    let (code, failure) = (ERROR_NOT_ENOUGH_MEMORY, Some(message.to_string()));
    Response { id, code, failure, ..Response::default() }
}

/// Serves the requests that only [`check`](crate::check) makes; `None` for other requests.
pub(crate) fn conduct(request: &Request, library: &LoadedLibrary) -> Option<Response> {
    match request {
        Request::OpenAgain { id, linkage } => {
            let (code, reports) = library.open(linkage.as_deref());
            Some(Response { id: *id, code, reports, ..Response::default() })
        }
        Request::CloseOnce { id } => {
            library.close();
            Some(Response { id: *id, ..Response::default() })
        }
        Request::Together { id, threads, times, millis, values } => {
            let budget = Duration::from_millis((*millis).into());
            let answer = together::collect(library, *threads, *times, budget, values);
            Some(Response { id: *id, ..answer })
        }
        Request::Open(_) | Request::Collect { .. } | Request::Close => None,
    }
}

/// Runs a closure on a thread of lowered priority; `None` if no thread can be started, or if the
/// closure panics.
pub(crate) fn on_low_priority<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let body = || {
            crate::hosting::priority::lower();
            work()
        };
        let name = "perfhive costly".to_string();
        let builder = thread::Builder::new().name(name).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, body).ok()?;
        thread.join().ok()
    })
}
