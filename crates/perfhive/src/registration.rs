//! Registering providers: what `lodctr` and `unlodctr` do on Windows.
//!
//! [`definitions`] reads a definition file: an `.ini` file with its symbol file, or a
//! manifest. [`registrar`] gives the place that keeps registrations on this system.
//!
//! ```no_run
//! use perfhive::registration::{
//!     Functions, ReadOptions, Scope, definitions, find_functions, registrar,
//! };
//!
//! let mut registrar = registrar(Scope::User)?;
//! let library = Some("/opt/x/x.so".into());
//! let mut functions = Functions { library, ..Functions::default() };
//! find_functions(&mut functions)?;
//! for definition in definitions("/opt/x/x.ini".as_ref(), &ReadOptions::default())?.value {
//!     let (one, _) = registrar.register(&definition, &functions)?;
//!     println!("{}: names from {}", one.name, one.first_counter);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use perfhive_contract::{
    Change, DeclaredCounter, DeclaredObject, Functions, InstanceKind, ProviderDefinition,
    RegisterError, RegisterErrorKind, RegisterFault, Registrar, Registration, Registrations, Texts,
};
pub use perfhive_libraries::definition::{
    DefinitionError, FileEncoding, ReadOptions, UnknownEncoding, WithWarnings, read as definitions,
};
pub use perfhive_libraries::functions::fill as find_functions;
pub use perfhive_libraries::hive::Scope;

/// The registrar of this system for a scope, the whole machine or the user. It keeps registrations
/// in the registry on Windows, and on Linux in a file, which the manual describes.
///
/// # Errors
/// Where the system has no place for registrations of this scope, or the environment names no home.
pub fn registrar(scope: Scope) -> Result<Box<dyn Registrar>, RegisterError> {
    on_this_system(scope)
}

#[cfg(target_os = "linux")]
fn on_this_system(scope: Scope) -> Result<Box<dyn Registrar>, RegisterError> {
    use perfhive_libraries::store::HiveFile;

    let hive = match scope {
        Scope::System => Some(HiveFile::system()),
        Scope::User => HiveFile::user(),
    };
    let hive = hive.ok_or_else(|| {
        let message = "the environment names no home (HOME); register for the whole machine with \
                       --system";
        RegisterError::new(RegisterErrorKind::Invalid, message)
    })?;
    Ok(Box::new(hive))
}

#[cfg(windows)]
fn on_this_system(scope: Scope) -> Result<Box<dyn Registrar>, RegisterError> {
    match scope {
        Scope::System => Ok(Box::new(perfhive_windows::WindowsRegistrar::new())),
        Scope::User => {
            let message = "Windows has no registrations of a user, only those of the whole \
                           machine, which take an administrator (--system)";
            Err(RegisterError::new(RegisterErrorKind::Invalid, message))
        }
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
fn on_this_system(_: Scope) -> Result<Box<dyn Registrar>, RegisterError> {
    let message = "providers can be registered on Linux and Windows only so far";
    Err(RegisterError::new(RegisterErrorKind::Invalid, message))
}

/// The default scope of a registration: on Linux the whole machine for root, and the user for other
/// users; on other systems the whole machine.
#[must_use]
pub fn usual_scope() -> Scope {
    #[cfg(target_os = "linux")]
    if !perfhive_libraries::store::is_root() {
        return Scope::User;
    }
    Scope::System
}
