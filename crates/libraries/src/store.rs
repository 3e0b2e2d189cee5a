//! The hive on disk: its place, and changes that leave it whole whenever a program is killed.
//!
//! A hive is one file. It is changed under a lock: another file is written beside it and renamed,
//! so that readers find the old hive or the new one at every moment.

mod trust;
mod watch;

use crate::hive::{Hive, HiveFault, MAX_HIVE, Scope};
use perfhive_contract::{
    Change, Functions, ProviderDefinition, RegisterError, RegisterErrorKind, RegisterFault,
    Registrar, Registration, Registrations,
};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use trust::{Refusal, Trust};
pub use watch::{ReadHives, Watch};

/// The environment variable that names a folder in place of all usual folders: its folder `system` has
/// the machine's hive, `user` the user's hive, and `accounts` the accounts. A program with more rights
/// than its caller ignores the variable.
pub const FOLDER_VARIABLE: &str = "PERFHIVE_HIVE";

/// The longest time that a change of a hive waits for the lock of the hive.
const PATIENCE: Duration = Duration::from_secs(10);

/// A hive on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiveFile {
    scope: Scope,
    folder: PathBuf,
    file: PathBuf,
}

/// A step of a change of a hive. [`HiveFile::change`] reports each step before it happens; only tests
/// listen to the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Folder,
    Lock,
    Read,
    TakeAwayOld,
    Create,
    Write,
    Sync,
    Rename,
    SyncFolder,
    Unlock,
    Done,
}

impl HiveFile {
    /// The hive of this scope in a folder: the file `hive`. The first change creates the folder and
    /// the file.
    #[must_use]
    pub fn new(scope: Scope, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let file = folder.join("hive");
        Self { scope, folder, file }
    }

    /// The hive of the whole machine: in `/var/lib/perfhive`, or in the folder `system` of the
    /// folder that [`FOLDER_VARIABLE`] names.
    #[must_use]
    pub fn system() -> Self {
        let folder = instead_of("system").unwrap_or_else(|| "/var/lib/perfhive".into());
        Self::new(Scope::System, folder)
    }

    /// The user's own hive: in the folder `user` of the folder that [`FOLDER_VARIABLE`] names, or else
    /// in `perfhive` of `$XDG_CONFIG_HOME` or `$HOME/.config`, which must be absolute paths. `None` if
    /// none of these variables can be used, and in a program with more rights than its caller.
    #[must_use]
    pub fn user() -> Option<Self> {
        let home = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = instead_of("user").or_else(|| {
            let config = home("XDG_CONFIG_HOME").or_else(|| Some(home("HOME")?.join(".config")));
            config.map(|config| config.join("perfhive"))
        });
        folder.map(|folder| Self::new(Scope::User, folder))
    }

    /// The hives that a reader reads: the machine's, then the user's if its folder is known.
    #[must_use]
    pub fn all() -> Vec<Self> {
        [Some(Self::system()), Self::user()].into_iter().flatten().collect()
    }

    /// The scope of the hive.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The path of the hive's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Reads the hive from its file, with the faults in it; `None` if there is no file. It is an
    /// error if the file is not trusted, cannot be read or is too large, and if it is missing and
    /// another user could create it.
    fn read(&self, trust: Trust) -> Result<Option<(Hive, Vec<HiveFault>)>, RegisterError> {
        let io_error = |error: io::Error| {
            RegisterError::new(
                RegisterErrorKind::Io,
                format!("cannot read {}: {error}", self.place()),
            )
        };
        let file = match trust.open(&self.file) {
            Ok((file, _)) => file,
            Err(Refusal::NotFound) => return Ok(None),
            Err(Refusal::Io { error, .. }) if error.kind() != io::ErrorKind::PermissionDenied => {
                return Err(io_error(error));
            }
            Err(refusal) => {
                let message = format!("{} is not read: {refusal}", self.place());
                return Err(RegisterError::new(RegisterErrorKind::Denied, message));
            }
        };
        let mut bytes = Vec::new();
        file.take(MAX_HIVE as u64 + 1).read_to_end(&mut bytes).map_err(io_error)?;
        if bytes.len() > MAX_HIVE {
            let message =
                format!("{} is larger than {} MiB; no hive is", self.place(), MAX_HIVE >> 20);
            return Err(RegisterError::new(RegisterErrorKind::Damaged, message));
        }
        Ok(Some(Hive::parse(self.scope, &bytes)))
    }

    /// Reads the hive as [`read`](Self::read) does, but returns `None` for every file that is
    /// missing, even where another user could create it, as with a `HOME` below `/tmp`. If the file
    /// comes later, it is tested then.
    fn read_if_there(&self, trust: Trust) -> Result<Option<(Hive, Vec<HiveFault>)>, RegisterError> {
        self.read(trust).or_else(|refused| {
            let found = std::fs::symlink_metadata(&self.file);
            let is_missing = found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            if is_missing { Ok(None) } else { Err(refused) }
        })
    }

