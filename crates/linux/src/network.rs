//! The provider `linux-network`: Network Interface and the protocols.

mod connections;
mod devices;
mod fields;
mod interfaces;
mod pairs;

use crate::faults::{Faults, Text, is_gone, unreadable};
use crate::files::Reader;
use crate::provider::LinuxProvider;
use crate::root::ProcRoot;
use crate::table::{
    ICMP, ICMPV6, INTERFACE, IPV4, IPV6, NETWORK, Object, TCPV4, TCPV6, UDPV4, UDPV6,
};
use connections::Connections;
use fields::Part;
use interfaces::Interfaces;
use pairs::File;
use perfhive_engine::standard::{Layouts, Row, write_single};
use perfhive_engine::{Collection, ObjectWriter, Provider, ProviderError, Session};
use perfhive_format::TitleIndex;
use rustix::fd::OwnedFd;
use rustix::param::page_size;
use std::ffi::CStr;

/// TCPv4 638 and TCPv6 1530, Connections Established.
const ESTABLISHED: u32 = 642;

/// The protocols, and what fills them.
static PROTOCOLS: [(&Object, &[Part]); 8] = [
    (&IPV4, fields::IPV4),
    (&IPV6, fields::IPV6),
    (&ICMP, fields::ICMP),
    (&ICMPV6, fields::ICMPV6),
    (&TCPV4, fields::TCPV4),
    (&TCPV6, fields::TCPV6),
    (&UDPV4, fields::UDPV4),
    (&UDPV6, fields::UDPV6),
];

/// The provider.
pub(crate) fn provider(root: &ProcRoot) -> impl Provider + use<> {
    LinuxProvider::new("linux-network", NETWORK, root, NetworkSession::open)
}

/// A protocol in this session.
struct Protocol {
    object: &'static Object,
    parts: &'static [Part],
    wanted: bool,
    row: Row,
    layouts: Layouts,
    faults: Faults,
}

impl Protocol {
    fn new(object: &'static Object, parts: &'static [Part]) -> Self {
        Self {
            object,
            parts,
            wanted: false,
            row: Row::new(object),
            layouts: Layouts::new(object),
            faults: Faults::default(),
        }
    }

    /// The parts of a file that are needed now.
    fn needs(&self, file: File) -> impl Iterator<Item = &'static Part> + use<> {
        let parts = if self.wanted { self.parts } else { &[] };
        parts.iter().filter(move |part| part.file == file)
    }
}

/// The lists of TCP sockets.
#[derive(Default)]
struct ConnectionFiles {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
}

struct NetworkSession {
    reader: Reader,
    page: u64,
    /// Open since they were read first.
    files: [Option<OwnedFd>; File::ALL.len()],
    connections: ConnectionFiles,
    interfaces: Interfaces,
    protocols: [Protocol; PROTOCOLS.len()],
}

impl NetworkSession {
    fn open(root: &ProcRoot, reader: Reader) -> Self {
        Self {
            reader,
            page: page_size() as u64,
            files: Default::default(),
            connections: ConnectionFiles::default(),
            interfaces: Interfaces::new(root.sys().map(Into::into)),
            protocols: PROTOCOLS.map(|(object, parts)| Protocol::new(object, parts)),
        }
    }
}

impl Session for NetworkSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        if collection.wants(TitleIndex(INTERFACE.index)) {
            self.interfaces.write(&mut self.reader, collection, out)?;
        }
        for protocol in &mut self.protocols {
            protocol.wanted = collection.wants(TitleIndex(protocol.object.index));
            protocol.row.clear();
        }
        self.read_files();
        self.count_connections(collection);
        for protocol in self.protocols.iter_mut().filter(|protocol| protocol.wanted) {
            // What the machine has nothing for, IPv6 for one, is an object without
            // counters; what could not be read is a fault and no object.
            if protocol.row.mask() != 0 || protocol.faults.is_empty() {
                write_single(&mut protocol.layouts, &protocol.row, None, out)?;
            }
            protocol.faults.report(protocol.object.index, out);
        }
        Ok(())
    }
}

impl NetworkSession {
    /// Reads each file once, for every protocol that needs it.
    fn read_files(&mut self) {
        for (file, fd) in File::ALL.into_iter().zip(&mut self.files) {
            let protocols = &mut self.protocols;
            if protocols.iter().all(|protocol| protocol.needs(file).next().is_none()) {
                continue;
            }
            let path = file.path();
            match self.reader.system(path, fd) {
                Ok(text) => {
                    for Protocol { parts, wanted, row, faults, .. } in protocols {
                        let needed = parts.iter().filter(|part| *wanted && part.file == file);
                        for part in needed {
                            pairs::fill(text, part, self.page, row, &mut |damage| {
                                faults.object(format_args!("{}: {damage}", Text(path)));
                            });
                        }
                    }
                }
                Err(error) if is_gone(error) && !file.is_always_there() => {}
                Err(error) => {
                    for protocol in protocols {
                        if protocol.needs(file).next().is_some() {
                            unreadable(path, error, &mut protocol.faults);
                        }
                    }
                }
            }
        }
    }

    /// Counts established connections by version, for whom they are asked.
    fn count_connections(&mut self, collection: &Collection<'_>) {
        let asked = |object: &Object| {
            let index = TitleIndex(object.index);
            collection.wants(index) && collection.wants_extra(index, TitleIndex(ESTABLISHED))
        };
        let (v4, v6) = (asked(&TCPV4), asked(&TCPV6));
        if !v4 && !v6 {
            return;
        }
        let Self { reader, connections: files, protocols, .. } = self;
        let mut counts = Some(Connections::default());
        let mut faults = |message: &dyn Fn(&mut Faults)| {
            for protocol in &mut *protocols {
                let index = protocol.object.index;
                if (v4 && index == TCPV4.index) || (v6 && index == TCPV6.index) {
                    message(&mut protocol.faults);
                }
            }
        };
        // Sockets of IPv6 may have connections of IPv4.
        let mut has_v6 = false;
        let lists = [(v4, c"net/tcp", &mut files.v4), (true, c"net/tcp6", &mut files.v6)];
        for (wanted, path, fd) in lists {
            if !wanted {
                continue;
            }
            let is_v6 = path == c"net/tcp6";
            match reader.system(path, fd) {
                Ok(text) => {
                    has_v6 |= is_v6;
                    let sum = counts.and_then(|counts| counts.add(text));
                    if sum.is_none() && counts.is_some() {
                        faults(&|faults| not_understood(path, faults));
                    }
                    counts = sum;
                }
                Err(error) if is_v6 && is_gone(error) => {}
                Err(error) => {
                    faults(&|faults| unreadable(path, error, faults));
                    counts = None;
                }
            }
        }
        let Some(counts) = counts else {
            return;
        };
        for Protocol { object, row, .. } in protocols {
            if v4 && object.index == TCPV4.index {
                row.set(ESTABLISHED, counts.v4);
            } else if v6 && has_v6 && object.index == TCPV6.index {
                row.set(ESTABLISHED, counts.v6);
            }
        }
    }
}

fn not_understood(path: &CStr, faults: &mut Faults) {
    faults.object(format_args!("{}: not understood", Text(path)));
}
