//! A library in the reader's own process, for those that are trusted.

use crate::caller::{Call, CallFault};
use crate::host::on_low_priority;
use crate::library::{Loaded, Names};
use crate::wire::Lane;
use perfhive_contract::Registration;
use perfhive_contract::abi::{ERROR_SUCCESS, wide};
use perfhive_engine::{GuardedBuffer, RawClaim};
use std::sync::Arc;

/// A library that Open was called of, once for each of these.
pub(crate) struct InProcess {
    library: Arc<Loaded>,
    buffer: GuardedBuffer,
}

/// Loads a library into this process.
#[allow(unsafe_code, reason = "its registration says that the library is trusted")]
pub(crate) fn load(registration: &Registration) -> Result<Arc<Loaded>, String> {
    let names = Names {
        library: &registration.library,
        open: registration.open.as_deref(),
        collect: &registration.collect,
        close: registration.close.as_deref(),
        first_counter: registration.first_counter,
        first_help: registration.first_help,
    };
    // SAFETY: whoever registered the library as trusted promises that it keeps
    // to the contract; its file is nobody else's to write.
    unsafe { Loaded::load(&names) }.map(Arc::new)
}

impl InProcess {
    /// Calls Open.
    pub(crate) fn open(library: Arc<Loaded>, linkage: Option<&str>) -> Result<Self, String> {
        match library.open(linkage) {
            (ERROR_SUCCESS, _) => Ok(Self { library, buffer: GuardedBuffer::new(0) }),
            (code, said) => Err(open_failed(code, &said)),
        }
    }

    #[allow(unsafe_code, reason = "calls a trusted library")]
    pub(crate) fn collect(
        &mut self,
        value: &str,
        lane: Lane,
        room: usize,
    ) -> Result<Call<'_>, CallFault> {
        self.buffer.reset(room);
        let mut value = wide(value);
        // A pointer to the whole, guards included: what a library writes there
        // by mistake is then found, not undefined.
        let address = self.buffer.whole_mut().as_mut_ptr().expose_provenance();
        let library = &self.library;
        let mut call = || {
            let whole = core::ptr::with_exposed_provenance_mut::<u8>(address);
            // SAFETY: the buffer has `room` bytes behind its first guard, and
            // nobody else uses it meanwhile.
            unsafe { library.collect(&mut value, whole.add(GuardedBuffer::GUARD), room as u32) }
        };
        let (returned, said) = match lane {
            Lane::Usual => call(),
            Lane::Costly => on_low_priority(call).ok_or_else(|| {
                CallFault::NotYet("no thread can be started for what is expensive".to_string())
            })?,
        };
        let claim =
            RawClaim { moved: returned.moved, bytes: returned.bytes, objects: returned.objects };
        let (code, buffer) = (returned.code, &self.buffer);
        Ok(Call { code, claim, said, note: None, buffer, took: None })
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.library.close();
    }
}

/// That Open answered with an error.
pub(crate) fn open_failed(code: u32, said: &[String]) -> String {
    let name = match code {
        2 => " (not found)",
        8 => " (no memory)",
        _ => "",
    };
    let mut text = format!("Open answered with error {code}{name}");
    for message in said {
        text.push_str(": ");
        text.push_str(message);
    }
    text
}
