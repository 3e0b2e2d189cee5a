//! The objects Network Interface and Network Adapter, from `/proc/net/dev`, the attributes in
//! `/sys/class/net`, and the lengths of the queues that rtnetlink reports.

use super::devices::{Columns, devices};
use super::queues::Queues;
use crate::faults::{Faults, Text, describe, unreadable};
use crate::files::Reader;
use crate::parse::{number, utf16_name};
use crate::table::{ADAPTER, INTERFACE, Object, index_of};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{Collection, ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, NameRef, TitleIndex};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::ops::Range;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// The title index of the counter Current Bandwidth of Network Interface.
const BANDWIDTH: u32 = index_of!(INTERFACE, "Current Bandwidth");
/// The title index of the counter Output Queue Length of Network Interface.
const QUEUE: u32 = index_of!(INTERFACE, "Output Queue Length");

/// An attribute that is read on request: its counter, its file and the parser of its value.
struct Attribute {
    counter: u32,
    path: &'static str,
    value: fn(&[u8]) -> Option<u64>,
}

const ATTRIBUTES: [Attribute; 7] = [
    Attribute { counter: index_of!(INTERFACE, "MTU"), path: "/mtu", value: number },
    Attribute {
        counter: index_of!(INTERFACE, "Operational Status"),
        path: "/operstate",
        value: state,
    },
    Attribute {
        counter: index_of!(INTERFACE, "Administrative Status"),
        path: "/flags",
        value: administrative,
    },
    Attribute {
        counter: index_of!(INTERFACE, "Carrier Changes"),
        path: "/carrier_changes",
        value: number,
    },
    Attribute {
        counter: index_of!(INTERFACE, "Packets Received Missed"),
        path: "/statistics/rx_missed_errors",
        value: number,
    },
    Attribute {
        counter: index_of!(INTERFACE, "Packets Received CRC Errors"),
        path: "/statistics/rx_crc_errors",
        value: number,
    },
    Attribute {
        counter: index_of!(INTERFACE, "Packets Received No Handler"),
        path: "/statistics/rx_nohandler",
        value: number,
    },
];

/// The identity of an interface that was seen in a collection, kept under its name.
#[derive(Clone, Copy)]
struct SeenInterface {
    /// The kernel's index of the interface, which is never reused.
    number: u64,
    /// The number of the last collection that found the interface.
    seen: u64,
}

/// An interface in this collection.
struct Line {
    name: Range<usize>,
    row: CounterValues,
    is_adapter: bool,
}

/// The parts that a collection wants besides the columns of `/proc/net/dev`: attributes in the
/// order of [`ATTRIBUTES`], the object Network Adapter, and lengths of queues.
struct Wanted {
    attributes: [bool; ATTRIBUTES.len()],
    adapters: bool,
    queues: bool,
}

pub(super) struct Interfaces {
    file: Option<OwnedFd>,
    folder: Option<CString>,
    /// The reader of `/sys/class/net`; `None` until that folder could be opened.
    attributes: Option<Reader>,
    known: BTreeMap<Vec<u8>, SeenInterface>,
    collections: u64,
    names: Vec<u8>,
    /// The interfaces of this collection, in front; lines behind them are kept for reuse.
    lines: Vec<Line>,
    units: Vec<u16>,
    /// The reader of the lengths of queues; `None` unless the machine is read from `/proc` itself.
    queues: Option<Queues>,
    layouts: Layouts,
    adapters: Layouts,
    faults: Faults,
}

impl Interfaces {
    /// The state of a session. `folder` is the machine's `sys`, without which there are no
    /// attributes. `is_live` says that this process sees these interfaces, so that the kernel can
    /// be asked for their queues.
    pub(super) fn new(folder: Option<PathBuf>, is_live: bool) -> Self {
        Self {
            file: None,
            folder: folder.and_then(|sys| {
                CString::new(sys.join("class/net").into_os_string().into_vec()).ok()
            }),
            attributes: None,
            known: BTreeMap::new(),
            collections: 0,
            names: Vec::new(),
            lines: Vec::new(),
            units: Vec::new(),
            queues: is_live.then(Queues::default),
            layouts: Layouts::new(&INTERFACE),
            adapters: Layouts::new(&ADAPTER),
            faults: Faults::default(),
        }
    }

