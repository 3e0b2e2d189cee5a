//! Providing counters: what a program implements to offer objects of its own.
//!
//! A [`Provider`] describes its objects and opens [`Session`]s, which write them; a [`Broker`] is the
//! [`Source`](crate::Source) of providers. With the feature `libraries`, `provider_dll!` makes a
//! library of a provider, which `local:` reads once it is registered.
//!
//! ```
//! use perfhive::format::{CounterSpec, CounterType, ObjectSpec, ObjectTemplate, TitleIndex};
//! use perfhive::format::titles::TitleList;
//! use perfhive::provide::{
//!     Broker, Collection, Numbering, ObjectDescription, ObjectWriter, OpenContext, ProvidedTitles,
//!     Provider, ProviderDescription, ProviderError, Session,
//! };
//! use perfhive::{LanguageId, Query};
//! use std::sync::Arc;
//!
//! struct Queues;
//!
//! fn description() -> ObjectDescription {
//!     let length = CounterSpec::new(TitleIndex(7002), CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
//!     ObjectDescription::new(ObjectSpec::new(TitleIndex(7000)), vec![length])
//! }
//!
//! impl Provider for Queues {
//!     fn name(&self) -> &str {
//!         "queues"
//!     }
//!     fn describe(&self) -> ProviderDescription {
//!         ProviderDescription::new(Numbering::Windows, vec![description()])
//!     }
//!     fn titles(&self) -> Vec<ProvidedTitles> {
//!         let names = TitleList::from_text("7000\nQueues\n7002\nLength\n");
//!         vec![ProvidedTitles::new(LanguageId::ENGLISH, names, TitleList::default())]
//!     }
//!     fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
//!         let ObjectDescription { spec, counters, .. } = description();
//!         Ok(Box::new(Open(ObjectTemplate::new(&spec, &counters)?)))
//!     }
//! }
//!
//! struct Open(ObjectTemplate);
//!
//! impl Session for Open {
//!     fn collect(
//!         &mut self,
//!         _: &Collection<'_>,
//!         out: &mut ObjectWriter<'_>,
//!     ) -> Result<(), ProviderError> {
//!         out.object(&self.0)?.values(&[3])?.finish()?;
//!         Ok(())
//!     }
//! }
//!
//! let broker = Broker::builder("queues:", "HOST").provider(Arc::new(Queues)).build();
//! let mut query = Query::new(broker)?;
//! query.add(r"\Queues\Length")?;
//! query.collect()?;
//! assert_eq!(query.readings()[0].value.as_ref().unwrap().as_f64(), 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use perfhive_engine::{
    Broker, BrokerBuilder, Collection, Cost, Numbering, ObjectDescription, ObjectWriter,
    OpenContext, ProvidedTitles, Provider, ProviderDescription, ProviderError, Session,
};

/// Exports a [`Provider`](crate::provide::Provider) as a library: a DLL for Windows' performance
/// library, or a `.so` for perfhive's own loader.
///
/// The provider is an expression that is evaluated at each Open that finds the provider not open.
/// The crate is built with `crate-type = ["cdylib"]`. On Windows the indexes are those of its
/// registration (`First Counter`, `First Help`), under the provider's name, and failures go to the event log. Elsewhere
/// perfhive's loader passes the indexes, and failures go to the system's log. A panic of the provider is an error of
/// that call, and does not end the process. The example `print_shop` is a whole provider.
///
/// ```
/// # use perfhive::provide::{ObjectWriter, OpenContext, Provider, ProviderDescription};
/// # use perfhive::provide::{Numbering, ProvidedTitles, ProviderError, Session};
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
/// perfhive::provider_dll! {
///     provider: Gauges,
///     open: OpenGauges,
///     collect: CollectGauges,
///     close: CloseGauges,
/// }
/// # fn main() {}
/// ```
#[cfg(all(feature = "libraries", not(windows)))]
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

/// Exports a [`Provider`](crate::provide::Provider) as a DLL for Windows' performance library.
///
/// The provider is an expression that is evaluated at each Open that finds the provider not open.
/// The crate is built with `crate-type = ["cdylib"]`. The indexes are those of its registration (`First
/// Counter`, `First Help`), under the provider's name, and failures go to the event log. Costly objects are collected
/// at a lower priority of the calling thread. A panic of the provider is an error of that call, and does not end the
/// process. From the first Open on the DLL stays loaded until the process ends, so that the provider's threads may
/// outlive Close. The example `print_shop` is a whole provider.
#[cfg(all(feature = "libraries", windows))]
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
