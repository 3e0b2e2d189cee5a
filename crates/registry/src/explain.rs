//! Windows' error codes in words that say what to do.

use crate::codes::*;
use crate::read::{LARGEST, LONGEST, ReadError};
use crate::registry::RegistryPart;
use perfhive_engine::SourceErrorKind;

impl ReadError {
    /// The meaning of the error for a reader of counters: the kind of the source's error, and a
    /// message for people. `host` is the other machine, or `None` for this machine.
    #[must_use]
    pub fn explain(self, host: Option<&str>) -> (SourceErrorKind, String) {
        use SourceErrorKind as Kind;
        match self {
            Self::Code(code) => explain(code, host),
            Self::TooLarge => (
                Kind::Malformed,
                format!(
                    "the answer does not fit into {} MiB, or a provider asks for more without end",
                    LARGEST >> 20
                ),
            ),
            Self::Deadline => (Kind::Deadline, "did not answer in time".to_string()),
            Self::Hangs => (Kind::Deadline, "does not come back: a provider hangs".to_string()),
            Self::NoTitles => {
                let there = host.map_or(String::new(), |host| format!(" on {host}"));
                let message = format!(
                    "the list of names is damaged: there is no pair of an index and a text in \
                     it; `lodctr /R`, run as administrator{there}, rebuilds it"
                );
                (Kind::Malformed, message)
            }
            Self::EndlessTitles => {
                let there = host.map_or(String::new(), |host| format!(" on {host}"));
                let message = format!(
                    "the list of names is damaged: it has more than {} MiB; `lodctr /R`, run as \
                     administrator{there}, rebuilds it",
                    LONGEST >> 20
                );
                (Kind::Malformed, message)
            }
        }
    }
}

/// The meaning of an error code of Windows for a reader of counters: the kind of the source's
/// error, and a message for people. `host` is the other machine, or `None` for this machine.
///
/// Codes: Windows SDK, `winerror.h`; the calls that return them: the documentation of
/// `RegQueryValueExW` and `RegConnectRegistryW`, and reports of remote readers.
pub(crate) fn explain(code: u32, host: Option<&str>) -> (SourceErrorKind, String) {
    let (kind, text) = match host {
        Some(host) => remote(code, host),
        None => local(code),
    };
    match code {
        // This code is not Windows' own.
        NOT_REACHED => (kind, text),
        _ => (kind, format!("{text} (Windows error {code})")),
    }
}