    pub(super) fn write(
        &mut self,
        reader: &mut Reader,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let objects = [&INTERFACE, &ADAPTER].map(|object| TitleIndex(object.index));
        let asked = |counter| {
            objects.iter().any(|object| collection.wants_extra(*object, TitleIndex(counter)))
        };
        let [interfaces, adapters] = objects.map(|object| collection.wants(object));
        let wanted = Wanted {
            attributes: ATTRIBUTES.map(|attribute| asked(attribute.counter)),
            adapters,
            queues: asked(QUEUE) && self.read_queues(),
        };
        self.open_attributes();
        let written = match reader.system(c"net/dev", &mut self.file) {
            Ok(text) => match Columns::parse(text) {
                Some(columns) => {
                    let count = self.read(text, &columns, &wanted);
                    let mask = columns.mask();
                    let all = match interfaces {
                        true => self.write_lines(count, mask, &INTERFACE, out),
                        false => Ok(()),
                    };
                    all.and_then(|()| match adapters {
                        true => self.write_lines(count, mask, &ADAPTER, out),
                        false => Ok(()),
                    })
                }
                None => {
                    self.faults.object("net/dev: not understood");
                    Ok(())
                }
            },
            Err(error) => {
                unreadable(c"net/dev", error, &mut self.faults);
                Ok(())
            }
        };
        for (object, _) in objects.iter().zip([interfaces, adapters]).filter(|(_, wanted)| *wanted)
        {
            self.faults.tell(object.0, out);
        }
        self.faults.clear();
        written
    }

    /// Reads the lengths of the queues; returns `false` if they are not known: if reading failed,
    /// which is a fault, or if the machine is not read from `/proc` itself.
    fn read_queues(&mut self) -> bool {
        let Some(queues) = &mut self.queues else { return false };
        let done = queues.read();
        if let Err(error) = done {
            self.faults.object(format_args!("queues by netlink: {}", describe(error)));
        }
        done.is_ok()
    }

    fn open_attributes(&mut self) {
        let (Some(folder), None) = (&self.folder, &self.attributes) else {
            return;
        };
        match Reader::open(folder.as_c_str()) {
            Ok(reader) => self.attributes = Some(reader),
            Err(Errno::NOENT) => {}
            Err(error) => self.faults.object(format_args!("sys/class/net: {}", describe(error))),
        }
    }

    /// Reads the interfaces into `lines`; returns the number of filled lines. An interface that
    /// [has replaced](is_replaced) another of the same name has no values in this collection.
    fn read(&mut self, text: &[u8], columns: &Columns, wanted: &Wanted) -> usize {
        self.collections += 1;
        self.names.clear();
        let mut count = 0;
        for device in devices(text, columns) {
            let (name, values) = match device {
                Ok(device) => device,
                Err(None) => {
                    self.faults.object("net/dev: a line is damaged");
                    continue;
                }
                Err(Some(name)) => {
                    self.faults.instance(Text(name), "net/dev: the line is damaged");
                    continue;
                }
            };
            let start = self.names.len();
            self.names.extend_from_slice(name);
            let range = start..self.names.len();
            if self.lines.len() == count {
                let row = CounterValues::new(&INTERFACE);
                self.lines.push(Line { name: 0..0, row, is_adapter: false });
            }
            let Some(line) = self.lines.get_mut(count) else { break };
            count += 1;
            line.name = range;
            line.row.clear();
            line.is_adapter = false;
            if let (Some(attributes), Some(path)) = (&mut self.attributes, NetPath::new(name)) {
                let mut link =
                    Link { attributes, path, name, row: &mut line.row, faults: &mut self.faults };
                let number = link.number();
                if is_replaced(&mut self.known, name, number, self.collections) {
                    continue;
                }
                line.is_adapter = wanted.adapters && link.has_device();
                link.read(wanted.attributes);
                if let (true, Some(queues), Some(number)) = (wanted.queues, &self.queues, number) {
                    line.row.set(QUEUE, queues.length(number));
                }
            }
            columns.set(&values, &mut line.row);
        }
        let collections = self.collections;
        self.known.retain(|_, known| known.seen == collections);
        count
    }

