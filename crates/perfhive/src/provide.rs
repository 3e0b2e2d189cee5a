//! Being a provider: what a library of counters is made with.

/// Makes a library of a [`Provider`](crate::Provider): a DLL with the functions
/// that Windows' performance library loads, or a `.so` for perfhive's own.
///
/// The provider is an expression that is evaluated at the first Open; the crate
/// is built with `crate-type = ["cdylib"]`. On Windows the indexes are those of
/// its registration (`First Counter`, `First Help`), under the provider's name,
/// and what goes wrong is told to the event log; elsewhere perfhive's loader
/// tells the indexes, and the log is the system's. Panics are contained. The
/// example `print_shop` is a whole provider.
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

/// Makes a library of a [`Provider`](crate::Provider): a DLL with the functions
/// that Windows' performance library loads.
///
/// The provider is an expression that is evaluated at the first Open; the crate
/// is built with `crate-type = ["cdylib"]`. The indexes are those of its
/// registration (`First Counter`, `First Help`), under the provider's name, and
/// what goes wrong is told to the event log. Costly objects are collected at a lower
/// priority of the thread that asks. Panics are contained. From the first Open on the
/// DLL stays loaded until the process ends, so that threads which the provider started
/// may go on behind Close. The example `print_shop` is a whole provider.
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
