//! The packets between a reader and a host process: one each way for every call. The data itself
//! goes through shared memory, and on Windows behind the answer.
//!
//! Integers are little endian; a text is its length in bytes (32 bits) and its bytes. The
//! first packet ensures that both ends are the same version of perfhive. The host runs
//! foreign code, so that the reader treats its answers as hostile input.

use std::path::{Path, PathBuf};

/// The length of the longest packet, in bytes; the socket's own limit is larger.
pub(crate) const LONGEST: usize = 128 << 10;
/// The most messages of a provider in one answer.
pub(crate) const MESSAGES: usize = 8;
/// The length of the longest message of a provider, in bytes.
const MESSAGE: usize = 1000;

/// The version of perfhive and of the packets, which must be the same at the reader and at its
/// host.
const VERSION: &str = concat!("perfhive ", env!("CARGO_PKG_VERSION"), " 3");

/// The thread on which a collection runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The thread of the host that takes the requests, with its usual priority.
    Usual,
    /// A new thread of lowered priority, since the collection is expensive.
    Costly,
}

/// A request to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Load a library and call Open.
    Open(Box<OpenRequest>),
    /// Call Collect with a buffer of `room` bytes.
    Collect { id: u32, lane: Lane, room: u32, value: String },
    /// Call Close and end the process.
    Close,
    /// Call Open once more, with the same linkage; for [`check`](crate::check) alone.
    OpenAgain { id: u32, linkage: Option<String> },
    /// Call Close without ending the process; for [`check`](crate::check) alone.
    CloseOnce { id: u32 },
    /// Call Collect from several threads at once, each thread `times` times with these value strings
    /// in turn. After `millis` milliseconds no thread makes a further call, but each makes at least
    /// one. For [`check`](crate::check) alone.
    Together { id: u32, threads: u32, times: u32, millis: u32, values: Vec<String> },
}

/// The facts that a host needs about its library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenRequest {
    pub(crate) id: u32,
    /// The process ID of the reader; the host ends with it.
    pub(crate) reader: u32,
    pub(crate) memory_limit: u64,
    /// Whether the host may start other processes.
    pub(crate) processes: bool,
    /// The files and folders that the host may read beside those of the library and of the system;
    /// empty without such a limit.
    pub(crate) reads: Vec<PathBuf>,
    pub(crate) library: PathBuf,
    pub(crate) open: Option<String>,
    pub(crate) collect: String,
    pub(crate) close: Option<String>,
    pub(crate) linkage: Option<String>,
    pub(crate) first_counter: u32,
    pub(crate) first_help: u32,
}

/// The answer of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) id: u32,
    /// The error code that the function returned.
    pub(crate) code: u32,
    /// The distance in bytes by which Collect moved its pointer.
    pub(crate) moved: i64,
    /// The number of bytes that Collect claims to have given, untested; for [`Request::Together`]
    /// the number of calls.
    pub(crate) bytes: u32,
    /// The number of objects that Collect claims, untested; for [`Request::Together`] the number
    /// of wrong answers.
    pub(crate) objects: u32,
    /// The time that Collect took, in nanoseconds.
    pub(crate) took: u64,
    /// The reason why the library could not be called; `None` if nothing failed. For
    /// [`Request::Together`] the fault of one wrong answer.
    pub(crate) failure: Option<String>,
    /// A note about the confinement of the process, such as a restriction that failed; only from Open.
    pub(crate) note: Option<String>,
    /// The messages that the provider reported during the call, or between it and the call before;
    /// for [`Request::Together`] the value string of the request with that wrong answer.
    pub(crate) reports: Vec<String>,
}

/// A packet that is being written.
struct Out(Vec<u8>);

impl Out {
    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }
    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(bytes.len() as u32).0.extend_from_slice(bytes);
        self
    }
    fn maybe(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.u32(1).bytes(text.as_bytes()),
            None => self.u32(0),
        }
    }
}

