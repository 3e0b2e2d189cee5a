//! Reading a query in parts after it failed as a whole or had a damaged reply.
//!
//! A failing provider makes every query fail that includes it, and `Global` includes all providers.
//! The registrations give the provider of each index. So each provider is asked alone once. After
//! that the objects that were read are asked for together, and each failing provider is left out,
//! with a fault that names it. The whole query is tried again from time to time.

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

/// The time for which a query is answered in parts before the whole query is tried again.
pub(crate) const AGAIN: Duration = Duration::from_secs(60);
/// [`perfhive_engine::NO_OBJECT`] as the name of a value. The answer to it holds no objects.
pub(crate) const NO_OBJECT_NAME: &str = "2147483632";
/// The largest number of indexes that are asked for in one query, of those that no enabled provider
/// claims.
const AT_ONCE: usize = 128;
/// The largest number of failed queries, in one search, for indexes that no enabled provider claims.
/// Each failure may cost a buffer of the largest size.
const FAILURES: usize = 64;
/// The title indexes of the costly objects of Windows itself: Image, Process Address Space, Thread Details, Full Image,
/// Job Object Details and Heap, in this order. They are not in `Global`, so they are not asked for when a failed query
/// for `Global` is read in parts.
pub(crate) const COSTLY: [u32; 6] = [740, 786, 816, 1408, 1548, 1760];

impl Service {
    /// The fault of a provider that gave no objects. If `all` is set, the provider gave no object
    /// at all; otherwise none of the objects that were asked for. Windows gives no reason. `host`
    /// is the other machine, or `None` for this machine.
    pub(crate) fn gives_nothing(&self, all: bool, host: Option<&str>) -> Fault {
        let Self { name, library, .. } = self;
        let check = format!("`perfhive check {}`{}", argument(name), run_there(host));
        let what = if all { "no object" } else { "none of the objects it was asked for" };
        let message = format!(
            "is registered and gives {what}: {library} cannot be loaded or opened, fails, or \
             has nothing at the moment; {check} says which"
        );
        Fault::new(FaultKind::OpenFailed, name, message)
    }

    /// The fault of a disabled provider, with the command that enables it. `host` is the other
    /// machine, or `None` for this machine.
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

    /// The fault of a registration without title indexes, with what can be done about it. `host` is
    /// the other machine, or `None` for this machine.
    pub(crate) fn has_no_names(&self, host: Option<&str>) -> Fault {
        let Self { name, library, .. } = self;
        let check = format!("`perfhive check {}`{}", argument(name), run_there(host));
        let run = run_as(host);
        let message = format!(
            "its registration has neither First Counter nor Object List, so that no object of \
             {library} can be asked for: its names were not loaded, or were taken back; `lodctr` with \
             its .ini file, {run}, loads them, and {check} says what the library does"
        );
        Fault::new(FaultKind::OpenFailed, name, message)
    }

    /// The fault of a provider that hangs, with what can be done about it. `host` is the other
    /// machine, or `None` for this machine.
    pub(crate) fn hangs(&self, host: Option<&str>) -> Fault {
        let why = Failed::Read(ReadError::Hangs).of_one(host);
        Fault::new(FaultKind::CollectFailed, &self.name, blame(self, &why, host))
    }
}

/// Indexes that are asked for in one query, and their owner, the enabled provider that claims them,
/// as a position in the list of services; `None` if no enabled provider claims them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) owner: Option<usize>,
    pub(crate) indexes: Vec<TitleIndex>,
}

/// Divides a query into groups: one for each enabled provider that has wanted indexes, then groups
/// of indexes that no enabled provider claims.
///
/// `named` are all indexes that have a name; they are used for a query that is not a list of
/// indexes. `global` are the known objects of `Global`, which a query for `Costly` leaves out.
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

/// The reason why a query has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The value could not be read.
    Read(ReadError),
    /// The value is not a data block.
    Parse(ParseError),
}

impl Failed {
    /// Whether one provider may be the cause, and not the system or the connection, so that reading
    /// in parts may help.
    pub(crate) fn may_be_a_providers(self) -> bool {
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

    /// Whether the connection to the other machine is the cause.
    pub(crate) fn is_the_connections(self) -> bool {
        matches!(self, Self::Read(ReadError::Code(code)) if is_lost(code))
    }

    /// The reason as text, for a message about one provider.
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
            Self::Parse(error) => format!("what it answers is not performance data: {error}"),
        }
    }
}

/// Reads one value, named `name`, and validates the answer as a data block. The block becomes a
/// frame of `pool` with this generation. `size` is the size of the buffer, and is raised if need
/// be. `deadline` is tested between calls.
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

