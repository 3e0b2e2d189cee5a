//! The paging files in `/proc/swaps`.

use super::mounts::unescaped;
use crate::faults::{Faults, Text};
use crate::parse::{Words, kib_to_bytes, number, utf16_name, whole_lines};

/// A swap area: its name and its sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Swap {
    pub(super) name: Vec<u16>,
    pub(super) size: u64,
    pub(super) used: u64,
}

/// The text that the kernel writes behind the name of a file that was removed.
const REMOVED: &[u8] = b"\\040(deleted)";

/// The swap areas, with their names converted once.
#[derive(Debug, Default)]
pub(super) struct Swaps {
    list: Vec<Swap>,
    count: usize,
    /// The name of each area as `/proc/swaps` has it, at the area's position in `list`.
    names: Vec<Vec<u8>>,
}

impl Swaps {
    pub(super) fn all(&self) -> &[Swap] {
        self.list.get(..self.count).unwrap_or_default()
    }

    /// Replaces the areas by the areas in a text of `/proc/swaps`.
    pub(super) fn parse(&mut self, text: &[u8], faults: &mut Faults) {
        self.count = 0;
        let (mut lines, cut) = whole_lines(text);
        // The first line is a heading, which is there even without any area.
        if lines.next().is_none() {
            faults.object("swaps: is empty");
        }
        for line in lines {
            let mut words = Words::new(line);
            let Some(name) = words.next_word() else { continue };
            let mut sizes = || number(words.next_word()?);
            // The type stands before the sizes.
            let _ = sizes();
            let (size, used) = (sizes(), sizes());
            match (size, used) {
                (Some(size), Some(used)) => self.take(name, size, used),
                (size, _) => {
                    let field = if size.is_none() { "Size" } else { "Used" };
                    let name = plain(name);
                    let message = format_args!("swaps: {field} is not a number");
                    faults.instance(Text(&name[..]), message);
                }
            }
        }
        if cut {
            faults.object("swaps: ends in the middle of a line");
        }
    }

    fn take(&mut self, name: &[u8], size: u64, used: u64) {
        if self.list.len() <= self.count {
            self.list.push(Swap::default());
            self.names.push(Vec::new());
        }
        let place = self.count;
        self.count += 1;
        let (Some(swap), Some(known)) = (self.list.get_mut(place), self.names.get_mut(place))
        else {
            return;
        };
        if known != name {
            known.clear();
            known.extend_from_slice(name);
            utf16_name(&plain(name), &mut swap.name);
        }
        swap.size = kib_to_bytes(size);
        swap.used = kib_to_bytes(used);
    }
}

/// The path of a swap area, from the name in its line.
fn plain(name: &[u8]) -> Vec<u8> {
    unescaped(name.strip_suffix(REMOVED).unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_lines_are_parsed() {
        let mut swaps = Swaps::default();
        let mut faults = Faults::default();
        let text = "Filename\tType\tSize\tUsed\tPriority\n\
                    /dev/sda2   partition\t2097148\t1024\t-2\n\
                    /a\\040b\\134c file 100 0 5\n\
                    /gone\\040(deleted)  file 8 4 -3\n";
        swaps.parse(text.as_bytes(), &mut faults);
        let names: Vec<_> =
            swaps.all().iter().map(|swap| String::from_utf16(&swap.name).unwrap()).collect();
        assert_eq!(names, ["/dev/sda2", "/a b\\c", "/gone"]);
        assert_eq!((swaps.all()[0].size, swaps.all()[0].used), (2_097_148 << 10, 1024 << 10));
        swaps.parse(b"Filename\tType\n", &mut faults);
        assert_eq!(swaps.all(), []);
    }
}