/// The rest of a packet that is being read.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*head))
    }
    fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*head))
    }
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }
    fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
    fn maybe(&mut self) -> Option<Option<String>> {
        match self.u32()? {
            0 => Some(None),
            1 => self.text().map(Some),
            _ => None,
        }
    }
}

#[cfg(unix)]
fn path_bytes(path: &Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).into()
}

/// The bytes of a path in a packet: the path's units of 16 bits, low byte first, which need not be
/// valid text.
#[cfg(windows)]
fn path_bytes(path: &Path) -> Vec<u8> {
    let units = std::os::windows::ffi::OsStrExt::encode_wide(path.as_os_str());
    units.flat_map(u16::to_le_bytes).collect()
}

#[cfg(windows)]
fn path_of(bytes: &[u8]) -> PathBuf {
    let (units, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    <std::ffi::OsString as std::os::windows::ffi::OsStringExt>::from_wide(&units).into()
}

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Out(Vec::new());
        match self {
            Self::Close => {
                out.u32(0);
            }
            Self::Open(open) => {
                out.u32(1).bytes(VERSION.as_bytes());
                out.u32(open.id).u32(open.reader).u64(open.memory_limit);
                out.u32(open.processes.into());
                out.u32(open.reads.len() as u32);
                for path in &open.reads {
                    out.bytes(&path_bytes(path));
                }
                out.bytes(&path_bytes(&open.library));
                out.maybe(open.open.as_deref()).bytes(open.collect.as_bytes());
                out.maybe(open.close.as_deref()).maybe(open.linkage.as_deref());
                out.u32(open.first_counter).u32(open.first_help);
            }
            Self::OpenAgain { id, linkage } => {
                out.u32(4).u32(*id).maybe(linkage.as_deref());
            }
            Self::CloseOnce { id } => {
                out.u32(5).u32(*id);
            }
            Self::Together { id, threads, times, millis, values } => {
                out.u32(6).u32(*id).u32(*threads).u32(*times).u32(*millis);
                values.iter().for_each(|value| {
                    out.bytes(value.as_bytes());
                });
            }
            Self::Collect { id, lane, room, value } => {
                let lane = if *lane == Lane::Costly { 3 } else { 2 };
                out.u32(lane).u32(*id).u32(*room).bytes(value.as_bytes());
            }
        }
        out.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = In(bytes);
        let request = match from.u32()? {
            0 => Self::Close,
            1 if from.bytes()? != VERSION.as_bytes() => return None,
            1 => Self::Open(Box::new(OpenRequest {
                id: from.u32()?,
                reader: from.u32()?,
                memory_limit: from.u64()?,
                processes: from.u32()? != 0,
                reads: {
                    let count = from.u32()?;
                    (0..count).map(|_| from.bytes().map(path_of)).collect::<Option<_>>()?
                },
                library: path_of(from.bytes()?),
                open: from.maybe()?,
                collect: from.text()?,
                close: from.maybe()?,
                linkage: from.maybe()?,
                first_counter: from.u32()?,
                first_help: from.u32()?,
            })),
            lane @ (2 | 3) => Self::Collect {
                lane: if lane == 3 { Lane::Costly } else { Lane::Usual },
                id: from.u32()?,
                room: from.u32()?,
                value: from.text()?,
            },
            4 => Self::OpenAgain { id: from.u32()?, linkage: from.maybe()? },
            5 => Self::CloseOnce { id: from.u32()? },
            6 => Self::Together {
                id: from.u32()?,
                threads: from.u32()?,
                times: from.u32()?,
                millis: from.u32()?,
                values: {
                    let mut values = Vec::new();
                    while !from.0.is_empty() {
                        values.push(from.text()?);
                    }
                    values
                },
            },
            _ => return None,
        };
        from.0.is_empty().then_some(request)
    }
}

