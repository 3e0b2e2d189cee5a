//! Tables that are redrawn in place, on a terminal that the program `script` provides.
#![cfg(target_os = "linux")]

use crate::tmux::Terminal;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

/// What a command writes to a terminal of 24 lines and 90 columns, and its exit code; `None`, with a
/// message, if there is no `script`.
fn on_terminal(command: &str) -> Option<(String, i32)> {
    let perfhive = env!("CARGO_BIN_EXE_perfhive");
    let command = command.replace("perfhive ", &format!("{perfhive} "));
    let line = format!("stty cols 90 rows 24; {command}");
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Some((text, output.status.code().unwrap_or(-1)))
        }
        Err(error) => {
            eprintln!("the command `script` is absent, its tests are skipped: {error}");
            None
        }
    }
}

#[test]
fn watch_redraws_in_place() {
    let Some((text, code)) = on_terminal(r"perfhive watch -n 3 -i 0.1 '\Memory\*'") else {
        return;
    };
    assert_eq!(code, 0, "{text}");
    // Each table but the first begins by moving to the start of the table before.
    assert!(text.matches("A\r\x1b[1m").count() >= 2, "{text:?}");
    assert!(text.contains("\x1b[K\r\n") && text.contains("\x1b[J"), "{text:?}");
    // Nothing must be restored: no mode was changed, and every colour is ended.
    assert!(!text.contains("\x1b[?"), "{text:?}");
    let opened = text.matches("\x1b[1m").count() + text.matches("\x1b[2m").count();
    assert!(text.matches("\x1b[0m").count() >= opened, "{text:?}");
    let longest = text.lines().map(visible).max();
    assert!(longest <= Some(90), "{longest:?}");
}

#[test]
fn a_replay_is_not_said_to_be_sampled_every_second() {
    let folder = crate::run::Folder::new();
    let source = crate::blocks::recording(&folder).join(" ");
    let watch = format!("perfhive {source} watch -i 0.05 memory");
    let Some((text, code)) = on_terminal(&watch) else { return };
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Ctrl-C ends") && !text.contains("every"), "{text}");
}

#[test]
fn chosen_columns_without_room_are_named() {
    let ps = "perfhive ps -o pid,cpu,ws,vsz,private,command; sleep 60";
    let Some(terminal) = Terminal::new(40, 24, ps) else { return };
    let screen = terminal.wait_for(|screen| screen.contains("… without COMMAND, PRIVATE"));
    assert!(!screen.contains("B…"), "no value is cut: {screen}");
}

#[test]
fn watch_fits_a_narrow_screen() {
    let line = r"stty cols 30; perfhive watch -n 2 -i 0.1 '\Memory\*'";
    let Some((text, code)) = on_terminal(line) else {
        return;
    };
    assert_eq!(code, 0, "{text}");
    // A line that wrapped would remain when the table is redrawn.
    let longest = text.lines().map(visible).max();
    assert!(longest <= Some(30), "{longest:?}: {text:?}");
}

/// The columns that a line takes, without its escape sequences.
fn visible(line: &str) -> usize {
    let mut columns = 0;
    let mut sequence = false;
    for c in line.chars() {
        match c {
            '\x1b' => sequence = true,
            c if sequence => sequence = !c.is_ascii_alphabetic(),
            c if c.is_control() => {}
            _ => columns += 1,
        }
    }
    columns
}

