//! `perfhive sensors`: lists what can be measured.

use crate::args::{Global, Sensors};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::sensors::{Opened, missing, plain};
use crate::text::escape::shell_word;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::measure::{
    DataSource as _, MeasureError, Sensor, SensorId, SensorName, SharedCounters,
};
use perfhive::{CounterPath, NamePattern, nearest};
use perfhive_view::did_you_mean;
use perfhive_view::{Field, LOCAL_KEYS, Names};
use std::collections::HashMap;
use std::sync::Arc;

/// A sensor, or a sensor with one of its instances.
struct Listed<'a> {
    sensor: &'a Sensor,
    name: SensorName,
}

pub(super) fn run(global: &Global, args: &Sensors) -> Outcome {
    let mut opened = Opened::open(global)?;
    let typed = args.pattern.as_deref().map(pattern_of);
    let args = &Sensors { pattern: typed, ..args.clone() };
    let (sensors, group) = sensors_for(&mut opened, args.pattern.as_deref())?;
    if !opened.is_live {
        // Damaged objects of a recording have no sensors; its first sample reports
        // them, whatever is searched for.
        look(&mut opened, &sensors)?;
    }
    let (mut found, instance) = match &args.pattern {
        None => (sensors.iter().collect(), None),
        Some(pattern) => matching(&sensors, pattern),
    };
    if let Some(group) = group {
        found.retain(|sensor| is_same(sensor.name.group(), &group));
    }
    if let (Some(pattern), true) = (&args.pattern, found.is_empty()) {
        return Err(no_such_sensor(global, &sensors, opened.source.name(), pattern));
    }
    // Groups have the order of objects in lists; the sensors of a group keep their order.
    found.sort_by_cached_key(|sensor| sensor.name.group().to_lowercase());
    let listed = if args.instances || instance.is_some() {
        with_instances(&mut opened, &found, instance.as_ref())?
    } else {
        found.iter().map(|sensor| Listed { sensor, name: sensor.name.clone() }).collect()
    };
    opened.faults.report();
    if let (Some(pattern), true) = (&args.pattern, listed.is_empty()) {
        let sensor = pattern.split('#').next().unwrap_or_default();
        return Err(Failure::Missing(format!(
            "{pattern:?}: no such instance at the moment; perfhive sensors {} --instances lists \
             the instances",
            shell_word(sensor)
        )));
    }
    let output = Output::new(global);
    let mut text = String::new();
    print(&listed, &output, opened.names.as_ref(), &mut text);
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The pattern `object/counter#instance` for a text that is a counter path; any other text unchanged.
fn pattern_of(text: &str) -> String {
    let is_path = text.trim_start().starts_with('\\') || text.contains(")/");
    let path = perfhive_view::typed_path(text).parse::<CounterPath>().ok().filter(|_| is_path);
    path.map_or_else(
        || text.to_string(),
        |path| match &path.instance {
            // The instances of sensors of processes and threads are numbers.
            Some(instance) => {
                let number = instance.process_id().filter(|_| instance.parent.is_none());
                let thread = instance.parent.as_ref().and(instance.process_id());
                let instance = match (number, thread) {
                    (Some(number), _) => number.to_string(),
                    (_, Some(_)) => instance.name.to_string(),
                    _ => instance.to_string(),
                };
                format!("{}/{}#{instance}", path.object, path.counter)
            }
            None => format!("{}/{}", path.object, path.counter),
        },
    )
}

/// The sensors among which a pattern is searched, and the group to which the search is limited; `None` if it is not
/// limited. If the pattern begins with the name of a group and matches sensors of that group, this group and at least
/// its sensors are returned. All sensors are returned without a pattern, if no group can be told from the pattern, or
/// if the pattern may match a whole name. Otherwise no sensor matches, and the result has the sensors from which
/// similar names are suggested.
fn sensors_for(
    opened: &mut Opened,
    pattern: Option<&str>,
) -> Result<(Arc<[Sensor]>, Option<String>), Failure> {
    let own = opened.source.name().to_string();
    let Some((pattern, groups)) = pattern.and_then(|one| Some((one, groups_of(one, &own)?))) else {
        return Ok((opened.source.sensors()?, None));
    };
    let mut of_group = None;
    for group in groups.iter().filter(|group| !group.contains('*')) {
        let sensors = opened.source.sensors_of(group)?;
        let own: Vec<Sensor> =
            sensors.iter().filter(|one| is_same(one.name.group(), group)).cloned().collect();
        if !matching(&own, pattern).0.is_empty() {
            return Ok((sensors, Some(group.clone())));
        }
        if !own.is_empty() {
            of_group = Some(sensors);
        }
    }
    // The slash may be part of a name. Only the list of all sensors shows whether it is.
    let whole = without_source(pattern, &own);
    let names = [pattern, whole].into_iter().flat_map(|name| [name, before_instance(name)]);
    let wild = groups.iter().map(String::as_str).filter(|group| group.contains('*'));
    let names: Vec<NamePattern> = names.chain(wild).map(NamePattern::with_wildcards).collect();
    if opened.source.has_name(|name| names.iter().any(|pattern| pattern.matches(name)))? {
        return Ok((opened.source.sensors()?, None));
    }
    let sensors = match (of_group, groups.first()) {
        (None, Some(group)) => opened.source.sensors_near(group)?,
        (Some(sensors), _) => sensors,
        (None, None) => opened.source.sensors()?,
    };
    Ok((sensors, None))
}

/// The pattern behind the source's name, if it begins with that name; otherwise the whole pattern.
fn without_source<'a>(pattern: &'a str, own: &str) -> &'a str {
    let own = SensorName::new(own, "", "").to_string();
    match pattern.split_once('/') {
        Some((first, rest)) if is_same(first, own.trim_end_matches('/')) => rest,
        _ => pattern,
    }
}

