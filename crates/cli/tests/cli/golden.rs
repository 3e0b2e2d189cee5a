//! Tables as people see them, made from blocks that the test writes. `UPDATE=1` in
//! the environment writes the expected files again.

use crate::blocks::{GERMAN, recording, sample};
use crate::run::{Folder, perfhive};
use std::path::Path;

#[track_caller]
fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/golden").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).expect("the golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("the golden file");
    assert_eq!(text, expected, "{} (UPDATE=1 writes it anew)", path.display());
}

/// The output of a command for the recording, with the paths of the test's
/// folder replaced.
fn shown(args: &[&str]) -> String {
    let folder = Folder::new();
    let mut all = recording(&folder);
    all.extend(args.iter().map(ToString::to_string));
    let run = perfhive(&all);
    assert_eq!(run.err, "");
    assert!(!run.out.contains(|c: char| c.is_control() && c != '\n'), "{:?}", run.out);
    run.out.replace(&folder.path().display().to_string(), "FOLDER")
}

#[test]
fn list() {
    compare("list.txt", &shown(&["list"]));
    compare("list-process.txt", &shown(&["list", "pROCESS"]));
    compare("list-odd.txt", &shown(&["list", "9000"]));
}

#[test]
fn explain() {
    let paths = [r"\Process\% Processor Time", r"\Memory\% Committed Bytes In Use", "thread"];
    compare("explain.txt", &shown(&[&["explain"], &paths[..]].concat()));
}

#[test]
fn get() {
    let paths = [r"\System\*", r"\Process(*)\Working Set", r"\Odd Things\*"];
    compare("get.txt", &shown(&[&["get"], &paths[..]].concat()));
}

#[test]
fn sensors() {
    compare("sensors.txt", &shown(&["sensors"]));
    compare("sensors-instances.txt", &shown(&["sensors", "Process/*i*", "--instances"]));
}

#[test]
fn watch() {
    compare("watch.txt", &shown(&["watch"]));
    compare("watch-paths.txt", &shown(&["watch", r"\Process(bash#*)\*", r"\Memory\*"]));
}

#[test]
fn enumerate() {
    compare("enum.txt", &shown(&["enum"]));
    compare("enum-hex.txt", &shown(&["enum", "odd", "things", "memory", "--hex"]));
}

#[test]
fn ps_and_workset() {
    compare("ps.txt", &shown(&["ps"]));
    compare("ps-columns.txt", &shown(&["ps", "-o", "name,cpu,elapsed,pid,ws", "--sort", "-cpu"]));
    compare("ps-top.txt", &shown(&["ps", "--top", "2", "-o", "name,cpu"]));
    compare("workset.txt", &shown(&["workset", "BASH"]));
    compare("workset-hex.txt", &shown(&["workset", "bash", "--hex"]));
}

#[test]
fn other_languages() {
    let folder = Folder::new();
    let mut args = recording(&folder);
    args.extend([
        "--titles".into(),
        folder.file("de.txt", GERMAN),
        "--language".into(),
        "de".into(),
    ]);
    let get = [r"\Arbeitsspeicher\VERFÜGBARE Bytes", r"\Memory\Available Bytes", r"\4\24"];
    args.push("get".into());
    args.extend(get.map(String::from));
    compare("german.txt", &perfhive(&args).ok());
}

#[test]
fn dump() {
    let folder = Folder::new();
    let titles = recording(&folder).pop().expect("the titles");
    let block = folder.file("block.bin", sample(0));
    compare("dump.txt", &perfhive(["dump", &block, "--titles", &titles]).ok());
}