    /// Reads the hive to change it; an empty hive if there is no file. A damaged hive is an error.
    fn read_whole(&self) -> Result<Hive, RegisterError> {
        let Some((hive, faults)) = self.read(Trust::of_caller())? else {
            return Ok(Hive::new(self.scope));
        };
        let Some(fault) = faults.first() else { return Ok(hive) };
        let message = format!(
            "{} is damaged, and a change would lose what cannot be read; mend it or move it \
             away: {fault}",
            self.place()
        );
        Err(RegisterError::new(RegisterErrorKind::Damaged, message))
    }

    /// Changes the hive with `change` while holding the hive's lock, and writes the hive if it is
    /// different afterwards. Returns the result of `change`. `step` is called before each step.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Hive) -> Result<T, RegisterError>,
        step: &mut dyn FnMut(Step),
    ) -> Result<T, RegisterError> {
        let shared = self.scope == Scope::System;
        // A path that is not trusted ends the change here, before anything is created: neither a hive
        // that readers would refuse, nor root's folder in the home of another user.
        self.read(Trust::of_caller())?;
        step(Step::Folder);
        self.make_folder(if shared { 0o755 } else { 0o700 })?;
        step(Step::Lock);
        let lock = self.lock()?;
        step(Step::Read);
        let mut hive = self.read_whole()?;
        let before = hive.clone();
        let answer = change(&mut hive)?;
        if hive != before {
            self.write(hive.to_text().as_bytes(), if shared { 0o644 } else { 0o600 }, step)?;
        }
        step(Step::Unlock);
        drop(lock);
        step(Step::Done);
        Ok(answer)
    }

    /// Creates the hive's folder with these mode bits. A folder that exists is left as it is.
    fn make_folder(&self, mode: u32) -> Result<(), RegisterError> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let failed = |error: io::Error| self.failed("create the folder of", &error);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(mode).create(&self.folder).map_err(failed)?;
        // Whatever the umask is, all users must be able to read the machine's hive.
        std::fs::set_permissions(&self.folder, std::fs::Permissions::from_mode(mode))
            .map_err(failed)
    }

    /// Takes the lock of the hive. It is an error if another program holds the lock for
    /// [`PATIENCE`].
    fn lock(&self) -> Result<File, RegisterError> {
        let failed = |error: io::Error| self.failed("lock", &error);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(self.folder.join("lock"))
            .map_err(failed)?;
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    let message = format!(
                        "another registration has been at {} for {} seconds; try again when it \
                         has ended",
                        self.place(),
                        PATIENCE.as_secs()
                    );
                    return Err(RegisterError::new(RegisterErrorKind::Io, message));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// Replaces the hive's file by a file with these bytes and mode bits.
    fn write(
        &self,
        bytes: &[u8],
        mode: u32,
        step: &mut dyn FnMut(Step),
    ) -> Result<(), RegisterError> {
        let new = self.folder.join("hive.new");
        let failed = |error: io::Error| self.failed("write", &error);
        // A registration that was killed may have left this file.
        step(Step::TakeAwayOld);
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        step(Step::Create);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)
            .map_err(failed)?;
        let mut complete = || {
            for part in bytes.chunks(4096) {
                step(Step::Write);
                file.write_all(part)?;
            }
            file.set_permissions(std::fs::Permissions::from_mode(mode))?;
            step(Step::Sync);
            file.sync_all()?;
            step(Step::Rename);
            std::fs::rename(&new, &self.file)
        };
        if let Err(error) = complete() {
            // Half a hive must not stay on a full disk.
            let _ = std::fs::remove_file(&new);
            return Err(failed(error));
        }
        step(Step::SyncFolder);
        // Readers see the new file already. This keeps the renaming if power is lost.
        let folder = File::open(&self.folder).map_err(failed)?;
        folder.sync_all().map_err(failed)
    }

    /// The error for a failed system call. `what` is the failed action in the words of the message,
    /// such as `write`. If a right is missing, the message says how to get on.
    fn failed(&self, what: &str, error: &io::Error) -> RegisterError {
        let denied = matches!(
            error.kind(),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        );
        let way_out = match self.scope {
            Scope::System if denied => "; that takes root, or register for your user with --user",
            Scope::User if denied => {
                "; it must be a folder of yours, or name another in XDG_CONFIG_HOME"
            }
            _ => "",
        };
        let kind = if denied { RegisterErrorKind::Denied } else { RegisterErrorKind::Io };
        RegisterError::new(kind, format!("cannot {what} {}: {error}{way_out}", self.place()))
    }
}

/// Checks that a reader of this user would load the library of a registration: it is there and trusted.
fn check_library(one: &Registration) -> Result<(), RegisterError> {
    let library = one.library.display();
    match Trust::of_caller().open(&one.library) {
        Ok(_) => Ok(()),
        Err(Refusal::NotFound) => {
            let message = format!("there is no library {library}; build or install it first");
            Err(RegisterError::new(RegisterErrorKind::Invalid, message))
        }
        Err(refusal) => {
            let message = format!("{library} would not be loaded: {refusal}");
            Err(RegisterError::new(RegisterErrorKind::Denied, message))
        }
    }
}

