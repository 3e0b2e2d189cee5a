//! The lower priority of threads that collect costly objects.

/// The number by which the nice value of a thread that collects costly objects is raised.
#[cfg(target_os = "linux")]
const LOWERED: i32 = 10;
/// The nice value of the lowest priority.
#[cfg(target_os = "linux")]
const LOWEST: i32 = 19;

/// Lowers the priority of this thread for good: raises its nice value by [`LOWERED`], to [`LOWEST`]
/// at most. If the system refuses, nothing changes.
#[cfg(target_os = "linux")]
pub(crate) fn lower() {
    // The nice value is raised from what it is, because it may be high already. If the system
    // refuses, it stays.
    let me = rustix::thread::gettid();
    let own = rustix::process::getpriority_process(Some(me)).unwrap_or(0);
    let _ = rustix::process::setpriority_process(Some(me), (own + LOWERED).min(LOWEST));
}

/// Lowers the priority of this thread for good, to the lowest above idle. If the system refuses,
/// nothing changes.
#[cfg(windows)]
pub(crate) fn lower() {
    use windows_sys::Win32::System::Threading::{
        GetCurrentThread, SetThreadPriority, THREAD_PRIORITY_LOWEST,
    };
    // SAFETY: the handle is a constant that stands for this thread.
    unsafe { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_LOWEST) };
}