/// Everything but the damaged part of a block is printed.
#[test]
fn dump_of_damaged_blocks() {
    let folder = Folder::new();
    let titles = recording(&folder).pop().expect("the titles");
    let sound = sample(0);
    let memory = find(&sound, 4);
    let system = find(&sound, 2);
    type Damage<'a> = (&'a str, &'a dyn Fn(&mut Vec<u8>));
    let damages: &[Damage<'_>] = &[
        // The first object claims to be longer than the block: the objects behind it
        // are found again.
        ("length", &|block| block[system..system + 4].copy_from_slice(&u32::MAX.to_le_bytes())),
        // The length of a counter definition is 0.
        ("definition", &|block| block[memory + 64..memory + 68].fill(0)),
        // The data ends in the middle of an instance.
        ("cut", &|block| block.truncate(find(&sound, 230) + 64 + 4 * 40 + 90)),
        ("version", &|block| block[12] = 2),
    ];
    let mut text = String::new();
    for (name, damage) in damages {
        let mut block = sound.clone();
        damage(&mut block);
        let file = folder.file(&format!("{name}.bin"), block);
        let run = perfhive(["dump", &file, "--titles", &titles]);
        assert_eq!(run.code, Some(3));
        let line = run.one_line();
        assert!(line.starts_with(&file), "{line}");
        // The fields of sound parts are in dump.txt; here are the headings,
        // the damages, and the lines around them.
        let lines: Vec<&str> = run.out.lines().collect();
        let is_damage = |line: &&str| line.starts_with('!');
        assert!(lines.iter().any(is_damage), "{}", run.out);
        text += &format!("=== {name}\n{}\n", &line[file.len() + 2..]);
        for (at, line) in lines.iter().enumerate() {
            let near = lines[at.saturating_sub(2)..lines.len().min(at + 3)].iter().any(is_damage);
            let plain = line.starts_with("  0x") && line.contains(" bytes ");
            if near || plain || line.starts_with("PERF_OBJECT") {
                text += &format!("{line}\n");
            }
        }
    }
    compare("damaged.txt", &text);
}

/// The offset of the object with a title index.
pub(crate) fn find(block: &[u8], index: u32) -> usize {
    let mut at = u32::from_le_bytes([block[24], block[25], block[26], block[27]]) as usize;
    loop {
        let field = |offset: usize| {
            let bytes = &block[at + offset..at + offset + 4];
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        };
        if field(12) == index {
            return at;
        }
        at += field(0) as usize;
    }
}

/// Compares command lines, all that they print and their exit codes with a file. The messages quote for the
/// shells of this system.
#[cfg(not(windows))]
fn transcript(name: &str, lines: &[&str]) {
    let folder = Folder::new();
    let mut source = recording(&folder);
    source.extend(["--titles".into(), folder.file("de.txt", GERMAN)]);
    let mut text = String::new();
    for line in lines {
        let mut command = crate::run::command();
        let arguments = match line.strip_prefix("LANG=de_DE.UTF-8 ") {
            Some(rest) => {
                command.env("LANG", "de_DE.UTF-8");
                rest
            }
            None => line,
        };
        let run = crate::run::finish(command.args(&source).args(words(arguments)));
        let shown = line.replace(arguments, &format!("perfhive {arguments}"));
        text.push_str(&format!("$ {shown}\n{}{}", run.out, run.err));
        if run.code != Some(0) {
            text.push_str(&format!("[exit code {}]\n", run.code.unwrap_or(-1)));
        }
        text.push('\n');
    }
    compare(name, &text.replace(&folder.path().display().to_string(), "FOLDER"));
}

/// The words of a command line, in which single quotes enclose one word.
#[cfg(not(windows))]
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match (c, quoted) {
            ('\'', _) => quoted = !quoted,
            (' ', false) => words.push(String::new()),
            (c, _) => words.last_mut().unwrap().push(c),
        }
    }
    words
}

