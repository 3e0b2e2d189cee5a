//! From an address to a source.

use perfhive_engine::{Source, SourceError, SourceErrorKind};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Where counters are to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceAddress {
    /// `local:`: this machine, with the best reader of processes that it allows.
    Local,
    /// `proc:`: this machine, with everything read from `/proc` and `/sys`, or
    /// `proc:FOLDER`: another one, of which a folder holds `proc` and `sys`.
    Proc(Option<PathBuf>),
    /// `bpf:`: this machine, with processes and threads read through BPF.
    Bpf,
    /// `native:`: this machine's System, Processor, Process and Thread by
    /// Windows' native functions, without the registry; on Windows only.
    Native,
    /// `registry://HOST`: another Windows machine through its service Remote
    /// Registry; on Windows only.
    Registry(String),
    /// `file:A.bin,B.bin`: raw data blocks, one a file, as successive samples;
    /// or `file:FOLDER`: a folder that [`Capture`](crate::Capture) wrote.
    Files(Vec<PathBuf>),
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAddress(String);

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Who has come that far knows what he wants.
        let wanted = match self.0.split_once(':') {
            Some(("registry", _)) => "registry://HOST, the name or IP address of a Windows machine",
            Some(("file", _)) => "file:A.bin,B.bin for data blocks, or file:FOLDER for a capture",
            _ => "",
        };
        if !wanted.is_empty() {
            return write!(f, "{:?} is no source: expected {wanted}", self.0);
        }
        write!(
            f,
            "{:?} is no source: expected local: for this machine, proc: or bpf: for the same \
             with a reader of its processes, native: for the same without the registry of Windows, proc:FOLDER for a copy of a machine's proc and sys, \
             registry://HOST for another Windows machine, or file:A.bin,B.bin for recorded data blocks",
            self.0
        )
    }
}

impl std::error::Error for BadAddress {}

impl FromStr for SourceAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress(text.to_string());
        match text {
            "local:" | "local" => return Ok(Self::Local),
            "proc:" | "proc" => return Ok(Self::Proc(None)),
            "bpf:" | "bpf" => return Ok(Self::Bpf),
            "native:" | "native" => return Ok(Self::Native),
            _ => {}
        }
        if let Some(folder) = text.strip_prefix("proc:") {
            return Ok(Self::Proc(Some(folder.into())));
        }
        if let Some(host) = text.strip_prefix("registry://") {
            let host = host.strip_suffix('/').unwrap_or(host);
            let bad_host = |c: char| c.is_control() || "/\\ \"".contains(c);
            return match host.is_empty() || host.contains(bad_host) {
                true => Err(bad()),
                false => Ok(Self::Registry(host.to_string())),
            };
        }
        let list = text.strip_prefix("file:").ok_or_else(bad)?;
        if list.is_empty() || list.split(',').any(str::is_empty) {
            return Err(bad());
        }
        // A comma may belong to a file's name: if there is a file of the whole
        // name, that one is meant.
        let whole = PathBuf::from(list);
        if list.contains(',') && whole.exists() {
            return Ok(Self::Files(vec![whole]));
        }
        Ok(Self::Files(list.split(',').map(PathBuf::from).collect()))
    }
}

impl fmt::Display for SourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local:"),
            Self::Proc(None) => f.write_str("proc:"),
            Self::Proc(Some(folder)) => write!(f, "proc:{}", folder.display()),
            Self::Bpf => f.write_str("bpf:"),
            Self::Native => f.write_str("native:"),
            Self::Registry(host) => write!(f, "registry://{host}"),
            Self::Files(files) => {
                f.write_str("file:")?;
                for (place, file) in files.iter().enumerate() {
                    write!(f, "{}{}", if place == 0 { "" } else { "," }, file.display())?;
                }
                Ok(())
            }
        }
    }
}

impl SourceAddress {
    /// The operating system that the source runs on, with version and architecture
    /// (`linux 6.1.0 x86_64`), for [`CaptureOptions::system`](crate::CaptureOptions::system);
    /// `None` unless the address is this machine.
    #[must_use]
    pub fn system(&self) -> Option<String> {
        match self {
            Self::Local | Self::Native | Self::Bpf | Self::Proc(None) => {}
            Self::Proc(Some(_)) | Self::Registry(_) | Self::Files(_) => return None,
        }
        let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
        Some(format!("{system} {} {architecture}", version_of_system()))
    }
}

