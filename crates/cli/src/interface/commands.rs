//! Commands that are typed behind `:`, and their completion.

use super::files::Existing;
use super::keys::BINDINGS;
use super::layout::{BUILT_IN, Kind, MOST_PANES, Pane};
use super::model::{Effect, Model};
use super::time::{LONGEST, SHORTEST};
use crate::args::value::drawn_interval;
use crate::text::escape::Escaped;
use perfhive_view::did_you_mean;
use perfhive_view::palette::{COLOURS, colour_named};
use perfhive_view::{SHORT_NAMES, typed_path};

/// The commands that take an argument, each with the text that explains the argument.
pub(crate) const COMMANDS: [(&str, &str); 18] = [
    ("add", "PATH         add a counter to this pane"),
    ("colour", "NAME      of the selected counter"),
    ("csv", "FILE         save what this pane shows"),
    ("filter", "TEXT      rows of this table"),
    ("interval", "SECONDS between samples"),
    ("jump", "TIME        to 14:05, 14:05:30.25, 2026-11-23 14:05, -10m, or +2.5s"),
    ("kind", "KIND        chart, histogram, report, table"),
    ("marker", "CHARACTER of the selected counter"),
    ("open", "FILE        a view from a settings file"),
    ("record", "FILE      write the samples to a file; of several sources, to one each"),
    ("save", "FILE        this view as a settings file"),
    ("scale", "SCALE      auto, default, or a power of ten"),
    ("screenshot", "FILE  as SVG"),
    ("span", "TIME        that charts show: 30s, 10m, 8h"),
    ("split", "KIND       a new pane below all others"),
    ("threshold", "VALUE  above which the selected counter stands out"),
    ("top", "N            rows of this table; none shows all"),
    ("view", "NAME        a built-in view, or one that was shown before"),
];

impl Model {
    /// Carries out a typed line: a command and, behind a blank, its argument. A message tells what is wrong with
    /// it; an empty line does nothing.
    pub(super) fn command(&mut self, text: &str, effects: &mut Vec<Effect>) {
        let text = text.trim();
        let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let argument = argument.trim();
        if name.is_empty() {
            return;
        }
        if let Some(binding) =
            BINDINGS.iter().find(|binding| binding.name == name && argument.is_empty())
        {
            self.act(binding.action, effects);
            return;
        }
        self.message.clear();
        if let Err(why) = self.with_argument(name, argument, effects) {
            self.message = Escaped(&why).to_string();
        }
    }

