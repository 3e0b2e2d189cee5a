//! Runs the command and checks its output.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The exit code and the output of a run.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The standard output; the run must have succeeded with nothing on standard error.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }

    /// The only line on standard error; the run must have failed with this exit code.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        self.one_line()
    }

    /// The only line on standard error.
    #[track_caller]
    pub(crate) fn one_line(&self) -> String {
        let line = self.err.strip_suffix('\n').unwrap_or_default();
        assert!(line.starts_with("perfhive: "), "{:?}", self.err);
        assert!(!line.contains('\n'), "more than one line: {:?}", self.err);
        line["perfhive: ".len()..].to_string()
    }

    /// The standard output, parsed as a JSON array.
    #[track_caller]
    pub(crate) fn json(self) -> Vec<serde_json::Value> {
        serde_json::from_str(&self.out).expect(&self.out)
    }
}

/// The command, with an environment that is the same for each test.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfhive"));
    for name in ["LC_ALL", "LC_MESSAGES", "LANG", "NO_COLOR", "COLUMNS", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    // Tables show local times, so the zone is fixed.
    command.env("TZ", "UTC").stdin(Stdio::null());
    command
}

/// Runs the command to its end; returns its exit code and output.
pub(crate) fn perfhive<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    finish(command().args(args))
}

pub(crate) fn finish(command: &mut Command) -> Run {
    // ERROR_INTERNAL_ERROR: Wine sometimes fails to start a process, the command's or that of a
    // library.
    let said = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        let is_it =
            |line: &str| line.contains("cannot be started") && line.contains("os error 1359");
        text.lines().any(is_it)
    };
    let mut output = command.output();
    for _ in 0..3 {
        let not_started = match &output {
            Err(error) => error.raw_os_error() == Some(1359),
            Ok(output) => said(&output.stdout) || said(&output.stderr),
        };
        if not_started {
            output = command.output();
        }
    }
    let output = output.expect("the command runs");
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A folder that is deleted when this is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfhive-cli-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file; returns its path.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, contents).expect("a file for the test");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