#[cfg(windows)]
fn version_of_system() -> String {
    let wine = if perfhive_windows::is_wine() { " (Wine)" } else { "" };
    format!("{}{wine}", perfhive_windows::native::windows_version())
}

#[cfg(not(windows))]
fn version_of_system() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_string()
}

/// How a source is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    titles: Vec<PathBuf>,
    patience: Option<Duration>,
}

impl OpenOptions {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a title list for sources that carry no names of their own: a
    /// `REG_MULTI_SZ` as bytes, or a text with one string a line. English,
    /// unless the file's name begins with another language's code and a dot
    /// or underscore (`de.txt`, `007_counter.bin`).
    #[must_use]
    pub fn titles(mut self, file: impl Into<PathBuf>) -> Self {
        self.titles.push(file.into());
        self
    }

    /// How long a request without a deadline of its own waits for providers that may
    /// hang. On Windows, of `local:` and `registry://HOST`: 10 seconds by default; what
    /// takes longer is asked for provider by provider, half as long each, and those that
    /// hang cost their own objects. On Linux, for libraries of registered providers: two
    /// seconds by default, or twice as long as one took of late; the rest does not wait
    /// with them, and what they were late with is missing.
    ///
    /// ```
    /// use std::time::Duration;
    /// let options = perfhive::OpenOptions::new().patience(Duration::from_secs(5));
    /// # assert!(options.open("nothing:").is_err());
    /// ```
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// What [`reader_of_processes`] tells, with the patience of these options.
    #[must_use]
    pub fn reader_of_processes(&self, address: &str) -> Option<String> {
        match address.parse().ok()? {
            SourceAddress::Files(paths) => perfhive_recording::reader_of_processes(&paths),
            address => reader(&address, self.patience),
        }
    }

    /// Opens a source.
    ///
    /// # Errors
    /// Where the address is none, or the source cannot be read.
    pub fn open(&self, address: &str) -> Result<Box<dyn Source>, SourceError> {
        let parsed: SourceAddress = address
            .parse()
            .map_err(|error| SourceError::new(SourceErrorKind::NotFound, "source", error))?;
        match parsed {
            SourceAddress::Local
            | SourceAddress::Proc(_)
            | SourceAddress::Bpf
            | SourceAddress::Native
            | SourceAddress::Registry(_) => machine(&parsed, self.patience),
            SourceAddress::Files(paths) => {
                let name = SourceAddress::Files(paths.clone()).to_string();
                Ok(Box::new(perfhive_recording::open(&name, &paths, &self.titles)?))
            }
        }
    }
}

/// Opens a source with the default options: `local:`, or another
/// [`SourceAddress`].
///
/// # Errors
/// Where the address is none, or the source cannot be read.
pub fn open(address: &str) -> Result<Box<dyn Source>, SourceError> {
    OpenOptions::new().open(address)
}

/// What processes and threads of a source are read with, in one line; `None`
/// where there is no choice. Of a capture, what they were read with.
#[must_use]
pub fn reader_of_processes(address: &str) -> Option<String> {
    OpenOptions::new().reader_of_processes(address)
}

#[cfg(not(windows))]
fn reader(address: &SourceAddress, _: Option<Duration>) -> Option<String> {
    match (address, bpf_refusal()?) {
        (SourceAddress::Bpf, _) => Some("processes through BPF".to_string()),
        (SourceAddress::Local, Ok(())) => {
            Some("processes from /proc, from the third sample on through BPF".to_string())
        }
        (SourceAddress::Local, Err(why)) => {
            Some(format!("processes from /proc; through BPF they are not, because: {why}"))
        }
        _ => None,
    }
}

#[cfg(windows)]
fn reader(address: &SourceAddress, patience: Option<Duration>) -> Option<String> {
    // Told in passing, which is worth no long wait.
    let patience = patience.unwrap_or(PATIENCE).min(PATIENCE / 3);
    match address {
        SourceAddress::Native => Some("processes by Windows' native functions".to_string()),
        SourceAddress::Local => match local("local:", patience)
            .and_then(|mut local| local.reason().map(|reason| reason.map(str::to_string)))
        {
            Ok(None) => Some("processes from the registry's counters".to_string()),
            Ok(Some(reason)) => Some(reason),
            Err(error) => Some(error.message().to_string()),
        },
        _ => None,
    }
}

