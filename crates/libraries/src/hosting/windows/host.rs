//! The process in which a library runs.
//!
//! The process starts with two pipes, for requests and answers. An environment variable names their
//! handles, so that a library's use of standard output does not disturb them. The process is in a job
//! object, which limits the process's memory and ends the process when the reader ends.

use crate::hosting::area::Area;
use crate::hosting::calls;
use crate::hosting::library::LoadedLibrary;
use crate::hosting::wire::{LONGEST, Lane, Request, Response};
use perfhive_contract::abi::ERROR_SUCCESS;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, RawHandle};
use std::process::ExitCode;
use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType};
use windows_sys::Win32::System::Diagnostics::Debug::{
    EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS, SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX,
    SEM_NOOPENFILEERRORBOX, SetErrorMode, SetUnhandledExceptionFilter,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, TerminateProcess};

/// The environment variable with the handles of the two pipes, as numbers: that of requests, a
/// comma, that of answers.
pub(crate) const PIPES: &str = "PERFHIVE_HOST_PIPES";

/// Runs the host until its reader closes the library or ends. A program that is its own host calls
/// this function first in `main` if it was started with the arguments of its
/// [`HostCommand`](crate::HostCommand), and returns the result.
#[must_use]
pub fn main() -> ExitCode {
    let Some((requests, answers)) = pipes() else {
        eprintln!("perfhive starts this program itself, to run providers in");
        return ExitCode::from(2);
    };
    // A crash must end the process at once, without a dialog.
    // SAFETY: a number of known flags; a function of the signature that is wanted.
    unsafe {
        SetUnhandledExceptionFilter(Some(crash));
        SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX)
    };
    match serve(requests, answers) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader sees that the host is gone.
        Err(_) => ExitCode::FAILURE,
    }
}

/// The handler of unhandled exceptions: ends the process with the exception's code as its
/// exit status.
///
/// # Safety
/// As Windows calls it: the pointers are NULL or valid.
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

/// The exit status of a host with a version that differs from its reader's.
pub(crate) const OTHER_VERSION: i32 = 86;

/// The pipes for requests and answers, which processes that the library starts do not inherit.
/// `None` if the reader named no two pipes.
fn pipes() -> Option<(File, File)> {
    let named = std::env::var(PIPES).ok()?;
    let (requests, answers) = named.split_once(',')?;
    let pipe = |number: &str| {
        let handle = number.parse::<usize>().ok().filter(|number| *number != 0)? as RawHandle;
        // SAFETY: an invalid handle is refused, here and by every call that uses it; a handle
        // that is not a pipe is not taken.
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

/// Answers the requests of the reader until the library is closed or the reader is gone.
fn serve(mut requests: File, mut answers: File) -> io::Result<()> {
    let mut first = true;
    let mut library: Option<LoadedLibrary> = None;
    let mut area: Option<Area> = None;
    loop {
        let mut length = [0; 4];
        requests.read_exact(&mut length)?;
        let length = (u32::from_le_bytes(length) as usize).min(LONGEST);
        let mut packet = vec![0; length];
        requests.read_exact(&mut packet)?;
        let (response, data) = match (Request::decode(&packet), &library) {
            (Some(Request::Open(request)), None) => {
                let (response, loaded) = calls::open(&request);
                library = loaded;
                (response, Vec::new())
            }
            (Some(Request::Collect { id, lane, room, value }), Some(library)) => {
                collect(library, &mut area, (id, lane, &value), room)
            }
            (Some(Request::Close), Some(library)) => {
                library.close();
                return Ok(());
            }
            (None, _) if first => std::process::exit(OTHER_VERSION),
            (Some(request), Some(library)) => match calls::conduct(&request, library) {
                Some(response) => (response, Vec::new()),
                None => return Ok(()),
            },
            // The request is invalid.
            _ => return Ok(()),
        };
        first = false;
        for part in [&response.encode(), &data] {
            answers.write_all(&(part.len() as u32).to_le_bytes())?;
            answers.write_all(part)?;
        }
    }
}

/// Calls Collect with a buffer of `room` bytes in `area`, which is made anew if it has another
/// size. `asked` is the number of the request, the lane and the value string. Returns the response,
/// and the buffer with its guards if the call succeeded, otherwise no bytes.
fn collect(
    library: &LoadedLibrary,
    area: &mut Option<Area>,
    asked: (u32, Lane, &str),
    room: u32,
) -> (Response, Vec<u8>) {
    if area.as_ref().is_none_or(|area| area.room() != room as usize) {
        // The old memory goes first: both together might exceed the limit.
        *area = None;
        *area = Area::new(room as usize).ok();
    }
    let Some(area) = area else {
        let failed = calls::failed(asked.0, "there is no memory for a buffer of this size");
        return (failed, Vec::new());
    };
    area.renew();
    // SAFETY: the buffer is `room` bytes long.
    let response = unsafe { calls::collect(library, asked, area.start(), room) };
    let given = response.failure.is_none() && response.code == ERROR_SUCCESS;
    let data = if given { area.copy() } else { Vec::new() };
    (response, data)
}
