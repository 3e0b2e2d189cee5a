//! `perfhive view` on a real terminal, `plot`, and `get --spark`.

use crate::run::{Folder, command, finish, perfhive};

/// The options that open a recording of blocks that this crate's tests write.
fn recording(folder: &Folder) -> Vec<String> {
    crate::blocks::recording(folder)
}

#[test]
fn plot_draws_a_recording_as_svg_and_png() {
    let folder = Folder::new();
    for (name, begins) in [("a.svg", &b"<svg "[..]), ("a.PNG", &b"\x89PNG"[..])] {
        let file = folder.path().join(name).display().to_string();
        let mut args = recording(&folder);
        let paths = [r"\System\Context Switches/sec", r"\Process(*)\Working Set"];
        args.extend(["plot", "-o", &file, "--title", "A <title>"].map(String::from));
        args.extend(paths.map(String::from));
        assert_eq!(perfhive(&args).ok(), "");
        let bytes = std::fs::read(&file).unwrap();
        assert!(bytes.starts_with(begins), "{name}");
        if name == "a.svg" {
            let text = String::from_utf8(bytes).unwrap();
            for part in ["A &lt;title&gt;", "Context Switches/sec", "average ", "polyline"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}

#[test]
fn plot_and_report_have_the_same_mean() {
    let folder = Folder::new();
    // 10 a second for ten seconds, then 200 for one: 300 in 11 seconds.
    let files = [(0, 0), (10, 100), (11, 300)].map(|(second, count)| {
        folder.file(&format!("{second}.bin"), crate::blocks::switches(second, count))
    });
    let source = format!("file:{}", files.join(","));
    let titles = folder.file("titles.txt", crate::blocks::TITLES);
    let chart = folder.path().join("a.svg").display().to_string();
    let with = ["-s", &source, "--titles", &titles];
    let plot = ["plot", r"\System\Context Switches/sec", "-o", &chart];
    assert_eq!(perfhive([&with[..], &plot].concat()).ok(), "");
    let text = std::fs::read_to_string(&chart).unwrap();
    assert!(text.contains("average 27"), "{text}");
    let report = perfhive([&with[..], &["report", "--json"]].concat()).ok();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let mean = report["counters"][0]["figures"]["mean"].as_f64().unwrap();
    assert!((mean - 300.0 / 11.0).abs() < 1e-9, "{report}");
}

#[test]
fn plot_draws_the_largest_of_many_instances_and_says_how_many_it_leaves_out() {
    for count in [40, 2000] {
        plot_draws_the_largest_of(count);
    }
}

fn plot_draws_the_largest_of(count: u32) {
    let folder = Folder::new();
    let log = folder.path().join("many.csv");
    let mut text = String::from("\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"");
    (0..count).for_each(|id| text.push_str(&format!(r#","\\HOST\Process(p{id})\Working Set""#)));
    for second in 0..3 {
        text.push_str(&format!("\r\n\"11/24/2026 12:00:0{second}.000\""));
        (0..count).for_each(|id| text.push_str(&format!(",\"{}\"", 1000 + id)));
    }
    text.push_str("\r\n");
    std::fs::write(&log, text).unwrap();
    let picture = folder.path().join("a.svg");
    let source = format!("file:{}", log.display());
    let args = ["-s", &source, "plot", r"\Process(*)\Working Set", "--size", "1000x1600", "-o"];
    let run = perfhive(args.into_iter().chain(picture.to_str()));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let left = count - 32;
    assert!(run.err.contains(&format!(" {left} are left out")), "{}", run.err);
    let text = std::fs::read_to_string(&picture).unwrap();
    let drawn = |id: u32| text.contains(&format!("(p{id})"));
    assert!(drawn(count - 1) && drawn(left) && !drawn(left - 1), "{text}");
}

#[test]
fn plot_names_the_letters_that_a_png_loses() {
    let folder = Folder::new();
    for (name, expected) in [("a.png", "日本"), ("a.svg", "")] {
        let file = folder.path().join(name).display().to_string();
        let mut args = recording(&folder);
        args.extend(["plot", "-o", &file, "--title", "Łódź 日本"].map(String::from));
        args.push(r"\Memory\Available Bytes".into());
        let run = perfhive(&args);
        assert_eq!(run.code, Some(0));
        assert!(run.err.contains(expected), "{}", run.err);
        assert_eq!(run.err.is_empty(), expected.is_empty(), "{}", run.err);
    }
}

#[test]
fn plot_refuses_what_it_cannot_draw() {
    let folder = Folder::new();
    let file = folder.path().join("a.gif").display().to_string();
    let line = perfhive(["plot", "cpu", "-o", &file]).fails(2);
    assert!(line.contains(".svg or .png"), "{line}");
    let line = perfhive(["plot", "cpu", "-o", "a.svg", "--size", "9x9"]).fails(2);
    assert!(line.contains("200x120"), "{line}");
    let file = folder.path().join("a.svg").display().to_string();
    let mut args = recording(&folder);
    args.extend(["plot", r"\Process(nobody)\Working Set", "-o", &file].map(String::from));
    let run = perfhive(&args);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn get_draws_a_curve_behind_each_value() {
    let folder = Folder::new();
    let mut args = recording(&folder);
    args.extend(["get", "--spark=5", r"\Memory\Available Bytes"].map(String::from));
    let text = perfhive(&args).ok();
    let has_curve = text.chars().any(|c| ('▁'..='█').contains(&c));
    assert!(has_curve, "{text}");
}

#[test]
fn view_without_a_terminal_says_what_to_use() {
    let line = perfhive(["view"]).fails(2);
    assert!(line.contains("perfhive watch"), "{line}");
    let line = perfhive(["view", "--view", "/no/such/file"]).fails(2);
    assert!(line.contains("overview, processor"), "{line}");
    #[cfg(unix)]
    {
        let line = perfhive(["view", "--view", "/dev/zero"]).fails(2);
        assert!(line.contains("not a regular file"), "{line}");
    }
    let folder = Folder::new();
    let large = folder.file("large.toml", "#".repeat((1 << 20) + 1));
    let line = perfhive(["view", "--view", &large]).fails(2);
    assert!(line.contains("1 MiB"), "{line}");
}

#[test]
fn a_recording_that_is_not_there_is_no_counter_path() {
    let folder = Folder::new();
    folder.file("today.phr", "");
    let file = folder.path().join("todya.phr").display().to_string();
    // A file may stand before or behind paths.
    let address = format!("file:{file}");
    for args in [["view", &file, "cpu"], ["view", "cpu", &file], ["view", &address, "cpu"]] {
        let line = perfhive(args).fails(3);
        assert!(line.contains("no such file") && line.contains("today.phr"), "{line}");
    }
}

#[test]
fn the_name_of_a_file_in_the_place_of_a_path_is_told() {
    let folder = Folder::new();
    let file = folder.file("a.phr", "");
    let picture = folder.path().join("a.svg").display().to_string();
    for args in [&["plot", &file, "cpu", "-o", &picture][..], &["get", &file]] {
        let line = perfhive(args).fails(2);
        assert!(line.contains("names a file, not a counter; -s "), "{line}");
    }
    let line = finish(command().current_dir(folder.path()).args(["get", "./a.phr"])).fails(2);
    assert!(line.contains("a.phr names a file, not a counter; -s "), "{line}");
}

#[test]
fn a_recording_that_ends_in_its_first_sample_says_so() {
    let folder = Folder::new();
    let file = folder.path().join("a.phr").display().to_string();
    let mut args = recording(&folder);
    args.extend(["record", "-o", &file, "-n", "1"].map(String::from));
    perfhive(&args).ok();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..300]).unwrap();
    let source = format!("file:{file}");
    for command in [&["get", "memory"][..], &["report"], &["info"], &["list"]] {
        let run = perfhive(["-s", &source].iter().chain(command));
        assert!(run.err.contains("bytes are not a complete sample"), "{command:?}: {}", run.err);
    }
    #[cfg(target_os = "linux")]
    if let Some(terminal) =
        crate::tmux::Terminal::new(100, 24, &format!("perfhive view {file}; exec sh"))
    {
        terminal.wait_for(|screen| screen.contains("bytes are not a complete sample"));
    }
}

#[test]
fn the_folder_of_a_capture_is_a_source() {
    let folder = Folder::new();
    folder.file("manifest.jsonl", "");
    let path = folder.path().display().to_string();
    let line = perfhive(["view", "--speed", "2", &path, &path]).fails(2);
    assert!(line.contains("not several sources"), "{line}");
}

#[test]
fn a_folder_that_is_no_capture_is_no_counter_path() {
    let folder = Folder::new();
    let path = folder.path().display().to_string();
    let line = perfhive(["view", &path]).fails(3);
    assert!(line.contains("without a capture's manifest"), "{line}");
}

#[test]
fn the_interval_of_view_has_one_least_value() {
    let line = perfhive(["view", "-i", "1ms"]).fails(2);
    assert!(line.contains("at least 50 ms"), "{line}");
}

#[test]
fn a_recording_does_not_take_the_name_of_a_log() {
    let folder = Folder::new();
    let file = folder.path().join("z.BLG");
    let line = perfhive(["record", "-n", "1", "-o", &file.display().to_string()]).fails(2);
    assert!(line.contains("perfhive convert"), "{line}");
    assert!(!file.exists());
}

#[cfg(unix)]
#[test]
fn a_picture_that_cannot_be_written_leaves_no_file() {
    let folder = Folder::new();
    let file = folder.path().join("a.svg");
    let mut args = recording(&folder);
    args.extend(
        ["plot", r"\Memory\Available Bytes", "-o", &file.display().to_string()].map(String::from),
    );
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]);
    let out = shell.arg(env!("CARGO_BIN_EXE_perfhive")).args(&args).output().unwrap();
    assert_eq!(out.status.code(), Some(3), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(!file.exists());
}

#[test]
fn a_mistake_in_a_settings_file_is_shown_with_its_place() {
    let folder = Folder::new();
    let file = folder.file("mine.toml", "name = 'x'\n\n[[pane]]\nkind = \"pie \u{202e}\"\n");
    let run = perfhive(["view", "--view", &file]);
    assert_eq!(run.code, Some(2));
    let lines: Vec<&str> = run.err.lines().collect();
    assert!(lines[0].ends_with("mine.toml: TOML parse error at line 4, column 8"), "{}", run.err);
    assert!(lines.contains(&"4 | kind = \"pie \\u{202e}\""), "{}", run.err);
    assert!(!run.err.contains('\u{202e}'), "{}", run.err);
}

#[test]
fn only_view_takes_several_sources() {
    let line = perfhive(["get", "memory", "-s", "local:", "-s", "file:x.blg"]).fails(2);
    assert!(line.contains("only view shows several"), "{line}");
}

#[cfg(target_os = "linux")]
mod on_a_terminal {
    use super::recording;
    use crate::run::Folder;
    use crate::tmux::Terminal;

    /// A terminal in which a shell runs a command and then prints how it ended.
    fn shell(columns: u32, lines: u32, command: &str) -> Option<Terminal> {
        Terminal::new(columns, lines, &format!("sh -c '{command}; echo ended $?; exec sh'"))
    }

    #[test]
    fn the_overview_opens_without_arguments_and_keys_work() {
        let Some(terminal) = shell(100, 30, "perfhive") else { return };
        terminal
            .wait_for(|screen| screen.contains("overview") && screen.contains("% Processor Time▾"));
        terminal.press("6");
        terminal.wait_for(|screen| screen.contains("  processes  "));
        terminal.write("?");
        terminal.wait_for(|screen| screen.contains("this list"));
        terminal.press("Escape");
        terminal.wait_for(|screen| !screen.contains("this list"));
        terminal.write("a");
        terminal.wait_for(|screen| screen.contains("▸ Network Interface"));
        terminal.write("handle count");
        terminal.wait_for(|screen| screen.contains(r"Process\Handle Count"));
        terminal.press("Escape");
        terminal.wait_for(|screen| screen.contains("▸ Network Interface"));
        terminal.press("Escape");
        terminal.wait_for(|screen| !screen.contains("Add a counter"));
        terminal.write("q");
        let screen = terminal.wait_for(|screen| screen.contains("ended 0"));
        // The screen before the interface is restored.
        assert!(!screen.contains("% Processor Time"), "{screen}");
    }

    #[test]
    fn a_look_at_another_view_and_back_keeps_the_history() {
        let Some(terminal) = shell(120, 40, "perfhive view cpu") else { return };
        // The whole time begins with the first sample.
        terminal.write("0");
        let axis = |screen: &str| {
            let clock = |word: &&str| word.matches(':').count() == 2;
            let times = |line: &str| line.split_whitespace().filter(clock).count() == 3;
            let line = screen.lines().find(|line| times(line))?;
            let times: Vec<_> = line.split_whitespace().map(str::to_string).collect();
            Some((times.first()?.clone(), times.last()?.clone()))
        };
        // Until the key has been read, the axis has the two minutes of the view with labels of
        // whole seconds, too.
        let seconds = |clock: &str| {
            clock.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
        };
        let is_whole = |(begin, end): (String, String)| {
            !begin.contains('.') && seconds(&end) - seconds(&begin) < 100.0
        };
        let screen = terminal.wait_for(|screen| axis(screen).is_some_and(is_whole));
        let axis = |screen: &str| axis(screen).map(|(begin, _)| begin);
        let begin = axis(&screen);
        terminal.write("3");
        terminal.wait_for(|screen| screen.contains("  memory  ") && screen.contains("Paging"));
        terminal.press("BSpace");
        // The title is drawn before the axis.
        let is_drawn = |screen: &str| screen.contains("  counters  ") && axis(screen).is_some();
        let screen = terminal.wait_for(is_drawn);
        assert_eq!(axis(&screen), begin, "{screen}");
        terminal.write("q");
        terminal.wait_for(|screen| screen.contains("ended 0"));
    }

    #[test]
    fn counters_that_do_not_exist_show_why_and_no_time() {
        let Some(terminal) = shell(90, 24, r#"perfhive view "\\Nope\\Nix""#) else { return };
        let screen = terminal.wait_for(|screen| {
            screen
                .lines()
                .nth(2)
                .is_some_and(|line| line.contains("Nope") && line.contains("no object"))
        });
        assert!(!screen.contains("1601") && !screen.contains("waiting"), "{screen}");
        // A counter that exists is sampled.
        terminal.write(":add memory");
        terminal.press("Enter");
        terminal.wait_for(|screen| screen.contains(" GiB") || screen.contains(" MiB"));
        terminal.write("q");
        terminal.wait_for(|screen| screen.contains("ended 0"));
    }

    #[test]
    fn a_signal_gives_the_terminal_back() {
        for signal in ["-TERM", "-QUIT"] {
            ends_by(signal);
        }
    }

    fn ends_by(signal: &str) {
        let folder = Folder::new();
        let file = folder.path().join("pid").display().to_string();
        let command = format!(
            "stty -a > {file}.before; perfhive view cpu & echo $! > {file}; fg; stty -a > {file}.behind"
        );
        let Some(terminal) =
            Terminal::new(80, 24, &format!("bash -ic 'set -m; {command}; echo ended; exec sh'"))
        else {
            return;
        };
        terminal.wait_for(|screen| screen.contains("% Processor Time"));
        let pid = std::fs::read_to_string(&file).unwrap();
        let signalled =
            std::process::Command::new("kill").args([signal, pid.trim()]).status().unwrap();
        assert!(signalled.success());
        let screen = terminal.wait_for(|screen| screen.contains("ended"));
        assert!(!screen.contains("% Processor Time"), "{screen}");
        let modes = |end| std::fs::read_to_string(format!("{file}.{end}")).unwrap();
        assert_eq!(modes("before"), modes("behind"));
    }

    #[test]
    fn a_stop_from_outside_gives_the_terminal_back_until_the_view_goes_on() {
        let folder = Folder::new();
        let file = folder.path().join("pid").display().to_string();
        let command =
            format!("perfhive view cpu & echo $! > {file}; fg; echo stopped; read; fg; exec sh");
        let Some(terminal) = Terminal::new(80, 24, &format!("bash -ic 'set -m; {command}'")) else {
            return;
        };
        terminal.wait_for(|screen| screen.contains("% Processor Time"));
        let pid = std::fs::read_to_string(&file).unwrap();
        let sent = std::process::Command::new("kill").args(["-TSTP", pid.trim()]).status().unwrap();
        assert!(sent.success());
        let screen = terminal.wait_for(|screen| screen.contains("stopped"));
        assert!(!screen.contains("% Processor Time"), "{screen}");
        terminal.press("Enter");
        terminal.wait_for(|screen| screen.contains("% Processor Time"));
        terminal.write("q");
        terminal.wait_for(|screen| screen.contains("stopped"));
    }

    /// Without SIGHUP, as behind `nohup`, reading and writing fail.
    #[test]
    fn a_view_ends_with_its_terminal() {
        let folder = Folder::new();
        let file = folder.path().join("code");
        let command = format!("trap : HUP; perfhive view cpu; echo $? > {}", file.display());
        let Some(terminal) = Terminal::new(80, 24, &format!("sh -c '{command}'")) else { return };
        terminal.wait_for(|screen| screen.contains("% Processor Time"));
        drop(terminal);
        assert_eq!(wait_for_text(&file).trim(), "3");
    }

    /// The text of a file, once it has some.
    fn wait_for_text(file: &std::path::Path) -> String {
        let start = std::time::Instant::now();
        loop {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            if text.ends_with('\n') {
                return text;
            }
            assert!(start.elapsed() < std::time::Duration::from_secs(40), "{file:?}: {text:?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    #[test]
    fn a_view_that_no_shell_could_continue_is_not_suspended() {
        let Some(terminal) = Terminal::new(80, 24, "exec perfhive view cpu") else { return };
        terminal.wait_for(|screen| screen.contains("% Processor Time"));
        terminal.press("C-z");
        terminal.wait_for(|screen| screen.contains("there is no shell"));
    }

    #[test]
    fn a_terminal_of_sixteen_colours_gets_their_sequences() {
        let folder = Folder::new();
        let file = folder.path().join("drawn").display().to_string();
        let command = "TERM=xterm COLORTERM= perfhive --color always view cpu; exec sh";
        let Some(terminal) = Terminal::new(80, 24, &format!("sh -c '{command}'")) else { return };
        terminal.pipe_to(&file);
        terminal.wait_for(|screen| screen.contains("% Processor Time"));
        terminal.press("C-l");
        let drawn =
            || String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()).into_owned();
        terminal.wait_for(|_| drawn().contains("\x1b[94"));
        assert!(!drawn().contains("38;5;"), "{:?}", drawn());
    }

    #[test]
    fn this_machine_and_recordings_of_two_others_are_seen_side_by_side() {
        let folder = Folder::new();
        let titles = folder.file("titles.txt", crate::blocks::TITLES);
        let files: Vec<String> = ["WEB-01", "DB-02"]
            .iter()
            .map(|machine| {
                let files = [0, 10].map(|second| {
                    let name = format!("{machine}-{second}.bin");
                    folder.file(&name, crate::blocks::sample_of(machine, second))
                });
                format!("-s file:{}", files.join(","))
            })
            .collect();
        let files = files.join(" ");
        let command = format!(
            r#"perfhive {files} --titles {titles} view "\\Memory\\Available Bytes" "\\\\DB-02\\System\\Context Switches/sec""#
        );
        let Some(terminal) = shell(100, 30, &command) else { return };
        terminal.wait_for(|screen| {
            screen.contains("perfhive WEB-01, DB-02")
                && screen.contains(r"\\WEB-01\Memory\Available Bytes")
                && screen.contains(r"\\DB-02\Memory\Available Bytes")
                && screen.contains(r"\\DB-02\System\Context Switches/sec")
        });
        terminal.write(":kind table");
        terminal.press("Enter");
        terminal.wait_for(|screen| screen.contains("Machine") && screen.contains("Instance"));
        terminal.write("q");
        terminal.wait_for(|screen| screen.contains("ended 0"));
        drop(terminal);
        // The recordings are years old: their lines are seen in the whole time.
        let command = format!(r#"perfhive -s local: {files} --titles {titles} view memory"#);
        let Some(terminal) = shell(100, 30, &command) else { return };
        terminal.wait_for(|screen| screen.contains(", WEB-01, DB-02") && screen.contains(" GiB"));
        terminal.write("0");
        terminal.wait_for(|screen| screen.contains("2022-06-1"));
        terminal.write("q");
        terminal.wait_for(|screen| screen.contains("ended 0"));
        drop(terminal);
        // A file takes the place of this machine, unless -s names it.
        let file = folder.path().join("WEB-01-0.bin").display().to_string();
        for (source, expected) in [("", "perfhive WEB-01 "), ("-s local:", ", WEB-01 ")] {
            let command = format!("perfhive view {file} {source} --titles {titles} memory");
            let Some(terminal) = shell(100, 30, &command) else { return };
            terminal.wait_for(|screen| screen.contains(expected));
        }
    }

    #[test]
    fn a_log_is_seen_with_the_same_keys_and_a_click() {
        let folder = Folder::new();
        let source = recording(&folder).join("\" \"");
        let command = format!(r#"perfhive "{source}" view "\\Memory\\Available Bytes""#);
        let Some(terminal) = shell(80, 24, &command) else { return };
        terminal
            .wait_for(|screen| screen.contains("Available Bytes") && screen.contains(" 8.0 GiB"));
        terminal.press("Left");
        terminal.press("Space");
        terminal.wait_for(|screen| screen.contains("frozen"));
        // A click on the name of a key, in the form in which terminals report it.
        terminal.write("\x1b[<0;1;24M\x1b[<0;1;24m");
        terminal.wait_for(|screen| screen.contains("this list"));
        // Escape followed at once by a key is two keys.
        terminal.write("\x1bq");
        terminal.wait_for(|screen| screen.contains("ended 0"));
    }
}
