//! Reading in parts what fails as a whole.
//!
//! One provider that fails for good fails every request that it is part of, and
//! `Global` is a request for all of them. Who is registered is in the registry
//! beside the data: so each is asked alone once, what answers is asked for from
//! then on, and what does not is left out and told, with its name. The whole is
//! tried again from time to time.

use crate::codes::is_lost;
use crate::explain::explain;
use crate::read::{LARGEST, ReadError, Size, read};
use crate::registry::{PerfRegistry, RegistryKey, ValueName};
use crate::service::Service;
use perfhive_engine::{Fault, FaultKind, Frame, FramePool, ObjectQuery, SourceErrorKind};
use perfhive_format::{ParseError, TitleIndex};
use std::borrow::Cow;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a request is answered in parts before the whole is tried again.
pub(crate) const AGAIN: Duration = Duration::from_secs(60);
/// [`perfhive_engine::NO_OBJECT`] as text: an answer to it holds no objects.
pub(crate) const NOBODY: &str = "2147483632";
/// How many indexes are asked for at once where nobody knows whose they are.
const AT_ONCE: usize = 128;
/// How many requests may fail while it is found out what does. A request that
/// asks for more without end costs a buffer of the largest size.
const FAILURES: usize = 64;
/// Those of Windows' own objects that are part of `Costly` rather than `Global`:
/// Image, Process Address Space, Thread Details, Full Image, Job Object Details
/// and Heap. By their indexes they could be had with all others.
pub(crate) const COSTLY: [u32; 6] = [740, 786, 816, 1408, 1548, 1760];

impl Service {
    /// What is wrong where it gives no object, of `all` that it has or of those that were
    /// asked for: Windows does not say. `host` is the other machine, if it is one's.
    pub(crate) fn gives_nothing(&self, all: bool, host: Option<&str>) -> Fault {
        let Self { name, library, .. } = self;
        let check = format!("`perfhive check {}`{}", argument(name), run_there(host));
        let what = if all { "no object" } else { "none of the objects it was asked for" };
        let message = format!(
            "is registered and gives {what}: {library} cannot be loaded or opened, fails, or \
             has nothing at the moment; {check} says what it is"
        );
        Fault::new(FaultKind::OpenFailed, name, message)
    }

    /// That it is not called, and the way out; `host` is the other machine, if it is one's.
    pub(crate) fn is_disabled(&self, host: Option<&str>) -> Fault {
        let name = &self.name;
        let way_out = match host {
            None => format!("`perfhive providers --enable {name:?}`, run as administrator,"),
            Some(host) => {
                format!("`lodctr /E:{}`, run as administrator on {host},", argument(name))
            }
        };
        let message = format!(
            "is disabled, by an administrator or since it failed Windows' tests; {way_out} enables it"
        );
        Fault::new(FaultKind::Disabled, name, message)
    }

    /// That nothing of it can be asked for, and the way out; `host` is the other machine,
    /// if it is one's.
    pub(crate) fn has_no_names(&self, host: Option<&str>) -> Fault {
        let Self { name, library, .. } = self;
        let check = format!("`perfhive check {}`{}", argument(name), run_there(host));
        let run = run_as(host);
        let message = format!(
            "its registration has neither First Counter nor Object List, so that nobody can ask \
             for what {library} has: its names were not loaded, or were taken back; `lodctr` with \
             its .ini file, {run}, loads them, and {check} says what the library does"
        );
        Fault::new(FaultKind::OpenFailed, name, message)
    }

    /// That it does not come back.
    pub(crate) fn hangs(&self, host: Option<&str>) -> Fault {
        let why = Failed::Read(ReadError::Hangs).of_one(host);
        Fault::new(FaultKind::CollectFailed, &self.name, blame(self, &why, host))
    }
}

/// Indexes that are asked for together, and whose they are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) owner: Option<usize>,
    pub(crate) indexes: Vec<TitleIndex>,
}

