//! Completion by the Tab key in real shells.
#![cfg(target_os = "linux")]

use crate::tmux::Terminal;

/// Types a text into a shell, presses Tab, and waits until the screen shows the completed text.
#[track_caller]
fn completes(shell: &Terminal, typed: &str, completed: &str) {
    // Ctrl-U and not Ctrl-C, which discards the text typed behind it until the shell notices.
    shell.press("C-u");
    shell.write("clear");
    shell.press("Enter");
    shell.wait_for(|screen| !screen.contains("clear"));
    shell.write(typed);
    shell.press("Tab");
    shell.wait_for(|screen| {
        // A line may be longer than the terminal is wide.
        screen.replace('\n', "").contains(completed)
    });
}

/// Whether a shell is installed.
fn is_there(shell: &str) -> bool {
    let found = std::process::Command::new(shell).args(["-c", "true"]).status().is_ok();
    if !found {
        eprintln!("{shell} is absent, its test is skipped");
    }
    found
}

#[test]
fn tab_completes_names_in_bash() {
    let Some(shell) = Terminal::new(150, 30, "bash --norc --noprofile") else { return };
    shell.write("PS1='$ '; source <(perfhive completions bash); echo rea''dy");
    shell.press("Enter");
    shell.wait_for(|screen| screen.contains("\nready"));
    completes(&shell, "perfhive get 'Memory/Available MB", "'Memory/Available MBytes");
    completes(&shell, r"perfhive get Processor\(_Tot", r"Processor\(_Total\)/");
    completes(&shell, r"perfhive get 'Processor(_Total)/% Us", "'Processor(_Total)/% User Time");
    completes(&shell, r"perfhive get '\Memory\Commit L", r"'\Memory\Commit Limit");
    completes(&shell, "perfhive list Network\\ I", "list Network\\ Interface");
    completes(&shell, "perfhive ps -o pid,wspr", "pid,wsprivate");
    completes(&shell, "perfhive measure cpu upt", "cpu uptime");
    completes(&shell, "perfhive ps -o pid,Priv", r"pid,Private\ Bytes");
    completes(&shell, "perfhive typeperf 'Memory/Available MB", "'Memory/Available MBytes");
    completes(&shell, "perfhive ps --sort -wspr", "-wsprivate");
    completes(&shell, "perfhive get cpus --sort '% User", "'% User Time");
    completes(&shell, "perfhive --language de get 'Auslagerungsd", "'Auslagerungsdatei(");
    completes(
        &shell,
        "perfhive --language de get 'Memory/Available MB",
        "'Memory/Available MBytes",
    );
    completes(&shell, "perfhive expl", "perfhive explain");
}

#[test]
fn tab_completes_names_in_zsh() {
    if !is_there("zsh") {
        return;
    }
    let Some(shell) = Terminal::new(150, 30, "zsh -f") else { return };
    shell.write("PS1='$ '; autoload -U compinit; compinit -u -D; source <(perfhive completions zsh); echo rea''dy");
    shell.press("Enter");
    shell.wait_for(|screen| screen.contains("\nready"));
    completes(&shell, "perfhive get 'Memory/Available MB", "'Memory/Available MBytes");
    completes(&shell, r"perfhive get Processor\(_Tot", r"Processor\(_Total\)/");
    completes(&shell, "perfhive list Network\\ I", "list Network\\ Interface");
    completes(&shell, "perfhive ps -o pid,wspr", "pid,wsprivate");
    completes(&shell, "perfhive expl", "perfhive explain");
}

#[test]
fn tab_completes_names_in_fish() {
    if !is_there("fish") {
        return;
    }
    let Some(shell) = Terminal::new(150, 30, "fish -N") else { return };
    shell.write("perfhive completions fish | source; echo rea''dy");
    shell.press("Enter");
    shell.wait_for(|screen| screen.contains("\nready"));
    completes(&shell, "perfhive get 'Memory/Available MB", "'Memory/Available MBytes'");
    completes(&shell, r"perfhive get Processor\(_Tot", r"Processor\(_Total\)/");
    completes(&shell, "perfhive list Network\\ I", "list Network\\ Interface");
    completes(&shell, "perfhive ps -o pid,wspr", "pid,wsprivate");
    completes(&shell, "perfhive expl", "perfhive explain");
}
