//! Settings files, which hold a view.

use super::layout::{Counter, Kind, MOST_COUNTERS, MOST_PANES, Pane, Share, View};
use super::time::{LONGEST, SHORTEST};
use perfhive_view::axis::LineScale;
use perfhive_view::palette::{COLOURS, colour, colour_named};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::io::{self, Read as _};
use std::num::NonZeroUsize;

/// The most bytes of a settings file.
const MOST_BYTES: u64 = 1 << 20;

/// The content of a settings file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    wrap: bool,
    #[serde(default, rename = "pane")]
    panes: Vec<FilePane>,
}

/// A pane in a settings file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePane {
    title: Option<String>,
    #[serde(default)]
    kind: Kind,
    sort: Option<NonZeroUsize>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reversed: bool,
    top: Option<NonZeroUsize>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tree: bool,
    row: Option<u16>,
    width: Option<u16>,
    height: Option<u16>,
    #[serde(default, rename = "counter")]
    counters: Vec<FileCounter>,
}

/// A counter of a pane in a settings file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCounter {
    #[serde(deserialize_with = "path")]
    path: String,
    #[serde(default, deserialize_with = "colour_name")]
    colour: Option<String>,
    marker: Option<char>,
    #[serde(default, deserialize_with = "scale")]
    scale: Option<String>,
    hidden: Option<bool>,
    #[serde(default, deserialize_with = "threshold")]
    threshold: Option<f64>,
}

/// Reads a counter path in any form that can be typed, and returns it in full; an error for any other text. This
/// and the next functions check values while the file is read, so that an error has its place in the file.
fn path<'d, D: Deserializer<'d>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let path = perfhive_view::typed_path(&text).into_owned();
    let parsed = path.parse::<perfhive::CounterPath>();
    parsed.map_err(|error| D::Error::custom(format!("{text:?}: {error}")))?;
    Ok(path)
}

fn colour_name<'d, D: Deserializer<'d>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    if colour_named(&name).is_none() {
        let known: Vec<&str> = COLOURS.iter().map(|(name, _)| *name).collect();
        let why = format!("no colour {name:?}; there are {}", known.join(", "));
        return Err(D::Error::custom(why));
    }
    Ok(Some(name))
}

fn scale<'d, D: Deserializer<'d>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse::<LineScale>().map_err(D::Error::custom)?;
    Ok(Some(text))
}

fn seconds<'d, D: Deserializer<'d>>(from: D) -> Result<Option<f64>, D::Error> {
    let seconds = f64::deserialize(from)?;
    if !(SHORTEST..=LONGEST).contains(&seconds) {
        let why = format!("charts show {SHORTEST} to {LONGEST} seconds, not {seconds:?}");
        return Err(D::Error::custom(why));
    }
    Ok(Some(seconds))
}

fn threshold<'d, D: Deserializer<'d>>(from: D) -> Result<Option<f64>, D::Error> {
    let threshold = f64::deserialize(from)?;
    if !threshold.is_finite() {
        return Err(D::Error::custom("a threshold is a number in the unit of the counter"));
    }
    Ok(Some(threshold))
}