#[cfg(not(windows))]
#[test]
fn transcripts() {
    transcript(
        "transcript-busiest.txt",
        &[
            "get 'Process(*)/% Processor Time' --sort value",
            "get 'Process(*)/% Processor Time' --top 2 --no-idle",
            "get 'Process(*)/% Processor Time' 'Process(*)/Working Set' --sort 'working set' --top 1",
            "get 'Process(*)/Working Set' --sort +value --filter bash",
            "get 'Process(*)/Working Set' --sort name --filter 'b*'",
            "watch 'Process(*)/% Processor Time' --top 1 --no-idle",
            "get 'Process(*)/ID Process' --top 1 -f csv",
            "get 'Process(bash)/Working Set' 'Process(*)/% Processor Time' --top 1",
            "get 'Process(*)/Working Set' --sort 'Thread Count' --top 3",
            "get 'Process(*)/Working Set' --sort 'Workin Set'",
            "get 'Process(*)/Working Set' --filter nix",
        ],
    );
    transcript(
        "transcript-paths.txt",
        &[
            "get 'Memory/Available Bytes' '/Memory/Available Bytes' memory 'MemoryAvailable Bytes'",
            "get 'Process(pid:101)/ID Process' 'Thread(pid:100/*)/ID Thread' 'Process(pid:9)/ID Process'",
            "get 'Process(bahs)/ID Process' 'Process(bahs)/Working Set'",
            "watch 'Process(bahs)/ID Process'",
            "get MEMORY Memory/ Prozess memri",
            "get MemoryAvailable Bytes",
            "get System/Context Switches/sec",
            "get Process/Working Set",
            "explain uptime",
            "explain 'MemoryAvailable Bytes'",
            "get 'Process(pid:0)/ID Process'",
            "list 'Memory/Available Bytes'",
            "list 'Process(*)'",
            "enum 'Process(bash)'",
            "explain 'Process(bash)'",
            "get 'Memroy/Avail' 'Proces(bsh)/Working Sett' '\\Process\\Workng Set' '\\Memory(_Total)\\Availble Bytes'",
            "get '\\Memory' '\\Process(bash)' 'Process(bash)'",
            "explain '\\Memory\\Availble Bytes' '\\Memroy\\Available Bytes'",
            "get '\\Memroy\\Available Bytes' '\\Memory\\Availible Bytes' '\\Process\\Working Set'",
        ],
    );
    transcript(
        "transcript-numbers.txt",
        &[
            "get memory uptime 'Process(bash)/ID Process' 'System/Context Switches/sec'",
            "get memory uptime 'Process(bash)/ID Process' 'System/Context Switches/sec' --raw",
            "get memory --json",
            "get memory --json --human",
            "watch memory uptime 'System/Context Switches/sec'",
            "enum System",
        ],
    );
    transcript(
        "transcript-wide.txt",
        &[
            "watch --wide memory 'Process(*)/% Processor Time'",
            "watch -w -f csv memory 'Process(bash)/% Processor Time'",
            "watch -w -f csv 'Process(*)/% Processor Time' --top 2",
            "get --wide --json memory 'System/Processes'",
            "get -f tsv -o - memory",
            "get -f tsv -o FOLDER/nowhere/x.tsv memory",
        ],
    );
    transcript(
        "transcript-ps.txt",
        &[
            "ps",
            "ps --no-idle bash -n 2",
            "ps --pid 100,102 -o pid,cpu,name,'Working Set' --sort -pid",
            "ps bsh",
            "ps -o pid,owner",
            "ps -n 2 bash -o pid,name --json",
            "ps bash -o pid,ws --json --human",
            "workset bash --json --human",
        ],
    );
    transcript(
        "transcript-locale.txt",
        &[
            "LANG=de_DE.UTF-8 get memory",
            "LANG=de_DE.UTF-8 get memory -f csv",
            "get memory -f csv --language de",
            "LANG=de_DE.UTF-8 list Memory -f csv",
            "list Memory -f csv --language de",
            "list -f csv --language de",
            "enum Memory -f csv --language de",
            "explain memory --json --language de",
            "workset bash -f csv --language de",
            "LANG=de_DE.UTF-8 get '\\Memory\\Availible Bytes'",
        ],
    );
    transcript(
        "transcript-help.txt",
        &[
            "get -n 3 memory",
            "get --count 3 memory",
            "sensors 'Process(*)/Working Set'",
            "sensors '\\Process(pid:100)\\Working Set'",
            "report --path 'Memroy/Avail'",
            "watch -n 0",
            "watch -sc 3",
            "get memory -f CSV",
            "get memory --color NEVER",
            "hsot",
            "get memory --every 0",
            "measure cpuu Process 'MemoryAvailible Bytes' 'Processor/% User Time'",
            "measure '\\Process(bash)\\Working Set' 'Memory/% Committed Bytes In Use' Memory/nix",
        ],
    );
}