/// Divides a request: what each registration has, then what nobody registered.
///
/// `named` are all indexes that have a name, `global` the objects of `Global`,
/// as far as they are known.
pub(crate) fn divide(
    query: &ObjectQuery,
    services: &[Service],
    named: &[TitleIndex],
    global: &[TitleIndex],
) -> Vec<Group> {
    let is_costly = |index: &TitleIndex| COSTLY.contains(&index.0);
    let wanted = |index: &TitleIndex| match query {
        ObjectQuery::Global => !is_costly(index),
        ObjectQuery::Costly => !global.contains(index),
        ObjectQuery::Indexes(list) => list.contains(index),
        ObjectQuery::Foreign(_) => false,
    };
    let mut groups = Vec::new();
    let active = || services.iter().enumerate().filter(|(_, service)| !service.disabled);
    for (number, service) in active() {
        let mut indexes: Vec<TitleIndex> = match query {
            ObjectQuery::Indexes(list) => {
                list.iter().copied().filter(|index| service.owns(*index)).collect()
            }
            _ => service.candidates(),
        };
        indexes.retain(wanted);
        if !indexes.is_empty() {
            groups.push(Group { owner: Some(number), indexes });
        }
    }
    let listed = match query {
        ObjectQuery::Indexes(list) => list,
        _ => named,
    };
    let mut rest: Vec<TitleIndex> = listed
        .iter()
        .copied()
        .filter(|index| wanted(index) && active().all(|(_, service)| !service.owns(*index)))
        .collect();
    rest.dedup();
    let groups_of_rest = rest.chunks(AT_ONCE);
    groups.extend(groups_of_rest.map(|part| Group { owner: None, indexes: part.to_vec() }));
    groups
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    Read(ReadError),
    Parse(ParseError),
}

impl Failed {
    /// Whether it may be one provider's fault rather than the system's.
    pub(crate) fn is_a_providers(self) -> bool {
        use SourceErrorKind as Kind;
        match self {
            Self::Read(ReadError::Deadline | ReadError::NoTitles | ReadError::EndlessTitles) => {
                false
            }
            Self::Read(ReadError::TooLarge | ReadError::Hangs) | Self::Parse(_) => true,
            Self::Read(ReadError::Code(code)) => {
                let (kind, _) = explain(code, None);
                let the_systems = [2, 8, 14, 1021, 1115, 1450].contains(&code) || is_lost(code);
                !the_systems && matches!(kind, Kind::Unavailable | Kind::Malformed | Kind::Internal)
            }
        }
    }

    /// Whether it is that another machine is not reached, any more or at all.
    pub(crate) fn is_the_connections(self) -> bool {
        matches!(self, Self::Read(ReadError::Code(code)) if is_lost(code))
    }

    /// The reason, said of one provider.
    fn of_one(self, host: Option<&str>) -> String {
        match self {
            Self::Read(ReadError::TooLarge) => {
                format!("it needs more than {} MiB, or asks for more without end", LARGEST >> 20)
            }
            Self::Read(ReadError::Deadline) => "it did not answer in time".to_string(),
            Self::Read(ReadError::Hangs) => "it does not come back".to_string(),
            Self::Read(
                error @ (ReadError::Code(_) | ReadError::NoTitles | ReadError::EndlessTitles),
            ) => error.explain(host).1,
            Self::Parse(error) => format!("what it answers is no performance data: {error}"),
        }
    }
}

/// Reads one value as a block.
pub(crate) fn read_block(
    registry: &mut dyn PerfRegistry,
    pool: &mut FramePool,
    generation: u64,
    (name, size): (&ValueName, &mut Size),
    deadline: Option<Instant>,
) -> Result<Arc<Frame>, Failed> {
    let mut result = Ok(());
    let frame = pool.fill(generation, |bytes| {
        let mut wait = |pause| sleep(pause);
        result = read(size, bytes, deadline, &mut wait, |reply| {
            registry.value(RegistryKey::Data, name, reply)
        });
    });
    result.map_err(Failed::Read).and(frame.map_err(Failed::Parse))
}