#[cfg(all(target_os = "linux", feature = "bpf"))]
fn bpf_refusal() -> Option<Result<(), String>> {
    let refusal = perfhive_linux::bpf_refusal(&perfhive_linux::ProcRoot::default());
    Some(refusal.map_or(Ok(()), Err))
}

#[cfg(not(any(windows, all(target_os = "linux", feature = "bpf"))))]
fn bpf_refusal() -> Option<Result<(), String>> {
    None
}

#[cfg(target_os = "linux")]
fn machine(
    address: &SourceAddress,
    patience: Option<Duration>,
) -> Result<Box<dyn Source>, SourceError> {
    use perfhive_linux::{LinuxClock, Options, ProcRoot, ReaderChoice, machine_name};

    let name = address.to_string();
    let unavailable =
        |why: String| SourceError::new(SourceErrorKind::Unavailable, name.as_str(), why);
    let reader = match address {
        SourceAddress::Proc(_) => ReaderChoice::Proc,
        SourceAddress::Bpf => ReaderChoice::Bpf,
        SourceAddress::Registry(_) => {
            let message = "another machine's registry can be read on Windows only; capture it \
                           there (`perfhive capture FOLDER -s registry://HOST`), and \
                           `-s file:FOLDER` reads that here";
            return Err(unavailable(message.to_string()));
        }
        SourceAddress::Native => {
            let message = "Windows' native functions are on Windows only; `-s local:` is this \
                           machine";
            return Err(unavailable(message.to_string()));
        }
        _ => ReaderChoice::Auto,
    };
    let (root, machine) = match address {
        SourceAddress::Proc(Some(folder)) => {
            if !folder.join("proc").is_dir() {
                let what = if folder.is_dir() { "has no folder proc" } else { "is no folder" };
                let message = format!(
                    "{} {what}; proc:FOLDER is a copy of a machine, a folder with its proc and sys",
                    folder.display()
                );
                return Err(unavailable(message));
            }
            (ProcRoot::frozen(folder), name_of_copy(folder))
        }
        _ => (ProcRoot::default(), machine_name()),
    };
    if reader == ReaderChoice::Bpf
        && let Some(why) = perfhive_linux::bpf_refusal(&root)
    {
        return Err(unavailable(why));
    }
    let builder = perfhive_engine::Broker::builder(&name, &machine)
        .providers(perfhive_linux::providers_with(&root, &Options::new().reader(reader)))
        .clock(LinuxClock::new())
        // Processor, the object that Windows names as its default.
        .default_object(perfhive_format::TitleIndex(238));
    let builder = match address {
        // Nobody publishes into a copy, or registers for it.
        SourceAddress::Proc(Some(_)) => builder,
        _ => crate::extension::with_registered(with_published(builder), patience),
    };
    Ok(Box::new(builder.build()))
}

/// The counters that programs of this machine publish.
#[cfg(all(target_os = "linux", target_endian = "little"))]
fn with_published(builder: perfhive_engine::BrokerBuilder) -> perfhive_engine::BrokerBuilder {
    builder.roster(perfhive_shm::PublishedCounters::new())
}

#[cfg(all(target_os = "linux", not(target_endian = "little")))]
fn with_published(builder: perfhive_engine::BrokerBuilder) -> perfhive_engine::BrokerBuilder {
    builder
}