    fn write_lines(
        &mut self,
        count: usize,
        mask: u64,
        object: &Object,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let adapters = object.index == ADAPTER.index;
        let lines = self.lines.get(..count).unwrap_or_default();
        let mask = lines.iter().fold(mask, |mask, line| mask | line.row.mask());
        if mask == 0 {
            return Ok(());
        }
        let layouts = if adapters { &mut self.adapters } else { &mut self.layouts };
        let mut object = out.object(layouts.template(mask)?)?;
        let mut values = [0; MOST];
        for line in lines.iter().filter(|line| !adapters || line.is_adapter) {
            utf16_name(self.names.get(line.name.clone()).unwrap_or_default(), &mut self.units);
            let name = NameRef::Utf16(&self.units);
            let head = InstanceHead { name, unique_id: None, parent: None };
            object.instance_prefix(&head, line.row.values(mask, &mut values))?;
        }
        object.finish()?;
        Ok(())
    }
}

/// Whether another interface had this name in the previous collection. Notes the current interface
/// in `known`. `number` is the kernel's index of the current interface; if it is `None`, the answer
/// is `false`. `seen` is the number of this collection.
fn is_replaced(
    known: &mut BTreeMap<Vec<u8>, SeenInterface>,
    name: &[u8],
    number: Option<u64>,
    seen: u64,
) -> bool {
    let Some(number) = number else {
        return false;
    };
    match known.get_mut(name) {
        Some(known) => {
            let before = std::mem::replace(known, SeenInterface { number, seen });
            before.number != number
        }
        None => {
            known.insert(name.to_vec(), SeenInterface { number, seen });
            false
        }
    }
}

/// A reader of the attributes of one interface.
struct Link<'a> {
    attributes: &'a mut Reader,
    path: NetPath,
    name: &'a [u8],
    row: &'a mut CounterValues,
    faults: &'a mut Faults,
}

impl Link<'_> {
    /// The kernel's index of the interface; `None` if it cannot be read.
    fn number(&mut self) -> Option<u64> {
        self.attribute("/ifindex", number)
    }

    /// Whether the interface belongs to a device, on a bus or provided by the host of a virtual
    /// machine.
    fn has_device(&mut self) -> bool {
        self.attribute("/device/uevent", |_| Some(())).is_some()
    }

    fn read(&mut self, asked: [bool; ATTRIBUTES.len()]) {
        for (attribute, _) in ATTRIBUTES.iter().zip(asked).filter(|(_, asked)| *asked) {
            let value = self.attribute(attribute.path, attribute.value);
            self.row.set_some(attribute.counter, value);
        }
        if let Some(Speed(Some(bits))) = self.attribute("/speed", Speed::parse) {
            self.row.set(BANDWIDTH, bits);
        }
    }

    /// The value of the attribute in `file`, as `value` parses it. `None` if the attribute is
    /// missing or the driver does not know it; any other failure gives `None` and adds a fault.
    fn attribute<T>(&mut self, file: &str, value: fn(&[u8]) -> Option<T>) -> Option<T> {
        let error = match self.attributes.once_here(self.path.file(file)?) {
            Ok(()) => match value(self.attributes.text().trim_ascii()) {
                Some(value) => return Some(value),
                None => None,
            },
            // EINVAL or EOPNOTSUPP: the interface is down or has no such value.
            // ENODEV: the interface vanished.
            Err(Errno::NOENT | Errno::INVAL | Errno::OPNOTSUPP | Errno::NODEV) => return None,
            Err(error) => Some(error),
        };
        let name = Text(self.name);
        let wrong = error.map_or("not understood", describe);
        self.faults.instance(&name, format_args!("sys/class/net/{name}{file}: {wrong}"));
        None
    }
}

