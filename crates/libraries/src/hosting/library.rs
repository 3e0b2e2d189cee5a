//! A loaded library, and calls of its three functions.

use core::ffi::{c_char, c_void};
#[cfg(unix)]
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
#[cfg(windows)]
use libloading::os::windows::{LOAD_WITH_ALTERED_SEARCH_PATH, Library};
use perfhive_contract::abi::{
    CloseFunction, CollectFunction, HOST_SUFFIX, Host, HostFunction, OpenFunction, wide_list,
};
use std::cell::RefCell;
use std::ffi::CString;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The part of a registration that is needed to load its library.
pub(crate) struct Names<'a> {
    pub(crate) library: &'a Path,
    pub(crate) open: Option<&'a str>,
    pub(crate) collect: &'a str,
    pub(crate) close: Option<&'a str>,
    pub(crate) first_counter: u32,
    pub(crate) first_help: u32,
}

/// The three functions of a library. The library stays loaded as long as the process lives,
/// because it may have started threads that are still in its code.
pub(crate) struct LoadedLibrary {
    open: Option<OpenFunction>,
    collect: CollectFunction,
    close: Option<CloseFunction>,
    /// The reports that the library's own threads made.
    stray: &'static StrayReports,
}

/// The result of one call of Collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returned {
    pub(crate) code: u32,
    /// The distance in bytes by which Collect moved the pointer.
    pub(crate) moved: isize,
    pub(crate) bytes: u32,
    pub(crate) objects: u32,
}

impl LoadedLibrary {
    /// Loads a library and finds its functions.
    ///
    /// # Errors
    /// A text that says why the library cannot be loaded.
    ///
    /// # Safety
    /// The library follows the contract, also in code that runs while it is loaded, or this
    /// process may be lost.
    pub(crate) unsafe fn load(names: &Names<'_>) -> Result<Self, String> {
        let path = names.library;
        check_file(path)?;
        let failed = |error: libloading::Error| format!("{}: {error}", path.display());
        // SAFETY: as promised by the caller.
        #[cfg(unix)]
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        // SAFETY: as above. Libraries that it needs are looked for beside it first, as
        // Windows does.
        #[cfg(windows)]
        let library = unsafe { Library::load_with_flags(path, LOAD_WITH_ALTERED_SEARCH_PATH) };
        let library = ManuallyDrop::new(library.map_err(failed)?);
        // SAFETY: by the contract the names of a registration are those of
        // functions with these signatures.
        let loaded = unsafe {
            Self {
                open: names.open.map(|name| function(&library, path, name)).transpose()?,
                collect: function(&library, path, names.collect)?,
                close: names.close.map(|name| function(&library, path, name)).transpose()?,
                stray: Box::leak(Box::default()),
            }
        };
        let name = format!("{}{HOST_SUFFIX}", names.collect);
        // SAFETY: as above; a library need not have this one.
        if let Ok(tell) = unsafe { function::<HostFunction>(&library, path, &name) } {
            let host: &'static Host = Box::leak(Box::new(Host {
                size: size_of::<Host>() as u32,
                first_counter: names.first_counter,
                first_help: names.first_help,
                reserved: 0,
                context: core::ptr::from_ref(loaded.stray).cast_mut().cast(),
                report: Some(report),
            }));
            // SAFETY: the structure and its context live for ever; `report` may
            // be called from any thread.
            unsafe { tell(host) };
        }
        Ok(loaded)
    }

    /// Calls Open with the linkage as a list of strings, or with NULL for `None`. Returns the error
    /// code, and the messages that the library reported during the call or since the last call. A
    /// library without Open gives 0.
    pub(crate) fn open(&self, linkage: Option<&str>) -> (u32, Vec<String>) {
        let mut linkage = linkage.map(wide_list);
        let list = linkage.as_mut().map_or(core::ptr::null_mut(), |list| list.as_mut_ptr());
        listen(self.stray, || match self.open {
            // SAFETY: NULL or a list ended by two NULs, which stays meanwhile.
            Some(open) => unsafe { open(list) },
            None => 0,
        })
    }

    /// Calls Collect with a value string, which gets a NUL if it has none, and a buffer. Returns
    /// its result, and the messages that the library reported during the call or since the last
    /// call.
    ///
    /// # Safety
    /// `room` bytes behind `start` may be written.
    pub(crate) unsafe fn collect(
        &self,
        value: &mut Vec<u16>,
        start: *mut u8,
        room: u32,
    ) -> (Returned, Vec<String>) {
        if value.last() != Some(&0) {
            value.push(0);
        }
        listen(self.stray, || {
            let (mut data, mut bytes, mut objects) = (start.cast::<c_void>(), room, 0);
            // SAFETY: the value is terminated; the caller promises the buffer.
            let code =
                unsafe { (self.collect)(value.as_mut_ptr(), &mut data, &mut bytes, &mut objects) };
            let moved = (data as isize).wrapping_sub(start as isize);
            Returned { code, moved, bytes, objects }
        })
    }

    /// Calls the library's Close, if it has one.
    pub(crate) fn close(&self) {
        if let Some(close) = self.close {
            // SAFETY: one Open succeeded before.
            listen(self.stray, || unsafe { close() });
        }
    }
}

