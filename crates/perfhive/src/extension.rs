//! Registered provider libraries, and the process that they run in.
//!
//! On Linux `local:` reads the registered libraries of this machine along with everything
//! else. On Windows the system itself runs them, and this module runs them for [`check`] only.
//!
//! A library runs in a host process of its own. The program for it is an
//! [installed](HostCommand::installed) `perfhive`, unless [`run_in`] names another. A program may be its
//! own host, and then needs nothing else installed:
//!
//! ```no_run
//! use perfhive::extension::{HostCommand, host_main, run_in};
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     if std::env::args().nth(1).as_deref() == Some("perfhive-host") {
//!         return host_main();
//!     }
//!     if let Ok(host) = HostCommand::this_program("perfhive-host") {
//!         run_in(host);
//!     }
//!     // ... what the program is there for.
//!     ExitCode::SUCCESS
//! }
//! ```

pub use perfhive_contract::{Registration, c_header, provider_library};
pub use perfhive_libraries::host::main as host_main;
pub use perfhive_libraries::{
    ExtensionRoster, Finding, HostCommand, HostOptions, RegistrationSource, Severity, Verdict,
    check, check_with,
};

use std::sync::OnceLock;

#[cfg(target_os = "linux")]
pub(crate) use registered::with_registered;

static HOST: OnceLock<HostCommand> = OnceLock::new();

/// Sets the program that libraries run in, for all sources that this process opens from now on.
/// Only the first call has an effect. Returns whether this is the first call.
pub fn run_in(host: HostCommand) -> bool {
    HOST.set(host).is_ok()
}

/// The options with which this process runs libraries: the host process that [`run_in`] set, or the
/// installed one; on Linux also the folder of the accounts, files with the failures, quarantine and
/// statistics of each provider for all of the user's programs.
#[must_use]
pub fn options() -> HostOptions {
    let options = HostOptions::new();
    #[cfg(target_os = "linux")]
    let options = match perfhive_libraries::store::accounts() {
        Some(folder) => options.accounts(folder),
        None => options,
    };
    match HOST.get() {
        Some(host) => options.host(host.clone()),
        None => options,
    }
}

/// Enables a registered provider: ends its quarantine for all of the user's programs, and enables
/// its registration if the registration is disabled. Running programs notice within seconds.
/// Returns whether the provider had an [account](options), in quarantine or not, or a disabled
/// registration. On systems other than Linux it does nothing and returns `false`.
///
/// # Errors
/// Where the account or the registration cannot be written. Writing the whole machine's
/// registration takes root.
pub fn enable(provider: &str) -> std::io::Result<bool> {
    let known = match options().accounts {
        Some(folder) => perfhive_libraries::enable(&folder, provider)?,
        None => false,
    };
    Ok(enable_registration(provider)? || known)
}

/// Enables the registration that is in use: the machine's if there is one, or else the user's.
/// Returns whether that registration was disabled.
#[cfg(target_os = "linux")]
fn enable_registration(provider: &str) -> std::io::Result<bool> {
    use perfhive_contract::{RegisterErrorKind, Registrar as _};
    use std::io::{Error, ErrorKind};
    let failed = |error: perfhive_contract::RegisterError| {
        let kind = match error.kind() {
            RegisterErrorKind::Denied => ErrorKind::PermissionDenied,
            _ => ErrorKind::Other,
        };
        Error::new(kind, error.to_string())
    };
    for mut hive in perfhive_libraries::store::HiveFile::all() {
        let is_here = |(all, _): &(perfhive_contract::Registrations, _)| {
            all.providers.iter().any(|one| one.name.eq_ignore_ascii_case(provider))
        };
        // A hive that cannot be read is not in use.
        if hive.registrations().is_ok_and(|registered| is_here(&registered)) {
            return hive.enable(provider).map_err(failed);
        }
    }
    Ok(false)
}

#[cfg(not(target_os = "linux"))]
fn enable_registration(_: &str) -> std::io::Result<bool> {
    Ok(false)
}

/// Removes the [account](options) of a provider, so that a later registration of the same name begins
/// without known failures or quarantine. The provider need not be registered. Returns whether there was
/// an account; on systems other than Linux always `false`.
///
/// # Errors
/// Where the account cannot be removed.
pub fn forget(provider: &str) -> std::io::Result<bool> {
    match options().accounts {
        Some(folder) => perfhive_libraries::forget(&folder, provider),
        None => Ok(false),
    }
}

#[cfg(target_os = "linux")]
mod registered {
    use super::{ExtensionRoster, RegistrationSource, options};
    use perfhive_contract::{RegisterFault, Registrations};
    use perfhive_engine::{BrokerBuilder, Fault, FaultKind};
    use perfhive_libraries::store::{HiveFile, Trust, Watch};
    use std::sync::Arc;
    use std::time::Duration;

    /// The registrations of this machine and of this user.
    struct Registered {
        watch: Watch,
        faults: Vec<Fault>,
    }

    impl RegistrationSource for Registered {
        fn changed(&mut self) -> Option<Arc<Registrations>> {
            let read = self.watch.changed()?;
            let fault = |fault: &RegisterFault| {
                Fault::new(FaultKind::OpenFailed, &fault.place, &fault.message)
            };
            self.faults = read.faults.iter().map(fault).collect();
            Some(read.registrations)
        }

        fn faults(&self) -> &[Fault] {
            &self.faults
        }
    }

    /// Adds the registered providers of this user and of this machine to a broker, which notices
    /// later changes of the registrations. `patience` is the usual time that a reader without a
    /// deadline waits for these providers; `None` means the default time.
    pub(crate) fn with_registered(
        builder: BrokerBuilder,
        patience: Option<Duration>,
    ) -> BrokerBuilder {
        let options = options();
        let options = match patience {
            Some(patience) => options.patience(patience),
            None => options,
        };
        let watch = Watch::new(HiveFile::all(), Trust::of_caller());
        let source = Registered { watch, faults: Vec::new() };
        builder.roster(ExtensionRoster::new(source, options))
    }
}