/// The pattern up to its first `#`, behind which the instance stands.
fn before_instance(pattern: &str) -> &str {
    pattern.split('#').next().unwrap_or_default()
}

/// The names of groups with which a pattern may begin (behind the source's name, if it is there), the shortest first,
/// since a slash may be part of a name. `None` if the pattern has no slash or more than eight, or has a wildcard before
/// the first one.
fn groups_of(pattern: &str, own: &str) -> Option<Vec<String>> {
    const MOST: usize = 8;
    let whole = without_source(pattern, own);
    let ends: Vec<usize> = whole.match_indices('/').map(|(at, _)| at).take(MOST + 1).collect();
    let groups: Vec<&str> = ends.iter().filter_map(|end| whole.get(..*end)).collect();
    if groups.len() > MOST || groups.first()?.contains('*') {
        return None;
    }
    let decoded = |group: &str| {
        let name: Result<SensorName, _> = format!("source/{group}/-").parse();
        name.map_or_else(|_| group.to_string(), |name| name.group().to_string())
    };
    Some(groups.into_iter().map(decoded).collect())
}

/// Whether two names are equal without regard to case.
fn is_same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// Takes a first sample, so that its faults are noted. It is no error if this sample lacks an object.
fn look(opened: &mut Opened, sensors: &[Sensor]) -> Result<(), Failure> {
    let any = sensors.first().map_or(SensorId(0), |sensor| sensor.id);
    match opened.source.instances(any) {
        // If that object, or every object, is damaged, the faults of the sample report it.
        Ok(_) | Err(MeasureError::NotDelivered { .. } | MeasureError::UnknownSensor { .. }) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// The sensors that a pattern matches, and the pattern for their instances. The latter stands behind the first `#`,
/// and is `None` without a `#`, or if the `#` is part of a name that matches.
fn matching<'a>(sensors: &'a [Sensor], text: &str) -> (Vec<&'a Sensor>, Option<NamePattern>) {
    let meant = |text: &str| -> Vec<&'a Sensor> {
        let pattern = NamePattern::with_wildcards(text);
        sensors.iter().filter(|sensor| is_meant(&pattern, &sensor.name)).collect()
    };
    // A # may be part of a name.
    let whole = meant(text);
    match text.split_once('#') {
        Some((sensor, instance)) if whole.is_empty() => {
            (meant(sensor), Some(NamePattern::with_wildcards(instance)))
        }
        _ => (whole, None),
    }
}

/// Whether a pattern matches the name of a sensor. It may match the whole name or the name without
/// its source, each with or without encoding (`%2F`), or the group alone or the sensor alone
/// without encoding.
fn is_meant(pattern: &NamePattern, name: &SensorName) -> bool {
    let (source, group, sensor) = (name.source(), name.group(), name.sensor());
    let printed = name.to_string();
    let within = printed.split_once('/').map_or("", |(_, within)| within);
    [group, sensor, within, &printed].into_iter().any(|text| pattern.matches(text))
        || pattern.matches(&format!("{group}/{sensor}"))
        || pattern.matches(&format!("{source}/{group}/{sensor}"))
}

