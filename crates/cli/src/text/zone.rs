//! The names that Windows has for time zones, as the banner of a text log has them.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use perfhive::recording::TextZone;

/// Windows' names of standard time, from the registry key `Time Zones`, each with zones of the IANA database that have
/// it, after CLDR's `windowsZones.xml`. The zones are those of most people; others keep their abbreviation.
const NAMES: &[(&str, &[&str])] = &[
    ("Coordinated Universal Time", &["UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu"]),
    ("GMT Standard Time", &["Europe/London", "Europe/Dublin", "Europe/Lisbon"]),
    (
        "W. Europe Standard Time",
        &[
            "Europe/Amsterdam",
            "Europe/Berlin",
            "Europe/Luxembourg",
            "Europe/Oslo",
            "Europe/Rome",
            "Europe/Stockholm",
            "Europe/Vienna",
            "Europe/Zurich",
        ],
    ),
    (
        "Romance Standard Time",
        &["Europe/Brussels", "Europe/Copenhagen", "Europe/Madrid", "Europe/Paris"],
    ),
    (
        "Central Europe Standard Time",
        &[
            "Europe/Belgrade",
            "Europe/Bratislava",
            "Europe/Budapest",
            "Europe/Ljubljana",
            "Europe/Prague",
        ],
    ),
    ("Central European Standard Time", &["Europe/Sarajevo", "Europe/Warsaw", "Europe/Zagreb"]),
    ("GTB Standard Time", &["Europe/Athens", "Europe/Bucharest"]),
    (
        "FLE Standard Time",
        &[
            "Europe/Helsinki",
            "Europe/Kiev",
            "Europe/Kyiv",
            "Europe/Riga",
            "Europe/Sofia",
            "Europe/Tallinn",
            "Europe/Vilnius",
        ],
    ),
    ("Turkey Standard Time", &["Europe/Istanbul"]),
    ("South Africa Standard Time", &["Africa/Johannesburg"]),
    ("Egypt Standard Time", &["Africa/Cairo"]),
    ("Arab Standard Time", &["Asia/Riyadh", "Asia/Kuwait"]),
    ("Arabian Standard Time", &["Asia/Dubai"]),
    ("Pakistan Standard Time", &["Asia/Karachi"]),
    ("India Standard Time", &["Asia/Kolkata", "Asia/Calcutta"]),
    ("SE Asia Standard Time", &["Asia/Bangkok", "Asia/Jakarta", "Asia/Ho_Chi_Minh"]),
    ("China Standard Time", &["Asia/Shanghai", "Asia/Hong_Kong"]),
    ("Taipei Standard Time", &["Asia/Taipei"]),
    ("Korea Standard Time", &["Asia/Seoul"]),
    ("Tokyo Standard Time", &["Asia/Tokyo", "Japan"]),
    ("W. Australia Standard Time", &["Australia/Perth"]),
    ("E. Australia Standard Time", &["Australia/Brisbane"]),
    ("AUS Eastern Standard Time", &["Australia/Sydney", "Australia/Melbourne"]),
    ("New Zealand Standard Time", &["Pacific/Auckland"]),
    ("Hawaiian Standard Time", &["Pacific/Honolulu"]),
    ("Alaskan Standard Time", &["America/Anchorage"]),
    ("Pacific Standard Time", &["America/Los_Angeles", "America/Vancouver", "US/Pacific"]),
    ("US Mountain Standard Time", &["America/Phoenix"]),
    ("Mountain Standard Time", &["America/Denver", "America/Edmonton", "US/Mountain"]),
    ("Central Standard Time", &["America/Chicago", "America/Winnipeg", "US/Central"]),
    (
        "Eastern Standard Time",
        &["America/Detroit", "America/New_York", "America/Toronto", "US/Eastern"],
    ),
    ("Atlantic Standard Time", &["America/Halifax"]),
    ("E. South America Standard Time", &["America/Sao_Paulo"]),
    ("Argentina Standard Time", &["America/Buenos_Aires", "America/Argentina/Buenos_Aires"]),
];

/// This machine's zone at a time, as the banner of a text log states it.
pub(super) fn of(time: Timestamp, zone: TimeZone) -> TextZone {
    let bias = -zone.to_offset(time).seconds() / 60;
    let abbreviation = Zoned::new(time, zone.clone()).strftime("%Z").to_string();
    // A machine on which no zone is set has only the abbreviation UTC.
    let iana = zone.iana_name().unwrap_or(&abbreviation);
    let name = windows_name(iana, is_summer(time, &zone)).unwrap_or(abbreviation);
    TextZone { name, bias }
}

/// Whether clocks are ahead of the zone's standard time, which they show in January or in July.
fn is_summer(time: Timestamp, zone: &TimeZone) -> bool {
    let year = time.to_zoned(TimeZone::UTC).year();
    let offset = |month| {
        let midday = jiff::civil::date(year, month, 15).at(12, 0, 0, 0);
        midday.to_zoned(TimeZone::UTC).map(|at| zone.to_offset(at.timestamp()))
    };
    [offset(1), offset(7)].iter().flatten().any(|other| zone.to_offset(time) > *other)
}

fn windows_name(iana: &str, is_summer: bool) -> Option<String> {
    let (standard, _) = NAMES.iter().find(|(_, zones)| zones.contains(&iana))?;
    Some(match is_summer {
        true => standard.replace("Standard", "Daylight"),
        false => (*standard).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_windows_names_in_summer_and_winter() {
        let of = |time: &str, zone: &str| {
            let TextZone { name, bias } = of(time.parse().unwrap(), TimeZone::get(zone).unwrap());
            format!("({name})({bias})")
        };
        let (winter, summer) = ("2026-01-24T10:00:00Z", "2026-07-24T10:00:00Z");
        assert_eq!(of(summer, "America/New_York"), "(Eastern Daylight Time)(240)");
        assert_eq!(of(winter, "America/New_York"), "(Eastern Standard Time)(300)");
        for late in ["2026-04-10T10:00:00Z", "2026-10-10T10:00:00Z"] {
            assert_eq!(of(late, "America/New_York"), "(Eastern Daylight Time)(240)");
            assert_eq!(of(late, "Europe/Berlin"), "(W. Europe Daylight Time)(-120)");
        }
        assert_eq!(
            of("2026-10-01T00:00:00Z", "Pacific/Auckland"),
            "(New Zealand Daylight Time)(-780)"
        );
        assert_eq!(of(summer, "Europe/Dublin"), "(GMT Daylight Time)(-60)");
        assert_eq!(of(winter, "Europe/Dublin"), "(GMT Standard Time)(0)");
        assert_eq!(of(winter, "Australia/Sydney"), "(AUS Eastern Daylight Time)(-660)");
        assert_eq!(of(summer, "Asia/Kolkata"), "(India Standard Time)(-330)");
        assert_eq!(of(summer, "Etc/UTC"), "(Coordinated Universal Time)(0)");
        assert_eq!(of(summer, "Africa/Nairobi"), "(EAT)(-180)");
        assert_eq!(super::of(summer.parse().unwrap(), TimeZone::unknown()), TextZone::utc());
        let known = NAMES.iter().flat_map(|(_, zones)| *zones);
        known.for_each(|zone| assert!(TimeZone::get(zone).is_ok(), "{zone}"));
    }
}