impl View {
    /// Reads the text of a settings file of at most [`MOST_BYTES`]. Pipes and devices are refused, since they may
    /// have no end.
    pub(crate) fn text_of(file: &str) -> io::Result<String> {
        if !std::fs::metadata(file)?.is_file() {
            return Err(io::Error::other("is not a regular file"));
        }
        let mut text = String::new();
        std::fs::File::open(file)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("is larger than a settings file can be (1 MiB)"));
        }
        Ok(text)
    }

    /// The view that a settings file contains; the error says what is wrong with the file.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut panes = Vec::new();
        if file.panes.is_empty() {
            return Err("a view has at least one [[pane]]".to_string());
        }
        if file.panes.len() > MOST_PANES {
            return Err(format!("a view has at most {MOST_PANES} panes"));
        }
        for one in file.panes {
            if one.counters.len() > MOST_COUNTERS {
                return Err(format!("a pane has at most {MOST_COUNTERS} counters"));
            }
            let mut counters = Vec::new();
            for (place, one) in one.counters.into_iter().enumerate() {
                let mut counter = Counter::new(&one.path, place);
                let named = one.colour.as_deref().and_then(colour_named);
                counter.colour = named.unwrap_or(counter.colour);
                counter.marker = one.marker.filter(|c| !c.is_control()).unwrap_or(counter.marker);
                if let Some(scale) = &one.scale {
                    counter.scale = scale.parse()?;
                }
                counter.is_visible = one.hidden != Some(true);
                counter.threshold = one.threshold;
                counters.push(counter);
            }
            panes.push(Pane {
                title: one.title.unwrap_or_default(),
                kind: one.kind,
                counters,
                sort: one.sort.map(|sort| sort.get() - 1),
                is_reversed: one.reversed,
                top: one.top.map(NonZeroUsize::get),
                is_tree: one.tree,
                share: one.row.map(|row| Share {
                    row,
                    width: one.width.unwrap_or(1),
                    height: one.height.unwrap_or(1),
                }),
            });
        }
        let name = file.name.unwrap_or_else(|| "counters".to_string());
        Ok(Self { name, seconds: file.seconds, wraps: file.wrap, panes, is_built_in: false })
    }

    /// The text of a settings file with this view.
    pub(crate) fn to_toml(&self) -> String {
        let counter = |(place, counter): (usize, &Counter)| {
            let usual = Counter::new(&counter.path, place);
            FileCounter {
                path: counter.path.clone(),
                colour: (counter.colour != usual.colour)
                    .then(|| colour(counter.colour).0.to_string()),
                marker: (counter.marker != usual.marker).then_some(counter.marker),
                scale: (counter.scale != usual.scale).then(|| counter.scale.to_string()),
                hidden: (!counter.is_visible).then_some(true),
                threshold: counter.threshold,
            }
        };
        let pane = |pane: &Pane| FilePane {
            title: (!pane.title.is_empty()).then(|| pane.title.clone()),
            kind: pane.kind,
            // In a file, columns are counted from 1.
            sort: pane.sort.and_then(|sort| NonZeroUsize::new(sort + 1)),
            reversed: pane.is_reversed,
            top: pane.top.and_then(NonZeroUsize::new),
            tree: pane.is_tree,
            row: pane.share.map(|share| share.row),
            width: pane.share.map(|share| share.width),
            height: pane.share.map(|share| share.height),
            counters: pane.counters.iter().enumerate().map(counter).collect(),
        };
        let file = File {
            name: Some(self.name.clone()),
            seconds: self.seconds,
            wrap: self.wraps,
            panes: self.panes.iter().map(pane).collect(),
        };
        toml::to_string(&file).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::layout::BUILT_IN;

    #[test]
    fn views_come_back_from_their_settings() {
        for name in BUILT_IN {
            let mut view = View::built_in(name).unwrap();
            (view.is_built_in, view.wraps) = (false, true);
            view.panes[0].share = Some(Share { row: 2, width: 7, height: 0 });
            let counter = &mut view.panes[0].counters[0];
            (counter.scale, counter.threshold, counter.colour) =
                (LineScale::Power(-3), Some(80.0), 5);
            let text = view.to_toml();
            assert_eq!(View::parse(&text), Ok(view), "{text}");
        }
    }

    #[test]
    fn settings_that_are_wrong_name_the_place() {
        for (text, part) in [
            ("", "at least one [[pane]]"),
            ("[[pane]]\nkind = \"pie\"", "line 2"),
            ("[[pane]]\n[[pane.counter]]\npath = 'x'", "\"x\""),
            ("[[pane]]\n[[pane.counter]]\npath = 'x'", "line 3, column 8"),
            ("[[pane]]\n[[pane.counter]]\npath = 'cpu'\ncolour = 'mauve'", "there are blue"),
            ("[[pane]]\n[[pane.counter]]\npath = 'cpu'\ncolour = 'mauve'", "line 4, column 10"),
            ("[[pane]]\n[[pane.counter]]\npath = 'cpu'\nscale = '12'", "from -9 to 8"),
            ("[[pane]]\n[[pane.counter]]\npath = 'cpu'\nscale = '12'", "line 4, column 9"),
            ("[[pane]]\n[[pane.counter]]\npth = 'cpu'", "pth"),
            ("seconds = -5\n[[pane]]", "line 1, column 11"),
            ("seconds = 0\n[[pane]]", "0.0001 to 100000000 seconds, not 0.0"),
            ("seconds = nan\n[[pane]]", "line 1, column 11"),
            ("seconds = 1e300\n[[pane]]", "line 1, column 11"),
            ("seconds = 1e300\n[[pane]]", "seconds, not 1e300"),
            ("[[pane]]\ntop = 0", "line 2, column 7"),
            ("[[pane]]\nsort = 0", "line 2, column 8"),
            ("[[pane]]\n[[pane.counter]]\npath = 'cpu'\nthreshold = inf", "line 4, column 13"),
        ] {
            let error = View::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