impl Registrar for HiveFile {
    fn place(&self) -> String {
        self.file.display().to_string()
    }

    fn register(
        &mut self,
        definition: &ProviderDefinition,
        functions: &Functions,
    ) -> Result<(Registration, Change), RegisterError> {
        let change = |hive: &mut Hive| {
            let (one, change) = hive.register(definition, functions)?;
            check_library(&one)?;
            Ok((one, change))
        };
        self.change(change, &mut |_| ())
    }

    fn check(
        &self,
        definition: &ProviderDefinition,
        functions: &Functions,
    ) -> Result<(), RegisterError> {
        let mut hive = self.read_whole()?;
        if functions.library.is_some() || hive.get(&definition.name).is_some() {
            return check_library(&hive.register(definition, functions)?.0);
        }
        // A placeholder, to test the rest.
        let functions = Functions { library: Some("/library".into()), ..functions.clone() };
        hive.register(definition, &functions).map(drop)
    }

    fn unregister(&mut self, name: &str) -> Result<Registration, RegisterError> {
        // Without a hive nothing is created.
        if self.read(Trust::of_caller())?.is_none() {
            return Hive::new(self.scope).unregister(name);
        }
        self.change(|hive| hive.unregister(name), &mut |_| ())
    }

    fn enable(&mut self, name: &str) -> Result<bool, RegisterError> {
        // If the provider is not disabled, nothing is written and no right to write is needed.
        let disabled = |hive: &Hive| hive.get(name).is_some_and(|one| one.disabled);
        match self.read(Trust::of_caller())? {
            Some((hive, _)) if disabled(&hive) => {
                self.change(|hive| Ok(hive.enable(name)), &mut |_| ())
            }
            _ => Ok(false),
        }
    }

    fn registrations(&self) -> Result<(Registrations, Vec<RegisterFault>), RegisterError> {
        let mut all = Registrations::none();
        let mut faults = Vec::new();
        let Some((hive, damaged)) = self.read_if_there(Trust::of_caller())? else {
            return Ok((all, faults));
        };
        faults.extend(damaged.iter().chain(&hive.warnings).map(|fault| self.fault(fault)));
        hive.add_to(&mut all, &self.place(), &mut faults);
        for one in &all.providers {
            if let Err(refusal) = Trust::of_caller().open(&one.library) {
                faults.push(not_loaded(self, one, &refusal));
            }
        }
        Ok((all, faults))
    }
}

impl HiveFile {
    fn fault(&self, fault: &HiveFault) -> RegisterFault {
        RegisterFault::new(format!("{}:{}", self.place(), fault.line), fault.message.as_str())
    }
}

/// The fault of a registration with a library that is not loaded; the fault's place is the hive's
/// file.
fn not_loaded(file: &HiveFile, one: &Registration, refusal: &Refusal) -> RegisterFault {
    let mut fault = not_loaded_by_name(one, refusal);
    fault.place = file.path().display().to_string();
    fault
}

/// The fault of a registration with a library that is not loaded; the fault's place is the
/// registration's name.
fn not_loaded_by_name(one: &Registration, refusal: &Refusal) -> RegisterFault {
    let library = one.library.display();
    let message = match refusal {
        Refusal::NotFound => format!("its library {library} is not there"),
        refusal => format!("its library {library} is not loaded: {refusal}"),
    };
    RegisterFault::new(one.name.as_str(), message)
}

/// The folder of this user's accounts: the folder `accounts` of the folder that [`FOLDER_VARIABLE`]
/// names, or else `perfhive/providers` in `$XDG_STATE_HOME` or `$HOME/.local/state`, which must be
/// absolute paths. `None` if none of these variables can be used, and in a program with more rights than
/// its caller.
#[must_use]
pub fn accounts() -> Option<PathBuf> {
    instead_of("accounts").or_else(|| {
        let home = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = home("XDG_STATE_HOME").or_else(|| Some(home("HOME")?.join(".local/state")));
        state.map(|state| state.join("perfhive/providers"))
    })
}

/// Whether this process has the rights of root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The folder `name` in the folder that [`FOLDER_VARIABLE`] names, which replaces a usual folder.
/// `None` if the variable is missing or empty, and in a program with more rights than its caller.
fn instead_of(name: &str) -> Option<PathBuf> {
    // An empty value must not mean the current folder.
    let folder = variable(FOLDER_VARIABLE).filter(|folder| !folder.is_empty())?;
    let folder = PathBuf::from(folder);
    let folder =
        if folder.is_absolute() { folder } else { std::env::current_dir().ok()?.join(folder) };
    Some(folder.join(name))
}

/// The value of an environment variable; `None` without it, and in a program with more rights than
/// its caller, because the caller chose the environment.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| !has_more_rights())
}

/// Whether this program has more rights than its caller, by bits or capabilities of its file.
#[allow(unsafe_code, reason = "one call of the C library")]
fn has_more_rights() -> bool {
    // SAFETY: reads a word that the kernel gave the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(test)]
mod tests;
