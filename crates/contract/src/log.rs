//! Messages to the system's log, and their limits.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Writes a warning about the provider `provider` to the system's log (syslog, and so the journal).
/// On Windows, and without a log, the message is dropped: a missing log must not cost the reader
/// anything.
pub fn warn(provider: &str, message: &str) {
    #[cfg(unix)]
    syslog::send(provider, message);
    #[cfg(not(unix))]
    let _ = (provider, message);
}

#[cfg(unix)]
mod syslog {
    use std::os::unix::net::UnixDatagram;
    use std::path::Path;

    /// The socket of the system's log.
    const SOCKET: &str = "/dev/log";
    /// The priority of each line: facility daemon (3) times 8 plus severity warning (4); RFC 3164,
    /// section 4.1.1.
    const PRIORITY: u32 = 3 * 8 + 4;
    /// The length in bytes at which a line ends; only its last character may exceed it. RFC 3164
    /// asks for lines of no more than 1024 bytes.
    const LONGEST: usize = 1000;

    /// Sends a message to the system's log; failures are ignored.
    pub(super) fn send(provider: &str, message: &str) {
        send_to(Path::new(SOCKET), provider, message);
    }

    /// Sends a message to the log that listens at `socket`; failures are ignored.
    pub(super) fn send_to(socket: &Path, provider: &str, message: &str) {
        let Ok(log) = UnixDatagram::unbound() else { return };
        // A log that does not keep up loses lines rather than delaying the reader.
        let _ = log.set_nonblocking(true);
        let _ = log.send_to(line(provider, message).as_bytes(), socket);
    }

    /// A line as the C library's `syslog` writes it, without the time, which the log adds. Control
    /// characters become blanks, and the rest of a line longer than [`LONGEST`] is left out.
    pub(super) fn line(provider: &str, message: &str) -> String {
        let mut line = format!("<{PRIORITY}>perfhive[{}]: ", std::process::id());
        let text = [provider, ": ", message].into_iter().flat_map(str::chars);
        for c in text {
            if line.len() >= LONGEST {
                break;
            }
            line.push(if c.is_control() { ' ' } else { c });
        }
        line
    }
}

/// A rate limit for log messages: a few messages of each kind pass, then one in each period (a
/// minute by default), with the number of those that were held back.
#[derive(Debug)]
pub struct Limiter {
    kinds: HashMap<u64, Kind>,
    every: Duration,
}

/// The count of one kind of messages: the start of its period, how many of the [`Limiter::BURST`]
/// messages are used up in the period, and the number of messages held back since one last passed.
/// A later period starts with one message left.
#[derive(Debug)]
struct Kind {
    since: Instant,
    passed: u32,
    held: u64,
}

impl Default for Limiter {
    fn default() -> Self {
        Self::new(Duration::from_secs(60))
    }
}

impl Limiter {
    /// How many messages of a kind pass in the first period.
    pub const BURST: u32 = 3;
    /// How many kinds are counted apart; further kinds share one count.
    const KINDS: usize = 64;

    /// A limiter that lets [`BURST`](Self::BURST) messages of a kind pass in the first
    /// period `every`, and one message in each period that follows.
    #[must_use]
    pub fn new(every: Duration) -> Self {
        Self { kinds: HashMap::new(), every }
    }

    /// The message as it is to be written at the time `now`, with the number of messages of its
    /// kind that were held back before it; `None` if the limit of its kind is reached, so that it
    /// is held back. Messages that differ only in numbers are of one kind.
    pub fn pass(&mut self, message: &str, now: Instant) -> Option<String> {
        let mut key = kind_of(message);
        if !self.kinds.contains_key(&key) && self.kinds.len() >= Self::KINDS {
            key = 0;
        }
        let kind = self.kinds.entry(key).or_insert(Kind { since: now, passed: 0, held: 0 });
        if now.saturating_duration_since(kind.since) >= self.every {
            (kind.since, kind.passed) = (now, Self::BURST - 1);
        }
        if kind.passed >= Self::BURST {
            kind.held = kind.held.saturating_add(1);
            return None;
        }
        kind.passed += 1;
        Some(match std::mem::take(&mut kind.held) {
            0 => message.to_string(),
            held => format!("{message} (and {held} more like this)"),
        })
    }
}

/// The kind of a message: FNV-1a over everything but digits.
fn kind_of(message: &str) -> u64 {
    message
        .bytes()
        .filter(|byte| !byte.is_ascii_digit())
        .fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_kind_beyond_the_burst_are_counted_not_logged() {
        let mut limiter = Limiter::default();
        let start = Instant::now();
        let passed = (0..100).filter_map(|n| limiter.pass(&format!("at byte {n}"), start)).count();
        assert_eq!(passed, 3);
        assert_eq!(limiter.pass("another", start).as_deref(), Some("another"));
        let later = start + Duration::from_secs(60);
        let again = limiter.pass("at byte 7", later).unwrap();
        assert_eq!(again, "at byte 7 (and 97 more like this)");
        // From then on one a minute.
        assert_eq!(limiter.pass("at byte 7", later), None);
        let again = limiter.pass("at byte 8", later + Duration::from_secs(60)).unwrap();
        assert_eq!(again, "at byte 8 (and 1 more like this)");
    }

    #[test]
    fn new_kinds_beyond_the_limit_share_one_count() {
        let mut limiter = Limiter::default();
        let start = Instant::now();
        let text = |n: u32| "x".repeat(n as usize);
        let passed = (0..1000).filter_map(|n| limiter.pass(&text(n), start)).count();
        assert_eq!(limiter.kinds.len(), Limiter::KINDS + 1);
        assert_eq!(passed, Limiter::KINDS + Limiter::BURST as usize);
    }

    #[cfg(unix)]
    #[test]
    fn a_line_is_sent_without_control_characters() {
        let folder = std::env::temp_dir().join(format!("perfhive-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("log");
        let log = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
        syslog::send_to(&socket, "Gauges", "a line\nwith a break");
        let mut line = [0; 200];
        let length = log.recv(&mut line).unwrap();
        let line = std::str::from_utf8(&line[..length]).unwrap();
        assert!(line.starts_with("<28>perfhive["), "{line}");
        assert!(line.ends_with("]: Gauges: a line with a break"), "{line}");
        assert!(syslog::line("a", &"é".repeat(5000)).len() < 1100);
        // Without a listener nothing happens.
        drop(log);
        syslog::send_to(&socket, "Gauges", "unheard");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
