//! The process that a library runs in.
//!
//! It is started with two pipes, requests and answers, whose handles a variable of
//! the environment names: whatever a library does with its standard output is none
//! of theirs. Its reader has it in a job, which ends with the reader and limits its
//! memory.

#[path = "../host/together.rs"]
mod together;

use crate::area::Area;
use crate::library::{Loaded, Names, Returned};
use crate::wire::{LONGEST, Lane, OpenRequest, Request, Response};
use perfhive_contract::abi::{ERROR_NOT_ENOUGH_MEMORY, ERROR_SUCCESS};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, RawHandle};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};
use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType};
use windows_sys::Win32::System::Diagnostics::Debug::{
    EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS, SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX,
    SEM_NOOPENFILEERRORBOX, SetErrorMode, SetUnhandledExceptionFilter,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, SetThreadPriority, THREAD_PRIORITY_LOWEST,
    TerminateProcess,
};

/// Names the two pipes.
pub(crate) const PIPES: &str = "PERFHIVE_HOST_PIPES";
/// Stack of a thread that collects what is expensive: as much as the first thread
/// of a process has on other systems, and more than here.
const STACK: usize = 8 << 20;

/// Runs the host until its reader is gone. For programs that are a host
/// themselves: called first thing in `main`, and its answer returned.
#[must_use]
pub fn main() -> ExitCode {
    let Some((requests, answers)) = pipes() else {
        eprintln!("this is what perfhive runs providers in; it starts that itself");
        return ExitCode::from(2);
    };
    // Nobody is to click a crash away, or to look at it, before it is one.
    // SAFETY: a number of known flags; a function of the signature that is wanted.
    unsafe {
        SetUnhandledExceptionFilter(Some(crash));
        SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX)
    };
    match serve(requests, answers) {
        Ok(()) => ExitCode::SUCCESS,
        // There is nobody to tell: the reader sees that the host is gone.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Ends the process, with what happened as its exit status.
///
/// # Safety
/// As Windows calls it: the pointers are NULL or good.
unsafe extern "system" fn crash(exception: *const EXCEPTION_POINTERS) -> i32 {
    // SAFETY: as promised by the caller; the handle is a constant that stands for
    // this process.
    unsafe {
        let record = exception.as_ref().and_then(|exception| exception.ExceptionRecord.as_ref());
        let code = record.map_or(1, |record| record.ExceptionCode.cast_unsigned());
        TerminateProcess(GetCurrentProcess(), code);
    }
    EXCEPTION_CONTINUE_SEARCH
}

/// The exit status of a host that does not understand its reader.
pub(crate) const OTHER_VERSION: i32 = 86;

/// The pipes that the reader named, which no process that a library starts gets.
fn pipes() -> Option<(File, File)> {
    let named = std::env::var(PIPES).ok()?;
    let (requests, answers) = named.split_once(',')?;
    let pipe = |number: &str| {
        let handle = number.parse::<usize>().ok().filter(|number| *number != 0)? as RawHandle;
        // SAFETY: a handle that is none is refused, here and by whatever uses it; one
        // of something else than a pipe is not taken.
        unsafe {
            if GetFileType(handle) != FILE_TYPE_PIPE {
                return None;
            }
            let pipe = File::from_raw_handle(handle);
            SetHandleInformation(pipe.as_raw_handle(), HANDLE_FLAG_INHERIT, 0);
            Some(pipe)
        }
    };
    Some((pipe(requests)?, pipe(answers)?))
}

fn serve(mut requests: File, mut answers: File) -> io::Result<()> {
    let mut first = true;
    let mut library: Option<Loaded> = None;
    let mut area: Option<Area> = None;
    loop {
        let mut length = [0; 4];
        requests.read_exact(&mut length)?;
        let length = (u32::from_le_bytes(length) as usize).min(LONGEST);
        let mut packet = vec![0; length];
        requests.read_exact(&mut packet)?;
        let (response, data) = match (Request::decode(&packet), &library) {
            (Some(Request::Open(request)), None) => {
                let (response, loaded) = open(&request);
                library = loaded;
                (response, Vec::new())
            }
            (Some(Request::Collect { id, lane, room, value }), Some(library)) => {
                collect(library, &mut area, id, lane, room, &value)
            }
            (Some(Request::OpenAgain { id, linkage }), Some(library)) => {
                let (code, said) = library.open(linkage.as_deref());
                (Response { id, code, said, ..Response::default() }, Vec::new())
            }
            (Some(Request::CloseOnce { id }), Some(library)) => {
                library.close();
                (Response { id, ..Response::default() }, Vec::new())
            }
            (Some(Request::Together { id, threads, times, millis, values }), Some(library)) => {
                let budget = Duration::from_millis(millis.into());
                let answer = together::collect(library, threads, times, budget, &values);
                (Response { id, ..answer }, Vec::new())
            }
            (Some(Request::Close), Some(library)) => {
                library.close();
                return Ok(());
            }
            (None, _) if first => std::process::exit(OTHER_VERSION),
            // The reader is none.
            _ => return Ok(()),
        };
        first = false;
        for part in [&response.encode(), &data] {
            answers.write_all(&(part.len() as u32).to_le_bytes())?;
            answers.write_all(part)?;
        }
    }
}

fn open(request: &OpenRequest) -> (Response, Option<Loaded>) {
    let names = Names {
        library: &request.library,
        open: request.open.as_deref(),
        collect: &request.collect,
        close: request.close.as_deref(),
        first_counter: request.first_counter,
        first_help: request.first_help,
    };
    let mut response = Response { id: request.id, ..Response::default() };
    // SAFETY: this process is there to be lost if the library does harm.
    match unsafe { Loaded::load(&names) } {
        Ok(library) => {
            let (code, said) = library.open(request.linkage.as_deref());
            (response.code, response.said) = (code, said);
            (response, (code == ERROR_SUCCESS).then_some(library))
        }
        Err(message) => {
            response.failure = Some(message);
            (response, None)
        }
    }
}

/// What Collect answered, and its buffer with the guards.
fn collect(
    library: &Loaded,
    area: &mut Option<Area>,
    id: u32,
    lane: Lane,
    room: u32,
    value: &str,
) -> (Response, Vec<u8>) {
    if area.as_ref().is_none_or(|area| area.room() != room as usize) {
        // The old memory goes first: both together might exceed the limit.
        *area = None;
        *area = Area::new(room as usize).ok();
    }
    let failed = |message: &str| {
        let (code, failure) = (ERROR_NOT_ENOUGH_MEMORY, Some(message.to_string()));
        (Response { id, code, failure, ..Response::default() }, Vec::new())
    };
    let Some(area) = area else {
        return failed("there is no memory for a buffer of this size");
    };
    area.renew();
    let mut value = perfhive_contract::abi::wide(value);
    let start = area.start();
    let began = Instant::now();
    let answer = match lane {
        // SAFETY: the buffer is `room` bytes long.
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
    let Some((returned, said)) = answer else {
        return failed("no thread can be started for what is expensive");
    };
    let Returned { code, moved, bytes, objects } = returned;
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let response = Response {
        id,
        code,
        moved: moved as i64,
        bytes,
        objects,
        took,
        said,
        ..Response::default()
    };
    let data = if code == ERROR_SUCCESS { area.copy() } else { Vec::new() };
    (response, data)
}

/// Runs something on a thread of lowered priority. `None` where there can be
/// none.
pub(crate) fn on_low_priority<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let body = || {
            // SAFETY: the handle is a constant that stands for this thread, which has
            // the priority of its process so far.
            unsafe { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_LOWEST) };
            work()
        };
        let name = "perfhive costly".to_string();
        let builder = thread::Builder::new().name(name).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, body).ok()?;
        thread.join().ok()
    })
}
