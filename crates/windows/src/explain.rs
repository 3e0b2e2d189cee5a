//! Windows' error codes in words that say what to do.

use perfhive_engine::SourceErrorKind;

/// `ERROR_SUCCESS`.
pub(crate) const SUCCESS: u32 = 0;
/// `ERROR_FILE_NOT_FOUND`: no such key or value.
pub(crate) const NOT_FOUND: u32 = 2;
/// `ERROR_INVALID_DATA`.
pub(crate) const INVALID_DATA: u32 = 13;
/// `ERROR_MORE_DATA`: the buffer is too small.
pub(crate) const MORE_DATA: u32 = 234;

/// `ERROR_TIMEOUT`: a call that was given up, or that Windows gave up.
pub(crate) const TIMEOUT: u32 = 1460;

const ACCESS_DENIED: u32 = 5;
const INVALID_HANDLE: u32 = 6;
const NOT_READY: u32 = 21;
const BAD_NETPATH: u32 = 53;
const NETNAME_DELETED: u32 = 64;
const BAD_NET_NAME: u32 = 67;
const LOCK_FAILED: u32 = 167;
const BUSY: u32 = 170;
const WAIT_TIMEOUT: u32 = 258;
const RPC_SERVER_UNAVAILABLE: u32 = 1722;
const RPC_SERVER_TOO_BUSY: u32 = 1723;
const RPC_CALL_FAILED: u32 = 1726;
const RPC_CALL_FAILED_DNE: u32 = 1727;

/// Whether the same call may succeed if it is made again in a moment: another
/// collection holds what this one needs.
pub(crate) fn is_busy(code: u32) -> bool {
    matches!(code, NOT_READY | LOCK_FAILED | BUSY | WAIT_TIMEOUT | RPC_SERVER_TOO_BUSY)
}

/// Whether a connection to another machine is lost, so that it must be made anew.
pub(crate) fn is_lost(code: u32) -> bool {
    matches!(
        code,
        INVALID_HANDLE
            | BAD_NETPATH
            | NETNAME_DELETED
            | RPC_SERVER_UNAVAILABLE
            | RPC_CALL_FAILED
            | RPC_CALL_FAILED_DNE
    )
}

/// What an error code means for a reader of counters; `host` is the other
/// machine, if it is about one.
///
/// Codes: Windows SDK, `winerror.h`; which of them come from where: the
/// documentation of `RegQueryValueExW` and `RegConnectRegistryW`, and the
/// observations of those who read counters remotely.
pub(crate) fn explain(code: u32, host: Option<&str>) -> (SourceErrorKind, String) {
    let (kind, text) = match host {
        Some(host) => remote(code, host),
        None => local(code),
    };
    (kind, format!("{text} (Windows error {code})"))
}

fn local(code: u32) -> (SourceErrorKind, String) {
    use SourceErrorKind as Kind;
    let (kind, text) = match code {
        NOT_FOUND => (
            Kind::Unavailable,
            "the registry does not have the performance counters; `lodctr /R`, run as \
             administrator, rebuilds them",
        ),
        ACCESS_DENIED => (
            Kind::Denied,
            "access to the performance counters is denied: run as administrator, or as a member \
             of the group Performance Monitor Users",
        ),
        8 | 14 | 1450 => (Kind::Unavailable, "the system has no memory left for the answer"),
        INVALID_DATA => (Kind::Malformed, "the answer is longer than the buffer that was given"),
        INVALID_HANDLE | 1018 => (Kind::Internal, "the key was closed while it was read"),
        87 => (Kind::Internal, "the registry does not take the request"),
        _ if is_busy(code) => (
            Kind::Busy,
            "the performance library is busy: a collection of another program has not ended",
        ),
        1115 | 1021 => (Kind::Unavailable, "the system is shutting down"),
        _ => (
            Kind::Unavailable,
            "the performance counters cannot be read; `lodctr /Q` tells which providers are \
             disabled, the event log (Application, source Perflib) which failed",
        ),
    };
    (kind, text.to_string())
}

fn remote(code: u32, host: &str) -> (SourceErrorKind, String) {
    use SourceErrorKind as Kind;
    match code {
        NOT_FOUND | 1060 | 1062 => (
            Kind::Unavailable,
            format!(
                "the service Remote Registry is not running on {host}: start it there \
                 (`sc config RemoteRegistry start= demand`, `sc start RemoteRegistry`)"
            ),
        ),
        ACCESS_DENIED => (
            Kind::Denied,
            format!(
                "{host} denies access: the account must be an administrator of {host} or a member \
                 of its groups Performance Monitor Users and Event Log Readers, with read access \
                 to SecurePipeServers\\winreg"
            ),
        ),
        1326 | 1327 | 1330 | 1331 | 1907 => (
            Kind::Denied,
            format!(
                "{host} does not take this account or its password; `net use \\\\{host}\\IPC$ \
                 /user:NAME` logs on with another"
            ),
        ),
        BAD_NETPATH | BAD_NET_NAME | 1203 | 1214 | 1707 | 11001 => (
            Kind::Unavailable,
            format!(
                "{host} cannot be reached: the host is unknown or off, a firewall is between \
                 (TCP port 445), or its service Remote Registry is not running"
            ),
        ),
        RPC_SERVER_UNAVAILABLE | 1753 => (
            Kind::Unavailable,
            format!(
                "{host} does not answer calls: its service Remote Registry is not running, or a \
                 firewall is between"
            ),
        ),
        NETNAME_DELETED | RPC_CALL_FAILED | RPC_CALL_FAILED_DNE | INVALID_HANDLE | 121 | 1236 => (
            Kind::Unavailable,
            format!("the connection to {host} broke; the next request makes a new one"),
        ),
        1115 => (Kind::Unavailable, format!("{host} is shutting down")),
        _ if is_busy(code) => {
            (Kind::Busy, format!("the performance library of {host} is busy with a collection"))
        }
        8 | 14 | 1450 => (
            Kind::Unavailable,
            format!("{host}, or this system, has no memory left for the answer"),
        ),
        INVALID_DATA => {
            (Kind::Malformed, format!("the answer of {host} is longer than the buffer given"))
        }
        _ => (Kind::Unavailable, format!("the performance counters of {host} cannot be read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_failures_say_what_to_do() {
        for (code, host, kind, words) in [
            (5, None, SourceErrorKind::Denied, "Performance Monitor Users"),
            (2, None, SourceErrorKind::Unavailable, "lodctr /R"),
            (170, None, SourceErrorKind::Busy, "busy"),
            (1005, None, SourceErrorKind::Unavailable, "event log"),
            (2, Some("BOX"), SourceErrorKind::Unavailable, "sc start RemoteRegistry"),
            (5, Some("BOX"), SourceErrorKind::Denied, "administrator of BOX"),
            (53, Some("BOX"), SourceErrorKind::Unavailable, "the host is unknown"),
            (1722, Some("BOX"), SourceErrorKind::Unavailable, "Remote Registry"),
            (1326, Some("BOX"), SourceErrorKind::Denied, "password"),
        ] {
            let (got, text) = explain(code, host);
            assert_eq!(got, kind, "{code}: {text}");
            assert!(text.contains(words), "{code}: {text}");
            assert!(text.ends_with(&format!("(Windows error {code})")), "{text}");
        }
    }

    #[test]
    fn busy_is_tried_again_and_a_lost_connection_is_made_anew() {
        assert!(is_busy(170) && is_busy(258) && !is_busy(5) && !is_busy(234));
        assert!(is_lost(1726) && is_lost(6) && !is_lost(5) && !is_lost(170));
    }
}
