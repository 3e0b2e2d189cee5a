//! Opens the data source that the command line names, and finds its sensors.

use crate::absent;
use crate::args::Global;
use crate::failure::{Failure, warn};
use crate::paths::{
    add_paths, damaged_object, explain_syntax, fail_if_all_absent, missing_instances,
};
use crate::session::{Faults, Session};
use perfhive::engine::same_name;
use perfhive::measure::{
    DataSources, MeasureError, SelectedSensor, Sensor, SensorName, SensorSlot, SharedCounters,
    counters_of, name_of,
};
use perfhive::{
    Ask, CounterPath, Identity, InstancePattern, NoValue, OrderNumber, Source as _, SourceAddress,
    TitleIndex,
};
use perfhive_view::{Names, typed_path};

/// An open data source.
pub(crate) struct Opened {
    /// The data source.
    pub(crate) source: SharedCounters,
    /// The faults of the collections, and the time of the newest sample.
    pub(crate) faults: Faults,
    /// Whether the source is live, and not a recording.
    pub(crate) is_live: bool,
    /// The names in the language that the command line asks for; `None` if it asks for none.
    pub(crate) names: Option<Names>,
}

impl Opened {
    /// Opens the source that the command line names. The names of sensors are the
    /// same in whatever language names are shown.
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        let (mut session, names) = match global.language {
            None => (Session::open_unnamed(global)?, None),
            Some(_) => {
                let mut session = Session::open(global)?;
                let names = Names::load(&mut session.source, session.language)?;
                (session, Some(names))
            }
        };
        let address: SourceAddress =
            global.source.parse().map_err(|error| Failure::Usage(format!("{error}")))?;
        let machine = match address.scheme().capabilities.recorded {
            true => {
                // Sensors look for an instance in all that a sample has, so it has only the first machine.
                if let [own, _, ..] = session.machines()?.as_slice() {
                    session = session.of_machine(own);
                }
                session.source.catalogue(&Ask::everything())?.machine.clone()
            }
            false => String::new(),
        };
        let is_live = session.source.is_live();
        let source = counters_of(&name_of(&address, &machine), session.source);
        Ok(Self { source, faults: session.faults, is_live, names })
    }
}

/// A sensor that the command line asks for.
pub(crate) struct Asked {
    /// The full name of the sensor.
    pub(crate) name: SensorName,
    /// The unit of the sensor's values.
    pub(crate) unit: String,
    /// The title indexes of the sensor's object and counter.
    pub(crate) indexes: (TitleIndex, TitleIndex),
    /// Whether the command line names the sensor by a counter path instead of the name of a sensor.
    pub(crate) is_path: bool,
}

impl Asked {
    /// The counter path of a slot of the sensor, in English; `None` for an instance that was not found.
    pub(crate) fn path(&self, slot: &SensorSlot) -> Option<String> {
        let name = &slot.name;
        // Behind a # is what tells objects of one name apart.
        let object = match name.group().contains('#') {
            true => self.indexes.0.to_string(),
            false => name.group().to_string(),
        };
        let is_whole = slot.instance.is_some() || name.instance().is_none();
        let path = CounterPath::new(&object, slot.instance.clone(), name.sensor());
        is_whole.then(|| path.to_string())
    }
}

/// The name of a sensor for people, without percent escapes.
pub(crate) fn plain(name: &SensorName) -> String {
    let instance = name.instance().map(|instance| format!("#{instance}")).unwrap_or_default();
    format!("{}/{}/{}{instance}", name.source(), name.group(), name.sensor())
}

/// The sensors that the texts of the command line name. Every wrong name is reported, and then the result is a failure.
pub(crate) fn find(
    sources: &mut DataSources,
    own: &str,
    global: &Global,
    texts: &[String],
) -> Result<Vec<Asked>, Failure> {
    let mut worst = None;
    let mut found = Vec::new();
    for text in texts {
        let asked = find_one(sources, own, global, text);
        match asked {
            Ok(asked) => found.extend(asked),
            Err(failure) => worst = worst.max(Some(failure.report())),
        }
    }
    worst.map_or(Ok(found), |exit| Err(Failure::Said(exit)))
}

/// Finds the sensors that one text of the command line means.
pub(crate) fn find_one(
    sources: &mut DataSources,
    own: &str,
    global: &Global,
    text: &str,
) -> Result<Vec<Asked>, Failure> {
    let (names, is_path) = match typed(text, own) {
        // `Memory/Available Bytes` is a path and the name of a sensor.
        Some(path) => {
            (of_path(&path, own, global)?, text.contains(['\\', '(']) || !text.contains('/'))
        }
        None => (vec![parse(text, own)?], false),
    };
    let look_up = |name| Ok(Asked { is_path, ..look_up(sources, global, name)? });
    names.into_iter().map(look_up).collect()
}

