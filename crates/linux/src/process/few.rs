//! The processes of a collection that does not want all processes.

use perfhive_engine::{Collection, InstanceWish, NamePattern};
use std::sync::Arc;

/// The wanted processes, by their numbers and names.
#[derive(Default)]
pub(super) struct Few {
    /// The numbers of wanted processes, ascending.
    pub(super) pids: Vec<u32>,
    names: Vec<Arc<NamePattern>>,
    text: String,
}

impl Few {
    /// Notes the processes that a collection wants by number or name. Returns whether it asks for
    /// such processes in `objects`, and for nothing else.
    pub(super) fn set(&mut self, collection: &Collection<'_>, objects: &[u32]) -> bool {
        self.pids.clear();
        self.names.clear();
        for object in collection.wanted() {
            let mut wishes = collection.instances_of(*object).peekable();
            match wishes.peek() {
                // The object was not asked for: it comes along with another object.
                None if !collection.is_asked(*object) => continue,
                Some(_) if objects.contains(&object.0) => {}
                _ => return false,
            }
            for wish in wishes {
                match wish {
                    InstanceWish::Process(number) => self.pids.push(*number),
                    InstanceWish::Named(pattern) => self.names.push(Arc::clone(pattern)),
                    _ => return false,
                }
            }
        }
        self.pids.sort_unstable();
        self.pids.dedup();
        !self.pids.is_empty() || !self.names.is_empty()
    }

    /// The patterns of the names of wanted processes.
    pub(super) fn names(&self) -> &[Arc<NamePattern>] {
        &self.names
    }

    /// Whether some processes are wanted by name, so that names are needed to find them.
    pub(super) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether a process is wanted: by its number, or by a pattern that matches its name.
    pub(super) fn has(&mut self, pid: u32, name: &[u16]) -> bool {
        if self.pids.binary_search(&pid).is_ok() {
            return true;
        }
        let Self { names, text, .. } = self;
        text.clear();
        text.extend(char::decode_utf16(name.iter().copied()).map(|c| c.unwrap_or('\u{fffd}')));
        names.iter().any(|pattern| pattern.matches(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::Ask;
    use perfhive_format::TitleIndex;

    #[test]
    fn wishes_of_asked_objects_name_the_processes() {
        let [process, thread, memory] = [230, 232, 4].map(TitleIndex);
        let number = |number| InstanceWish::Process(number);
        let mut few = Few::default();
        let mut set = |ask: &Ask, wanted: &[TitleIndex]| {
            let is_few = few.set(&Collection::new(ask, wanted), &[230, 232]);
            is_few.then(|| few.pids.clone())
        };
        let ask = Ask::objects(&[thread]).with_instance(thread, number(9));
        assert_eq!(set(&ask, &[thread, process]), Some(vec![9]), "Process comes along");
        let both = Ask::objects(&[thread, process]).with_instance(thread, number(9));
        assert_eq!(set(&both, &[thread, process]), None, "all of Process are wanted");
        let both = both.with_instance(process, number(3)).with_instance(process, number(9));
        assert_eq!(set(&both, &[thread, process]), Some(vec![3, 9]));
        let other = Ask::objects(&[memory]).with_instance(memory, number(3));
        assert_eq!(set(&other, &[memory]), None, "not by processes");
        assert_eq!(set(&Ask::everything(), &[process]), None);
    }
}