/// How a request is answered that failed as a whole.
#[derive(Debug)]
pub(crate) struct Split {
    /// What is asked for instead.
    pub(crate) name: ValueName,
    pub(crate) size: Size,
    /// How many objects that is.
    pub(crate) objects: usize,
    /// What is left out.
    pub(crate) faults: Vec<Fault>,
    /// Objects of those that do not come back; not only of this request.
    pub(crate) hanging: Vec<TitleIndex>,
    /// When the whole is tried again.
    pub(crate) until: Instant,
    /// The whole has as much: it is asked for, faults and all.
    pub(crate) is_whole: bool,
}

/// Finds out what can be had of a request; `ask` reads a list of objects.
pub(crate) struct Search<'a> {
    pub(crate) services: &'a [Service],
    pub(crate) host: Option<&'a str>,
    pub(crate) ask: &'a mut dyn FnMut(&ValueName) -> Result<Arc<Frame>, Failed>,
    /// Objects that are known to hang, and are not asked for.
    hanging: Vec<TitleIndex>,
    found: Vec<TitleIndex>,
    faults: Vec<Fault>,
    failures: usize,
    /// What was not asked for, as too much failed before.
    left_out: Vec<TitleIndex>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        services: &'a [Service],
        host: Option<&'a str>,
        ask: &'a mut dyn FnMut(&ValueName) -> Result<Arc<Frame>, Failed>,
    ) -> Self {
        let (hanging, found, faults, left_out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { services, host, ask, hanging, found, faults, failures: 0, left_out }
    }

    /// Leaves out what is known to hang.
    pub(crate) fn without(mut self, hanging: &[TitleIndex]) -> Self {
        self.hanging = hanging.to_vec();
        self
    }

    /// Asks for each group alone; `source` is what the source is called.
    pub(crate) fn run(mut self, query: &ObjectQuery, groups: &[Group], source: &str) -> Split {
        for group in groups {
            match group.owner.and_then(|owner| self.services.get(owner)) {
                Some(service) => self.one(query, service, &group.indexes),
                None => self.halve(&group.indexes, source),
            }
        }
        self.tell_of_left_out(query, source);
        self.found.sort_unstable();
        self.found.dedup();
        let list = ObjectQuery::Indexes(self.found).to_string();
        let objects = list.split_whitespace().count();
        Split {
            // An empty name would mean everything.
            name: ValueName::new(if list.is_empty() { NOBODY } else { &list }),
            size: Size::default(),
            objects,
            faults: self.faults,
            hanging: self.hanging,
            until: Instant::now() + AGAIN,
            is_whole: false,
        }
    }

    /// Nobody knows whether there are any of those that were not asked for.
    fn tell_of_left_out(&mut self, query: &ObjectQuery, source: &str) {
        let count = self.left_out.len();
        if count == 0 {
            return;
        }
        let what = match query {
            ObjectQuery::Indexes(_) => "the object is".to_string(),
            _ => format!("what has one of {count} names, of which nobody knows whose they are, is"),
        };
        let message = format!(
            "{what} left out: {FAILURES} requests for others failed before; it is tried again \
             within {} s",
            AGAIN.as_secs()
        );
        let fault = Fault::new(FaultKind::CollectFailed, source, message);
        match query {
            ObjectQuery::Indexes(_) => {
                let of = |index: &TitleIndex| fault.clone().of_object(*index);
                self.faults.extend(self.left_out.iter().map(of));
            }
            _ => self.faults.push(fault),
        }
    }

    fn read(&mut self, indexes: &[TitleIndex]) -> Result<Option<ParseError>, Failed> {
        if indexes.iter().any(|index| self.hanging.contains(index)) {
            return Err(Failed::Read(ReadError::Hangs));
        }
        let name = ValueName::new(&ObjectQuery::Indexes(indexes.to_vec()).to_string());
        let frame = (self.ask)(&name)?;
        let names = (0..frame.object_count()).filter_map(|place| frame.object(place));
        // A reply may bring others' along, who answer for themselves.
        let names = names.map(|object| object.name_index()).filter(|name| indexes.contains(name));
        self.found.extend(names);
        Ok(frame.damaged().first().map(|(_, error)| *error))
    }

    /// A registration, whose objects stand or fall together.
    fn one(&mut self, query: &ObjectQuery, service: &Service, indexes: &[TitleIndex]) {
        let (kind, why) = match self.read(indexes) {
            Ok(None) => return,
            Ok(Some(damage)) => (FaultKind::DamagedObject(damage), Failed::Parse(damage)),
            Err(failed) => (FaultKind::CollectFailed, failed),
        };
        if why == Failed::Read(ReadError::Hangs) {
            // With one object all of them.
            self.hanging.extend(service.candidates().iter().chain(indexes));
        }
        let message = blame(service, &why.of_one(self.host), self.host);
        let fault = Fault::new(kind, &service.name, message);
        let first = service.first.map(TitleIndex);
        let first = service.objects.first().copied().or(first);
        match query {
            ObjectQuery::Indexes(_) => {
                self.faults.extend(indexes.iter().map(|index| fault.clone().of_object(*index)));
            }
            _ => self.faults.push(match first {
                Some(first) => fault.of_object(first),
                None => fault,
            }),
        }
    }

    /// Objects of which nobody knows whose they are: halves that fail are halved.
    fn halve(&mut self, indexes: &[TitleIndex], source: &str) {
        if self.failures >= FAILURES {
            self.left_out.extend(indexes);
            return;
        }
        let (kind, why) = match self.read(indexes) {
            Ok(None) => return,
            Ok(Some(damage)) => (FaultKind::DamagedObject(damage), Failed::Parse(damage)),
            Err(failed) => (FaultKind::CollectFailed, failed),
        };
        self.failures += 1;
        if let (true, (left, right)) = (indexes.len() > 1, indexes.split_at(indexes.len() / 2)) {
            self.halve(left, source);
            self.halve(right, source);
            return;
        }
        if why == Failed::Read(ReadError::Hangs) {
            self.hanging.extend(indexes);
        }
        let message = format!("the object fails and is left out: {}", why.of_one(self.host));
        let fault = Fault::new(kind, source, message);
        self.faults.extend(indexes.first().map(|index| fault.of_object(*index)));
    }
}