/// Checks the path of a library before it is loaded. It is an error, in words, if the path is not
/// absolute or leads to no file. On Unix it is also an error if the library belongs to neither root
/// nor this user, or all users may write it: its code would run with this user's rights.
fn check_file(path: &Path) -> Result<(), String> {
    let shown = path.display();
    if !path.is_absolute() {
        // On Windows a name was looked up in the folders for libraries before.
        let why = if cfg!(windows) {
            "not a full path, and not found in the folders that Windows searches for libraries"
        } else {
            "a library is registered with its full path"
        };
        return Err(format!("{shown}: {why}"));
    }
    let meta = std::fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    if !meta.is_file() {
        return Err(format!("{shown}: no file"));
    }
    #[cfg(unix)]
    check_owner(&shown, &meta)?;
    Ok(())
}

#[cfg(unix)]
fn check_owner(shown: &impl std::fmt::Display, meta: &std::fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != 0 && meta.uid() != me {
        return Err(format!("{shown}: belongs to neither root nor the user that is to run it"));
    }
    if meta.mode() & 0o002 != 0 {
        return Err(format!("{shown}: all users may write to it (chmod o-w)"));
    }
    Ok(())
}

/// The function that the library exports under this name. `Err` is a text that says that there is
/// none; `path` is the library's file, for this text.
///
/// # Safety
/// The library's symbol of this name, if there is one, is an `F`, which is a function pointer.
unsafe fn function<F: Copy>(library: &Library, path: &Path, name: &str) -> Result<F, String> {
    let shown = path.display();
    let symbol = CString::new(name).map_err(|_| format!("{name:?} is not a name of a function"))?;
    // SAFETY: as promised by the caller.
    let found = unsafe { library.get::<F>(symbol.as_bytes_with_nul()) };
    let found = found.map_err(|_| format!("{shown} has no function {name}"))?;
    // A weak symbol may have no address.
    let function = *found;
    if found.as_raw_ptr().is_null() {
        return Err(format!("{shown} has no function {name}"));
    }
    Ok(function)
}

/// The reports that a library made outside of calls.
type StrayReports = Mutex<Vec<String>>;

/// Adds a report, cut to the greatest length of a message, to the messages, unless there are
/// already [`MESSAGES`](crate::hosting::wire::MESSAGES) messages.
fn keep(messages: &mut Vec<String>, text: &[u8]) {
    if messages.len() < crate::hosting::wire::MESSAGES {
        messages.push(crate::hosting::wire::cut(&String::from_utf8_lossy(text)).to_string());
    }
}

thread_local! {
    /// Reports that are made during a call on this thread; `None` outside of calls.
    static REPORTS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Runs a call of a library. Returns the call's result, and the reports that the library made
/// during this call or since the last call.
fn listen<T>(stray: &StrayReports, call: impl FnOnce() -> T) -> (T, Vec<String>) {
    REPORTS.set(Some(Vec::new()));
    let answer = call();
    let mut reports = REPORTS.take().unwrap_or_default();
    let mut stray = stray.lock().unwrap_or_else(PoisonError::into_inner);
    stray.drain(..).for_each(|text| keep(&mut reports, text.as_bytes()));
    (answer, reports)
}

/// The function [`Host::report`], by which a library reports a message: keeps it for the call that
/// this thread makes, or else for the next one.
///
/// # Safety
/// `context` is the [`StrayReports`] of a library, `length` bytes behind `text` can be read.
unsafe extern "system" fn report(context: *mut c_void, text: *const c_char, length: usize) {
    if context.is_null() || text.is_null() {
        return;
    }
    // If the length is wrong, less memory is read beyond the text.
    let length = length.min(4096);
    // SAFETY: as promised by the caller; the context was made from a
    // reference that lives for ever.
    let (text, stray) = unsafe {
        (core::slice::from_raw_parts(text.cast::<u8>(), length), &*context.cast::<StrayReports>())
    };
    let heard = REPORTS.try_with(|reports| match reports.try_borrow_mut().as_deref_mut() {
        Ok(Some(reports)) => {
            keep(reports, text);
            true
        }
        _ => false,
    });
    // The thread is ending, or not in a call.
    if !heard.unwrap_or(false) {
        keep(&mut stray.lock().unwrap_or_else(PoisonError::into_inner), text);
    }
}