/// The counter path for a text that is one in any of the forms in which people type it; `None` for the name
/// of a sensor.
fn typed(text: &str, own: &str) -> Option<String> {
    let is_sensor = !text.trim_start().starts_with('\\')
        && (text.contains('#') && !text.contains('(')
            || names_source(text, own)
            || text.contains("%2") && text.parse::<SensorName>().is_ok());
    (!is_sensor).then(|| typed_path(text).into_owned())
}

/// The path to all instances that have the name of the instance in `path`; `None` if `path` has no
/// instance, or one with a wildcard or a number (`#1`).
fn every_instance(path: &CounterPath) -> Option<CounterPath> {
    let instance = path.instance.as_ref()?;
    let is_open = instance.order == OrderNumber::Default && !instance.is_wild();
    let all = InstancePattern { order: OrderNumber::All, ..instance.clone() };
    is_open.then(|| CounterPath { instance: Some(all), ..path.clone() })
}

/// The sensors for a path: one for each instance that the path matches now, or one with the instance `*` if it asks
/// for all of them. If several instances have the name in the path, the first one is meant, and a warning says so.
fn of_path(path: &str, own: &str, global: &Global) -> Result<Vec<SensorName>, Failure> {
    let mut query = Session::open(&Global { quiet: true, ..global.clone() })?.query()?;
    let added = fail_if_all_absent(add_paths(&mut query, global, &[path.to_string()])?)?;
    let asked = added.iter().flatten().find_map(|id| query.path(*id)).cloned();
    let all = asked.as_ref().and_then(|asked| query.add(&every_instance(asked)?.to_string()).ok());
    query.collect()?;
    if let (Some(asked), Some(all)) = (&asked, all)
        && let count @ 2.. = query.readings_of(all).filter(|one| one.identity.is_some()).count()
    {
        warn(&format!(
            "{asked}: {count} instances have this name, and the first is read; #1 behind the name chooses the \
             second, and pid:NUMBER in its place a process"
        ));
    }
    let mut names: Vec<SensorName> = Vec::new();
    for reading in query.readings().iter().filter(|reading| Some(reading.path) != all) {
        if reading.source != 0 {
            let what = "sensors are those of the first machine; perfhive watch reads the others";
            return Err(Failure::Usage(format!("{path}: {what}")));
        }
        if matches!(reading.value, Err(NoValue::NoSuchInstance)) {
            // The first one is of the path that was asked for.
            let missing = missing_instances(&query).into_iter().next();
            return Err(Failure::Missing(missing.unwrap_or_default()));
        }
        let (object, counter) = query.english_names_of(reading);
        let name = SensorName::new(own, &object, &counter);
        let asked = query.path(reading.path).and_then(|path| path.instance.as_ref());
        let is_every = asked.is_some_and(|asked| asked.parent.is_none() && asked.name.is_any());
        let name = match (&reading.instance, &reading.identity) {
            (Some(_), _) if is_every => name.with_instance("*"),
            (_, Some(Identity::Process { id, .. } | Identity::Thread { id, .. })) => {
                name.with_instance(&id.to_string())
            }
            (Some(label), _) => name.with_instance(&label.to_string()),
            (None, _) => name,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Joins a failure to open the source with the syntax errors of the names, which are errors with any
/// source ([`Failure::behind`]).
pub(crate) fn with_syntax(failure: Failure, texts: &[String]) -> Failure {
    let error = |text: &String| match typed(text, "source") {
        Some(path) => {
            path.parse::<CounterPath>().err().map(|error| explain_syntax(error.into(), &path))
        }
        None => parse(text, "source").err(),
    };
    failure.behind(texts.iter().filter_map(error).collect())
}

/// The name of the sensor in a text. The name of the data source may be left out, since there is only one.
fn parse(text: &str, own: &str) -> Result<SensorName, Failure> {
    let text = &encode_slashes(encode_percents(text), own);
    let sensor = text.split('#').next().unwrap_or_default();
    let parsed = match sensor.matches('/').count() {
        // Printing a name encodes it; this name contains only the source.
        1 => {
            let own = SensorName::new(own, "", "").to_string();
            format!("{}/{text}", own.trim_end_matches('/')).parse::<SensorName>()
        }
        _ => text.parse(),
    };
    parsed.map_err(|error| {
        Failure::Usage(format!("{error}; perfhive sensors shows the names that there are"))
    })
}

/// Whether a text begins with the name of a source: of `own`, or of another one, such as `log.HOST`. The
/// name of an object may begin with a dot (`.NET CLR Memory`), that of a source does not.
fn names_source(text: &str, own: &str) -> bool {
    let (source, rest) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
    let other = source.split_once('.').is_some_and(|(kind, _)| !kind.is_empty());
    same_name(source, own) || rest.is_some() && other
}

/// The text with `%2F` for each slash, and `%23` for each further `#`, in the name of a counter or instance, as in
/// `source/System/Context Switches/sec` or `Process/IO Read Bytes/sec#1`. The first slash ends
/// the group, or if the text begins with the name of a source, the first two end source and group.
fn encode_slashes(text: String, own: &str) -> String {
    let (name, instance) = text.split_once('#').map_or((&*text, None), |(a, b)| (a, Some(b)));
    let outer = if names_source(name, own) { 2 } else { 1 };
    let Some((end, _)) = name.match_indices('/').nth(outer - 1) else { return text };
    let (before, counter) = name.split_at(end + 1);
    let encoded = |name: &str| name.replace('/', "%2F").replace('#', "%23");
    let instance = instance.map(|one| format!("#{}", encoded(one))).unwrap_or_default();
    format!("{before}{}{instance}", encoded(counter))
}

/// The text with each `%` written as `%25` unless two hexadecimal digits follow it, as for
/// `% Processor Time`.
fn encode_percents(text: &str) -> String {
    let mut out = String::new();
    for (place, piece) in text.split('%').enumerate() {
        let digits = piece.bytes().take(2).filter(u8::is_ascii_hexdigit).count();
        match (place, digits) {
            (0, _) => {}
            (_, 2) => out.push('%'),
            _ => out.push_str("%25"),
        }
        out.push_str(piece);
    }
    out
}

/// The sensor with a full name; a failure if there is none.
fn look_up(sources: &mut DataSources, global: &Global, name: SensorName) -> Result<Asked, Failure> {
    let SelectedSensor { sensor: id, .. } =
        sources.find(&name).map_err(|error| explain(error, global))?;
    let sensors = sources.get(name.source())?.sensors_of(name.group())?;
    let sensor: Option<&Sensor> = sensors.iter().find(|sensor| sensor.id == id);
    let unit = sensor.map(|sensor| sensor.unit.clone()).unwrap_or_default();
    Ok(Asked { name, unit, indexes: SharedCounters::indexes_of(id), is_path: false })
}

/// The failure for the error of a sensor, with the cause if one is found.
fn explain(error: MeasureError, global: &Global) -> Failure {
    match &error {
        MeasureError::UnknownSensor { name, .. } => match missing(global, name) {
            Some(failure) => failure,
            None => error.into(),
        },
        _ => error.into(),
    }
}

/// The failure with the reason why a sensor is missing: this machine lacks the counter, the provider of its object
/// does not answer, or the object is damaged in the first sample of a recording. `None` if no such reason is known.
pub(crate) fn missing(global: &Global, name: &SensorName) -> Option<Failure> {
    let reason = absent::reason(global, name.group(), name.sensor()).map(Failure::Usage);
    reason.or_else(|| damaged_object(global, name.group()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_without_two_digits_are_encoded() {
        assert_eq!(encode_percents("a/% b%25/%"), "a/%25 b%25/%25");
        assert_eq!(encode_percents("%zz%2F%"), "%25zz%2F%25");
        assert_eq!(encode_percents("a/b"), "a/b");
    }

    #[test]
    fn slashes_in_names_of_counters_and_instances_stand_for_themselves() {
        let own = "linux.procfs";
        let name = |group: &str, counter: &str| SensorName::new(own, group, counter);
        let read = name("Process", "IO Read Bytes/sec").with_instance("1");
        let group = name("Cgroup", "% Processor Time").with_instance("/a b#1");
        let jitted = name(".NET CLR Jit", "IL Bytes Jitted / sec").with_instance("_Global_");
        let cases = [
            ("Process/IO Read Bytes/sec#1", &read),
            ("Process/IO Read Bytes%2Fsec#1", &read),
            ("linux.procfs/Process/IO Read Bytes/sec#1", &read),
            ("Cgroup/% Processor Time#/a b#1", &group),
            ("linux.procfs/Cgroup/% Processor Time#/a b%231", &group),
            (".NET CLR Jit/IL Bytes Jitted / sec#_Global_", &jitted),
        ];
        for (text, meant) in cases {
            assert_eq!(parse(text, own).ok().as_ref(), Some(meant), "{text}");
        }
        // The name of another source stays one.
        let other = SensorName::new("log.HOST", "Process", "% User Time").with_instance("1");
        assert_eq!(parse("log.HOST/Process/% User Time#1", own).ok(), Some(other));
    }
}