/// A name as it stands in a command: with quotation marks where it is not one word.
pub fn argument(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(format!("\"{name}\"")),
    }
}

/// Where a command is to be run; nothing of this machine.
fn run_there(host: Option<&str>) -> String {
    host.map_or(String::new(), |host| format!(", run on {host},"))
}

/// As whom, and where.
fn run_as(host: Option<&str>) -> String {
    let there = host.map_or(String::new(), |host| format!(" on {host}"));
    format!("run as administrator{there}")
}

/// That a provider fails, and the way out.
fn blame(service: &Service, why: &str, host: Option<&str>) -> String {
    let Service { name, library, .. } = service;
    let library = if library.is_empty() { "its library" } else { library };
    let (name, run) = (argument(name), run_as(host));
    format!(
        "{library} fails and is left out: {why}; `lodctr /D:{name}`, {run}, disables it, \
         `lodctr /E:{name}` enables it again"
    )
}

/// What to do where every request fails, whatever it is for. Who has a list is asked
/// for what is on it only, but by systems that ask `everybody`; and who hangs may hold up
/// all others.
pub(crate) fn way_out(
    services: &[Service],
    host: Option<&str>,
    everybody: bool,
    failed: Failed,
) -> String {
    let active = || services.iter().filter(|service| !service.disabled);
    let (with_list, without): (Vec<_>, Vec<_>) =
        active().partition(|service| !service.objects.is_empty());
    let hangs = failed == Failed::Read(ReadError::Hangs);
    let suspects: Vec<&Service> = match everybody || hangs || without.is_empty() {
        // Those that hang most likely first.
        true => without.into_iter().chain(with_list).collect(),
        false => without,
    };
    let native = "`-s native:` reads System, Processor, Process and Thread without the registry";
    let native = if host.is_none() { native } else { "" };
    if suspects.is_empty() {
        return native.to_string();
    }
    let mut names: Vec<String> =
        suspects.iter().take(5).map(|one| format!("{} ({})", one.name, one.library)).collect();
    if suspects.len() > names.len() {
        names.push(format!("{} more", suspects.len() - names.len()));
    }
    let and = if native.is_empty() { "" } else { "; " };
    let which = match hangs {
        true => "one of these libraries hangs",
        false => "whatever is asked for, these libraries are asked",
    };
    let (there, run) = (run_there(host), run_as(host));
    format!(
        "{which}: {}; `perfhive check NAME`{there} says what is wrong with one, \
         `lodctr /D:NAME`, {run}, disables it{and}{native}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str, objects: &[u32], range: Option<(u32, u32)>) -> Service {
        Service {
            name: name.to_string(),
            library: format!("{name}.dll"),
            objects: objects.iter().copied().map(TitleIndex).collect(),
            first: range.map(|range| range.0),
            last: range.map(|range| range.1),
            ..Service::default()
        }
    }

    fn indexes(list: &[u32]) -> Vec<TitleIndex> {
        list.iter().copied().map(TitleIndex).collect()
    }

    #[test]
    fn a_request_is_divided_by_who_is_registered() {
        let mut off = service("Off", &[], Some((3000, 3002)));
        off.disabled = true;
        let services =
            [service("PerfProc", &[230, 740], None), service("Shop", &[], Some((2000, 2005))), off];
        let named = indexes(&[2, 6, 230, 740, 2000, 2002, 3000]);
        let of = |query: &ObjectQuery| -> Vec<(Option<usize>, Vec<u32>)> {
            let groups = divide(query, &services, &named, &indexes(&[2, 230]));
            let plain = |group: Group| (group.owner, group.indexes.iter().map(|i| i.0).collect());
            groups.into_iter().map(plain).collect()
        };
        let shop = (Some(1), vec![2000, 2002, 2004]);
        let rest = (None, vec![2, 6, 3000]);
        assert_eq!(of(&ObjectQuery::Global), [(Some(0), vec![230]), shop.clone(), rest]);
        let rest = (None, vec![6, 3000]);
        assert_eq!(of(&ObjectQuery::Costly), [(Some(0), vec![740]), shop, rest]);
        let list = ObjectQuery::Indexes(indexes(&[2002, 4, 230, 9]));
        assert_eq!(of(&list), [(Some(0), vec![230]), (Some(1), vec![2002]), (None, vec![4, 9])]);
    }

    #[test]
    fn claims_without_end_are_cut() {
        let greedy = service("Greedy", &[], Some((0, u32::MAX)));
        assert!(greedy.candidates().len() <= 2048);
        let backwards = service("Backwards", &[], Some((10, 2)));
        assert!(backwards.candidates().is_empty() && !backwards.owns(TitleIndex(5)));
    }

    /// Answers that nobody has anything, but for lists in which a bad index is.
    #[test]
    fn what_nobody_registered_is_found_by_halving() {
        let mut asked = 0;
        let bad = ["300", "302"];
        let mut ask = |name: &ValueName| {
            asked += 1;
            if name.text().split(' ').any(|index| bad.contains(&index)) {
                return Err(Failed::Read(ReadError::TooLarge));
            }
            let block = perfhive_testkit::script::block("BOX", 1, &[]);
            Ok(Arc::new(Frame::new(block, 1).unwrap()))
        };
        let groups = [Group { owner: None, indexes: (200..328).map(TitleIndex).collect() }];
        let search = Search::new(&[], None, &mut ask);
        let split = search.run(&ObjectQuery::Global, &groups, "local:");
        let faults: Vec<_> = split.faults.iter().map(|fault| fault.object.unwrap().0).collect();
        assert_eq!(faults, [300, 302]);
        assert!(asked < 40, "{asked}");
        // Where all fail it ends all the same.
        let mut asked = 0;
        let mut ask = |_: &ValueName| {
            asked += 1;
            Err(Failed::Read(ReadError::TooLarge))
        };
        let groups: Vec<Group> = (0..20)
            .map(|n| Group {
                owner: None,
                indexes: (n * 128..n * 128 + 128).map(TitleIndex).collect(),
            })
            .collect();
        let search = Search::new(&[], None, &mut ask);
        let split = search.run(&ObjectQuery::Global, &groups, "local:");
        assert_eq!(asked, FAILURES);
        let last = split.faults.last().unwrap();
        let told = split.faults.iter().filter(|fault| fault.object.is_some()).count();
        let left_out = format!("one of {} names", 20 * 128 - told);
        assert!(last.message.contains(&left_out), "what nobody looked for is told: {last}");
        // Each by itself where they were named.
        let mut ask = |_: &ValueName| Err(Failed::Read(ReadError::TooLarge));
        let search = Search::new(&[], None, &mut ask);
        let split = search.run(&ObjectQuery::Indexes(indexes(&[2])), &groups, "local:");
        let told: Vec<_> = split.faults.iter().filter_map(|fault| fault.object).collect();
        assert_eq!(told.len(), 20 * 128);
    }

    #[test]
    fn whose_fault_it_may_be() {
        let code = |code| Failed::Read(ReadError::Code(code));
        assert!(code(1005).is_a_providers() && code(31).is_a_providers());
        assert!(!code(5).is_a_providers() && !code(170).is_a_providers());
        assert!(!code(2).is_a_providers() && !code(1722).is_a_providers());
    }

    #[test]
    fn commands_name_the_machine_and_are_whole() {
        let one = service(".NET CLR Data", &[], None);
        let gone = one.gives_nothing(true, None);
        assert!(gone.message.contains("`perfhive check \".NET CLR Data\"` says"), "{gone}");
        assert!(one.hangs(None).message.contains("`lodctr /D:\".NET CLR Data\"`, run as"));
        let plain = service("Bad", &[], None);
        assert!(plain.hangs(None).message.contains("`lodctr /D:Bad`, run as administrator, dis"));
        // What would look here for what is there.
        let host = Some("BOX");
        for fault in [
            one.gives_nothing(true, host),
            one.hangs(host),
            one.is_disabled(host),
            one.has_no_names(host),
        ] {
            assert!(fault.message.contains("on BOX,"), "{fault}");
        }
    }

    #[test]
    fn suspects_are_those_without_a_list() {
        let services = [service("Listed", &[2], None), service("Any", &[], Some((2000, 2002)))];
        let fails = Failed::Read(ReadError::Code(31));
        let text = way_out(&services, None, false, fails);
        assert!(text.contains("Any (Any.dll)") && !text.contains("Listed"), "{text}");
        assert!(text.contains("-s native:"), "{text}");
        let text = way_out(&services[..1], Some("BOX"), false, fails);
        assert!(text.contains("Listed") && !text.contains("native:"), "{text}");
        assert!(text.contains("`perfhive check NAME`, run on BOX,"), "{text}");
        assert!(text.contains("run as administrator on BOX"), "{text}");
        // Wine asks all of them; and on Windows one that hangs may hold up the others.
        assert!(way_out(&services, None, true, fails).contains("Listed"));
        let text = way_out(&services, None, false, Failed::Read(ReadError::Hangs));
        assert!(text.contains("hangs: Any (Any.dll), Listed (Listed.dll)"), "{text}");
    }
}
