//! The functions that a library exports.

/// Exports a provider as a library: Open, Collect and Close under the given names, and a
/// fourth function that gets the allotted indexes from perfhive's loader
/// ([`abi::HostFunction`](crate::abi::HostFunction)).
///
/// ```
/// # use perfhive_engine::{ObjectWriter, OpenContext, Provider, ProviderDescription};
/// # use perfhive_engine::{Numbering, ProvidedTitles, ProviderError, Session};
/// # struct Gauges;
/// # impl Provider for Gauges {
/// #     fn name(&self) -> &str { "Gauges" }
/// #     fn describe(&self) -> ProviderDescription {
/// #         ProviderDescription::new(Numbering::Allotted, Vec::new())
/// #     }
/// #     fn titles(&self) -> Vec<ProvidedTitles> { Vec::new() }
/// #     fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
/// #         Err(ProviderError::Full)
/// #     }
/// # }
/// perfhive_contract::provider_library! {
///     provider: Gauges,
///     open: OpenGauges,
///     collect: CollectGauges,
///     close: CloseGauges,
/// }
/// # fn main() {}
/// ```
///
/// The provider is an expression that is evaluated at each Open that finds the provider not open.
/// The crate is built with `crate-type = ["cdylib"]`. More entries may follow, in this order:
/// `indexes: LOOKUP`, an [`IndexLookup`](crate::IndexLookup) for systems where no loader passes the
/// indexes (on Windows it reads the registry), `report: REPORT`, a
/// [`MessageSink`](crate::MessageSink) other than the system's log, `linkage: LOOKUP`, a
/// [`LinkageLookup`](crate::LinkageLookup), `lowered: LOWERED`, a [`Lowered`](crate::Lowered), and
/// `pin: PIN`, a [`PinLibrary`](crate::PinLibrary).
#[macro_export]
macro_rules! provider_library {
    (
        provider: $provider:expr,
        open: $open:ident,
        collect: $collect:ident,
        close: $close:ident
        $(, indexes: $lookup:expr)?
        $(, report: $report:expr)?
        $(, linkage: $linkage:expr)?
        $(, lowered: $lowered:expr)?
        $(, pin: $pin:expr)?
        $(,)?
    ) => {
        const _: () = {
            static LIBRARY: $crate::Library = $crate::Library::new(
                || ::std::boxed::Box::new($provider),
                $crate::provider_library!(@or $($lookup)?; |_| ::core::option::Option::None),
                $crate::provider_library!(@or $($report)?; $crate::log::warn),
            )
            $(.linkage($linkage))?
            $(.lowered($lowered))?
            $(.pin($pin))?;

            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "system" fn $open(linkage: *mut u16) -> u32 {
                // SAFETY: the caller keeps to the contract of Open.
                unsafe { LIBRARY.open(linkage) }
            }

            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "system" fn $collect(
                value: *mut u16,
                data: *mut *mut ::core::ffi::c_void,
                bytes: *mut u32,
                object_types: *mut u32,
            ) -> u32 {
                // SAFETY: the caller keeps to the contract of Collect.
                unsafe { LIBRARY.collect(value, data, bytes, object_types) }
            }

            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "system" fn $close() -> u32 {
                LIBRARY.close()
            }

            #[unsafe(export_name = concat!(stringify!($collect), "Host"))]
            unsafe extern "system" fn host(host: *const $crate::abi::Host) {
                // SAFETY: the caller keeps to the contract of `HostFunction`.
                unsafe { LIBRARY.host(host) }
            }
        };
    };
    (@or $given:expr; $default:expr) => { $given };
    (@or ; $default:expr) => { $default };
}
