//! Experiments that are managed from another process.
use super::{compile, experiment, is_tidy};
use crate::run::{Folder, finish};
use serde_json::Value;
use std::process::Command;

#[test]
fn fetch_that_was_dropped_within_a_line_says_why() {
    use std::io::{BufRead as _, Write as _};
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = Folder::new();
    let around = folder.path().join("perfhive");
    let process = std::process::id();
    let own = around.join(format!("experiment-{process}"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&own).unwrap();
    let lock = std::fs::File::create(own.join("lock")).unwrap();
    lock.lock().unwrap();
    let listener = std::os::unix::net::UnixListener::bind(own.join("manage")).unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
        stream.write_all(b"{\"kind\": \"record\"}\n{\"kind\": \"rec").unwrap();
    });
    let run = finish(&mut experiment(&folder, &["fetch", &process.to_string()]));
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.err.contains("read too slowly"), "{}", run.err);
    serving.join().unwrap();
}

/// A program under test in the background, which ends with the test.
struct Running {
    child: std::process::Child,
    program: Option<u64>,
}

impl Running {
    fn new(folder: &Folder, events: &[&str], program: &[&str]) -> Self {
        // Each experiment has a file of its own.
        let mut files =
            ["records.jsonl", "others.jsonl"].map(|name| folder.path().join(name)).into_iter();
        let file = files.find(|file| !file.exists()).unwrap();
        let mut command = experiment(folder, &["run", "-o"]);
        command.arg(&file);
        for event in events {
            command.args(["--on", event]);
        }
        let child = command.arg("--").args(program).stderr(std::process::Stdio::null()).spawn();
        let mut running = Self { child: child.unwrap(), program: None };
        let begun = std::time::Instant::now();
        while running.program.is_none() {
            assert!(begun.elapsed().as_secs() < 60, "no experiment");
            let run = finish(&mut experiment(folder, &["list", "--json"]));
            let list: Value = serde_json::from_str(&run.out).unwrap_or_default();
            // Another experiment of this user's is not the test's to end.
            let own = (list.as_array().into_iter().flatten())
                .find(|one| one["perfhive"] == running.child.id());
            running.program = own.and_then(|own| own["pid"].as_u64());
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // perfhive ends with its program.
        let _ = match self.program {
            Some(program) => Command::new("kill").arg(program.to_string()).status().map(drop),
            None => self.child.kill(),
        };
        let _ = self.child.wait();
    }
}

#[test]
fn running_experiment_is_managed_from_another_process() {
    let folder = Folder::new();
    let of = |args: &[&str]| finish(&mut experiment(&folder, args));
    assert_eq!(of(&["list"]).ok(), "No experiment of yours is under way.\n");
    let sleeping = ["sleep", "600"];
    let running = Running::new(&folder, &["interval 20ms", "call checkout"], &sleeping);
    let program = running.program.unwrap().to_string();
    let perfhive = running.child.id().to_string();
    let shown = of(&["list", &program]).ok();
    for word in [
        "sleep 600",
        "interval 20ms",
        "running",
        "Working Set#",
        "Calls measured: checkout",
        "Events to bind: interval TIME, above SENSOR LIMIT",
        "linux.procfs/Process (",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let sensors = of(&["list", &program, "--sensors", "process/thread c"]).ok();
    assert!(sensors.contains("Process/Thread Count"), "{sensors}");
    assert!(!sensors.contains("Working Set"), "{sensors}");
    of(&["list", &program, "--sensors", "no such"]).fails(1);
    of(&["stop", &program, "interval 20ms"]).ok();
    assert!(of(&["list", &perfhive]).ok().contains("stopped"));
    of(&["start", &perfhive]).ok();
    of(&["limit", &program, "100000"]).ok();
    let every = ["--where", "'Thread Count' > 0 and every 2"];
    let bind = ["bind", &program, "interval 10ms", "--sensor", "Process/Thread Count"];
    of(&[&bind[..], &every[..]].concat()).ok();
    of(&["limit", &program, "none", "interval 20ms", "--where", "pid = 1"]).ok();
    of(&["limit", &program, "100000", "interval 20ms", "--where", "none"]).ok();
    let wrong = of(&["limit", &program, "none", "--where", "'No Such' > 1"]).fails(2);
    assert!(wrong.contains("no sensor"), "{wrong}");
    of(&["bind", &program, "call payment"]).ok();
    let fetched = of(&["fetch", &program, "-n", "5"]).ok();
    assert_eq!(fetched.matches(r#""kind":"record""#).count(), 5);
    // What it is about is said as in the experiment's own file.
    let file = std::fs::read_to_string(folder.path().join("records.jsonl")).unwrap();
    assert_eq!(fetched.lines().next(), file.lines().next());
    let shown = of(&["list", &program]).ok();
    for word in ["interval 10ms", "Thread Count#", "100000", "Calls measured: checkout, payment"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    for format in ["csv", "tsv"] {
        let wrong = of(&["list", "--format", format]).fails(2);
        assert!(wrong.contains("--json"), "{wrong}");
    }
    let wrong = of(&["bind", &program, "interval 30ms", "--sensor", "Process/No Such"]).fails(2);
    assert!(wrong.contains("No Such"), "{wrong}");
    let wrong = of(&["stop", &program, "interval 7s"]).fails(1);
    assert!(wrong.contains("interval 7s"), "{wrong}");
    let wrong = of(&["stop", "1"]).fails(1);
    assert!(wrong.contains("process 1 has no experiment"), "{wrong}");
    drop(running);
    assert_eq!(of(&["list"]).ok(), "No experiment of yours is under way.\n");
    is_tidy(&folder);
}

#[test]
fn experiment_that_is_stopped_is_one_that_does_not_answer() {
    let folder = Folder::new();
    let healthy = Running::new(&folder, &["interval 20ms"], &["sleep", "600"]);
    let running = Running::new(&folder, &["interval 20ms"], &["sleep", "600"]);
    let (program, perfhive) =
        (running.program.unwrap().to_string(), running.child.id().to_string());
    let kill = |signal: &str| {
        assert!(Command::new("kill").args([signal, &perfhive]).status().unwrap().success());
    };
    kill("-STOP");
    for args in [&["stop", &program][..], &["list", &program], &["stop", &perfhive], &["list"]] {
        let run = finish(&mut experiment(&folder, args));
        assert_eq!(run.code, Some(3), "{args:?}: {}", run.err);
        assert!(run.err.contains("does not answer in time"), "{args:?}: {}", run.err);
    }
    // The experiment of another program is found after it.
    let other = healthy.program.unwrap().to_string();
    let run = finish(&mut experiment(&folder, &["stop", &other]));
    assert_eq!(run.code, Some(0), "{}", run.err);
    kill("-CONT");
    assert!(finish(&mut experiment(&folder, &["list"])).ok().contains("running"));
}

#[test]
fn folder_of_an_experiment_that_was_killed_is_removed_by_the_next() {
    let folder = Folder::new();
    let mut killed = Running::new(&folder, &["interval 20ms"], &["sleep", "600"]);
    let alive = Running::new(&folder, &["interval 20ms"], &["sleep", "600"]);
    let around = folder.path().join("perfhive");
    let of = |process: u32| around.join(format!("experiment-{process}"));
    // Without its lock, a folder is one that is just being made.
    let begun = of(1);
    std::fs::create_dir(&begun).unwrap();
    std::fs::write(begun.join("lock.new"), "").unwrap();
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(of(killed.child.id()).join("lock").exists());
    let listed = || -> Vec<u64> {
        let list = finish(&mut experiment(&folder, &["list", "--json"])).json();
        list.iter().filter_map(|one| one["perfhive"].as_u64()).collect()
    };
    assert_eq!(listed(), [u64::from(alive.child.id())]);
    let next = finish(&mut experiment(&folder, &["run", "--on", "interval 5ms", "--", "true"]));
    assert_eq!(next.code, Some(0), "{}", next.err);
    assert!(!of(killed.child.id()).exists());
    assert!(begun.join("lock.new").exists());
    assert_eq!(listed(), [u64::from(alive.child.id())]);
}

#[test]
fn experiment_without_a_runtime_folder_is_managed_all_the_same() {
    let folder = Folder::new();
    let gone = folder.path().join("gone");
    let of = |args: &[&str]| {
        let mut command = experiment(&folder, args);
        finish(command.env("XDG_RUNTIME_DIR", &gone).env("TMPDIR", folder.path()))
    };
    let run = of(&["run", "--on", "interval 5ms", "--", "sleep", "0.05"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(of(&["list"]).ok(), "No experiment of yours is under way.\n");
    // One that was started without it is found from a session with it.
    let mut command = experiment(&folder, &["run", "--on", "interval 5ms", "--", "cat"]);
    command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", folder.path());
    command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = std::time::Instant::now();
    loop {
        let run = finish(experiment(&folder, &["list"]).env("TMPDIR", folder.path()));
        if run.out.contains("cat") {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{}{}", run.out, run.err);
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn every_kind_of_event_is_bound_to_a_running_program() {
    let folder = Folder::new();
    let of = |args: &[&str]| finish(&mut experiment(&folder, args));
    let fifo = folder.path().join("fifo").display().to_string();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // It starts a process of this name again and again, until the test ends it.
    let napper = folder.path().join("napper").display().to_string();
    std::fs::copy("/bin/sleep", &napper).unwrap();
    let script = format!("while :; do {napper} 0.1; done");
    let running = Running::new(&folder, &["interval 50ms"], &["sh", "-c", &script]);
    let program = running.program.unwrap().to_string();
    let line = format!("line {fifo}");
    let sources =
        ["above Process/Working Set 1", "signal USR2", &line, "start napper", "end napper"];
    for source in sources {
        let run = of(&["bind", &program, source]);
        assert_eq!(run.code, Some(0), "{source}: {}", run.err);
        assert_eq!(run.err.contains("'start napper' from now on"), source == "end napper");
    }
    std::fs::write(&fifo, "a line\n").unwrap();
    let kill = Command::new("kill").args(["-USR2", &running.child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let begun = std::time::Instant::now();
    loop {
        let list: Value = serde_json::from_str(&of(&["list", &program, "--json"]).ok()).unwrap();
        let bindings = list[0]["bindings"].as_array().unwrap();
        assert_eq!(bindings.len(), 5, "{list}");
        let events = |source: &str| {
            let one = bindings.iter().find(|one| one["source"] == source);
            one.unwrap_or_else(|| panic!("{source} in {list}"))["events"].as_u64().unwrap()
        };
        // The ends are those of the starts.
        if sources[..4].iter().all(|source| events(source) > 0) {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{list:#}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let fetched = of(&["fetch", &program, "-n", "60"]).ok();
    let sections = fetched.lines().filter(|line| line.contains(r#""kind":"section""#));
    assert!(sections.filter(|line| line.contains("napper")).count() > 0, "{fetched}");
    for (event, code, words) in [
        ("signal USR2", 2, "already"),
        ("above Nope/Nope 7", 2, "no object \"Nope\""),
        ("call checkout", 2, "without calls"),
        ("line 3", 2, "name a FIFO by its path"),
        ("line /dev/null", 2, "it is no FIFO"),
        ("line /no/fifo", 1, "No such file"),
        ("uprobe no_such_function", 1, "no function no_such_function"),
    ] {
        let wrong = of(&["bind", &program, event]);
        assert_eq!(wrong.code, Some(code), "{event}: {}", wrong.err);
        assert!(wrong.err.contains(words), "{event}: {}", wrong.err);
    }
}

#[test]
fn functions_and_threads_of_a_running_program_are_bound() {
    let folder = Folder::new();
    let of = |args: &[&str]| finish(&mut experiment(&folder, args));
    let source = r#"
        #include <pthread.h>
        #include <unistd.h>
        __attribute__((noinline)) int work(int i)
        {
            __asm__ volatile("" : "+r"(i));
            return i;
        }
        static void *run(void *unused)
        {
            work(1);
            usleep(100000);
            return unused;
        }
        static void *begin(void *unused)
        {
            for (;;) {
                pthread_t thread;
                pthread_create(&thread, NULL, run, NULL);
                pthread_join(thread, NULL);
            }
            return unused;
        }
        int main(void)
        {
            pthread_t thread;
            pthread_create(&thread, NULL, begin, NULL);
            pthread_join(thread, NULL);
        }
    "#;
    let file = compile(&folder, source);
    let running = Running::new(&folder, &["interval 50ms"], &[&file]);
    let program = running.program.unwrap().to_string();
    // Threads of a thread that is there by now are listed.
    let run = of(&["bind", &program, "thread start"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("every 20 ms"), "{}", run.err);
    let mut wanted = vec!["thread start".to_string()];
    let run = of(&["bind", &program, "thread end"]);
    assert!(run.err.contains("'thread start' from now on"), "{}", run.err);
    let mut has_pair = false;
    for event in
        ["uprobe work".to_string(), "uretprobe work".to_string(), format!("uprobe {file}:run")]
    {
        let run = of(&["bind", &program, &event]);
        match run.code {
            Some(0) if event == "uretprobe work" => has_pair = true,
            Some(0) => wanted.push(event),
            _ => {
                assert!(run.err.contains("CAP_SYS_ADMIN"), "{}", run.err);
                eprintln!("not tested: {}", run.err);
            }
        }
    }
    let begun = std::time::Instant::now();
    loop {
        let list: Value = serde_json::from_str(&of(&["list", &program, "--json"]).ok()).unwrap();
        let bindings = list[0]["bindings"].as_array().unwrap();
        let has_events = |source: &String| {
            let mut of_source = bindings.iter().filter(|one| one["source"] == source.as_str());
            of_source.any(|one| one["events"].as_u64() > Some(1))
        };
        if wanted.iter().all(has_events) {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{list:#}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let fetched = of(&["fetch", &program, "-n", "200"]).ok();
    let has_section = |name: &str| {
        let mut lines = fetched.lines().filter(|line| line.contains(r#""kind":"section""#));
        lines.any(|line| line.contains(name))
    };
    assert!(has_section(r#""event":"thread""#), "{fetched}");
    assert!(!has_pair || has_section(r#""event":"work""#), "{fetched}");
}
