//! The actions of the interface, each with its key, a description and, for most, its name as a command. The
//! keys, the list of keys and the commands without an argument come from this table; `commands.rs` has the
//! commands with an argument.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// An action that a key can trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Quit,
    Help,
    Command,
    Next,
    Previous,
    Full,
    SplitRight,
    SplitBelow,
    Close,
    Wider,
    Narrower,
    Higher,
    Lower,
    Add,
    Remove,
    Explain,
    Kind,
    Up,
    Down,
    Top,
    Left,
    Right,
    Uncursor,
    Older,
    Newer,
    Oldest,
    Newest,
    ZoomIn,
    ZoomOut,
    Whole,
    Freeze,
    Wrap,
    Clear,
    Mark,
    Compare,
    Highlight,
    Visible,
    ScaleUp,
    ScaleDown,
    ScaleAutomatic,
    Colour,
    Marker,
    Filter,
    Sort,
    Reverse,
    Tree,
    Chart,
    Record,
    Save,
    Csv,
    Screenshot,
    Copy,
    Built(u8),
    Back,
    Suspend,
    Redraw,
}

/// An action with its key, its name and its description.
pub(crate) struct Binding {
    pub(crate) key: KeyCode,
    pub(crate) is_control: bool,
    pub(crate) action: Action,
    /// The action's name as a typed command without an argument; empty for a further key of an
    /// action, and for an action that is no such command.
    pub(crate) name: &'static str,
    /// The name of the key, for people.
    pub(crate) label: &'static str,
    pub(crate) does: &'static str,
}

const fn key(
    key: KeyCode,
    action: Action,
    name: &'static str,
    label: &'static str,
    does: &'static str,
) -> Binding {
    Binding { key, is_control: false, action, name, label, does }
}

const fn control(
    letter: char,
    action: Action,
    name: &'static str,
    label: &'static str,
    does: &'static str,
) -> Binding {
    Binding { key: KeyCode::Char(letter), is_control: true, action, name, label, does }
}