impl Response {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Out(Vec::new());
        out.u32(self.id).u32(self.code).u64(self.moved as u64);
        out.u32(self.bytes).u32(self.objects).u64(self.took);
        out.maybe(self.failure.as_deref().map(cut)).maybe(self.note.as_deref().map(cut));
        let reports = self.reports.len().min(MESSAGES);
        out.u32(reports as u32);
        self.reports.iter().take(reports).for_each(|text| {
            out.bytes(cut(text).as_bytes());
        });
        out.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = In(bytes);
        let mut response = Self {
            id: from.u32()?,
            code: from.u32()?,
            moved: from.u64()? as i64,
            bytes: from.u32()?,
            objects: from.u32()?,
            took: from.u64()?,
            failure: from.maybe()?,
            note: from.maybe()?,
            reports: Vec::new(),
        };
        let reports = from.u32()?;
        if reports as usize > MESSAGES {
            return None;
        }
        for _ in 0..reports {
            response.reports.push(from.text()?);
        }
        from.0.is_empty().then_some(response)
    }
}

/// The beginning of a text, cut to the greatest length of a message.
pub(crate) fn cut(text: &str) -> &str {
    let mut end = text.len().min(MESSAGE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<Request> {
        let collect = |lane| Request::Collect { id: 7, lane, room: 63488, value: "230 Ä".into() };
        let open = OpenRequest {
            id: 1,
            reader: 4711,
            memory_limit: 1 << 40,
            processes: true,
            reads: vec!["/proc".into(), "/sys".into()],
            library: "/opt/gauges.so".into(),
            open: None,
            collect: "CollectGauges".into(),
            close: Some(String::new()),
            linkage: Some("a\0b".into()),
            first_counter: 5000,
            first_help: 5001,
        };
        vec![
            Request::Close,
            Request::Open(Box::new(open)),
            collect(Lane::Usual),
            collect(Lane::Costly),
            Request::OpenAgain { id: 4, linkage: Some("a".into()) },
            Request::CloseOnce { id: 5 },
        ]
    }

    #[test]
    fn encoded_packets_decode_to_the_same() {
        let values = vec!["Global".into(), "".into(), "1 2".into()];
        let together = Request::Together { id: 6, threads: 4, times: 100, millis: 500, values };
        for request in requests().into_iter().chain([together]) {
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        let response = Response {
            id: 3,
            code: 234,
            moved: -8,
            bytes: 1,
            objects: 2,
            took: 1 << 40,
            failure: Some("é".repeat(2000)),
            note: Some("some".into()),
            reports: vec!["one".into(); 20],
        };
        let read = Response::decode(&response.encode()).unwrap();
        assert_eq!(read.failure, Some("é".repeat(500)));
        assert_eq!(read.reports, vec!["one"; MESSAGES]);
        assert_eq!(read.note.as_deref(), Some("some"));
        assert_eq!((read.id, read.code, read.moved, read.took), (3, 234, -8, 1 << 40));
    }

    #[test]
    fn truncated_and_altered_packets_are_refused_without_panic() {
        let response = Response { reports: vec!["x".into()], ..Response::default() }.encode();
        for end in 0..response.len() {
            assert_eq!(Response::decode(&response[..end]), None);
        }
        let mut packets: Vec<Vec<u8>> = requests().iter().map(Request::encode).collect();
        for packet in &packets {
            for end in 0..packet.len() {
                assert_eq!(Request::decode(&packet[..end]), None);
            }
            let longer = [&packet[..], &[0]].concat();
            assert_eq!(Request::decode(&longer), None);
        }
        packets.push(response);
        for packet in packets {
            for at in 0..packet.len() {
                let mut changed = packet.clone();
                changed[at] = 0xff;
                // No panic, and no allocation by a length that is not there.
                let _ = (Request::decode(&changed), Response::decode(&changed));
            }
        }
        assert_eq!(Request::decode(&[9, 0, 0, 0]), None);
    }
}
