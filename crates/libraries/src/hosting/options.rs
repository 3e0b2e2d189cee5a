//! The options of a roster: the host program, limits, waits, accounts and log.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The host program: a program that calls [`host::main`](crate::host::main) when it is started with
/// these arguments, and in which a library then runs.
///
/// On Linux it is started only if it can be trusted like a library: the file and every folder on
/// the way belong to root or the reader, and no other user may write them (a folder above the
/// file's own may be sticky instead, as `/tmp` is). Only [`this_program`](Self::this_program) is
/// started without this test.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostCommand {
    /// The absolute path of the program.
    pub program: PathBuf,
    /// The arguments of the program.
    pub arguments: Vec<OsString>,
}

impl HostCommand {
    /// A host program without arguments. The command `perfhive` is a host with the argument `host`:
    /// see [`perfhive`](Self::perfhive).
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new() }
    }

    /// The command `perfhive` in a place of one's own, with the argument `host` that makes it a host.
    #[must_use]
    pub fn perfhive(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: vec!["host".into()] }
    }

    /// The running program itself, with one argument. The command `perfhive` uses the argument
    /// `host`.
    ///
    /// # Errors
    /// If the system does not know the program's file.
    pub fn this_program(argument: &str) -> io::Result<Self> {
        let program = if cfg!(target_os = "linux") {
            // This very file, even if another one has taken its path since.
            PathBuf::from(THIS_PROGRAM)
        } else {
            std::env::current_exe()?
        };
        Ok(Self { program, arguments: vec![argument.into()] })
    }

    /// The installed host: the absolute path in `PERFHIVE_HOST` when perfhive was built; without
    /// that variable `/usr/bin/perfhive`, or else `/usr/local/bin/perfhive`; its argument is
    /// `host`. `None` if no such file exists. The environment and the folder of the running program
    /// do not count: other users may choose them.
    #[must_use]
    pub fn installed() -> Option<Self> {
        let usual = ["/usr/bin/perfhive", "/usr/local/bin/perfhive"];
        let fixed = option_env!("PERFHIVE_HOST");
        let places = fixed.as_slice().iter().chain(usual.iter().filter(|_| fixed.is_none()));
        let mut programs = places.map(PathBuf::from).filter(|program| program.is_file());
        programs.next().map(Self::perfhive)
    }
}

/// The link to the file of the calling process, which leads there even if another file has taken
/// its path. It is trusted as a host program.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

/// A log: takes lines for the system's log, each a provider's name and a message. The lines are
/// rate-limited already.
pub type LogSink = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// The options for running libraries.
#[derive(Clone)]
#[non_exhaustive]
pub struct HostOptions {
    /// The program that libraries run in; with `None` no library can be read.
    pub host: Option<HostCommand>,
    /// The default address space that a host process may have, in bytes.
    pub memory_limit: u64,
    /// The time that a reader without a deadline waits for libraries, or twice the longest recent
    /// time of a library's calls if that is longer. Objects of a library that is asked for the first
    /// time, and takes longer, appear later. After a wait in vain for a library, a quarter of the
    /// patience counts instead, until one of the library's calls returns.
    pub patience: Duration,
    /// The period in which the roster looks for replaced libraries, and describes anew the
    /// libraries with objects that keep changing.
    pub look_every: Duration,
    /// The pause before a host process is started again after the second crash in a row; the pause
    /// doubles with each further crash, up to a minute. The first restart does not wait. After a library hung
    /// or did not give its objects, the first pause is five times as long and doubles up to five minutes.
    pub pause: Duration,
    /// The folder of accounts, which is made if need be: each provider's statistics, objects, and
    /// pause. All programs of a user that use the folder share these. With `None`, or a folder that
    /// cannot be used, such as one that others may write, each program has an account of its own in
    /// memory.
    pub accounts: Option<PathBuf>,
    /// The log for failures; the system's log by default.
    pub log: LogSink,
}

impl HostOptions {
    /// The default memory limit, in bytes: one GiB, room for a provider and the libraries that it
    /// needs.
    pub const MEMORY_LIMIT: u64 = 1 << 30;
    /// The default of [`patience`](Self::patience), the time that a reader without a deadline
    /// waits: two seconds, which a person at a terminal waits.
    pub const PATIENCE: Duration = Duration::from_secs(2);

    /// The default of [`look_every`](Self::look_every), the period of looking for replaced
    /// libraries: two seconds.
    pub const LOOK_EVERY: Duration = Duration::from_secs(2);
    /// The default of [`pause`](Self::pause), the pause after a second crash: one second, less than
    /// the time between samples of most readers.
    pub const PAUSE: Duration = Duration::from_secs(1);

    /// The pause after the first time that a library hung or did not give its objects: five times
    /// [`pause`](Self::pause).
    pub(crate) fn first_pause(&self) -> Duration {
        self.pause.saturating_mul(5)
    }

    /// The default options, with the host from [`HostCommand::installed`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            host: HostCommand::installed(),
            memory_limit: Self::MEMORY_LIMIT,
            patience: Self::PATIENCE,
            look_every: Self::LOOK_EVERY,
            pause: Self::PAUSE,
            accounts: None,
            log: Arc::new(perfhive_contract::log::warn),
        }
    }

    /// The same options with another host.
    #[must_use]
    pub fn host(mut self, host: HostCommand) -> Self {
        self.host = Some(host);
        self
    }

    /// The same options with another default limit of memory, in bytes.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// The same options with another time that a reader without a deadline waits for libraries.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same options with another period of looking for replaced libraries.
    #[must_use]
    pub fn look_every(mut self, period: Duration) -> Self {
        self.look_every = period;
        self
    }

    /// The same options with another pause before a process is started again.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// The same options with accounts in a folder.
    #[must_use]
    pub fn accounts(mut self, folder: impl Into<PathBuf>) -> Self {
        self.accounts = Some(folder.into());
        self
    }

    /// The same options with another log.
    #[must_use]
    pub fn log(mut self, log: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        self.log = Arc::new(log);
        self
    }
}

impl Default for HostOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostOptions")
            .field("host", &self.host)
            .field("memory_limit", &self.memory_limit)
            .field("patience", &self.patience)
            .field("look_every", &self.look_every)
            .field("pause", &self.pause)
            .field("accounts", &self.accounts)
            .finish_non_exhaustive()
    }
}