/// All bindings of keys to actions, in the order of the list of keys. A binding has no name if it is
/// a further key of its action, or if the action is no command without an argument.
pub(crate) const BINDINGS: &[Binding] = &[
    key(KeyCode::Char('?'), Action::Help, "help", "?", "this list"),
    key(KeyCode::Char('q'), Action::Quit, "quit", "q", "end"),
    control('c', Action::Quit, "", "Ctrl-C", "end"),
    key(KeyCode::Char(':'), Action::Command, "", ":", "type a command; Tab completes it"),
    key(KeyCode::Tab, Action::Next, "next", "Tab", "next pane"),
    key(KeyCode::BackTab, Action::Previous, "previous", "Shift-Tab", "previous pane"),
    key(KeyCode::Enter, Action::Full, "full", "Enter", "this pane on the full screen, and back"),
    key(
        KeyCode::Char('|'),
        Action::SplitRight,
        "right",
        "|",
        "a new pane at the right of this one",
    ),
    key(KeyCode::Char('_'), Action::SplitBelow, "below", "_", "a new pane below this one"),
    key(KeyCode::Char('X'), Action::Close, "close", "X", "close this pane"),
    key(KeyCode::Char('}'), Action::Wider, "wider", "}", "this pane wider"),
    key(KeyCode::Char('{'), Action::Narrower, "narrower", "{", "this pane narrower"),
    key(KeyCode::Char(')'), Action::Higher, "higher", ")", "this row of panes higher"),
    key(KeyCode::Char('('), Action::Lower, "lower", "(", "this row of panes lower"),
    key(KeyCode::Char('a'), Action::Add, "choose", "a", "add counters: search among all"),
    key(KeyCode::Insert, Action::Add, "", "Insert", "add counters"),
    key(KeyCode::Delete, Action::Remove, "remove", "Delete", "remove the selected counter"),
    key(KeyCode::Char('d'), Action::Remove, "", "d", "remove the selected counter"),
    key(KeyCode::Char('e'), Action::Explain, "explain", "e", "explain the selected counter"),
    key(KeyCode::Char('c'), Action::Kind, "", "c", "line chart, histogram, report, table"),
    key(KeyCode::Up, Action::Up, "", "Up", "select the line or row above"),
    key(KeyCode::Down, Action::Down, "", "Down", "select the line or row below"),
    key(KeyCode::Char('k'), Action::Up, "", "k", "select above"),
    key(KeyCode::Char('j'), Action::Down, "", "j", "select below"),
    key(KeyCode::Char('g'), Action::Top, "", "g", "select the first line or row"),
    key(KeyCode::Char(' '), Action::Freeze, "freeze", "Space", "freeze, and go on"),
    key(KeyCode::Char('b'), Action::Wrap, "wrap", "b", "charts stand still behind a time bar"),
    key(KeyCode::Char('x'), Action::Clear, "clear", "x", "forget what was seen of live sources"),
    key(KeyCode::Left, Action::Left, "", "Left", "cursor to the sample before"),
    key(KeyCode::Right, Action::Right, "", "Right", "cursor to the sample behind"),
    key(KeyCode::Esc, Action::Uncursor, "", "Esc", "take the cursor, the marks, the filter away"),
    key(KeyCode::PageUp, Action::Older, "older", "PageUp", "scroll back by half a window"),
    key(KeyCode::PageDown, Action::Newer, "newer", "PageDown", "scroll forward"),
    key(KeyCode::Home, Action::Oldest, "oldest", "Home", "the beginning"),
    key(KeyCode::End, Action::Newest, "newest", "End", "the newest sample, and follow it"),
    key(KeyCode::Char('+'), Action::ZoomIn, "in", "+", "a shorter time"),
    key(KeyCode::Char('-'), Action::ZoomOut, "out", "-", "a longer time"),
    key(KeyCode::Char('0'), Action::Whole, "whole", "0", "the whole time"),
    key(KeyCode::Char('m'), Action::Mark, "mark", "m", "begin a marked span at the cursor, end it"),
    key(KeyCode::Char('='), Action::Compare, "compare", "=", "compare the marked spans"),
    key(KeyCode::Char('h'), Action::Highlight, "highlight", "h", "highlight the selected line"),
    key(KeyCode::Char('v'), Action::Visible, "visible", "v", "hide the selected counter, show it"),
    key(KeyCode::Char('>'), Action::ScaleUp, "", ">", "ten times the scale"),
    key(KeyCode::Char('<'), Action::ScaleDown, "", "<", "a tenth of the scale"),
    key(KeyCode::Char('A'), Action::ScaleAutomatic, "", "A", "the automatic scale"),
    key(KeyCode::Char('o'), Action::Colour, "", "o", "another colour"),
    key(KeyCode::Char('M'), Action::Marker, "", "M", "another marker"),
    key(KeyCode::Char('/'), Action::Filter, "", "/", "filter the rows of a table"),
    key(KeyCode::Char('s'), Action::Sort, "", "s", "sort by the next column"),
    key(KeyCode::Char('R'), Action::Reverse, "reverse", "R", "the other way round"),
    key(KeyCode::Char('t'), Action::Tree, "tree", "t", "processes below their parents"),
    key(KeyCode::Char('l'), Action::Chart, "chart", "l", "a chart of the selected row"),
    key(KeyCode::Char('r'), Action::Record, "", "r", "record the samples, and stop"),
    key(KeyCode::Char('w'), Action::Save, "", "w", "save the settings in a file"),
    key(KeyCode::Char('W'), Action::Csv, "", "W", "save the shown time as CSV, named by it"),
    key(KeyCode::Char('p'), Action::Screenshot, "", "p", "save a picture of the screen as SVG"),
    key(KeyCode::Char('y'), Action::Copy, "copy", "y", "copy the counters; pasting adds them"),
    key(KeyCode::Char('1'), Action::Built(0), "", "1", "view: overview"),
    key(KeyCode::Char('2'), Action::Built(1), "", "2", "view: processor"),
    key(KeyCode::Char('3'), Action::Built(2), "", "3", "view: memory"),
    key(KeyCode::Char('4'), Action::Built(3), "", "4", "view: disk"),
    key(KeyCode::Char('5'), Action::Built(4), "", "5", "view: network"),
    key(KeyCode::Char('6'), Action::Built(5), "", "6", "view: processes"),
    key(KeyCode::Char('7'), Action::Built(6), "", "7", "view: containers"),
    key(KeyCode::Backspace, Action::Back, "back", "Backspace", "the view that was shown before"),
    control('z', Action::Suspend, "", "Ctrl-Z", "suspend"),
    control('l', Action::Redraw, "", "Ctrl-L", "draw everything anew"),
];

/// The action that a key triggers; `None` for a key without an action.
pub(crate) fn action_of(event: KeyEvent) -> Option<Action> {
    let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
    let is_it = |one: &&Binding| one.key == event.code && one.is_control == is_control;
    BINDINGS.iter().find(is_it).map(|one| one.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_and_no_name_is_given_twice() {
        for (place, one) in BINDINGS.iter().enumerate() {
            for other in &BINDINGS[..place] {
                assert!(
                    (one.key, one.is_control) != (other.key, other.is_control),
                    "{}",
                    one.label
                );
                assert!(one.name.is_empty() || one.name != other.name, "{}", one.name);
            }
        }
    }
}
