//! `perfhive sensors`: what can be measured.

use crate::args::{Global, Sensors};
use crate::failure::{Exit, Failure, Outcome};
use crate::names::did_you_mean;
use crate::output::Output;
use crate::sensors::{Opened, missing};
use crate::text::records::Field;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::measure::{DataSource as _, MeasureError, Sensor, SensorId, SensorName};
use perfhive::{NamePattern, nearest};
use std::collections::HashMap;
use std::sync::Arc;

/// A sensor, or one instance of it.
struct Listed<'a> {
    sensor: &'a Sensor,
    name: SensorName,
}

pub(super) fn run(global: &Global, args: &Sensors) -> Outcome {
    let mut opened = Opened::open(global)?;
    let (sensors, group) = sensors_for(&mut opened, args.pattern.as_deref())?;
    if !opened.is_live {
        // A recording's damaged objects have no sensors; its first sample tells
        // of them, whatever is looked for in it.
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
    // As objects are listed; the sensors of a group stay in their order.
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
            "{pattern:?}: no such instance at the moment; perfhive sensors '{sensor}' --instances \
             shows those that there are"
        )));
    }
    let output = Output::new(global);
    let mut text = String::new();
    print(&listed, &output, &mut text);
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The sensors that a pattern may mean: those of the group that it begins with, of which
/// the name is answered as well, where there is one; else all.
fn sensors_for(
    opened: &mut Opened,
    pattern: Option<&str>,
) -> Result<(Arc<[Sensor]>, Option<String>), Failure> {
    let own = opened.source.name().to_string();
    if let Some(group) = pattern.and_then(|pattern| group_of(pattern, &own)) {
        let sensors = opened.source.sensors_of(&group)?;
        let of_group: Vec<Sensor> =
            sensors.iter().filter(|one| is_same(one.name.group(), &group)).cloned().collect();
        if !matching(&of_group, pattern.unwrap_or_default()).0.is_empty() {
            return Ok((sensors, Some(group)));
        }
    }
    Ok((opened.source.sensors()?, None))
}

/// The group that a pattern begins with, behind the source's name if that is there;
/// nothing where the pattern is one part or may mean several groups.
fn group_of(pattern: &str, own: &str) -> Option<String> {
    let own = SensorName::new(own, "", "").to_string();
    let own = own.trim_end_matches('/');
    let (mut group, mut rest) = pattern.split_once('/')?;
    if is_same(group, own) {
        (group, rest) = rest.split_once('/')?;
    }
    if rest.is_empty() || NamePattern::with_wildcards(group).as_literal().is_none() {
        return None;
    }
    let name: Result<SensorName, _> = format!("{own}/{group}/-").parse();
    Some(name.map_or_else(|_| group.to_string(), |name| name.group().to_string()))
}

fn is_same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// Takes a first sample, with the object of some sensor.
fn look(opened: &mut Opened, sensors: &[Sensor]) -> Result<(), Failure> {
    let any = sensors.first().map_or(SensorId(0), |sensor| sensor.id);
    match opened.source.instances(any) {
        // Where that is damaged itself, or all are, it is among what is told.
        Ok(_) | Err(MeasureError::NotDelivered { .. } | MeasureError::UnknownSensor { .. }) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// The sensors that a pattern means; and, behind a `#`, the instances.
fn matching<'a>(sensors: &'a [Sensor], text: &str) -> (Vec<&'a Sensor>, Option<NamePattern>) {
    let meant = |text: &str| -> Vec<&'a Sensor> {
        let pattern = NamePattern::with_wildcards(text);
        sensors.iter().filter(|sensor| is_meant(&pattern, &sensor.name)).collect()
    };
    // A # may well be part of a name.
    let whole = meant(text);
    match text.split_once('#') {
        Some((sensor, instance)) if whole.is_empty() => {
            (meant(sensor), Some(NamePattern::with_wildcards(instance)))
        }
        _ => (whole, None),
    }
}

/// Whether a pattern means a sensor: by its name as it is printed or as it is,
/// with or without the source, or by one part.
fn is_meant(pattern: &NamePattern, name: &SensorName) -> bool {
    let (source, group, sensor) = (name.source(), name.group(), name.sensor());
    let printed = name.to_string();
    let within = printed.split_once('/').map_or("", |(_, within)| within);
    [group, sensor, within, &printed].into_iter().any(|text| pattern.matches(text))
        || pattern.matches(&format!("{group}/{sensor}"))
        || pattern.matches(&format!("{source}/{group}/{sensor}"))
}

/// Each sensor once for each of its instances.
fn with_instances<'a>(
    opened: &mut Opened,
    found: &[&'a Sensor],
    wanted: Option<&NamePattern>,
) -> Result<Vec<Listed<'a>>, Failure> {
    // The sensors of a group have the same.
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
            of_groups.insert(name.group(), opened.source.instances(sensor.id)?);
        }
        for instance in of_groups.get(name.group()).into_iter().flatten() {
            if wanted.is_none_or(|pattern| pattern.matches(instance)) {
                listed.push(Listed { sensor, name: name.clone().with_instance(instance) });
            }
        }
    }
    Ok(listed)
}

fn print(listed: &[Listed<'_>], output: &Output, text: &mut String) {
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
            table.text(Style::Name, &name.to_string());
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
    ];
    let mut records = output.records(keys, text);
    for Listed { sensor, name } in listed {
        records.row(
            text,
            [
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
            ],
        );
    }
    records.end(text);
}

/// That no sensor is meant, with the nearest names, or with the reason why it
/// is not there.
fn no_such_sensor(global: &Global, sensors: &[Sensor], source: &str, pattern: &str) -> Failure {
    let full = [pattern.to_string(), format!("{source}/{pattern}")];
    let reason = full.iter().find_map(|name| missing(global, &name.parse().ok()?));
    if let Some(failure) = reason {
        return failure;
    }
    let names: Vec<String> = sensors
        .iter()
        .flat_map(|sensor| {
            let (group, sensor) = (sensor.name.group(), sensor.name.sensor());
            [group.to_string(), sensor.to_string(), format!("{group}/{sensor}")]
        })
        .collect();
    let near = nearest(pattern, names.iter().map(String::as_str), 3);
    let way_out = match near.is_empty() {
        true => "; perfhive sensors shows what there is, and * stands for any text".to_string(),
        false => did_you_mean(&near),
    };
    Failure::Usage(format!("no sensor {pattern:?}{way_out}"))
}

#[cfg(test)]
mod tests {
    use super::group_of;

    #[test]
    fn the_group_of_a_pattern() {
        let of = |pattern| group_of(pattern, "linux.procfs");
        let some = |group: &str| Some(group.to_string());
        assert_eq!(of("Process/Working Set#*"), some("Process"));
        assert_eq!(of("linux.procfs/Process/*"), some("Process"));
        assert_eq!(of("LINUX.procfs/Process/*"), some("Process"));
        assert_eq!(of("Some %25%2FThing/*"), some("Some %/Thing"));
        // What may mean several.
        assert_eq!(of("Proc*/Working Set"), None);
        assert_eq!(of("linux.procfs/*"), None);
        assert_eq!(of("Process"), None);
        assert_eq!(of("Process/"), None);
    }
}
