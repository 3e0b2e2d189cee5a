//! Writing the text form of a hive.

use super::declared;
use super::text::{FIRST, LAST};
use super::value::quote;
use super::{Hive, Service};
use perfhive_engine::TestLevel;
use std::fmt::Write as _;
use std::time::Duration;

impl Hive {
    /// The text form of the hive.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = format!(
            "{FIRST}\n; The registered performance counter providers. Written by \
             `perfhive register`;\n; the manual's page on registration describes every line.\n\n\
             [Perflib]\nBase Index = {}\nLast Counter = {}\nLast Help = {}\nHighest Index = {}\n",
            self.base_index, self.last_counter, self.last_help, self.highest
        );
        if let Some(level) = self.test_level {
            let number = match level {
                TestLevel::All => 1,
                TestLevel::Basic => 2,
                TestLevel::None => 3,
            };
            let _ = writeln!(out, "ExtCounterTestLevel = {number}");
        }
        for service in &self.services {
            service.write(&mut out);
        }
        for (language, titles) in &self.languages {
            for (kind, list) in [("Counter", &titles.names), ("Help", &titles.help)] {
                if list.is_empty() {
                    continue;
                }
                let _ = writeln!(out, "\n[Perflib\\{language}\\{kind}]");
                for (index, text) in list {
                    let _ = write!(out, "{index} = ");
                    quote(&mut out, text);
                    out.push('\n');
                }
            }
        }
        let _ = writeln!(out, "\n{LAST}");
        out
    }
}

impl Service {
    fn write(&self, out: &mut String) {
        let one = &self.registration;
        let _ = writeln!(out, "\n[Services\\{}\\Performance]", one.name);
        let mut text = |key: &str, value: &str| {
            let _ = write!(out, "{key} = ");
            quote(out, value);
            out.push('\n');
        };
        text("Library", one.library.to_str().unwrap_or_default());
        for (key, function) in
            [("Open", &one.open), ("Collect", &Some(one.collect.clone())), ("Close", &one.close)]
        {
            if let Some(function) = function {
                text(key, function);
            }
        }
        if !one.objects.is_empty() {
            let list: Vec<String> = one.objects.iter().map(ToString::to_string).collect();
            text("Object List", &list.join(" "));
        }
        if let Ok(paths) = std::env::join_paths(&one.reads)
            && !one.reads.is_empty()
        {
            text("Read Files", paths.to_str().unwrap_or_default());
        }
        let millis = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        for (key, number) in [
            ("First Counter", one.first_counter),
            ("Last Counter", one.last_counter),
            ("First Help", one.first_help),
            ("Last Help", one.last_help),
            ("Disable Performance Counters", one.disabled.into()),
            ("Open Timeout", millis(one.open_timeout)),
            ("Collect Timeout", millis(one.collect_timeout)),
            ("Start Processes", one.processes.into()),
        ] {
            let _ = writeln!(out, "{key} = {number}");
        }
        if let Some(bytes) = one.memory_limit {
            let _ = writeln!(out, "Memory Limit = {}", bytes >> 20);
        }
        for (key, value) in &self.other {
            let _ = writeln!(out, "{key} = {value}");
        }
        if let Some(linkage) = &one.linkage {
            let _ = write!(out, "\n[Services\\{}\\Linkage]\nExport = ", one.name);
            for (place, string) in linkage.split('\0').enumerate() {
                out.push_str(if place == 0 { "" } else { ", " });
                quote(out, string);
            }
            out.push('\n');
        }
        declared::write(one, out);
    }
}
