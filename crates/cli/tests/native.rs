//! The command on Windows, or under Wine, where `local:` has values of the running
//! processes even if the registry has none.
#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

/// The tests of the command that the stage under Wine runs.
mod windows {
    use serde_json::Value;
    use std::process::{Command, Output};

    fn perfhive(args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_perfhive")).args(args).output().unwrap()
    }

    fn rows(args: &[&str]) -> Vec<Value> {
        let output = perfhive(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        let text = String::from_utf8(output.stdout).unwrap();
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::Array(rows)) => rows,
            _ => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        }
    }

    fn said(args: &[&str]) -> String {
        let output = perfhive(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The commands that no other test of Windows runs.
    #[test]
    fn the_other_commands_work() {
        let mine = rows(&["workset", "perfhive", "--json", "-q"]);
        assert!(mine[0]["value"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{mine:?}");
        for (args, words) in [
            (&["enum", "System", "-s", "native:"][..], "Processes"),
            (&["list", "-s", "native:"], "Processor"),
            (&["sensors", "-q", "Process/ID Process"], "windows.winperf/Process/ID Process"),
            (&["completions", "powershell"], "Register-ArgumentCompleter"),
            (&["man", "get"], ".TH"),
            (&["--help"], "\\Object(Instance)\\Counter"),
        ] {
            let text = said(args);
            assert!(text.contains(words), "{args:?}: {text}");
        }
    }

    #[test]
    fn processes_are_listed() {
        for source in ["local:", "native:"] {
            let rows = rows(&["ps", "--json", "-q", "-s", source, "-o", "pid,name,ws,threads"]);
            let mine = rows.iter().find(|row| row["name"] == "perfhive").unwrap();
            assert!(mine["pid"].as_u64().unwrap() > 0 && mine["ws"].as_u64().unwrap() > 0);
            assert!(mine["threads"].as_u64().unwrap() >= 1);
            let test = rows.iter().find(|row| row["pid"] == u64::from(std::process::id()));
            assert!(test.is_some(), "the test's own process");
        }
    }

    /// A column may be given by a name that only the source knows.
    #[test]
    fn processes_have_columns_by_name() {
        let columns = ["ps", "--json", "-q", "-o", "pid,Handle Count,180", "--sort", "-180"];
        let rows = rows(&columns);
        assert!(rows.iter().all(|row| row["Handle Count"].as_u64().is_some()), "{rows:?}");
        assert!(rows[0]["Working Set"].as_u64().unwrap() > 0, "{rows:?}");
        assert!(fails(&["ps", "-q", "-o", "nosuch"], 2).contains("no column \"nosuch\""));
    }

    /// The message of a run, which must fail with this exit code.
    fn fails(args: &[&str], code: i32) -> String {
        let output = perfhive(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        said
    }

    /// Messages are in the terms of Windows: without `perfhive.exe`, and without quotes for other shells.
    #[test]
    fn messages_are_for_users_of_windows() {
        let said = fails(&["get", "--frmat"], 2);
        assert!(said.contains("; see perfhive get --help"), "{said}");
        let said = fails(&["get", "System/Context", "Switches/sec"], 2);
        assert!(said.contains(r#"write "\System\Context Switches/sec""#), "{said}");
        let said = fails(&["measure", "-q", "Process/Working Set#nobody"], 1);
        assert!(
            said.contains("perfhive sensors \"windows.winperf/Process/Working Set\" --"),
            "{said}"
        );
        let said = fails(&["register", "any.ini", "--processes"], 2);
        assert!(said.contains("--processes is not supported on Windows"), "{said}");
        let said = fails(&["list", "-s", "proc:"], 3);
        assert!(said.contains("there is no /proc on Windows"), "{said}");
        let help = self::said(&["--help"]);
        assert!(help.contains("perfhive get \"\\Memory\\Available Bytes\""), "{help}");
        for command in ["get", "register", "unregister", "check", "ps", "sensors", "measure"] {
            let help = self::said(&[command, "--help"]);
            assert!(help.contains(&format!("Usage: perfhive {command} ")), "{help}");
            let others = ["/proc", "sudo", "root", "linux.", "gauges.so", ".exe"];
            assert!(!others.iter().any(|word| help.contains(word)), "{help}");
        }
    }

    #[test]
    fn rates_of_processes_and_processors() {
        let paths = [r"\Process(*)\% Processor Time", r"\Processor(_Total)\% Idle Time"];
        let rows = rows(&["get", "--json", "-q", "-i", "0.3", paths[0], paths[1]]);
        let has = |name: &str| {
            let named = rows.iter().find(|row| row["instance"] == name);
            named.is_some_and(|row| row["status"] == "ok" && row["value"].as_f64().is_some())
        };
        assert!(has("perfhive") && has("_Total"), "{rows:?}");
    }

    #[test]
    fn watching_shows_every_sample() {
        let rows = rows(&["watch", "-n", "2", "-i", "0.2", "--json", "-q", r"\System\Processes"]);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row["value"].as_u64().unwrap() >= 2), "{rows:?}");
    }

    #[test]
    fn a_capture_is_read_again() {
        let folder = std::env::temp_dir().join(format!("perfhive-native-{}", std::process::id()));
        let to = folder.to_str().unwrap();
        // The capture has both the answers of the registry and those of the native functions.
        let told = rows(&["capture", to, "-n", "2", "-i", "0.2", "--json", "-q"]);
        assert_eq!(told[0]["samples"], 2);
        let source = format!("file:{to}");
        let rows = rows(&["get", "-s", &source, "--json", r"\Process(perfhive)\% Processor Time"]);
        assert_eq!(rows[0]["status"], "ok");
        let manifest = std::fs::read_to_string(folder.join("manifest.jsonl")).unwrap();
        let head: Value = serde_json::from_str(manifest.lines().next().unwrap()).unwrap();
        assert!(head["system"].as_str().unwrap().starts_with("windows "), "{head}");
        // Wine's registry has none of Windows' objects; this is true for the capture, too.
        let explained = said(&["explain", "Process", "-s", &source]);
        assert!(explained.contains("by Windows' native functions, as captured"), "{explained}");
        let block = folder.join("000001_1.bin");
        let dump = said(&["dump", block.to_str().unwrap()]);
        assert!(dump.starts_with("PERF_DATA_BLOCK  at 0x0"), "{dump}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn counter_that_is_not_filled_is_explained() {
        let output = perfhive(&["get", "-s", "native:", r"\Processor(0)\DPC Rate"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains(
                r"no \Processor\DPC Rate: The value is only in SystemInterruptInformation"
            ),
            "{said}"
        );
    }
}
