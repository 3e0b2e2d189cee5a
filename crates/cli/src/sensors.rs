//! The sensors of the source that the command line names.

use crate::absent;
use crate::args::Global;
use crate::failure::Failure;
use crate::paths::damaged_object;
use crate::session::{Faults, Session};
use perfhive::measure::{
    DataSources, MeasureError, SelectedSensor, Sensor, SensorName, SharedCounters, counters_of,
    name_of,
};
use perfhive::{Ask, Source as _, SourceAddress};
use perfhive_view::did_you_mean;

/// An open data source.
pub(crate) struct Opened {
    /// The data source.
    pub(crate) source: SharedCounters,
    /// The faults of collections, and the time of the newest sample.
    pub(crate) faults: Faults,
    /// Whether it is live, not a recording.
    pub(crate) is_live: bool,
}

impl Opened {
    /// Opens the source that the command line names. Names of sensors are the
    /// same whatever language is shown.
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        let mut session = Session::open_unnamed(global)?;
        let address: SourceAddress =
            global.source.parse().map_err(|error| Failure::Usage(format!("{error}")))?;
        let machine = match address.scheme().capabilities.recorded {
            true => session.source.catalogue(&Ask::everything())?.machine.clone(),
            false => String::new(),
        };
        let is_live = session.source.is_live();
        let source = counters_of(&name_of(&address, &machine), session.source);
        Ok(Self { source, faults: session.faults, is_live })
    }
}

/// One sensor of the command line.
pub(crate) struct Asked {
    /// Its name, in full.
    pub(crate) name: SensorName,
    /// The unit of its values.
    pub(crate) unit: String,
}

/// Finds the sensors of the command line. Every wrong name is reported.
pub(crate) fn find(
    sources: &mut DataSources,
    own: &str,
    global: &Global,
    texts: &[String],
) -> Result<Vec<Asked>, Failure> {
    let mut worst = None;
    let mut found = Vec::new();
    for text in texts {
        match parse(text, own).and_then(|name| look_up(sources, global, name)) {
            Ok(asked) => found.push(asked),
            Err(failure) => worst = worst.max(Some(failure.report())),
        }
    }
    worst.map_or(Ok(found), |exit| Err(Failure::Said(exit)))
}

/// A failure to open the source, after the syntax errors of the names: these are
/// errors with any source.
pub(crate) fn with_syntax(failure: Failure, texts: &[String]) -> Failure {
    failure.behind(texts.iter().filter_map(|text| parse(text, "source").err()).collect())
}

/// A sensor's name. The data source may be left out, since there is only one.
fn parse(text: &str, own: &str) -> Result<SensorName, Failure> {
    let sensor = text.split('#').next().unwrap_or_default();
    let parsed = match sensor.matches('/').count() {
        // Printing a name encodes it, and nothing but the source is in this one.
        1 => {
            let own = SensorName::new(own, "", "").to_string();
            format!("{}/{text}", own.trim_end_matches('/')).parse::<SensorName>()
        }
        _ => text.parse(),
    };
    parsed.map_err(|error| {
        let encoded = encode_percents(text);
        let way_out = if text.starts_with('\\') {
            "; perfhive get and watch read counter paths".to_string()
        } else if encoded != text {
            did_you_mean(&[&encoded])
        } else {
            "; perfhive sensors shows the names that there are".to_string()
        };
        Failure::Usage(format!("{error}{way_out}"))
    })
}

/// The text with `%25` for each `%` without two hexadecimal digits behind it, as in
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

fn look_up(sources: &mut DataSources, global: &Global, name: SensorName) -> Result<Asked, Failure> {
    let SelectedSensor { sensor: id, .. } =
        sources.find(&name).map_err(|error| explain(error, global))?;
    let sensors = sources.get(name.source())?.sensors_of(name.group())?;
    let sensor: Option<&Sensor> = sensors.iter().find(|sensor| sensor.id == id);
    let unit = sensor.map(|sensor| sensor.unit.clone()).unwrap_or_default();
    Ok(Asked { name, unit })
}

/// The failure for a sensor's error, with the cause if one is found.
fn explain(error: MeasureError, global: &Global) -> Failure {
    match &error {
        MeasureError::UnknownSensor { name, .. } => match missing(global, name) {
            Some(failure) => failure,
            None => error.into(),
        },
        _ => error.into(),
    }
}

/// Why there is no such sensor: this machine lacks the counter, or its object is
/// damaged. `None` if neither is so.
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
}
