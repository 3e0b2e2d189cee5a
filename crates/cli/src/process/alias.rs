//! The short names of the columns of `ps`.

use super::{ELAPSED, PID, ProcessCounter, WORKING_SET};

/// The form in which a column's values are written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The name of the process.
    Name,
    /// A number without groups of digits.
    Id,
    /// A length of time, such as that since the start of the process.
    Elapsed,
    /// Any other value.
    Value,
    /// The user that the process runs as.
    Owner,
    /// The command line.
    Command,
}

/// A short name of a column of `ps`.
pub(crate) struct Alias {
    /// The short name.
    pub(crate) alias: &'static str,
    /// The counter; `None` for a column without one.
    pub(crate) counter: Option<ProcessCounter>,
    /// The form in which its values are written.
    pub(crate) form: Form,
}

const fn alias(alias: &'static str, index: u32, name: &'static str, form: Form) -> Alias {
    Alias { alias, counter: Some(ProcessCounter { index, name }), form }
}

/// All short names.
pub(crate) const ALIASES: &[Alias] = &[
    alias("pid", PID.index, PID.name, Form::Id),
    alias("ppid", 1410, "Creating Process ID", Form::Id),
    Alias { alias: "name", counter: None, form: Form::Name },
    Alias { alias: "owner", counter: None, form: Form::Owner },
    Alias { alias: "command", counter: None, form: Form::Command },
    alias("threads", 680, "Thread Count", Form::Value),
    alias("handles", 952, "Handle Count", Form::Value),
    alias("prio", 682, "Priority Base", Form::Value),
    alias("elapsed", ELAPSED.index, ELAPSED.name, Form::Elapsed),
    alias("ws", WORKING_SET.index, WORKING_SET.name, Form::Value),
    alias("wspeak", 178, "Working Set Peak", Form::Value),
    alias("wsprivate", 1478, "Working Set - Private", Form::Value),
    alias("private", 186, "Private Bytes", Form::Value),
    alias("vsz", 174, "Virtual Bytes", Form::Value),
    alias("vszpeak", 172, "Virtual Bytes Peak", Form::Value),
    alias("pagefile", 184, "Page File Bytes", Form::Value),
    alias("pagefilepeak", 182, "Page File Bytes Peak", Form::Value),
    alias("paged", 56, "Pool Paged Bytes", Form::Value),
    alias("nonpaged", 58, "Pool Nonpaged Bytes", Form::Value),
    alias("cpu", 6, "% Processor Time", Form::Value),
    alias("user", 142, "% User Time", Form::Value),
    alias("kernel", 144, "% Privileged Time", Form::Value),
    alias("faults", 28, "Page Faults/sec", Form::Value),
    alias("reads", 1412, "IO Read Operations/sec", Form::Value),
    alias("writes", 1414, "IO Write Operations/sec", Form::Value),
    alias("readbytes", 1420, "IO Read Bytes/sec", Form::Value),
    alias("writebytes", 1422, "IO Write Bytes/sec", Form::Value),
];
