//! Lines as CSV.

use super::{Line, Past, Window};
use perfhive_format::FileTime;

/// The values of lines in a window as CSV: a row for the time (in UTC) of each sample of their
/// pasts, a column for each line, an empty field where there is no value. Each line comes with its
/// past and with the name of its column.
#[must_use]
pub fn csv(lines: &[(&Past, &Line, String)], window: Window) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out = String::from("time");
    let mut times: Vec<FileTime> = Vec::new();
    for (number, (past, _, name)) in lines.iter().enumerate() {
        out.push(',');
        out.push_str(&quoted(name));
        let mut before = lines.iter().take(number);
        if !before.any(|(known, ..)| std::ptr::eq(*known, *past)) {
            times.extend(past.times.range(past.places(window)));
        }
    }
    out.push('\n');
    times.sort_unstable();
    times.dedup();
    for time in times {
        out.push_str(&time.to_string());
        for (past, line, _) in lines {
            out.push(',');
            let place = past.times.binary_search(&time).ok();
            let value = place.and_then(|place| line.values.get(place));
            if let Some(value) = value.filter(|value| !value.is_nan()) {
                out.push_str(&value.to_string());
            }
        }
        out.push('\n');
    }
    out
}
