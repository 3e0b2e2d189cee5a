//! The macro that makes a library of a provider.

/// Exports a [`Provider`](crate::Provider) as a library: a DLL for Windows' performance
/// library, or a `.so` for perfhive's own loader.
///
/// The provider is an expression that is evaluated at the first Open; the crate
/// is built with `crate-type = ["cdylib"]`. On Windows the indexes are those of
/// its registration (`First Counter`, `First Help`), under the provider's name, and failures
/// go to the event log. Elsewhere perfhive's loader passes the indexes, and failures go to
/// the system's log. Panics are contained. The example `print_shop` is a whole provider.
///
/// ```
/// # use perfhive::{ObjectWriter, OpenContext, Provider, ProviderDescription};
/// # use perfhive::{Numbering, ProvidedTitles, ProviderError, Session};
/// # struct Gauges;
/// # impl Provider for Gauges {
/// #     fn name(&self) -> &str { "Gauges" }
/// #     fn describe(&self) -> ProviderDescription {
/// #         ProviderDescription { numbering: Numbering::Allotted, objects: Vec::new() }
/// #     }
/// #     fn titles(&self) -> Vec<ProvidedTitles> { Vec::new() }
/// #     fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
/// #         Err(ProviderError::Full)
/// #     }
/// # }
/// perfhive::provider_dll! {
///     provider: Gauges,
///     open: OpenGauges,
///     collect: CollectGauges,
///     close: CloseGauges,
/// }
/// # fn main() {}
/// ```
#[cfg(not(windows))]
#[macro_export]
macro_rules! provider_dll {
    (
        provider: $provider:expr,
        open: $open:ident,
        collect: $collect:ident,
        close: $close:ident
        $(,)?
    ) => {
        $crate::contract::provider_library! {
            provider: $provider,
            open: $open,
            collect: $collect,
            close: $close,
        }
    };
}

/// Exports a [`Provider`](crate::Provider) as a DLL for Windows' performance library.
///
/// The provider is an expression that is evaluated at the first Open; the crate
/// is built with `crate-type = ["cdylib"]`. The indexes are those of its
/// registration (`First Counter`, `First Help`), under the provider's name, and failures go
/// to the event log. Costly objects are collected at a lower priority of the calling thread.
/// Panics are contained. From the first Open on the DLL stays loaded until the process ends,
/// so that the provider's threads may outlive Close. The example `print_shop` is a whole
/// provider.
#[cfg(windows)]
#[macro_export]
macro_rules! provider_dll {
    (
        provider: $provider:expr,
        open: $open:ident,
        collect: $collect:ident,
        close: $close:ident
        $(,)?
    ) => {
        $crate::contract::provider_library! {
            provider: $provider,
            open: $open,
            collect: $collect,
            close: $close,
            indexes: $crate::windows::allotted_indexes,
            report: $crate::windows::report_event,
            linkage: $crate::windows::registered_linkage,
            lowered: $crate::windows::at_lower_priority,
            pin: $crate::windows::pin_library,
        }
    };
}
