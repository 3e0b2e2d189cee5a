//! Registered providers in libraries, and the process that they run in.
//!
//! On Linux `local:` reads what is registered on this machine along with everything
//! else; on Windows the system does, and [`check`] is what is left to this module. A
//! library runs in a process of its own; which program that is, the
//! program that reads may say with [`run_in`]. Otherwise it is the command
//! `perfhive`, beside the program or on the PATH.
//!
//! A program may be that host itself, and then needs nothing else installed:
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
    ExtensionRoster, Finding, HostCommand, Options, RegistrationSource, Severity, Verdict, check,
    check_with,
};

use std::sync::OnceLock;

#[cfg(target_os = "linux")]
pub(crate) use registered::with_registered;

static HOST: OnceLock<HostCommand> = OnceLock::new();

/// Says which program libraries run in, for every source that this process
/// opens from now on. The first to say so is heard; answers whether that is
/// this call.
pub fn run_in(host: HostCommand) -> bool {
    HOST.set(host).is_ok()
}

/// The options of this process' sources. What is known of providers is shared
/// by all of the user's programs.
#[must_use]
pub fn options() -> Options {
    let options = Options::new();
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

/// Has a registered provider asked again: lets it out of quarantine, for all of the user's
/// programs, and changes its registration where that says that it is not to be asked. Those
/// at work notice within seconds. Answers whether there was an account of it, or it was
/// registered so.
///
/// # Errors
/// Where the account or the registration cannot be written; that of the whole machine takes
/// root.
pub fn enable(provider: &str) -> std::io::Result<bool> {
    let known = match options().accounts {
        Some(folder) => perfhive_libraries::enable(&folder, provider)?,
        None => false,
    };
    Ok(enable_registration(provider)? || known)
}

/// Enables the registration that is used: that for the machine goes before one's own.
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
        // Of one that is not read nothing is used.
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

/// Forgets what this user's programs know of a provider: it is no longer
/// registered, or is another now. Answers whether there was anything.
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

    /// What is registered for this user on this machine.
    struct Registered {
        watch: Watch,
        faults: Vec<Fault>,
    }

    impl RegistrationSource for Registered {
        fn changed(&mut self) -> Option<Arc<Registrations>> {
            let loaded = self.watch.changed()?;
            let fault = |fault: &RegisterFault| {
                Fault::new(FaultKind::OpenFailed, &fault.place, &fault.message)
            };
            self.faults = loaded.faults.iter().map(fault).collect();
            Some(loaded.registrations)
        }

        fn faults(&self) -> &[Fault] {
            &self.faults
        }
    }

    /// Adds the providers that are registered for this user on this machine, as
    /// they come and go; readers without a deadline wait so long for them.
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
