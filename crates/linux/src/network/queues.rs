//! The number of packets that wait to be sent, by interface, from the queueing disciplines that rtnetlink lists.
//!
//! The kernel answers a request `RTM_GETQDISC` with a message for each discipline (rtnetlink(7),
//! `linux/rtnetlink.h`, `linux/gen_stats.h`). The discipline at the root of an interface includes the
//! packets of the disciplines below.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// A request for all disciplines of all interfaces: `struct nlmsghdr` and `struct tcmsg`.
const REQUEST: [u8; HEADER + TCMSG] = {
    let mut bytes = [0; HEADER + TCMSG];
    bytes[0] = (HEADER + TCMSG) as u8;
    bytes[4] = RTM_GETQDISC;
    [bytes[6], bytes[7]] = (NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes();
    bytes
};
const HEADER: usize = 16;
const TCMSG: usize = 20;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u8 = 38;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const TC_H_ROOT: u32 = u32::MAX;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
/// The bits of an attribute's type that are not flags.
const NLA_TYPE_MASK: u16 = 0x3fff;

/// The size in bytes of the buffer for one part of an answer. The kernel sends parts of at most some
/// pages.
const ROOM: usize = 32 << 10;

/// A reader of the lengths of the interfaces' queues, in packets.
#[derive(Default)]
pub(super) struct Queues {
    socket: Option<OwnedFd>,
    buffer: Vec<u8>,
    /// The kernel's index of each interface, and the number of packets that wait there.
    lengths: Vec<(u64, u64)>,
}

impl Queues {
    /// Reads the lengths of the queues of all interfaces; an error if the kernel gives no complete
    /// answer.
    pub(super) fn read(&mut self) -> Result<(), Errno> {
        self.lengths.clear();
        let done = self.ask();
        if done.is_err() {
            // The rest of an answer must not be taken for the next answer.
            self.socket = None;
        }
        done
    }

    fn ask(&mut self) -> Result<(), Errno> {
        let socket = match &mut self.socket {
            Some(socket) => socket,
            none => none.insert(socket_with(
                AddressFamily::NETLINK,
                SocketType::RAW,
                SocketFlags::CLOEXEC,
                // NETLINK_ROUTE is 0.
                None,
            )?),
        };
        send(&*socket, &REQUEST, SendFlags::empty())?;
        self.buffer.resize(ROOM, 0);
        loop {
            // The kernel answers within `send`, so that the answer can be received without waiting.
            let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
            let (_, length) = recv(&*socket, &mut *self.buffer, flags)?;
            let answer = self.buffer.get(..length).ok_or(Errno::MSGSIZE)?;
            if parse(answer, &mut self.lengths)? {
                return Ok(());
            }
        }
    }

    /// The number of packets that wait at an interface, as of the last [`read`](Self::read); `interface`
    /// is the kernel's index. An interface without a discipline (loopback on older kernels) has no
    /// queue, which counts as 0.
    pub(super) fn length(&self, interface: u64) -> u64 {
        let mut of_interface = self.lengths.iter().filter(|(index, _)| *index == interface);
        of_interface.next().map_or(0, |(_, packets)| *packets)
    }
}

/// Adds the lengths in the messages of a part of the kernel's answer to `lengths`, each with its
/// interface's index; returns whether this part is the last. The error is what the kernel answered,
/// or [`Errno::BADMSG`] for a damaged part.
fn parse(mut answer: &[u8], lengths: &mut Vec<(u64, u64)>) -> Result<bool, Errno> {
    while !answer.is_empty() {
        let length = u32_at(answer, 0).ok_or(Errno::BADMSG)? as usize;
        let kind = u16_at(answer, 4).ok_or(Errno::BADMSG)?;
        let body = answer.get(HEADER..length).ok_or(Errno::BADMSG)?;
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let error = u32_at(body, 0).ok_or(Errno::BADMSG)? as i32;
                return Err(Errno::from_raw_os_error(error.saturating_neg()));
            }
            RTM_NEWQDISC => lengths.extend(root_length(body)),
            _ => {}
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// The index of the interface and the number of waiting packets, from a message about a discipline;
/// `None` if the discipline is not the root of an interface, or the message lacks the number.
fn root_length(body: &[u8]) -> Option<(u64, u64)> {
    let index = u32_at(body, 4)?;
    if u32_at(body, 12)? != TC_H_ROOT {
        return None;
    }
    let statistics = attribute(body.get(TCMSG..)?, TCA_STATS2)?;
    let queue = attribute(statistics, TCA_STATS_QUEUE)?;
    Some((index.into(), u32_at(queue, 0)?.into()))
}

/// The value of the attribute of type `wanted` in a list; `None` if it is missing. Each attribute
/// begins with a `struct nlattr`: length and type.
fn attribute(mut list: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(list, 0)?);
        let kind = u16_at(list, 2)? & NLA_TYPE_MASK;
        let value = list.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        list = list.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes
    }

    /// A message about a discipline of `interface` below `parent`, in which `packets` packets wait.
    /// The discipline's name is before the statistics.
    fn discipline(interface: u32, parent: u32, packets: u32) -> Vec<u8> {
        let mut body = [0, interface, 0x10000, parent, 0].map(u32::to_ne_bytes).concat();
        body.extend(attribute_of(1, b"fq_codel\0"));
        let queue = [packets, 1500, 3, 4, 5].map(u32::to_ne_bytes).concat();
        let mut statistics = attribute_of(1, &[0; 12]);
        statistics.extend(attribute_of(TCA_STATS_QUEUE, &queue));
        body.extend(attribute_of(TCA_STATS2, &statistics));
        message(RTM_NEWQDISC, &body)
    }

    #[test]
    fn roots_of_all_messages_are_told() {
        let mut lengths = Vec::new();
        let part =
            [discipline(2, TC_H_ROOT, 7), discipline(2, 0x10000, 99), discipline(3, TC_H_ROOT, 0)];
        assert_eq!(parse(&part.concat(), &mut lengths), Ok(false));
        let rest = [discipline(9, TC_H_ROOT, 1), message(NLMSG_DONE, &[0; 4])];
        assert_eq!(parse(&rest.concat(), &mut lengths), Ok(true));
        let queues = Queues { lengths, ..Queues::default() };
        assert_eq!([1, 2, 3, 9].map(|interface| queues.length(interface)), [0, 7, 0, 1]);
    }

    #[test]
    fn errors_and_damage_end_the_answer() {
        let refused = message(NLMSG_ERROR, &(-1i32).to_ne_bytes());
        assert_eq!(parse(&refused, &mut Vec::new()), Err(Errno::PERM));
        let whole = [discipline(2, TC_H_ROOT, 7), message(NLMSG_DONE, &[0; 4])].concat();
        for end in 1..whole.len() {
            // Wherever the message is cut off, it gives no other number.
            let mut lengths = Vec::new();
            let _ = parse(&whole[..end], &mut lengths);
            assert!(lengths.is_empty() || lengths == [(2, 7)], "{end}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let _ = parse(&damaged, &mut Vec::new());
        }
    }
}