/// The readable parts of a query that failed as a whole or had a damaged reply.
#[derive(Debug)]
pub(crate) struct Split {
    /// The name of the value that is read instead: a list of the objects that can be read.
    pub(crate) name: ValueName,
    pub(crate) size: Size,
    /// The number of objects in the list that `name` is.
    pub(crate) objects: usize,
    /// The faults of the parts that are left out.
    pub(crate) faults: Vec<Fault>,
    /// The objects of providers that hang, including objects that the query does not name.
    pub(crate) hanging: Vec<TitleIndex>,
    /// The time at which the whole query is tried again.
    pub(crate) until: Instant,
    /// Whether the whole query is read, and not `name`, because the parts give no more than its
    /// damaged answer.
    pub(crate) is_whole: bool,
}

/// A search for the readable parts of a query. Its `ask` is the function that reads a list of
/// objects.
pub(crate) struct Search<'a> {
    pub(crate) services: &'a [Service],
    pub(crate) host: Option<&'a str>,
    pub(crate) ask: &'a mut dyn FnMut(&ValueName) -> Result<Arc<Frame>, Failed>,
    /// Objects that are known to hang, so that they are not asked for.
    hanging: Vec<TitleIndex>,
    found: Vec<TitleIndex>,
    faults: Vec<Fault>,
    failures: usize,
    /// Indexes that were not asked for because too many queries had failed before.
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

    /// The same search without the objects that are known to hang.
    pub(crate) fn without(mut self, hanging: &[TitleIndex]) -> Self {
        self.hanging = hanging.to_vec();
        self
    }

    /// Asks for each group alone, and returns the readable parts; `source` is the name of the
    /// source.
    pub(crate) fn run(mut self, query: &ObjectQuery, groups: &[Group], source: &str) -> Split {
        for group in groups {
            match group.owner.and_then(|owner| self.services.get(owner)) {
                Some(service) => self.one(query, service, &group.indexes),
                None => self.halve(&group.indexes, source),
            }
        }
        self.add_left_out(query, source);
        self.found.sort_unstable();
        self.found.dedup();
        let list = ObjectQuery::Indexes(self.found).to_string();
        let objects = list.split_whitespace().count();
        Split {
            // An empty name would mean all objects.
            name: ValueName::new(if list.is_empty() { NO_OBJECT_NAME } else { &list }),
            size: Size::default(),
            objects,
            faults: self.faults,
            hanging: self.hanging,
            until: Instant::now() + AGAIN,
            is_whole: false,
        }
    }

    /// Adds faults for the indexes that were not asked for, because too many queries had failed
    /// before.
    fn add_left_out(&mut self, query: &ObjectQuery, source: &str) {
        let count = self.left_out.len();
        if count == 0 {
            return;
        }
        let what = match query {
            ObjectQuery::Indexes(_) => "the object is".to_string(),
            _ => format!("objects under {count} names that no registration claims are"),
        };
        let message = format!(
            "{what} left out: {FAILURES} requests for unclaimed objects failed before; the next try is within \
             {} s",
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

    /// Asks for these objects in one query, and notes the sound ones of the answer as found.
    /// Returns the error of the first damaged object; `None` if none is damaged. `Err` if the query
    /// has no answer, or if one of the objects is known to hang.
    fn read(&mut self, indexes: &[TitleIndex]) -> Result<Option<ParseError>, Failed> {
        if indexes.iter().any(|index| self.hanging.contains(index)) {
            return Err(Failed::Read(ReadError::Hangs));
        }
        let name = ValueName::new(&ObjectQuery::Indexes(indexes.to_vec()).to_string());
        let frame = (self.ask)(&name)?;
        let names = (0..frame.object_count()).filter_map(|place| frame.object(place));
        // A reply may hold further objects, which belong to other groups.
        let names = names.map(|object| object.name_index()).filter(|name| indexes.contains(name));
        self.found.extend(names);
        Ok(frame.damaged().first().map(|(_, error)| *error))
    }

    /// Reads the objects of one provider. If that fails, or an object is damaged, adds faults. The
    /// sound objects of a damaged reply are kept.
    fn one(&mut self, query: &ObjectQuery, service: &Service, indexes: &[TitleIndex]) {
        let (kind, why) = match self.read(indexes) {
            Ok(None) => return,
            Ok(Some(damage)) => (FaultKind::DamagedObject(damage), Failed::Parse(damage)),
            Err(failed) => (FaultKind::CollectFailed, failed),
        };
        if why == Failed::Read(ReadError::Hangs) {
            // If one object hangs, all objects of its provider do.
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

    /// Reads indexes that no enabled provider claims. A list that fails, or has a damaged object, is
    /// divided in halves, and each half is read alone. An index that fails alone gets a fault. After
    /// [`FAILURES`] failures the indexes are not read, and are noted in `left_out`.
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

/// A name as an argument of a command, for messages: in quotation marks, unless it consists of
/// letters, digits, `_`, `-` and `.` only. An empty name is in quotation marks, too. Quotation marks
/// within the name are escaped as Windows' programs read them. No other special character is, so it
/// is not safe to run.
pub fn argument(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(format!("\"{}\"", name.replace('"', "\\\""))),
    }
}

/// The part of a message that names the machine on which a command is to be run; empty for this
/// machine.
fn run_there(host: Option<&str>) -> String {
    host.map_or(String::new(), |host| format!(", run on {host},"))
}

/// The part of a message that names the account under which a command is to be run, and the machine
/// if it is another one.
fn run_as(host: Option<&str>) -> String {
    let there = host.map_or(String::new(), |host| format!(" on {host}"));
    format!("run as administrator{there}")
}

/// The message for a failing provider: `why` it failed, and what can be done about it.
fn blame(service: &Service, why: &str, host: Option<&str>) -> String {
    let Service { name, library, .. } = service;
    let library = if library.is_empty() { "its library" } else { library };
    let (name, there) = (argument(name), run_there(host));
    format!(
        "{library} fails and is left out: {why}; `perfhive check {name}`{there} finds the fault"
    )
}

/// The end of an error message for the case that every query of a registry fails: it names up to
/// five enabled providers that may be the cause, and the command that tests one. Empty if there is
/// no such provider.
///
/// Windows asks a provider with an `Object List` only for the objects of the list. So only
/// providers without a list are suspected when every query fails. There are three exceptions, in
/// which all enabled providers are suspected: on a system that asks `everybody` (Wine), after a hang (one
/// provider that hangs may hold up the others), and if every provider has a list.
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
        // The most likely providers come first.
        true => without.into_iter().chain(with_list).collect(),
        false => without,
    };
    if suspects.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> =
        suspects.iter().take(5).map(|one| format!("{} ({})", one.name, one.library)).collect();
    if suspects.len() > names.len() {
        names.push(format!("{} more", suspects.len() - names.len()));
    }
    let which = match hangs {
        true => "one of these libraries hangs",
        false => "every request asks these libraries",
    };
    let there = run_there(host);
    format!("{which}: {}; `perfhive check NAME`{there} tests one of them", names.join(", "))
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
    fn a_query_is_divided_by_registration_with_unclaimed_names_last() {
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
    fn a_claim_of_all_indexes_is_cut() {
        let greedy = service("Greedy", &[], Some((0, u32::MAX)));
        assert!(greedy.candidates().len() <= 2048);
        let backwards = service("Backwards", &[], Some((10, 2)));
        assert!(backwards.candidates().is_empty() && !backwards.owns(TitleIndex(5)));
    }

    /// At first, the made-up registry fails for the lists with a bad index, and answers all other
    /// lists without objects.
    #[test]
    fn failing_indexes_without_an_owner_are_found_by_halving() {
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
        // If all fail, the search ends at its limit.
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
        let left_out = format!("objects under {} names", 20 * 128 - told);
        assert!(last.message.contains(&left_out), "{last}");
        // A query for a list has a fault for each index.
        let mut ask = |_: &ValueName| Err(Failed::Read(ReadError::TooLarge));
        let search = Search::new(&[], None, &mut ask);
        let split = search.run(&ObjectQuery::Indexes(indexes(&[2])), &groups, "local:");
        let told: Vec<_> = split.faults.iter().filter_map(|fault| fault.object).collect();
        assert_eq!(told.len(), 20 * 128);
    }

    #[test]
    fn errors_of_the_system_blame_no_provider() {
        let code = |code| Failed::Read(ReadError::Code(code));
        assert!(code(1005).may_be_a_providers() && code(31).may_be_a_providers());
        assert!(!code(5).may_be_a_providers() && !code(170).may_be_a_providers());
        assert!(!code(2).may_be_a_providers() && !code(1722).may_be_a_providers());
    }

    #[test]
    fn commands_name_the_machine_and_are_whole() {
        let one = service(".NET CLR Data", &[], None);
        let gone = one.gives_nothing(true, None);
        assert!(gone.message.contains("`perfhive check \".NET CLR Data\"` says"), "{gone}");
        let hangs = one.hangs(None).message;
        assert!(hangs.contains("`perfhive check \".NET CLR Data\"` finds"), "{hangs}");
        let plain = service("Bad", &[], None);
        assert!(plain.hangs(None).message.ends_with("`perfhive check Bad` finds the fault"));
        // Commands for another machine say so.
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
    fn suspects_are_providers_without_an_object_list_unless_one_hangs() {
        let services = [service("Listed", &[2], None), service("Any", &[], Some((2000, 2002)))];
        let fails = Failed::Read(ReadError::Code(31));
        let text = way_out(&services, None, false, fails);
        assert!(text.contains("Any (Any.dll)") && !text.contains("Listed"), "{text}");
        let text = way_out(&services[..1], Some("BOX"), false, fails);
        assert!(text.contains("Listed"), "{text}");
        assert!(text.contains("`perfhive check NAME`, run on BOX,"), "{text}");
        // Wine asks all providers; on Windows, one that hangs may hold up the others.
        assert!(way_out(&services, None, true, fails).contains("Listed"));
        let text = way_out(&services, None, false, Failed::Read(ReadError::Hangs));
        assert!(text.contains("hangs: Any (Any.dll), Listed (Listed.dll)"), "{text}");
    }
}
