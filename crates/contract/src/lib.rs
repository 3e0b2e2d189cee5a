//! The contract of extensible performance counters, between the performance library and a
//! provider: the three functions Open, Collect and Close, and their registration.
//!
//! [`provider_library!`] turns any [`Provider`](perfhive_engine::Provider) into
//! a library with these functions, for Windows (`.dll`) and for perfhive's own
//! loader (`.so`). The same contract in C is `include/perfhive_provider.h`.
//!
//! | to | use |
//! |---|---|
//! | make a library of a provider | [`provider_library!`], [`Library`] |
//! | give counters of other machines | [`foreign`]: connections that are made and kept inside Collect |
//! | write warnings to the system's log | [`log`] |
//! | write a library in C | [`c_header`] |
//! | say what a library is and how it is called | [`ProviderDefinition`], [`Functions`] |
//! | register and unregister libraries | [`Registrar`] |
//! | read what is registered | [`Registrar::registrations`]: a [`Registration`] for each library |
//! | call a library, or write a loader | [`abi`]: types and error codes |
//!
//! ```
//! use perfhive_contract::Registration;
//!
//! // What a reader needs to know of a library.
//! let mut shop = Registration::new("Shop", "/opt/shop/shop.so", "CollectShop");
//! shop.open = Some("OpenShop".to_string());
//! assert_eq!(shop.collect_timeout, Registration::TIMEOUT);
//! ```
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[allow(unsafe_code, reason = "the edge to foreign code")]
pub mod abi;
pub mod foreign;
mod header;
#[allow(unsafe_code, reason = "the edge to foreign code")]
mod library;
pub mod log;
mod registrar;
mod registration;

pub use header::c_header;
pub use library::{
    AllottedIndexes, IndexLookup, Library, LinkageLookup, Lowered, MessageSink, PinLibrary,
};
pub use registrar::{
    Change, DeclaredCounter, DeclaredObject, Functions, ProviderDefinition, RegisterError,
    RegisterErrorKind, RegisterFault, Registrar, Texts,
};
pub use registration::{
    InstanceKind, RegisteredCounter, RegisteredObject, Registration, Registrations,
};

/// [`provider_library!`] under the name that it has on Windows.
pub use provider_library as provider_dll;
