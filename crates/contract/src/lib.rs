//! The contract of extensible performance counters, as it is between the
//! performance library and whatever has counters to offer: three functions,
//! Open, Collect and Close, and what is registered about them.

mod registration;

pub use registration::{Registration, Registrations};
