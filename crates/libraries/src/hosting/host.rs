//! The process in which a library runs.
//!
//! The process starts with one end of a pair of sockets as its standard input, and the shared memory
//! as its standard output. Before it loads a library, it gives up everything that a provider does not
//! need: other descriptors, further privileges, unlimited memory, and a life longer than its
//! reader's.

mod confine;
mod supervise;

use crate::hosting::area::Area;
use crate::hosting::calls;
use crate::hosting::library::LoadedLibrary;
use crate::hosting::wire::{LONGEST, Lane, Request, Response};
use confine::confine;
pub(crate) use confine::is_supervised;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::fs::File;
use std::process::ExitCode;

/// Runs the host until its reader closes the library or ends. A program that is its own host calls
/// this function first in `main` if it was started with the arguments of its
/// [`HostCommand`](crate::HostCommand), and returns the result.
#[must_use]
pub fn main() -> ExitCode {
    if rustix::net::sockopt::socket_type(rustix::stdio::stdin()).is_err() {
        eprintln!("perfhive starts this program itself, to run providers in");
        return ExitCode::from(2);
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        // The reader sees that the host is gone.
        Err(_) => ExitCode::FAILURE,
    }
}

/// The exit status of a host with a version that differs from its reader's.
pub(crate) const OTHER_VERSION: i32 = 86;

/// Answers the requests of the reader until the library is closed or the reader is gone.
fn serve() -> Result<(), Errno> {
    let mut first = true;
    let (socket, memory) = take_over()?;
    let mut packet = vec![0u8; LONGEST];
    let mut library: Option<LoadedLibrary> = None;
    let mut area: Option<Area> = None;
    loop {
        let length = match recv(&socket, &mut packet[..], RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let request = packet.get(..length).and_then(Request::decode);
        let response = match (request, &library) {
            (Some(Request::Open(request)), None) => {
                let note = confine(&request)?;
                let (mut response, loaded) = calls::open(&request);
                library = loaded;
                // The library may have failed because of what the process may not do.
                if let (Some(failure), Some(note)) = (&mut response.failure, &note) {
                    failure.push_str("; ");
                    failure.push_str(note);
                }
                Response { note, ..response }
            }
            (Some(Request::Collect { id, lane, room, value }), Some(library)) => {
                collect(library, &mut area, &memory, (id, lane, &value), room)
            }
            (Some(Request::Close), Some(library)) => {
                library.close();
                return Ok(());
            }
            (None, _) if first && length > 0 => std::process::exit(OTHER_VERSION),
            (Some(request), Some(library)) => match calls::conduct(&request, library) {
                Some(response) => response,
                None => return Ok(()),
            },
            // The reader is gone, or its request is invalid.
            _ => return Ok(()),
        };
        first = false;
        send(&socket, &response.encode(), SendFlags::NOSIGNAL)?;
    }
}

/// Moves the socket (standard input) and the shared memory (standard output) to other descriptors,
/// which no library writes to by mistake, and closes all further ones. Returns the socket and the
/// memory.
fn take_over() -> Result<(OwnedFd, OwnedFd), Errno> {
    // A session of its own: Ctrl-C at a terminal is for the reader, and where the kernel
    // shares processors between sessions (autogroup), all threads of a library together get
    // no more of them than the reader. The call fails only if the process leads a session already.
    let _ = rustix::process::setsid();
    // Started by its descriptor, the process would be called `exe`.
    let _ = rustix::thread::set_name(c"perfhive-host");
    let socket = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let memory = fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    rustix::stdio::dup2_stdin(null.as_fd())?;
    rustix::stdio::dup2_stdout(null.as_fd())?;
    rustix::stdio::dup2_stderr(null.as_fd())?;
    drop(null);
    // Closes descriptors that the reader left open for its children.
    use std::os::fd::AsRawFd as _;
    let mut from = 3u32;
    let mut ours = [socket.as_raw_fd(), memory.as_raw_fd()].map(|fd| fd.unsigned_abs());
    ours.sort_unstable();
    for fd in ours.into_iter().chain([u32::MAX]) {
        if from < fd {
            // SAFETY: nothing in this process knows any of these descriptors:
            // it has just begun, and its own two are left out.
            unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, 0) };
        }
        from = fd.saturating_add(1);
    }
    Ok((socket, memory))
}

/// Calls Collect with the shared memory as its buffer, of which `room` bytes are mapped into `area`
/// if it has another size. `asked` is the number of the request, the lane and the value string.
fn collect(
    library: &LoadedLibrary,
    area: &mut Option<Area>,
    memory: &OwnedFd,
    asked: (u32, Lane, &str),
    room: u32,
) -> Response {
    if area.as_ref().is_none_or(|area| area.room() != room as usize) {
        // The old mapping goes first: both together might exceed the limit.
        *area = None;
        *area = Area::map(memory, room as usize).ok();
    }
    let Some(area) = area else {
        return calls::failed(asked.0, "there is no memory for a buffer of this size");
    };
    area.renew();
    // SAFETY: the buffer is mapped, and `room` bytes long.
    let response = unsafe { calls::collect(library, asked, area.start(), room) };
    area.note_used(isize::try_from(response.moved).unwrap_or(isize::MAX));
    response
}
