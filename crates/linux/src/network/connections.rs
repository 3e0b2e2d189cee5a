//! The number of established connections, from the lists of TCP sockets.

use super::pairs::words;
use crate::parse::whole_lines;

/// The numbers of connections, by the version of IP of their packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Connections {
    pub(super) v4: u64,
    pub(super) v6: u64,
}

/// The states established and close-wait, as the kernel prints them. Windows counts connections in
/// both as established.
const STATES: [&[u8]; 2] = [b"01", b"08"];

/// The first 12 bytes of an IPv4-mapped IPv6 address, in hexadecimal. The kernel prints words in
/// its own byte order.
const MAPPED: &[u8] = if cfg!(target_endian = "little") {
    b"0000000000000000FFFF0000"
} else {
    b"00000000000000000000FFFF"
};

impl Connections {
    /// The counts with the connections in the text of `net/tcp` or `net/tcp6` added; `None` if the
    /// text is damaged, since an incomplete count would be wrong.
    #[must_use]
    pub(super) fn add(mut self, text: &[u8]) -> Option<Self> {
        let (mut lines, cut) = whole_lines(text);
        let header = words(lines.next()?).next();
        if cut || header != Some(b"sl") {
            return None;
        }
        for line in lines {
            let mut words = words(line);
            let (_, local, _, state) = (words.next()?, words.next()?, words.next()?, words.next()?);
            if state.len() != 2 || !state.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            let colon = local.iter().position(|byte| *byte == b':')?;
            let (address, _) = local.split_at(colon);
            let is_v4 = match address.len() {
                8 => true,
                32 => address.starts_with(MAPPED),
                _ => return None,
            };
            if STATES.contains(&state) {
                *(if is_v4 { &mut self.v4 } else { &mut self.v6 }) += 1;
            }
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue\n";

    fn line(address: &str, state: &str) -> String {
        format!("   0: {address}:1F90 {address}:0000 {state} 00000000:00000000 00:00000000\n")
    }

    #[test]
    fn established_connections_are_counted_by_version() {
        let v4 = ["01", "08", "0A", "06"].map(|state| line("0100007F", state)).concat();
        let own = "00000000000000000000000001000000";
        let mapped = format!("{}0100007F", std::str::from_utf8(MAPPED).unwrap());
        let v6 = [line(own, "01"), line(&mapped, "01"), line(&mapped, "0A")].concat();
        let counts = Connections::default().add(format!("{HEAD}{v4}").as_bytes()).unwrap();
        assert_eq!(counts, Connections { v4: 2, v6: 0 });
        let counts = counts.add(format!("{HEAD}{v6}").as_bytes()).unwrap();
        assert_eq!(counts, Connections { v4: 3, v6: 1 });
        assert_eq!(counts.add(HEAD.as_bytes()), Some(counts));
    }

    #[test]
    fn a_damaged_list_has_no_count() {
        let good = format!("{HEAD}{}", line("0100007F", "01"));
        for end in (0..good.len()).filter(|end| *end != HEAD.len()) {
            assert_eq!(Connections::default().add(&good.as_bytes()[..end]), None, "{end}");
        }
        for (from, to) in [("01 0000", "0x 0000"), ("0100007F:1", "0100007:1"), (":1F90", "1F90")] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            assert_eq!(Connections::default().add(bad.as_bytes()), None, "{bad}");
        }
    }
}
