//! This machine on Linux: the embedded providers, registered libraries, published counters.

use super::{Opened, unavailable};
use crate::options::OpenOptions;
use crate::scheme::SourceAddress;
use perfhive_engine::{Broker, BrokerBuilder};
use perfhive_format::TitleIndex;
use perfhive_linux::{LinuxClock, LinuxOptions, ProcRoot, ReaderChoice, machine_name};
use std::path::Path;

/// The name of the data source of `local:` in measurements.
pub(crate) const DATA_SOURCE: &str = "linux.procfs";

/// The title index of Processor, the object that Windows names as its default.
const DEFAULT_OBJECT: TitleIndex = TitleIndex(238);

pub(crate) fn open_local(address: &SourceAddress, options: &OpenOptions) -> Opened {
    this_machine(address, options, ReaderChoice::Auto)
}

pub(crate) fn open_bpf(address: &SourceAddress, options: &OpenOptions) -> Opened {
    match perfhive_linux::bpf_refusal(&ProcRoot::default()) {
        Some(why) => Err(unavailable(address, &why)),
        None => this_machine(address, options, ReaderChoice::Bpf),
    }
}

pub(crate) fn open_proc(address: &SourceAddress, options: &OpenOptions) -> Opened {
    let Some(folder) = address.folder() else {
        return this_machine(address, options, ReaderChoice::Proc);
    };
    if !folder.join("proc").is_dir() {
        let what = if folder.is_dir() { "has no folder proc" } else { "is not a folder" };
        let shown = folder.display();
        let form = "proc:FOLDER is a copy of a machine, a folder with its proc and sys";
        return Err(unavailable(address, &format_args!("{shown} {what}; {form}")));
    }
    let is_empty = |mut entries: std::fs::ReadDir| entries.next().is_none();
    if std::fs::read_dir(folder.join("proc")).is_ok_and(is_empty) {
        let shown = folder.join("proc");
        return Err(unavailable(address, &format_args!("{} is empty", shown.display())));
    }
    let root = ProcRoot::frozen(folder);
    let name = name_of_copy(folder);
    // No program publishes into a copy, and no library is registered for it.
    Ok(Box::new(builder(address, &root, &name, ReaderChoice::Proc).build()))
}

pub(crate) fn open_native(address: &SourceAddress, _: &OpenOptions) -> Opened {
    let message = "Windows' native functions are on Windows only; `-s local:` is this machine";
    Err(unavailable(address, &message))
}

pub(crate) fn open_registry(address: &SourceAddress, _: &OpenOptions) -> Opened {
    let message = "another machine's registry can be read on Windows only; capture it there \
                   (`perfhive capture FOLDER -s registry://HOST`), and `-s file:FOLDER` reads \
                   that here";
    Err(unavailable(address, &message))
}

fn this_machine(address: &SourceAddress, options: &OpenOptions, reader: ReaderChoice) -> Opened {
    let builder = builder(address, &ProcRoot::default(), &machine_name(), reader);
    let builder = with_registered(with_published(builder), options);
    Ok(Box::new(builder.build()))
}

/// Adds the counters of registered libraries to a broker.
#[cfg(feature = "libraries")]
fn with_registered(builder: BrokerBuilder, options: &OpenOptions) -> BrokerBuilder {
    crate::extension::with_registered(builder, options.patience)
}

#[cfg(not(feature = "libraries"))]
fn with_registered(builder: BrokerBuilder, _: &OpenOptions) -> BrokerBuilder {
    builder
}

fn builder(
    address: &SourceAddress,
    root: &ProcRoot,
    machine: &str,
    reader: ReaderChoice,
) -> BrokerBuilder {
    Broker::builder(&format!("{address}"), machine)
        .providers(perfhive_linux::providers_with(root, &LinuxOptions::new().reader(reader)))
        .clock(LinuxClock::of(root))
        .default_object(DEFAULT_OBJECT)
}

/// Adds the counters that programs of this machine publish to a broker.
#[cfg(all(feature = "publish", target_endian = "little"))]
fn with_published(builder: BrokerBuilder) -> BrokerBuilder {
    builder.roster(perfhive_shm::PublishedCounters::new())
}

#[cfg(not(all(feature = "publish", target_endian = "little")))]
fn with_published(builder: BrokerBuilder) -> BrokerBuilder {
    builder
}

/// The name of the machine that was copied into a folder, or the folder's own name where the copy
/// has no host name.
fn name_of_copy(folder: &Path) -> String {
    let file = folder.join("proc/sys/kernel/hostname");
    // Only a small regular file is read: a pipe would block for ever.
    let is_file = std::fs::metadata(&file).is_ok_and(|meta| meta.is_file() && meta.len() < 4096);
    let name =
        if is_file { std::fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    match name.trim_ascii() {
        "" => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        name => name.to_string(),
    }
}

#[cfg(feature = "bpf")]
pub(crate) fn reader_of_local(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    Some(match perfhive_linux::bpf_refusal(&ProcRoot::default()) {
        None => "processes from /proc, from the fourth sample on through BPF".to_string(),
        Some(why) => format!("processes from /proc, not through BPF: {why}"),
    })
}

#[cfg(feature = "bpf")]
pub(crate) fn reader_of_bpf(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    Some("processes through BPF".to_string())
}

/// The reader of processes that `local:` uses, which is `None`: without the feature `bpf` there is
/// no choice of readers.
#[cfg(not(feature = "bpf"))]
pub(crate) fn reader_of_local(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    None
}

#[cfg(not(feature = "bpf"))]
pub(crate) fn reader_of_bpf(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    None
}

pub(crate) fn reader_of_native(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    None
}

pub(crate) fn version_of_system() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim_ascii().to_string()
}