    /// Carries out a command that takes an argument; the error is a message for people, also for an
    /// unknown command.
    fn with_argument(
        &mut self,
        name: &str,
        argument: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<(), String> {
        let Some((_, help)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
            let names = names();
            if names.contains(&name) {
                return Err(format!("{name} takes no argument"));
            }
            let near = perfhive::nearest(name, names.iter().copied(), 2);
            return Err(format!("no command {name:?}{}", did_you_mean(&near)));
        };
        if argument.is_empty() && !matches!(name, "top" | "filter" | "threshold") {
            let words: Vec<&str> = help.split_whitespace().collect();
            return Err(format!("{name} {}", words.join(" ")));
        }
        let focus = self.focus;
        match name {
            "add" => effects.push(Effect::Try(typed_path(argument).into_owned())),
            "csv" => self.save_csv(Some(&typed_file(argument)), effects),
            "save" => self.save(&typed_file(argument), effects),
            "open" => effects.push(Effect::Open(typed_file(argument))),
            "record" => self.record(&typed_file(argument), effects),
            "screenshot" => {
                effects.push(Effect::Screenshot(typed_file(argument), Existing::Refused))
            }
            "view" => {
                if !self.show_named(argument, effects) {
                    return Err(format!("the views are {}", self.view_names().join(", ")));
                }
            }
            "interval" => {
                self.set_interval(drawn_interval(argument)?, effects);
            }
            "span" => {
                let seconds = seconds_of(argument)?;
                self.seconds = Some(seconds.clamp(SHORTEST, LONGEST));
            }
            "jump" => self.jump(argument)?,
            "kind" => {
                self.set_kind(kind_of(argument)?, effects);
            }
            "split" => {
                let kind = kind_of(argument)?;
                if self.view.panes.len() >= MOST_PANES {
                    return Err(format!("a view has at most {MOST_PANES} panes"));
                }
                self.push_pane(Pane { kind, ..Pane::default() });
                self.view.is_built_in = false;
                self.focus = self.view.panes.len() - 1;
                self.message = "a adds counters to this pane".to_string();
            }
            "top" => {
                let top =
                    match argument {
                        "" | "all" => None,
                        number => Some(
                            number.parse::<usize>().ok().filter(|number| *number > 0).ok_or_else(
                                || "top takes a number of rows, 1 at least".to_string(),
                            )?,
                        ),
                    };
                if let Some(pane) = self.view.panes.get_mut(focus) {
                    pane.top = top;
                }
            }
            "filter" => {
                if let Some(state) = self.states.get_mut(focus) {
                    state.filter = argument.to_string();
                    (state.selected, state.picked) = (0, None);
                }
            }
            // All other commands are about the selected counter.
            _ => {
                let colour = match name {
                    "colour" => Some(colour_named(argument).ok_or_else(|| {
                        let known: Vec<&str> = COLOURS.iter().map(|(name, _)| *name).collect();
                        format!("the colours are {}", known.join(", "))
                    })?),
                    _ => None,
                };
                let threshold = match (name, argument) {
                    ("threshold", "" | "none") => None,
                    ("threshold", number) => Some(
                        number.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(
                            || "threshold takes a number in the unit of the counter".to_string(),
                        )?,
                    ),
                    _ => None,
                };
                let Some(counter) = self.selected_counter() else {
                    return Err("no counter is selected".to_string());
                };
                match name {
                    "scale" => counter.scale = argument.parse()?,
                    "marker" => {
                        let mut all = argument.chars();
                        match (all.next(), all.next()) {
                            (Some(c), None) if !c.is_control() => counter.marker = c,
                            _ => return Err("a marker is one character".to_string()),
                        }
                    }
                    "colour" => counter.colour = colour.unwrap_or(counter.colour),
                    "threshold" => counter.threshold = threshold,
                    _ => return Err(format!("{name} is no command with an argument")),
                }
                if matches!(name, "colour" | "marker") {
                    self.forget_looks();
                }
            }
        }
        Ok(())
    }

    /// The lines to which Tab can complete a typed line, at most 20.
    pub(super) fn completions(&self, text: &str) -> Vec<String> {
        let starts = |all: &mut dyn Iterator<Item = String>, text: &str| -> Vec<String> {
            all.filter(|one| begins(one, text)).take(20).collect()
        };
        let Some((name, argument)) = text.split_once(' ') else {
            return starts(&mut names().into_iter().map(String::from), text);
        };
        let values: Vec<String> = match name {
            "view" => self.view_names(),
            "kind" | "split" => Kind::ALL.iter().map(|(_, name)| (*name).to_string()).collect(),
            "colour" => COLOURS.iter().map(|(name, _)| (*name).to_string()).collect(),
            "scale" => vec!["auto".to_string(), "default".to_string()],
            "add" => self.paths_like(argument),
            _ => Vec::new(),
        };
        starts(&mut values.into_iter().map(|value| format!("{name} {value}")), text)
    }

    /// The names of the built-in views, and of the other views that were shown before and are still kept.
    fn view_names(&self) -> Vec<String> {
        let mut names: Vec<String> = BUILT_IN.iter().map(ToString::to_string).collect();
        let left = self.left.iter().map(|one| Escaped(&one.view.name).to_string());
        names.extend(left.filter(|name| !BUILT_IN.contains(&name.as_str())));
        names
    }

    /// All short names, and for each object that fits the text the beginning of its paths. Once the
    /// text has this beginning, the whole paths of the object's counters stand in its place.
    fn paths_like(&self, text: &str) -> Vec<String> {
        let mut paths: Vec<String> =
            SHORT_NAMES.iter().map(|(name, _)| (*name).to_string()).collect();
        let objects = self.tree.iter().flat_map(|tree| &tree.objects);
        for object in objects {
            let instances = if object.has_instances { "(*)" } else { "" };
            let start = format!("\\{}{instances}\\", object.name);
            if !begins(&start, text) && !begins(text, &start) {
                continue;
            }
            if begins(text, &start) {
                paths.extend(object.counters.iter().map(|one| format!("{start}{}", one.name)));
            } else {
                paths.push(start);
            }
        }
        paths
    }
}

/// Whether `text` begins with `with`, without regard to case.
fn begins(text: &str, with: &str) -> bool {
    text.to_lowercase().starts_with(&with.to_lowercase())
}

/// The names of all commands, sorted.
fn names() -> Vec<&'static str> {
    let bound = BINDINGS.iter().map(|binding| binding.name).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = bound.chain(COMMANDS.iter().map(|(name, _)| *name)).collect();
    names.sort_unstable();
    names
}

fn kind_of(text: &str) -> Result<Kind, String> {
    Kind::named(text).ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.iter().map(|(_, name)| *name).collect();
        format!("the kinds are {}", known.join(", "))
    })
}

/// The file that a typed text means. A `~` before a slash at its beginning becomes the home folder, since no shell
/// has replaced it.
fn typed_file(text: &str) -> String {
    let inside = text.strip_prefix('~').filter(|rest| rest.starts_with(std::path::is_separator));
    let file = inside.and_then(|rest| Some(std::env::home_dir()?.join(rest.get(1..)?)));
    file.map_or_else(|| text.to_string(), |file| file.display().to_string())
}

/// A time in seconds, from a number of seconds or a number followed by ms, s, m, h or d; an error
/// unless it is above 0 and below 10^10 seconds.
pub(super) fn seconds_of(text: &str) -> Result<f64, String> {
    let expected = || "expected a time, such as 30, 500ms, 90s, 10m, 8h or 2d".to_string();
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, 1.0));
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = number.trim().parse::<f64>().ok().filter(|number| is_plain && *number > 0.0);
    number.map(|number| number * factor).filter(|seconds| *seconds < 1e10).ok_or_else(expected)
}