/// The found sensors, each listed once for each of its instances that match `wanted`, or for all
/// its instances if `wanted` is `None`. A sensor without instances is listed only if `wanted` is
/// `None`.
fn with_instances<'a>(
    opened: &mut Opened,
    found: &[&'a Sensor],
    wanted: Option<&NamePattern>,
) -> Result<Vec<Listed<'a>>, Failure> {
    // All sensors of a group have the same instances.
    let mut of_groups: HashMap<&str, Vec<String>> = HashMap::new();
    let mut listed = Vec::new();
    for sensor in found {
        let name = &sensor.name;
        if !sensor.has_instances {
            if wanted.is_none() {
                listed.push(Listed { sensor, name: name.clone() });
            }
            continue;
        }
        if !of_groups.contains_key(name.group()) {
            let instances = match opened.source.instances(sensor.id) {
                // An object that is missing at the moment does not prevent the list of the others.
                Err(error @ MeasureError::NotDelivered { .. }) if found.len() > 1 => {
                    opened.faults.add(error.to_string());
                    Vec::new()
                }
                instances => instances?,
            };
            of_groups.insert(name.group(), instances);
        }
        for instance in of_groups.get(name.group()).into_iter().flatten() {
            if wanted.is_none_or(|pattern| pattern.matches(instance)) {
                listed.push(Listed { sensor, name: name.clone().with_instance(instance) });
            }
        }
    }
    Ok(listed)
}

