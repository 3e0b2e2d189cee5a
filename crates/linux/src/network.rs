//! The provider `linux-network`: Network Interface, Network Adapter and the protocols.

mod connections;
mod devices;
mod interfaces;
mod pairs;
mod queues;

use crate::faults::{Faults, Text, is_gone, unreadable};
use crate::files::Reader;
use crate::provider::LinuxProvider;
use crate::root::ProcRoot;
use crate::table::network::{CONNECTIONS_ESTABLISHED, File, PROTOCOLS, Protocol, Section};
use crate::table::{ADAPTER, INTERFACE, NETWORK, Object, TCPV4, TCPV6};
use connections::Connections;
use interfaces::Interfaces;
use perfhive_engine::standard::{CounterValues, Layouts, write_single};
use perfhive_engine::{Collection, ObjectWriter, Provider, ProviderError, Session};
use perfhive_format::TitleIndex;
use rustix::fd::OwnedFd;
use rustix::param::page_size;
use std::ffi::CStr;

/// The provider `linux-network` for the machine below `root`.
pub(crate) fn provider(root: &ProcRoot) -> impl Provider + use<> {
    LinuxProvider::new("linux-network", NETWORK, root, NetworkSession::open)
}

/// The state of a protocol in a session: its values and faults in this collection, and its layouts.
struct ProtocolState {
    protocol: &'static Protocol,
    wanted: bool,
    row: CounterValues,
    layouts: Layouts,
    faults: Faults,
}

impl ProtocolState {
    fn new(protocol: &'static Protocol) -> Self {
        Self {
            protocol,
            wanted: false,
            row: CounterValues::new(protocol.object),
            layouts: Layouts::new(protocol.object),
            faults: Faults::default(),
        }
    }

    /// The protocol's section in a file; `None` if the protocol has none there, or if this
    /// collection does not want the protocol.
    fn needs(&self, file: File) -> Option<&'static Section> {
        let mut sections = self.protocol.sections.iter();
        sections.find(|section| self.wanted && section.file == file)
    }
}

/// The files that list the TCP sockets. In procfs they stay open after they were read for the first
/// time.
#[derive(Default)]
struct ConnectionFiles {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
}

struct NetworkSession {
    reader: Reader,
    page: u64,
    /// The files of the protocols, in the order of [`File::ALL`]. In procfs they stay open after
    /// they were read for the first time.
    files: [Option<OwnedFd>; File::ALL.len()],
    connections: ConnectionFiles,
    interfaces: Interfaces,
    protocols: [ProtocolState; PROTOCOLS.len()],
}

impl NetworkSession {
    fn open(root: &ProcRoot, reader: Reader) -> Self {
        Self {
            reader,
            page: page_size() as u64,
            files: Default::default(),
            connections: ConnectionFiles::default(),
            interfaces: Interfaces::new(root.sys().map(Into::into), root.is_live()),
            protocols: PROTOCOLS.each_ref().map(ProtocolState::new),
        }
    }
}

impl Session for NetworkSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        if [&INTERFACE, &ADAPTER].iter().any(|object| collection.wants(TitleIndex(object.index))) {
            self.interfaces.write(&mut self.reader, collection, out)?;
        }
        for protocol in &mut self.protocols {
            protocol.wanted = collection.wants(TitleIndex(protocol.protocol.object.index));
            protocol.row.clear();
        }
        self.read_files();
        self.count_connections(collection);
        for protocol in self.protocols.iter_mut().filter(|protocol| protocol.wanted) {
            // A protocol that the machine lacks (IPv6) is an object without counters. If a protocol
            // could not be read, there is a fault and no object.
            if protocol.row.mask() != 0 || protocol.faults.is_empty() {
                write_single(&mut protocol.layouts, &protocol.row, None, out)?;
            }
            protocol.faults.report(protocol.protocol.object.index, out);
        }
        Ok(())
    }
}

impl NetworkSession {
    /// Reads each file that a wanted protocol needs, once, and sets the counters of all wanted
    /// protocols that need the file.
    fn read_files(&mut self) {
        for (file, fd) in File::ALL.into_iter().zip(&mut self.files) {
            let protocols = &mut self.protocols;
            if protocols.iter().all(|protocol| protocol.needs(file).is_none()) {
                continue;
            }
            let path = file.path();
            match self.reader.system(path, fd) {
                Ok(text) => {
                    for state in protocols {
                        let Some(section) = state.needs(file) else { continue };
                        let ProtocolState { protocol, row, faults, .. } = state;
                        pairs::fill(text, section, protocol.rows, self.page, row, &mut |damage| {
                            faults.object(format_args!("{}: {damage}", Text(path)));
                        });
                    }
                }
                Err(error) if is_gone(error) && !file.is_always_there() => {}
                Err(error) => {
                    for protocol in protocols {
                        if protocol.needs(file).is_some() {
                            unreadable(path, error, &mut protocol.faults);
                        }
                    }
                }
            }
        }
    }

    /// Counts the established connections of TCPv4 and TCPv6, if the counter is wanted there. If a
    /// list cannot be read, there is a fault and no count; a machine without IPv6 lacks the second
    /// list, which is no fault.
    fn count_connections(&mut self, collection: &Collection<'_>) {
        let asked = |object: &Object| {
            let index = TitleIndex(object.index);
            collection.wants(index)
                && collection.wants_extra(index, TitleIndex(CONNECTIONS_ESTABLISHED.index))
        };
        let (v4, v6) = (asked(&TCPV4), asked(&TCPV6));
        if !v4 && !v6 {
            return;
        }
        let Self { reader, connections: files, protocols, .. } = self;
        let mut counts = Some(Connections::default());
        let mut faults = |message: &dyn Fn(&mut Faults)| {
            for protocol in &mut *protocols {
                let index = protocol.protocol.object.index;
                if (v4 && index == TCPV4.index) || (v6 && index == TCPV6.index) {
                    message(&mut protocol.faults);
                }
            }
        };
        // A socket of IPv6 may carry a connection of IPv4, so both lists are read for TCPv4.
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
        for ProtocolState { protocol, row, .. } in protocols {
            let index = protocol.object.index;
            if v4 && index == TCPV4.index {
                row.set(CONNECTIONS_ESTABLISHED.index, counts.v4);
            } else if v6 && has_v6 && index == TCPV6.index {
                row.set(CONNECTIONS_ESTABLISHED.index, counts.v6);
            }
        }
    }
}

fn not_understood(path: &CStr, faults: &mut Faults) {
    faults.object(format_args!("{}: not understood", Text(path)));
}
