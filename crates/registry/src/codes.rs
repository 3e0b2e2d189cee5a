//! Windows' error codes by which this crate decides what to do next. Source: Windows SDK,
//! `winerror.h`.

/// `ERROR_SUCCESS`.
pub const SUCCESS: u32 = 0;
/// `ERROR_FILE_NOT_FOUND`: no such key or value.
pub const NOT_FOUND: u32 = 2;
/// `ERROR_ACCESS_DENIED`.
pub const ACCESS_DENIED: u32 = 5;
/// `ERROR_INVALID_DATA`.
pub const INVALID_DATA: u32 = 13;
/// `ERROR_BAD_LENGTH`: used here for an answer that is longer than its buffer.
pub const BAD_LENGTH: u32 = 24;
/// `ERROR_MORE_DATA`: the buffer is too small.
pub const MORE_DATA: u32 = 234;

/// `ERROR_TIMEOUT`: a call did not return in time, and this crate or Windows gave it up.
pub const TIMEOUT: u32 = 1460;

/// Another machine was not reached within the timeout of a connection. This is perfhive's own code:
/// Windows' codes never have bit 29 set, which is reserved for applications.
pub const NOT_REACHED: u32 = 1 << 29 | 1;

pub(crate) const INVALID_HANDLE: u32 = 6;
pub(crate) const NOT_READY: u32 = 21;
pub(crate) const BAD_NETPATH: u32 = 53;
pub(crate) const UNEXPECTED_NETWORK_ERROR: u32 = 59;
pub(crate) const NETNAME_DELETED: u32 = 64;
pub(crate) const BAD_NET_NAME: u32 = 67;
pub(crate) const SEM_TIMEOUT: u32 = 121;
pub(crate) const LOCK_FAILED: u32 = 167;
pub(crate) const BUSY: u32 = 170;
pub(crate) const WAIT_TIMEOUT: u32 = 258;
pub(crate) const CONNECTION_ABORTED: u32 = 1236;
pub(crate) const RPC_SERVER_UNAVAILABLE: u32 = 1722;
pub(crate) const RPC_SERVER_TOO_BUSY: u32 = 1723;
pub(crate) const RPC_CALL_FAILED: u32 = 1726;
pub(crate) const RPC_CALL_FAILED_DNE: u32 = 1727;

/// Whether the same call may succeed if it is made again in a moment, because a resource that the
/// call needs is busy.
pub fn is_busy(code: u32) -> bool {
    matches!(code, NOT_READY | LOCK_FAILED | BUSY | WAIT_TIMEOUT | RPC_SERVER_TOO_BUSY)
}

/// Whether a connection to another machine is lost or was not made, so that it must be made again.
pub fn is_lost(code: u32) -> bool {
    matches!(
        code,
        INVALID_HANDLE
            | BAD_NETPATH
            | UNEXPECTED_NETWORK_ERROR
            | NETNAME_DELETED
            | SEM_TIMEOUT
            | CONNECTION_ABORTED
            | RPC_SERVER_UNAVAILABLE
            | RPC_CALL_FAILED
            | RPC_CALL_FAILED_DNE
            | NOT_REACHED
    )
}