/// The speed of an interface in bits per second; `None` if the driver does not know it.
struct Speed(Option<u64>);

impl Speed {
    /// Parses a speed in Mbit/s; `None` for a text that is no speed. A driver that does not know
    /// the speed gives −1, which older kernels cut to 16 bits or print unsigned, or 0: the result
    /// is then `Speed(None)`.
    fn parse(text: &[u8]) -> Option<Self> {
        if text == b"-1" {
            return Some(Self(None));
        }
        Some(Self(match number(text)? {
            0 | 0xffff => None,
            unknown if unknown >= u64::from(u32::MAX) => None,
            megabits => Some(megabits * 1_000_000),
        }))
    }
}

/// The number of an operational status in RFC 2863, from the text of `operstate`; `None` for
/// another text.
fn state(text: &[u8]) -> Option<u64> {
    let states: [&[u8]; 7] =
        [b"up", b"down", b"testing", b"unknown", b"dormant", b"notpresent", b"lowerlayerdown"];
    (1..).zip(states).find(|(_, state)| *state == text).map(|(number, _)| number)
}

/// The administrative status, from the hexadecimal number in `flags`: 1 if the interface is up, 2
/// if it is down; `None` for another text.
fn administrative(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text.strip_prefix(b"0x")?).ok()?;
    let flags = u64::from_str_radix(digits, 16).ok()?;
    Some(if flags & 1 == 1 { 1 } else { 2 })
}

/// The path of an attribute below `/sys/class/net`, built without allocating.
struct NetPath {
    bytes: [u8; 64],
    /// The length of the interface's name.
    length: usize,
}

impl NetPath {
    /// The path for the interface `name`; `None` for a name that no interface can have: a name that
    /// is too long, or that would lead out of the folder.
    fn new(name: &[u8]) -> Option<Self> {
        let is_plain = !name.contains(&b'/') && !name.contains(&0);
        if !is_plain || matches!(name, b"" | b"." | b"..") {
            return None;
        }
        let mut bytes = [0; 64];
        // The kernel's names have at most 15 bytes.
        bytes.get_mut(..name.len()).filter(|_| name.len() < 32)?.copy_from_slice(name);
        Some(Self { bytes, length: name.len() })
    }

    fn file(&mut self, file: &str) -> Option<&CStr> {
        let end = self.length + file.len();
        self.bytes.get_mut(self.length..end)?.copy_from_slice(file.as_bytes());
        *self.bytes.get_mut(end)? = 0;
        CStr::from_bytes_until_nul(&self.bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_kernel_are_parsed() {
        for (text, bits) in [
            ("1000", Some(1_000_000_000)),
            ("400000", Some(400_000_000_000)),
            ("-1", None),
            ("0", None),
            ("65535", None),
            ("4294967295", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(Speed::parse(text.as_bytes()).unwrap().0, bits, "{text}");
        }
        assert!(Speed::parse(b"fast").is_none() && Speed::parse(b"").is_none());
        assert_eq!((state(b"up"), state(b"lowerlayerdown"), state(b"x")), (Some(1), Some(7), None));
        assert_eq!(administrative(b"0x1003"), Some(1));
        assert_eq!(administrative(b"0x1002"), Some(2));
        assert_eq!((administrative(b"1003"), administrative(b"0x")), (None, None));
    }

    #[test]
    fn names_with_slashes_give_no_path() {
        let mut path = NetPath::new(b"eth0").unwrap();
        let longest = "/statistics/rx_missed_errors";
        assert_eq!(path.file(longest), Some(c"eth0/statistics/rx_missed_errors"));
        assert_eq!(path.file("/mtu"), Some(c"eth0/mtu"));
        let mut path = NetPath::new(&[b'x'; 31]).unwrap();
        assert!(path.file(longest).is_some());
        for bad in [&b"../lo"[..], b".", b"..", b"", b"a\0b", b"/", &[b'x'; 64]] {
            assert!(NetPath::new(bad).is_none(), "{bad:?}");
        }
    }
}