fn print(listed: &[Listed<'_>], output: &Output, names: Option<&Names>, text: &mut String) {
    if output.is_table() {
        let mut table = Table::new(&[
            ("SENSOR", Align::Left),
            ("KIND", Align::Left),
            ("TYPE", Align::Left),
            ("UNIT", Align::Left),
            ("INSTANCES", Align::Left),
            ("COST", Align::Left),
        ]);
        for Listed { sensor, name } in listed {
            table.text(Style::Name, &plain(name));
            table.text(Style::Plain, &sensor.kind.to_string());
            table.text(Style::Faint, &sensor.value_type.to_string());
            table.text(Style::Plain, &sensor.unit);
            table.text(Style::Plain, if sensor.has_instances { "yes" } else { "no" });
            table.text(Style::Attention, if sensor.is_costly { "costly" } else { "" });
        }
        table.render(text, output.layout(true));
        return;
    }
    let keys = [
        "sensor",
        "kind",
        "value_type",
        "unit",
        "instances",
        "costly",
        "source",
        "group",
        "instance",
        "help",
        "object_index",
        "counter_index",
        "path",
    ];
    let keys = keys.into_iter().chain(output.local(LOCAL_KEYS));
    let mut records = output.records(keys, text);
    for Listed { sensor, name } in listed {
        let indexes = SharedCounters::indexes_of(sensor.id);
        let name_of = |index| names.map_or("".into(), |names| names.name(index));
        let (object, counter) = (name_of(indexes.0), name_of(indexes.1));
        // An index behind a # tells objects of one name apart.
        let index = name.group().contains('#').then(|| indexes.0.to_string());
        let of = index.as_deref().unwrap_or(name.group());
        let path = super::list::path_of(of, sensor.has_instances, name.sensor());
        let fields = [
            Field::Text(&name.to_string()),
            Field::Text(&sensor.kind.to_string()),
            Field::Text(&sensor.value_type.to_string()),
            Field::Text(&sensor.unit),
            Field::Bool(sensor.has_instances),
            Field::Bool(sensor.is_costly),
            Field::Text(name.source()),
            Field::Text(name.group()),
            Field::text(name.instance()),
            Field::Text(&sensor.help),
            Field::Unsigned(indexes.0.0.into()),
            Field::Unsigned(indexes.1.0.into()),
            Field::Text(&path),
        ];
        let local = output.local([Field::Text(&object), Field::Text(&counter)]);
        records.row(text, fields.into_iter().chain(local));
    }
    records.end(text);
}

/// The failure for a pattern that matches no sensor, with the nearest names, or with the reason why the
/// sensor is missing.
fn no_such_sensor(global: &Global, sensors: &[Sensor], source: &str, pattern: &str) -> Failure {
    let full = [pattern.to_string(), format!("{source}/{pattern}")];
    let reason = full.iter().find_map(|name| missing(global, &name.parse().ok()?));
    if let Some(failure) = reason {
        return failure;
    }
    let near = suggestions(sensors, source, pattern);
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    let way_out = match near.is_empty() {
        true => "; perfhive sensors shows what there is, and * stands for any text".to_string(),
        false => did_you_mean(&near),
    };
    Failure::Usage(format!("no sensor {pattern:?}{way_out}"))
}

/// The names that may have been meant by a pattern that matches nothing, at most three.
fn suggestions(sensors: &[Sensor], source: &str, pattern: &str) -> Vec<String> {
    const MOST: usize = 3;
    let mut groups: Vec<&str> = sensors.iter().map(|sensor| sensor.name.group()).collect();
    groups.dedup();
    let (group, rest) = without_source(pattern, source).split_once('/').unwrap_or_default();
    let has_group = groups.iter().any(|one| is_same(one, group));
    let of_groups = |rest: &str| -> Vec<String> {
        let near = nearest(group, groups.iter().copied(), MOST);
        near.into_iter().map(|group| format!("{group}/{rest}")).collect()
    };
    // In a pattern with wildcards only the group can be mistyped.
    if rest.contains('*') && !has_group {
        return of_groups(rest);
    }
    let names = sensors.iter().flat_map(|sensor| {
        let (group, sensor) = (sensor.name.group(), sensor.name.sensor());
        [group.to_string(), sensor.to_string(), format!("{group}/{sensor}")]
    });
    let names: Vec<String> = names.collect();
    let near = nearest(pattern, names.iter().map(String::as_str), MOST);
    match near.is_empty() && !group.is_empty() {
        true => of_groups("*"),
        false => near.into_iter().map(str::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive::format::titles::{Title, TitleList};
    use perfhive::measure::counters_of;
    use perfhive::{
        Ask, Catalogue, CatalogueCounter, CatalogueObject, CounterType, LanguageId, ObjectQuery,
        Snapshot, Source, SourceError, TitleDatabase, TitleIndex,
    };
    use std::collections::BTreeSet;
    use std::sync::{Mutex, MutexGuard};

    /// The objects of the test, each followed by its counters.
    const NAMES: [(u32, &str); 8] = [
        (10, "Print Shop"),
        (12, "Pages/sec"),
        (14, "Jobs #1"),
        (20, "Some %/Thing"),
        (22, "Jobs"),
        (30, "Prints"),
        (32, "Ink"),
        (36, "Without provider"),
    ];

    /// A source that lists an object only when it is asked for, and notes what was asked for.
    #[derive(Clone, Default)]
    struct Shy(Arc<Mutex<(Vec<String>, BTreeSet<u32>)>>);

    impl Shy {
        fn lock(&self) -> MutexGuard<'_, (Vec<String>, BTreeSet<u32>)> {
            self.0.lock().unwrap()
        }
    }

    impl Source for Shy {
        fn name(&self) -> &str {
            "shy:"
        }

        fn collect(&mut self, _: &Ask, _: &mut Snapshot) -> Result<(), SourceError> {
            unreachable!("no values are read")
        }

        fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            let all = [10, 20, 30].map(TitleIndex);
            let wanted = match &ask.objects {
                ObjectQuery::Indexes(list) => list,
                _ => {
                    self.lock().0.push("everything".to_string());
                    &all[..]
                }
            };
            let mut state = self.lock();
            let is_any = !wanted.is_empty() && wanted[..] != [perfhive::NO_OBJECT];
            if is_any && state.0.last().is_none_or(|last| last != "everything") {
                let list: Vec<String> = wanted.iter().map(ToString::to_string).collect();
                state.0.push(list.join(" "));
            }
            state.1.extend(wanted.iter().map(|name| name.0).filter(|name| name % 10 == 0));
            let counter = |(index, _): &(u32, &str)| {
                CatalogueCounter::new(TitleIndex(*index), CounterType::PERF_COUNTER_RAWCOUNT)
            };
            let objects = state.1.iter().map(|object| {
                let names = NAMES.iter();
                let counters =
                    names.filter(|(index, _)| (*object + 1..*object + 5).contains(index));
                CatalogueObject::new(TitleIndex(*object), counters.map(counter).collect())
            });
            let (generation, objects) = (state.1.len() as u64, objects.collect());
            let catalogue = Catalogue::new("", Vec::new(), objects);
            Ok(Arc::new(catalogue.with_generation(generation)))
        }

        fn titles(
            &mut self,
            language: LanguageId,
            _: &Ask,
        ) -> Result<Arc<TitleDatabase>, SourceError> {
            let title = |(index, text): &(u32, &str)| Title {
                index: TitleIndex(*index),
                text: text.to_string(),
            };
            let list = TitleList::from(NAMES.iter().map(title).collect::<Vec<_>>());
            Ok(Arc::new(TitleDatabase::from_lists(language, [&list], [])))
        }
    }

    /// The sensors that a pattern finds, or the suggestions for it; and the objects that were asked for.
    fn found(pattern: &str) -> (Vec<String>, Vec<String>) {
        let shy = Shy::default();
        let source = counters_of("shy.test", shy.clone());
        let mut opened = Opened { source, faults: Default::default(), is_live: true, names: None };
        let (sensors, group) = sensors_for(&mut opened, Some(pattern)).unwrap();
        let mut meant = matching(&sensors, pattern).0;
        meant.retain(|one| group.as_ref().is_none_or(|group| is_same(one.name.group(), group)));
        let names = match meant.is_empty() {
            true => suggestions(&sensors, "shy.test", pattern),
            false => meant.iter().map(|sensor| sensor.name.sensor().to_string()).collect(),
        };
        let asked = std::mem::take(&mut shy.lock().0);
        (names, asked)
    }

    #[test]
    fn a_named_group_is_the_only_one_asked() {
        for (pattern, sensors, asked) in [
            ("print shop/*", &["Pages/sec", "Jobs #1"][..], "10"),
            ("shy.test/Print Shop/Pages*", &["Pages/sec"], "10"),
            ("Print Shop/Pages/sec", &["Pages/sec"], "10"),
            ("Print Shop/Pages%2Fsec#*", &["Pages/sec"], "10"),
            ("Print Shop/Jobs #1", &["Jobs #1"], "10"),
            // Here a slash is part of the group's name.
            ("Some %25%2FThing/*", &["Jobs"], "20"),
            ("Some %/Thing/Jobs", &["Jobs"], "20"),
            ("SHY.test/Some %/Thing/Jobs", &["Jobs"], "20"),
        ] {
            let (found, all) = found(pattern);
            assert_eq!(
                (found, all.join(", ")),
                (sensors.iter().map(ToString::to_string).collect(), asked.to_string()),
                "{pattern}"
            );
        }
    }

    #[test]
    fn a_slash_within_a_sensor_name_is_found_in_the_list_of_all() {
        for (pattern, sensor) in [
            ("Pages/sec", "Pages/sec"),
            ("pages/s*", "Pages/sec"),
            ("Pages/sec#*", "Pages/sec"),
            ("Some %/Thing", "Jobs"),
            ("*/Ink", "Ink"),
            ("Some %/T*/Jobs", "Jobs"),
            ("Ink", "Ink"),
        ] {
            let (found, asked) = found(pattern);
            assert_eq!(
                (found, asked.last().map(String::as_str)),
                (vec![sensor.to_string()], Some("everything")),
                "{pattern}"
            );
        }
    }

    #[test]
    fn for_an_unknown_group_only_groups_of_similar_names_are_asked() {
        for (pattern, suggested, asked) in [
            ("Prnt Shop/*", Some("Print Shop/*"), &["10"][..]),
            ("Prnt Shop/Pages/sec", Some("Print Shop/Pages/sec"), &["10"]),
            ("shy.test/Pint Shop/Nothing", Some("Print Shop"), &["10"]),
            ("Xyzzy/*", None, &[]),
            ("Xyzzy/Plugh/Frotz#7", None, &[]),
            // The group exists, but has no such sensor.
            ("Prints/Imk", Some("Prints/Ink"), &["30"]),
            ("Prints/", Some("Prints"), &["30"]),
        ] {
            let (near, all) = found(pattern);
            assert_eq!(
                (near.first().map(String::as_str), &*all.join(", ")),
                (suggested, &*asked.join(", ")),
                "{pattern}"
            );
        }
    }

    #[test]
    fn patterns_are_split_into_possible_groups() {
        let of = |pattern| groups_of(pattern, "linux.procfs");
        let some = |groups: &[&str]| Some(groups.iter().map(ToString::to_string).collect());
        assert_eq!(of("Process/Working Set#*"), some(&["Process"]));
        assert_eq!(of("linux.procfs/Process/*"), some(&["Process"]));
        assert_eq!(of("LINUX.procfs/Process/*"), some(&["Process"]));
        assert_eq!(of("Some %25%2FThing/*"), some(&["Some %/Thing"]));
        assert_eq!(of("Some/Thing/Jobs"), some(&["Some", "Some/Thing"]));
        assert_eq!(of("Some/T*/Jobs"), some(&["Some", "Some/T*"]));
        // A pattern that may match several groups.
        assert_eq!(of("Proc*/Working Set"), None);
        assert_eq!(of("linux.procfs/*"), None);
        assert_eq!(of("Process"), None);
        assert_eq!(of(&"a/".repeat(9)), None);
    }
}