/// Ctrl-C is typed once the command has written, however long that takes.
#[test]
fn ctrl_c_ends_a_watch_as_shells_expect() {
    let perfhive = env!("CARGO_BIN_EXE_perfhive");
    let line = format!("stty cols 90 rows 24; trap : INT; {perfhive} watch -i 0.1; echo code $?");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    script.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    let mut script = match script.spawn() {
        Ok(script) => script,
        Err(error) => {
            eprintln!("the command `script` is absent, this is not tested: {error}");
            return;
        }
    };
    let (mut keys, mut output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let (mut text, mut typed) = (Vec::new(), false);
    let mut bytes = [0; 4096];
    loop {
        let length = output.read(&mut bytes).unwrap();
        if length == 0 {
            break;
        }
        text.extend_from_slice(&bytes[..length]);
        if !typed && String::from_utf8_lossy(&text).contains("Ctrl-C ends") {
            keys.write_all(b"\x03").unwrap();
            typed = true;
        }
    }
    script.wait().unwrap();
    let text = String::from_utf8_lossy(&text);
    assert!(typed && text.contains("code 130"), "{text:?}");
    assert!(!text.contains("\x1b[?"), "{text:?}");
}

#[test]
fn lines_that_do_not_fit_are_counted() {
    let Some((text, code)) = on_terminal(r"perfhive watch -n 1 -i 0.05 '\Thread(*)\ID Thread'")
    else {
        return;
    };
    assert_eq!(code, 0);
    let last = text.rsplit("\x1b[J").nth(1).unwrap_or(&text);
    assert!(last.lines().count() <= 24, "{text:?}");
}

#[test]
fn colours_on_a_terminal() {
    let Some((text, _)) = on_terminal("perfhive list") else {
        return;
    };
    assert!(text.contains("\x1b[1mINDEX\x1b[0m"), "{text:?}");
    let Some((text, _)) = on_terminal("NO_COLOR=1 perfhive list") else {
        return;
    };
    assert!(text.contains("INDEX") && !text.contains('\x1b'), "{text:?}");
}

/// A process that keeps a processor busy; it ends when this is dropped.
struct Busy(std::process::Child);

impl Busy {
    fn new() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_busiest_process_is_among_the_first_lines_of_80_by_24() {
    let busy = Busy::new();
    let pid = busy.0.id();
    let watch = "perfhive watch -i 0.3 'Process(*)/% Processor Time'";
    let Some(terminal) = Terminal::new(80, 24, watch) else { return };
    let is_high = |line: &str| {
        line.split_whitespace().any(|word| word.parse::<f64>().is_ok_and(|value| value > 30.0))
    };
    let screen = terminal.wait_for(|screen| {
        // The first lines are the title and an empty line, then come processes. The machine may run other tests.
        let first = screen.lines().skip(2).take(8);
        first.clone().any(|line| line.starts_with("Process(sh") && is_high(line))
            && screen.contains(" more rows")
    });
    assert!(screen.contains("Process(Idle)") && screen.contains("Process(_Total)"), "{screen}");
    drop(terminal);

    let get = format!(
        "perfhive get 'Process(pid:{pid})/% Processor Time' 'Process(*)/ID Process'; sleep 60"
    );
    let Some(terminal) = Terminal::new(80, 24, &get) else { return };
    terminal.wait_for(|screen| screen.contains("more rows than"));
}

#[test]
fn values_stay_and_labels_shrink_at_40_80_and_200_columns() {
    let counter = "Network Interface(lo)/Bytes Total/sec";
    for columns in [40, 80, 200] {
        let watch =
            format!("perfhive watch -i 0.2 'Processor(*)/% Processor Time' '{counter}' memory");
        let Some(terminal) = Terminal::new(columns, 24, &watch) else { return };
        let screen = terminal.wait_for(|screen| {
            screen.contains(" GiB")
                && screen.lines().any(|line| line.contains("B/s"))
                && screen.contains('%')
        });
        let whole = screen.contains("Network Interface(lo)");
        assert_eq!(whole, columns > 40, "{columns}: {screen}");
        // A curve takes the rest of the window's width.
        if columns == 200 {
            let is_bar = |c: char| ('▁'..='█').contains(&c);
            let long = |line: &str| line.chars().filter(|c| is_bar(*c)).count() > 30;
            terminal.wait_for(|screen| screen.lines().any(long));
        }
        drop(terminal);
        let Some(terminal) =
            Terminal::new(columns, 24, "perfhive watch -i 0.1 --wide cpu memory; sleep 60")
        else {
            return;
        };
        let screen = terminal
            .wait_for(|screen| screen.lines().filter(|line| line.contains("GiB")).count() > 2);
        assert_eq!(screen.contains("Available Bytes"), columns > 40, "{screen}");
        drop(terminal);
        let Some(terminal) = Terminal::new(columns, 24, "perfhive ps; sleep 60") else { return };
        // No line wraps, so that the first word of each is a process ID.
        let is_pid =
            |line: &&str| line.split_whitespace().next().is_some_and(|w| w.parse::<u64>().is_ok());
        // Names stay; Idle comes last, when the lines before it have scrolled by.
        let is_idle = |line: &str| line.trim_end().ends_with("Idle");
        let screen = terminal.wait_for(|screen| {
            screen.lines().filter(is_pid).count() > 20
                && screen.lines().any(is_idle)
                && (columns > 40 || screen.contains("… without"))
        });
        assert_eq!(screen.contains("… without OWNER"), columns == 40, "{screen}");
    }
}
