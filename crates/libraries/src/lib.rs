//! Registered provider libraries.
//!
//! | to | use |
//! |---|---|
//! | read registered libraries as providers of a broker | [`ExtensionRoster`] with [`HostOptions`] |
//! | give libraries a host process | [`HostCommand`]; the program that it starts calls [`host::main`] |
//! | read what a provider says about itself | [`definition`]: `.ini` files and manifests |
//! | find the functions that a library exports | [`functions`] |
//! | register or unregister a library where there is no registry | `store::HiveFile`, a [`Registrar`](perfhive_contract::Registrar) on Linux |
//! | decide which files are trusted, and follow their changes | `store::Trust`, `store::Watch` |
//! | read or write the text of registrations | [`hive::Hive`] |
//! | test one library against the contract | [`check`] |
//! | end the quarantine of a library, or remove its account | [`enable`], [`forget`] |
//!
//! A library runs in a host process of its own ([`HostCommand`]): a crash, an endless
//! loop, a leak or a write outside of its buffer costs its own objects and nothing else.
//! The objects that a library delivers pass the tests of Windows' performance library before
//! a reader sees them. On Windows the system's own performance library loads registered
//! libraries; on Windows this crate is therefore only for definitions and for [`check`].
//!
//! ```no_run
//! use perfhive_libraries::definition::{ReadOptions, read};
//!
//! let read = read("/opt/shop/shop.ini".as_ref(), &ReadOptions::default())?;
//! for definition in &read.value {
//!     println!("{} has {} objects", definition.name, definition.objects.len());
//! }
//! for warning in &read.warnings {
//!     eprintln!("{warning}");
//! }
//! # Ok::<(), perfhive_libraries::definition::DefinitionError>(())
//! ```
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

pub mod definition;
pub mod functions;
pub mod hive;
#[cfg(any(target_os = "linux", windows))]
mod hosting;
#[cfg(target_os = "linux")]
pub mod store;

#[cfg(any(target_os = "linux", windows))]
pub use hosting::*;