/// The name of a machine of which a folder is a copy, or the folder's.
#[cfg(target_os = "linux")]
fn name_of_copy(folder: &std::path::Path) -> String {
    let file = folder.join("proc/sys/kernel/hostname");
    // Nothing but a small file is read: a pipe would wait for ever.
    let is_file = std::fs::metadata(&file).is_ok_and(|meta| meta.is_file() && meta.len() < 4096);
    let name =
        if is_file { std::fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    match name.trim() {
        "" => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        name => name.to_string(),
    }
}

/// How long a request without a deadline of its own may take: as long as Windows
/// gives a provider for its Open.
#[cfg(windows)]
const PATIENCE: Duration = Duration::from_secs(10);

/// The registry's counters, on a thread of their own: a provider that hangs is
/// reported and does not hang who asked.
#[cfg(windows)]
fn machine(
    address: &SourceAddress,
    patience: Option<Duration>,
) -> Result<Box<dyn Source>, SourceError> {
    let name = address.to_string();
    let patience = patience.unwrap_or(PATIENCE);
    match address {
        SourceAddress::Local => Ok(with_published(&name, local(&name, patience)?)),
        SourceAddress::Native => Ok(Box::new(native(&name))),
        SourceAddress::Registry(host) => {
            Ok(Box::new(perfhive_windows::Relay::remote(&name, host, patience)?))
        }
        _ => {
            let message = "there is no /proc on Windows; `-s local:` is this machine, `-s \
                           native:` its processes without the registry";
            Err(SourceError::new(SourceErrorKind::Unavailable, &name, message))
        }
    }
}

/// A source with the counters that programs of this machine publish beside it.
#[cfg(all(windows, target_pointer_width = "64"))]
fn with_published(name: &str, source: impl Source + 'static) -> Box<dyn Source> {
    let machine = perfhive_windows::native::machine_name();
    let published = perfhive_engine::Broker::builder(name, &machine)
        .roster(perfhive_shm::PublishedCounters::new())
        .label("published")
        .build();
    Box::new(crate::beside::Beside::new(source, published))
}

#[cfg(all(windows, not(target_pointer_width = "64")))]
fn with_published(_: &str, source: impl Source + 'static) -> Box<dyn Source> {
    Box::new(source)
}

/// This machine's counters, those of the registry first.
#[cfg(windows)]
fn local(
    name: &str,
    patience: Duration,
) -> Result<perfhive_windows::Fallback<perfhive_engine::Broker>, SourceError> {
    let registry = perfhive_windows::Relay::local(name, patience)?;
    Ok(perfhive_windows::Fallback::over(registry, native(name)))
}

#[cfg(windows)]
fn native(name: &str) -> perfhive_engine::Broker {
    use perfhive_windows::native::{NativeClock, NativeProvider, Ntdll, machine_name};
    use std::sync::Arc;
    perfhive_engine::Broker::builder(name, &machine_name())
        .provider(Arc::new(NativeProvider::new(Arc::new(Ntdll))))
        .clock(NativeClock::new())
        .label("native")
        // Processor, the object that Windows names as its default.
        .default_object(perfhive_format::TitleIndex(238))
        .build()
}

#[cfg(not(any(target_os = "linux", windows)))]
fn machine(address: &SourceAddress, _: Option<Duration>) -> Result<Box<dyn Source>, SourceError> {
    let message = "this machine's counters can be read on Linux and Windows only so far; \
                   recorded blocks open with file:A.bin,B.bin";
    Err(SourceError::new(SourceErrorKind::Unavailable, &address.to_string(), message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!("local:".parse(), Ok(SourceAddress::Local));
        for (text, address) in [
            ("proc:", SourceAddress::Proc(None)),
            ("proc:/a/b,c", SourceAddress::Proc(Some("/a/b,c".into()))),
            ("bpf:", SourceAddress::Bpf),
            ("native:", SourceAddress::Native),
            ("registry://BOX", SourceAddress::Registry("BOX".into())),
        ] {
            assert_eq!(text.parse(), Ok(address.clone()));
            assert_eq!(address.to_string(), text);
        }
        let two = SourceAddress::Files(vec!["a.bin".into(), "b.bin".into()]);
        assert_eq!("file:a.bin,b.bin".parse(), Ok(two.clone()));
        assert_eq!(two.to_string(), "file:a.bin,b.bin");
        let told = |text: &str| text.parse::<SourceAddress>().unwrap_err().to_string();
        assert!(
            told("registry://")
                .ends_with("expected registry://HOST, the name or IP address of a Windows machine")
        );
        assert!(told("file:").contains("file:FOLDER for a capture"));
        assert!(told("http://x").contains("local: for this machine"));
        for bad in [
            "",
            "file:",
            "file:a,,b",
            "http://x",
            "a.bin",
            "LOCAL",
            "bpf:x",
            "native:x",
            "registry://",
            "registry://a\\b",
        ] {
            assert!(bad.parse::<SourceAddress>().is_err(), "{bad}");
        }
    }
}