/// The kind and the message of an error code from this machine.
fn local(code: u32) -> (SourceErrorKind, String) {
    use SourceErrorKind as Kind;
    let (kind, text) = match code {
        NOT_FOUND => (
            Kind::Unavailable,
            "the registry does not have the performance counters; `lodctr /R`, run as \
             administrator, rebuilds them",
        ),
        ACCESS_DENIED | 1314 => (
            Kind::Denied,
            "access to the performance counters is denied: run as administrator, or as a member \
             of the group Performance Monitor Users",
        ),
        8 | 14 | 1450 => (Kind::Unavailable, "the system has no memory left for the answer"),
        INVALID_DATA => (
            Kind::Malformed,
            "what the performance counters are read from is damaged; `lodctr /R`, run as \
             administrator, rebuilds it",
        ),
        BAD_LENGTH => (
            Kind::Malformed,
            "the answer claims to be longer than the buffer that was given: a provider wrote \
             past its buffer; `perfhive check NAME` tests one provider",
        ),
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

/// The message that says why an account cannot log on to a host; `None` for a code that is not about
/// logging on.
fn logon(code: u32, host: &str) -> Option<String> {
    let net_use = format!("`net use \\\\{host}\\IPC$ /user:NAME`");
    Some(match code {
        1219 => format!(
            "this session is logged on to {host} with another account already: `net use \
             \\\\{host}\\IPC$ /delete` ends that, or name the host otherwise, as by its IP address"
        ),
        1272 => format!(
            "{host} takes guests only, which this system does not log on as: {net_use} logs on \
             with an account of {host}"
        ),
        1311 | 1351 | 1355 => format!(
            "no domain controller that could vouch for this account can be reached: {net_use} \
             logs on with an account of {host} itself, as {host}\\NAME"
        ),
        1396 => format!(
            "the machine that answers for {host} is not the one that the domain knows by that name: \
             use the full name of the host itself, and look for a stale address in DNS"
        ),
        1398 => format!("the clocks of {host} and of this system differ by too much: set them"),
        1787..=1790 | 1935 => format!(
            "the domains of {host} and of this account do not trust each other: {net_use} logs \
             on with an account that {host} knows"
        ),
        1327 => format!(
            "{host} does not let this account in from elsewhere: an empty password, hours or \
             machines that it is limited to; {net_use} logs on with another"
        ),
        1328 => format!("{host} does not let this account in at this hour"),
        1329 => format!("{host} does not let this account in from this machine"),
        1330 | 1907 => format!(
            "the password of this account has expired, or must be changed first: log on to \
             {host} and change it"
        ),
        1331 | 1793 => format!(
            "the account is disabled or has expired on {host}; {net_use} logs on with another"
        ),
        1909 => format!(
            "the account is locked on {host}, as after wrong passwords: it is unlocked after \
             some time or by an administrator; {net_use} logs on with another"
        ),
        1385 => format!(
            "{host} does not grant this account the right to log on over the network; \
             {net_use} logs on with another"
        ),
        86 | 1312 | 1326 | 2202 => format!(
            "{host} does not take this account or its password; {net_use} logs on with another"
        ),
        _ => return None,
    })
}

/// The kind and the message of an error code from the machine `host`.
fn remote(code: u32, host: &str) -> (SourceErrorKind, String) {
    use SourceErrorKind as Kind;
    if let Some(why) = logon(code, host) {
        return (Kind::Denied, why);
    }
    match code {
        NOT_FOUND | 1053 | 1058 | 1060 | 1062 | 1068 | 1069 => (
            Kind::Unavailable,
            format!(
                "the service Remote Registry is not running on {host}: start it there \
                 (`sc config RemoteRegistry start= demand`, `sc start RemoteRegistry`)"
            ),
        ),
        ACCESS_DENIED | 65 | 1314 | 1346 => (
            Kind::Denied,
            format!(
                "{host} denies access: the account must be an administrator of {host} or a member \
                 of its groups Performance Monitor Users and Event Log Readers, with read access \
                 to SecurePipeServers\\winreg"
            ),
        ),
        BAD_NETPATH
        | BAD_NET_NAME
        | 51
        | 1203
        | 1214
        | 1222
        | 1225
        | 1231..=1234
        | 1707
        | 11001
        | 11004 => (
            Kind::Unavailable,
            format!(
                "{host} cannot be reached: the host is unknown or off, a firewall blocks it \
                 (TCP port 445), or its service Remote Registry is not running"
            ),
        ),
        NOT_REACHED => (
            Kind::Unavailable,
            format!(
                "{host} cannot be reached: no answer came in time, as where a firewall between drops \
                 packets (TCP port 445), or the host is off; the attempt goes on, and a longer \
                 patience waits longer"
            ),
        ),
        RPC_SERVER_UNAVAILABLE | 1702 | 1753 => (
            Kind::Unavailable,
            format!(
                "{host} does not answer calls: its service Remote Registry is not running, or a \
                 firewall blocks it"
            ),
        ),
        _ if is_lost(code) => (
            Kind::Unavailable,
            format!("the connection to {host} broke; the next request makes a new one"),
        ),
        50 | 120 | 1745 => (
            Kind::Unavailable,
            format!(
                "{host} has a registry, but no performance counters in it: it is not Windows, \
                 or a version that is too old"
            ),
        ),
        71 => (
            Kind::Busy,
            format!("{host} takes no more connections at the moment: too many others are open"),
        ),
        1115 => (Kind::Unavailable, format!("{host} is shutting down")),
        _ if is_busy(code) => {
            (Kind::Busy, format!("the performance library of {host} is busy with a collection"))
        }
        8 | 14 | 1130 | 1450 | 1721 => (
            Kind::Unavailable,
            format!("{host}, or this system, has no memory left for the answer"),
        ),
        INVALID_DATA => (
            Kind::Malformed,
            format!(
                "what the performance counters of {host} are read from is damaged; `lodctr /R`, \
                 run as administrator there, rebuilds it"
            ),
        ),
        BAD_LENGTH => (
            Kind::Malformed,
            format!("the answer of {host} claims to be longer than the buffer that was given"),
        ),
        _ => (
            Kind::Unavailable,
            format!(
                "the performance counters of {host} cannot be read; `net helpmsg {code}` says \
                 what Windows calls this, the event log of {host} may say more"
            ),
        ),
    }
}

/// The message for a part of the registry that could not be read: what is missing for readers, and
/// what can be done.
pub(crate) fn unreadable(key: RegistryPart, code: u32, host: Option<&str>) -> String {
    let (path, costs) = match key {
        RegistryPart::Services => (
            r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services",
            "the registered providers are not known, nor the provider at fault where a request fails",
        ),
        RegistryPart::Perflib => (
            r"HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib",
            "names in further languages may be missing, and a later registration is noticed only \
             when its objects appear",
        ),
        RegistryPart::Machine => (
            "HKEY_LOCAL_MACHINE",
            "the registered providers are not known, and names may be missing in all languages but \
             one",
        ),
    };
    let of = host.map_or(String::new(), |host| format!(" of {host}"));
    let why = match code {
        ACCESS_DENIED => {
            let there = host.map_or(String::new(), |host| format!(" of {host}"));
            format!(
                "access is denied: run as an administrator{there}, or ask an administrator for read access to it"
            )
        }
        code => explain(code, host).1,
    };
    let code = match code {
        ACCESS_DENIED => format!(" (Windows error {code})"),
        _ => String::new(),
    };
    format!("{path}{of} cannot be read, so {costs}; {why}{code}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_errors_say_what_to_do() {
        use SourceErrorKind as Kind;
        for (code, kind, words) in [
            (5, Kind::Denied, "Performance Monitor Users"),
            (2, Kind::Unavailable, "lodctr /R"),
            (13, Kind::Malformed, "damaged; `lodctr /R`"),
            (24, Kind::Malformed, "longer than the buffer"),
            (170, Kind::Busy, "busy"),
            (1005, Kind::Unavailable, "event log"),
        ] {
            told(code, None, kind, words);
        }
    }

    #[test]
    fn errors_of_another_machine_say_what_to_do() {
        use SourceErrorKind as Kind;
        for (code, kind, words) in [
            (2, Kind::Unavailable, "sc start RemoteRegistry"),
            (5, Kind::Denied, "administrator of BOX"),
            (6, Kind::Unavailable, "the connection to BOX broke"),
            (13, Kind::Malformed, "run as administrator there"),
            (24, Kind::Malformed, "longer than the buffer"),
            (50, Kind::Unavailable, "is not Windows"),
            (51, Kind::Unavailable, "the host is unknown"),
            (53, Kind::Unavailable, "the host is unknown"),
            (59, Kind::Unavailable, "the next request makes a new one"),
            (64, Kind::Unavailable, "the next request makes a new one"),
            (67, Kind::Unavailable, "the host is unknown"),
            (71, Kind::Busy, "no more connections"),
            (86, Kind::Denied, r"`net use \\BOX\IPC$ /user:NAME`"),
            (121, Kind::Unavailable, "the next request makes a new one"),
            (170, Kind::Busy, "BOX is busy"),
            (1058, Kind::Unavailable, "sc config RemoteRegistry"),
            (1062, Kind::Unavailable, "sc start RemoteRegistry"),
            (1115, Kind::Unavailable, "shutting down"),
            (1130, Kind::Unavailable, "no memory"),
            (1203, Kind::Unavailable, "TCP port 445"),
            (1214, Kind::Unavailable, "the host is unknown"),
            (1219, Kind::Denied, r"`net use \\BOX\IPC$ /delete`"),
            (1222, Kind::Unavailable, "cannot be reached"),
            (1225, Kind::Unavailable, "cannot be reached"),
            (1231, Kind::Unavailable, "cannot be reached"),
            (1236, Kind::Unavailable, "the next request makes a new one"),
            (1272, Kind::Denied, "guests"),
            (1311, Kind::Denied, "domain controller"),
            (1312, Kind::Denied, "password"),
            (1326, Kind::Denied, "password"),
            (1327, Kind::Denied, "empty password"),
            (1328, Kind::Denied, "this hour"),
            (1329, Kind::Denied, "this machine"),
            (1330, Kind::Denied, "expired"),
            (1331, Kind::Denied, "disabled"),
            (1355, Kind::Denied, "domain controller"),
            (1385, Kind::Denied, "right to log on over the network"),
            (1396, Kind::Denied, "DNS"),
            (1398, Kind::Denied, "clocks"),
            (1450, Kind::Unavailable, "no memory"),
            (1702, Kind::Unavailable, "does not answer calls"),
            (1707, Kind::Unavailable, "the host is unknown"),
            (1722, Kind::Unavailable, "Remote Registry"),
            (1723, Kind::Busy, "BOX is busy"),
            (1726, Kind::Unavailable, "the connection to BOX broke"),
            (1727, Kind::Unavailable, "the connection to BOX broke"),
            (1753, Kind::Unavailable, "firewall"),
            (1789, Kind::Denied, "trust"),
            (1793, Kind::Denied, "expired"),
            (1907, Kind::Denied, "must be changed"),
            (1909, Kind::Denied, "locked"),
            (2202, Kind::Denied, "account"),
            (11001, Kind::Unavailable, "the host is unknown"),
            (9999, Kind::Unavailable, "`net helpmsg 9999`"),
        ] {
            told(code, Some("BOX"), kind, words);
        }
    }

    fn told(code: u32, host: Option<&str>, kind: SourceErrorKind, words: &str) {
        let (got, text) = explain(code, host);
        assert_eq!(got, kind, "{code}: {text}");
        assert!(text.contains(words), "{code}: {text}");
        assert!(text.ends_with(&format!("(Windows error {code})")), "{text}");
        // The next request makes a new connection only after these codes.
        let broke = text.contains("makes a new one");
        assert!(!broke || is_lost(code), "{code}: {text}");
    }

    #[test]
    fn a_damaged_list_of_names_has_a_message_without_a_code() {
        let (kind, text) = ReadError::NoTitles.explain(None);
        assert_eq!(kind, SourceErrorKind::Malformed);
        assert!(text.contains("list of names is damaged") && text.contains("lodctr /R"), "{text}");
        assert!(!text.contains("Windows error"), "{text}");
        assert!(ReadError::NoTitles.explain(Some("BOX")).1.contains("administrator on BOX"));
    }

    #[test]
    fn an_unreadable_part_says_what_is_missing() {
        let text = unreadable(RegistryPart::Services, 5, None);
        assert!(text.contains(r"CurrentControlSet\Services cannot be read"), "{text}");
        assert!(text.contains("the registered providers are not known"), "{text}");
        assert!(text.contains("run as an administrator") && text.contains("error 5"), "{text}");
        let text = unreadable(RegistryPart::Perflib, 5, Some("BOX"));
        assert!(text.contains("Perflib of BOX") && text.contains("administrator of BOX"), "{text}");
        let text = unreadable(RegistryPart::Machine, 1722, Some("BOX"));
        assert!(text.contains("BOX does not answer calls") && text.contains("1722"), "{text}");
    }

    #[test]
    fn a_connection_timeout_has_no_code() {
        let (kind, text) = explain(NOT_REACHED, Some("BOX"));
        assert_eq!(kind, SourceErrorKind::Unavailable);
        for words in ["BOX cannot be reached", "TCP port 445", "in time"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("Windows error"), "{text}");
        assert!(is_lost(NOT_REACHED) && !is_busy(NOT_REACHED));
    }

    #[test]
    fn codes_are_classed_as_busy_or_lost() {
        assert!(is_busy(170) && is_busy(258) && !is_busy(5) && !is_busy(234));
        assert!(is_lost(1726) && is_lost(6) && is_lost(1236) && !is_lost(5) && !is_lost(170));
    }
}
