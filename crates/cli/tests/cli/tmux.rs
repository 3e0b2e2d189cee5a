//! Real terminals of any size, provided by tmux.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A terminal, which ends when this is dropped.
pub(crate) struct Terminal(String);

impl Terminal {
    /// A terminal of this size that runs a command; `None`, with a message, if tmux is not installed.
    pub(crate) fn new(columns: u32, lines: u32, command: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let terminal = Self(format!("perfhive-{}-{number}", std::process::id()));
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let path = std::path::Path::new(env!("CARGO_BIN_EXE_perfhive")).parent().unwrap();
        let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
        let size = ["-d", "-x", &columns, "-y", &lines];
        let started = Command::new("tmux")
            .args(["-f", "/dev/null", "-L", &terminal.0, "new-session"])
            .args(size)
            .arg(command)
            .env("PATH", path)
            .env("LC_ALL", "C.UTF-8")
            .status();
        match started {
            Ok(status) => assert!(status.success(), "tmux: {status}"),
            Err(error) => {
                eprintln!("tmux is absent, its tests are skipped: {error}");
                std::mem::forget(terminal);
                return None;
            }
        }
        Some(terminal)
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.0]).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types a text.
    pub(crate) fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Presses a key, such as Tab.
    pub(crate) fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Writes everything that is printed from now on to a file.
    pub(crate) fn pipe_to(&self, file: &str) {
        self.tmux(&["pipe-pane", &format!("cat >> {file}")]);
    }

    /// The text that the terminal shows.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The first screen for which `is_it` returns true.
    #[track_caller]
    pub(crate) fn wait_for(&self, is_it: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if is_it(&screen) {
                return screen;
            }
            assert!(start.elapsed() < Duration::from_secs(40), "{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
