//! The long texts of `--help` and of the manual page.

/// A help text with its examples written for this system: as [`for_windows`] writes them on Windows, otherwise
/// unchanged.
pub(super) fn here(text: &str) -> String {
    if cfg!(windows) { for_windows(text) } else { text.to_string() }
}

/// A help text with its examples written for `cmd.exe`, which knows double quotes only, and continues a line with
/// `^`. Names such as `bash` become names that Windows has; lines with `sudo` or `$(` are left out.
fn for_windows(text: &str) -> String {
    const WORDS: [(&str, &str); 7] = [
        ("linux.procfs", "windows.winperf"),
        ("gauges.so", "gauges.dll"),
        ("./gauges", "gauges"),
        ("dump today/", r"dump today\"),
        ("workset bash", "workset explorer"),
        ("sshd", "svchost"),
        (
            "Single quotes keep the shell from reading the backslashes.",
            "In cmd.exe it stands in double quotes.",
        ),
    ];
    let mut all: Vec<String> = Vec::new();
    let mut has_percent = false;
    for line in text.lines() {
        // Lines with these words have no counterpart on Windows.
        if ["$(", "sudo "].iter().any(|word| line.contains(word)) {
            continue;
        }
        let is_command = line.starts_with("  perfhive") || line.starts_with("      --");
        let mut line = match line.strip_suffix(" \\").filter(|_| is_command) {
            Some(begun) => format!("{begun} ^"),
            None => line.to_string(),
        };
        if is_command {
            line = line.replace('\'', "\"");
        }
        for (there, here) in WORDS {
            line = line.replace(there, here);
        }
        has_percent |= is_command && line.contains('%');
        all.push(line);
    }
    if has_percent {
        all.push(
            "\nIn a batch file each percent sign is written twice: %% Processor Time.".to_string(),
        );
    }
    all.join("\n")
}

pub(super) const ABOUT: &str = "\
Windows performance counters for everyone.

Reads the counters of this machine, or of recorded Windows data blocks, under the names that \
Windows gives them: objects (Memory, Process), their instances (a process), and counters \
(Working Set, % Processor Time).

A counter path names one of them: \\Object\\Counter, or \\Object(Instance)\\Counter. Single \
quotes keep the shell from reading the backslashes.";

pub(super) const EXAMPLES: &str = "\
Examples:
  perfhive                                             This machine: charts and processes
  perfhive watch                                       The same as a table, in place
  perfhive list Process                                Counters of Process, and all processes
  perfhive get '\\Memory\\Available Bytes'               One value
  perfhive get '\\Processor(*)\\% Processor Time' --json
  perfhive get 'Process(*)/Working Set' --top 5        The five largest processes
  perfhive ps -o pid,ws,cpu,name --sort -ws            Processes, the largest first

--help tells more: paths, formats, exit codes.";

pub(super) const MANUAL: &str = r#"Examples:
  perfhive
      This machine: charts and processes on the whole terminal, q ends. Into
      a pipe or file its figures once, as text, after a second.
  perfhive watch
      The state of this machine as a table, until Ctrl-C.
  perfhive list
  perfhive list Process
      All objects; the counters and instances of one object.
  perfhive get '\Memory\Available Bytes'
      One value.
  perfhive get '\Processor(*)\% Processor Time' -i 0.2 --json
      Every processor, over 200 milliseconds, for a program to read.
  perfhive explain '\Processor\% Processor Time'
      What a counter means and how it is calculated.
  perfhive ps -o pid,ws,cpu,name --sort -ws
      Processes, the largest first.
  perfhive get '\System\Context Switches/sec' \
      --source file:a.bin,b.bin --titles 009.txt
      A value of another machine, from two recorded data blocks.

Paths:
  \Object\Counter
  \Object(Instance)\Counter
  \\Machine\Object(Parent/Instance#N)\Counter

  Names may be English or in any other language of the source, and case
  is ignored. A title index may replace the name of an object or counter.
  In every part * stands for any text. If several instances have the same
  name, #N selects one of them, counted from 0, and #* selects all.
  Process(pid:1234) is the process with that ID, Thread(pid:1234/*) are
  its threads. Slashes may replace the backslashes, and the first one may
  be left out: 'Memory/Available Bytes'.
  A caret makes the next character an ordinary one:
  ^\ ^( ^) ^/ ^# ^* ^^

Formats:
  table   for people: aligned, with units and grouped digits
  json    an array of flat objects, one per line; `watch` and `measure`
          print one object per line, without an array
  csv     a line of keys, then the rows, quoted as in RFC 4180
  tsv     the same with tabs; \t \n \r \\ stand for these characters

  Rows of counters have the keys path, value, unit, status, time,
  machine, object, instance, counter, counter_type, raw, base, pid,
  object_index and counter_index, and with --language also local_object
  and local_counter. All other names are English in every locale. Rows of `measure` also
  have sensor, and kind: reading, anomaly or cost.
  Tables scale bytes and round values, unless --raw is given; their times
  are local. The other formats have exact numbers, unless --human is
  given, and the sample's time in UTC. The status is ok, or one word for
  the reason why there is no value. Control characters in names are
  escaped in tables, and on a terminal in every format.

Sensors:
  source/group/sensor
  source/group/sensor#instance

  Every sensor has a name that is unique over all sources, such as
  linux.procfs/Memory/Available Bytes. %25, %2F and %23 stand for %,
  / and # in a part. The source may be left out. The instances of Process
  are named by process ID, those of Thread by thread ID. #* means every
  instance.

Exit status:
  0    success; also if the reader of the output has closed it
  1    a reading has no value, or an object, process or file that the
       command looks for was not found
  2    the command line is wrong: an option, a path, an unknown object,
       counter or language
  3    the source cannot be read or is damaged, or the output cannot be
       written
  130  Ctrl-C ended the command

Environment:
  LC_ALL, LC_MESSAGES, LANG
       The first that is set chooses the language of names, if
       --language is not given and the source has that language.
  NO_COLOR
       If set, nothing is coloured, unless --color says otherwise.
  COLUMNS
       The width of text, if the output is not a terminal."#;

pub(super) const LIST: &str = r"Examples:
  perfhive list
  perfhive list process
  perfhive list 230
  perfhive list 'Processor*' --format csv

COST says how an object is collected. Global objects are collected together. Costly objects take
longer and are collected only if they are named. Foreign objects are of another machine. Unknown
means that the source does not say.

Names may be in any language of the source, and case is ignored.";

pub(super) const EXPLAIN: &str = r"Examples:
  perfhive explain '\Processor(_Total)\% Processor Time'
  perfhive explain '\Process\Working Set'      the instance may be left out
  perfhive explain Memory                      an object
  perfhive explain 'Working Set'               every counter of this name
  perfhive explain '\Memory\*'                 every counter of an object";

pub(super) const GET: &str = r"Examples:
  perfhive get '\Memory\Available Bytes'
  perfhive get '\Processor(*)\% Processor Time' -i 0.5
  perfhive get 'Process(*)/Working Set' --top 5
  perfhive get '\Process(sshd#*)\Working Set' --format csv
  free=$(perfhive get --bare '\Memory\Available Bytes')

On a terminal the largest instances come first, and as many are shown as the window has lines.
From a recording, values that need two samples are those of its second sample.
Exit code 1: a value is missing; the table and `status` say why.";

pub(super) const WATCH: &str = r"Examples:
  perfhive watch
  perfhive watch -i 0.5 '\Processor(*)\% Processor Time'
  perfhive watch 'Process(*)/% Processor Time' --no-idle
  perfhive watch --wide cpu memory disk         a line for each sample
  perfhive watch -w -f csv -o day.csv cpu memory
  perfhive watch -n 10 --json '\Memory\Available Bytes' >> memory.jsonl

On a terminal the table is redrawn in place, with the largest instances
first. Ctrl-C ends the command and leaves the last table. In a pipe or file,
tables or rows follow each other. The first sample of a live source is not
shown, because it has no rates yet. Without paths, the table has processors,
memory, disks and the busiest processes, if the source has them.";

pub(super) const VIEW: &str = r"Examples:
  perfhive view                                 the overview of this machine
  perfhive view cpu memory '\PhysicalDisk(*)\Disk Bytes/sec'
  perfhive view --view processes
  perfhive view --view mine.toml                settings that w saved
  perfhive view -s file:server.blg              a log, with the same keys
  perfhive view -s file:a.blg -s file:b.blg     two machines side by side

Keys: ? lists all keys, a adds counters, e explains the selected counter, q ends.
The view needs a terminal. Without one, perfhive watch prints tables, and perfhive alone
prints one table.";

pub(super) const PLOT: &str = r"Examples:
  perfhive plot cpu user kernel -o cpu.svg
  perfhive plot '\Process(java)\Working Set' -o java.png -d 10m -i 5
  perfhive plot -s file:server.blg '\Processor(*)\% Processor Time' -o server.svg

The legend has the average, minimum and maximum of each line. A PNG can show only the
Latin letters of European languages; an SVG can show all letters. Exit code 1: no counter
had a value.";

pub(super) const REGISTER: &str = if cfg!(windows) {
    r"Examples:
  perfhive register gauges.ini --library ./gauges.so
  perfhive register gauges.ini --library ./gauges.so --open OpenGauges \
      --collect CollectGauges --close CloseGauges
  perfhive register gauges.ini --dry-run        what the file says
  perfhive register gauges.ini --disable        keeps the library
  perfhive register --list --json

The names get title indexes after those of all other providers. Running readers notice the
new provider. Registering again replaces the old registration. Only an administrator may
register. Windows loads the library into every reader."
} else {
    r"Examples:
  perfhive register gauges.ini --library ./gauges.so
  perfhive register gauges.ini --library ./gauges.so --open OpenGauges \
      --collect CollectGauges --close CloseGauges
  perfhive register gauges.ini --dry-run        what the file says
  perfhive register gauges.ini --disable        keeps the library
  perfhive register --list --json

The names get title indexes after those of all other providers. Running readers notice the
new provider. Registering again replaces the old registration. The library and the folders
above it must belong to root or to you, and no other user may be able to write to them."
};

pub(super) const UNREGISTER: &str = r"Examples:
  perfhive unregister Gauges
  sudo perfhive unregister Gauges --system

Names, help texts and library are removed; the indexes of other providers stay.
Exit code 1: no such provider is registered.";

pub(super) const PROVIDERS: &str = if cfg!(windows) {
    r"Examples:
  perfhive providers
  perfhive providers Gauges -n 100
  perfhive providers --enable Gauges
  perfhive providers --json

All objects, including costly ones, are collected -n times; for a named provider, only its
objects. The report has the state of each provider and the reason of its failure. Windows
does not count calls or their time. --enable makes Windows call a disabled provider again,
and needs an administrator. Exit code 1: there is no provider with that name."
} else {
    r"Examples:
  perfhive providers
  perfhive providers Gauges -n 100
  perfhive providers --enable Gauges
  perfhive providers --json

All objects, including costly ones, are collected -n times. The report has the state of
each provider, its failures, the time of a collection (last, mean, worst) and the bytes.
For a provider in a library, the numbers are those of all programs of the user. Such a
provider is disabled (quarantine) after five failures in a row or five missed deadlines.
It is enabled again when its library or registration changes, or by --enable. Exit
code 1: there is no provider with that name."
};

pub(super) const CHECK: &str = r"Examples:
  perfhive check ./gauges.so
  perfhive check ./gauges.so --collect CollectGauges --linkage boiler
  perfhive check Gauges

The library is loaded into a separate process and gets every request that a reader may
make, with buffers that are too small, that fit exactly and that are large. Its data is
tested at all three levels. Exit code 0: readers get its data (there may be warnings);
1: readers lose some of it; 3: the library or its data cannot be read.";

pub(super) const ENUM: &str = r"Examples:
  perfhive enum
  perfhive enum Costly
  perfhive enum Processor Memory
  perfhive enum Network Interface --hex
  perfhive enum 230 232

The source may add other objects: Process, for example, always comes with Thread.";

pub(super) const WORKSET: &str = r"Examples:
  perfhive workset bash
  perfhive workset bash --hex

Exit code 1: there is no process with this name.";

/// The part of the help text of `ps` that lists its columns: here those that Linux can have.
#[cfg(target_os = "linux")]
macro_rules! ps_columns {
    () => {
        "Columns:
  pid ppid name threads handles elapsed           identity
  ws wspeak wsprivate private vsz vszpeak         memory
"
    };
}

#[cfg(not(target_os = "linux"))]
macro_rules! ps_columns {
    () => {
        "Columns:
  pid ppid name threads handles prio elapsed      identity
  ws wspeak wsprivate private vsz vszpeak         memory
  pagefile pagefilepeak paged nonpaged
"
    };
}

pub(super) const PS: &str = concat!(
    ps_columns!(),
    r#"  owner command                                   of this Linux machine
  cpu user kernel faults                          these take two samples
  reads writes readbytes writebytes
  or any counter of the Process object: "IO Data Bytes/sec", 180

Examples:
  perfhive ps
  perfhive ps -o pid,cpu,ws,command --sort -cpu
  perfhive ps 'java*' -n 10 -i 2                  ten lists, two seconds apart
  perfhive ps -o pid,"Working Set Peak",name
  perfhive ps --json"#
);

pub(super) const SENSORS: &str = r"Examples:
  perfhive sensors
  perfhive sensors Memory                            a group
  perfhive sensors 'Process/*Bytes*'
  perfhive sensors 'Working Set' --instances         with the names to measure
  perfhive sensors 'Process/Working Set#1*' --json   instances that begin with 1

From a recording, the instances are those of its first sample.";

pub(super) const MEASURE: &str = r"Examples:
  perfhive measure 'Memory/Available Bytes' -n 10
  perfhive measure cpu '\Process(java)\Working Set'      paths, too
  perfhive measure 'Processor/% Processor Time#*' -i 0.5
  perfhive measure 'linux.procfs/Process/Working Set#4711' --json >> ws.jsonl

A baseline is taken first, so that the first sample already has rates. From a
recording, the first sample is the baseline. A single instance is fixed when
measuring begins: a later process with the same name or ID is not measured in
its place. Lines that begin with ! report anomalies of a sample. The cost of the
samples is printed at the end, also after Ctrl-C.

Exit code 1: a sensor had no value in any sample.";

pub(super) const EXPERIMENT: &str = r"Examples:
  perfhive experiment run --on 'interval 10ms' -- ./program args
  perfhive experiment run --on 'call checkout' --sensor 'Process/Working Set' \
      -o records.jsonl -- ./program
  perfhive experiment run --on 'uprobe checkout' --on 'uretprobe checkout' -- ./program
  perfhive experiment list                              from another terminal
  perfhive experiment bind 4711 'interval 1s' --sensor 'Memory/Available Bytes'
  perfhive experiment fetch 4711 -n 100

The sensors are read at each event. When the program ends, the figures by event
name, the cost of measuring and what was lost are printed on standard error. The
exit code is that of the program. Ctrl-C ends the program and the experiment.";

pub(super) const CAPTURE: &str = r"Examples:
  perfhive capture today                        ten samples, a second apart
  perfhive capture today -n 60 -i 5 --hash-names
  perfhive capture today Global Costly          all objects
  perfhive capture today Process Processor
  perfhive capture today -s registry://BOX      another Windows machine

  perfhive watch -s file:today                  read the capture, on any system
  perfhive dump today/000001_1.bin

The folder gets every data block unchanged, the titles of each language, and
manifest.jsonl, which lists them. Each sample is written completely before the
next one is taken: after Ctrl-C, the folder has all samples so far.";

pub(super) const RECORD: &str = r"Examples:
  perfhive record -o today.phr                  what is cheap to read, a sample a second
  perfhive record -o today.phr Global Costly    all objects
  perfhive record -o today.phr -i 5 -d 1h Process Processor
  perfhive record -o today.phr --rotate-time 1d --keep 7
  perfhive record -o today.phr -s registry://BOX

  perfhive watch -s file:today.phr              read the recording, on any system
  perfhive get -s file:today.phr '\Memory\Available Bytes'

The file has complete data blocks, so that every counter can be calculated later,
and the names of the recorded objects. It can be read while it is written. If
perfhive is killed, at most the sample that it is writing is lost. The next
record with the same file continues it.";

pub(super) const TYPEPERF: &str = r"Print counters as Windows' typeperf does

Usage: perfhive typeperf PATH... [FLAGS]
       perfhive typeperf -q [OBJECT] | -qx [OBJECT]

Flags:
  -f CSV|TSV|BIN   form of the output; BIN with -o only
  -cf FILE         counter paths from a file, one per line
  -config FILE     flags from a file, as on a command line
  -si [[HH:]MM:]SS time between samples; one second by default
  -sc N            stop after N samples; by default at Ctrl-C
  -o FILE          write a log file
  -q [OBJECT]      list the paths of counters
  -qx [OBJECT]     list them with their instances
  -s HOST          another Windows machine
  -y               replace FILE without a question

-f SQL is not supported. --source and the other options of perfhive can be used
as well; perfhive get --help lists them. --speed N replays a recording.

Examples:
  perfhive typeperf '\Processor(_Total)\% Processor Time' -sc 3
  perfhive typeperf -cf counters.txt -si 5 -o today.csv -y
  ln -s perfhive typeperf; ./typeperf -qx Process";

pub(super) const RELOG: &str = r"Convert logs as Windows' relog does

Usage: perfhive relog FILE... [FLAGS]

Flags:
  -c PATH...       counters to write; all by default
  -cf FILE         counter paths from a file, one per line
  -config FILE     flags from a file, as on a command line
  -f BIN|CSV|TSV   form of the output; BIN by default
  -t N             every N-th sample
  -o FILE          the log to write, or with -q the list
  -a               append to FILE
  -b WHEN, -e WHEN begin and end: M/D/YYYY H:MM:SS, in local time
  -q               list the counters of the logs
  -y               replace FILE without a question

Without -o, the beginning, the end and the number of samples of the logs are
printed. -f SQL is not supported. Times are local times of this machine.

Examples:
  perfhive relog server.blg
  perfhive relog server.blg -f csv -o server.csv -t 10
  perfhive relog server.blg -c '\Process(*)\Working Set' -f csv -o ws.csv -y";

pub(super) const CONVERT: &str = r"Examples:
  perfhive convert log.blg log.csv              every counter, as relog writes it
  perfhive convert log.blg -o log.csv -p '\Process(*)\Working Set'
  perfhive convert day1.phr day2.phr both.phr
  perfhive convert today.phr -o busy.csv --begin '2026-11-23 14:00' --end '2026-11-23 15:00'
  perfhive convert today.phr -o small.phr --every 60
  perfhive convert today.phr today.blg          a binary log
  perfhive convert log.blg log.parquet          a file for each object";

pub(super) const INFO: &str = r"Examples:
  perfhive info today.phr
  perfhive info log.blg --json

A gap is a time between two samples that is at least three times the usual interval.";

pub(super) const REPORT: &str = r"Examples:
  perfhive report today.phr
  perfhive report log.blg -o report.html        one page with charts
  perfhive report log.blg --pal QuickSystemOverview.xml --answer PhysicalMemory=16
  perfhive report log.blg --begin -1h --json
  perfhive report log.blg -p '\Process(*)\Handle Count' --top 20
  perfhive report records.jsonl                 what experiment run -o wrote

Without --pal, a few of PAL's thresholds are used, which are built in. A threshold that cannot be
evaluated is listed with the reason.";

pub(super) const DIFF: &str = r"Examples:
  perfhive diff before.blg after.blg
  perfhive diff today.phr@..+10m today.phr@-10m..
  perfhive diff monday.phr tuesday.phr -p '\Process(*)\Working Set' --top 50

The largest changes come first, relative to the larger of the two means. A change that
may be due to chance (less than four standard errors of the means) is listed only with --all.";

pub(super) const DUMP: &str = r"Examples:
  perfhive dump block.bin
  perfhive dump block.bin --titles 009.txt
  perfhive dump block.bin --format csv

Damage is reported with its offset, and the undamaged data around it is printed.
Exit code 3: the block is damaged.";

pub(super) const COMPLETIONS: &str = if cfg!(windows) {
    r"Examples:
  perfhive completions powershell >> $PROFILE     in PowerShell"
} else {
    r"Examples:
  perfhive completions bash > ~/.local/share/bash-completion/completions/perfhive
  perfhive completions zsh > ~/.zfunc/_perfhive
  perfhive completions fish > ~/.config/fish/completions/perfhive.fish"
};

pub(super) const MAN: &str = if cfg!(windows) {
    r"Examples:
  perfhive man > perfhive.1
  perfhive man get > perfhive-get.1

The page is for man on other systems; --help shows the same text here."
} else {
    r"Examples:
  perfhive man | man -l -
  perfhive man get | man -l -"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_for_windows_have_double_quotes_and_no_unix_words() {
        assert_eq!(
            for_windows("The user's:\n  perfhive get '\\A\\B' \\\n      --titles 'a b'"),
            "The user's:\n  perfhive get \"\\A\\B\" ^\n      --titles \"a b\""
        );
        // In a batch file, `cmd.exe` takes % for the beginning of a variable.
        assert!(for_windows("  perfhive get '\\A\\% B'").ends_with("twice: %% Processor Time."));
        for text in [ABOUT, EXAMPLES, MANUAL, LIST, EXPLAIN, GET, WATCH, UNREGISTER, CHECK, ENUM]
            .into_iter()
            .chain([
                WORKSET, PS, SENSORS, MEASURE, CAPTURE, RECORD, CONVERT, INFO, REPORT, DIFF, DUMP,
            ])
        {
            let text = for_windows(text);
            for word in ["perfhive get '", "perfhive list '", "sudo", "linux", "bash", ".so", "$("]
            {
                assert!(!text.contains(word), "{word}: {text}");
            }
        }
    }
}
