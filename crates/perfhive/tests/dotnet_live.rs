//! Categories and counters on this Linux machine, with a process of the test.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::{Category, Identity, NoValue, PerformanceCounter, SharedSource};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program with a name that no other process has. It computes until it is dropped.
struct Burner {
    name: String,
    link: PathBuf,
    child: Child,
}

impl Burner {
    fn start(tag: &str) -> Self {
        let name = format!("{tag}{}", std::process::id());
        let link = std::env::temp_dir().join(&name);
        let _ = fs::remove_file(&link);
        symlink("/bin/sh", &link).unwrap();
        let child = Self::run(&link);
        Self { name, link, child }
    }

    fn run(link: &PathBuf) -> Child {
        let mut command = Command::new(link);
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap()
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = Self::run(&self.link);
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.link);
    }
}

/// Tries until a condition holds; a busy machine may need long.
fn eventually<T>(what: &str, mut try_it: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = try_it() {
            return found;
        }
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_process_has_values_until_it_ends() {
    let mut burner = Burner::start("burn");
    let name = burner.name.clone();
    eventually("the process appears", || {
        Category::instance_exists(&name, "Process").unwrap().then_some(())
    });
    let mut time = PerformanceCounter::new("Process", "% User Time", &name).unwrap();
    let mut pid = PerformanceCounter::new("process", "id process", &name.to_uppercase()).unwrap();
    assert_eq!(pid.raw_value().unwrap(), u64::from(burner.child.id()));
    assert!(matches!(time.next_value(), Err(NoValue::NeedsTwoSamples)));
    let busy = eventually("the process computes", || {
        // The kernel counts processor time in ticks of 10 ms.
        std::thread::sleep(Duration::from_millis(250));
        // One thread uses no more than one processor, unless the reader was interrupted between
        // clock and process.
        time.next_value().ok().filter(|value| *value > 0.0 && *value <= 150.0)
    });
    assert!(busy > 0.0);
    let id = u64::from(burner.child.id());
    assert!(matches!(time.identity(), Some(Identity::Process { id: now, .. }) if *now == id));
    burner.stop();
    let gone = eventually("the process ends", || time.next_value().err());
    assert!(matches!(gone, NoValue::Vanished), "{gone}");
    assert!(matches!(time.next_value(), Err(NoValue::NoSuchInstance)));
    assert!(!Category::instance_exists(&name, "Process").unwrap());
    // Another process of the name starts with a first sample of its own.
    burner.start_again();
    let first = eventually("the process comes back", || match time.next_value() {
        Err(NoValue::NoSuchInstance) => None,
        other => Some(other),
    });
    assert!(matches!(first, Err(NoValue::NeedsTwoSamples)), "{first:?}");
    eventually("it computes again", || time.next_value().ok().filter(|value| *value > 0.0));
}

#[test]
fn a_second_process_of_the_name_has_no_value_at_first() {
    let mut burner = Burner::start("swap");
    let name = burner.name.clone();
    let mut time = PerformanceCounter::new("Process", "% Processor Time", &name).unwrap();
    eventually("the process computes", || time.next_value().ok().filter(|value| *value > 0.0));
    burner.stop();
    burner.start_again();
    // Nothing was read in between. A new process has the same name.
    let why = eventually("the process is there", || match time.next_value() {
        // Between fork and exec the process has the name of this test.
        Err(NoValue::Vanished | NoValue::NoSuchInstance) => None,
        other => Some(other),
    });
    assert!(matches!(why, Err(NoValue::Born | NoValue::NeedsTwoSamples)), "{why:?}");
}

#[test]
fn processes_that_moved_up_to_another_number_have_no_value() {
    let mut first = Burner::start("same");
    let [second, third] = [(); 2].map(|()| Ended(Burner::run(&first.link)));
    let (name, numbered) = (first.name.clone(), format!("{}#1", first.name));
    let all = format!("{name}#2");
    eventually("all are there", || {
        Category::instance_exists(&all, "Process").unwrap().then_some(())
    });
    let new = |instance| PerformanceCounter::new("Process", "% Processor Time", instance).unwrap();
    let (mut one, mut two) = (new(&name), new(&numbered));
    for counter in [&mut one, &mut two] {
        eventually("it computes", || counter.next_value().ok().filter(|value| *value > 0.0));
    }
    let id = |counter: &PerformanceCounter| match counter.identity() {
        Some(Identity::Process { id, .. }) => *id as u32,
        other => panic!("{other:?}"),
    };
    let before = [id(&one), id(&two)];
    first.stop();
    // The process that moved up is new under this name, and has no value at first.
    eventually("one is gone", || {
        (!Category::instance_exists(&all, "Process").unwrap()).then_some(())
    });
    for (counter, before) in [(&mut one, before[0]), (&mut two, before[1])] {
        let value = counter.next_value();
        let moved = id(counter) != before;
        assert_eq!(matches!(value, Err(NoValue::Born)), moved, "{value:?}");
        eventually("it goes on", || counter.next_value().ok());
    }
    let mut now = [id(&one), id(&two)];
    let mut left = [second.0.id(), third.0.id()];
    now.sort_unstable();
    left.sort_unstable();
    assert_eq!(now, left);
}

#[test]
fn a_category_is_read_in_one_sample() {
    let burner = Burner::start("whole");
    eventually("the process appears", || {
        Category::instance_exists(&burner.name, "Process").unwrap().then_some(())
    });
    let mut category = Category::new("Process").unwrap();
    let older = category.read().unwrap();
    let busy = eventually("the process computes", || {
        std::thread::sleep(Duration::from_millis(250));
        let newer = category.read().unwrap();
        let time = newer.get("% Processor Time", &burner.name).unwrap();
        time.value_since(&older).ok().filter(|value| *value > 0.0 && *value <= 150.0)
    });
    assert!(busy > 0.0);
    let row = older.by_instance().get(&burner.name).unwrap();
    assert!(row.get("Working Set").unwrap().value().unwrap() > 0.0);
    assert_eq!(row.len(), older.by_counter().len());
    // Its thread has its name.
    let threads = Category::new("Thread").unwrap();
    assert!(threads.has_instance(&format!("{}/0", burner.name)).unwrap());
    let mut thread =
        PerformanceCounter::new("Thread", "ID Process", &format!("{}/0", burner.name)).unwrap();
    assert_eq!(thread.raw_value().unwrap(), u64::from(burner.child.id()));
}

#[test]
fn all_categories_of_this_machine_share_one_source() {
    let before = SharedSource::local().unwrap().statistics().collections;
    PerformanceCounter::new("Memory", "Available Bytes", "").unwrap().next_value().unwrap();
    let machine = SharedSource::local().unwrap().machine().unwrap();
    let same = SharedSource::of_machine(&format!(r"\\{}", machine.to_lowercase())).unwrap();
    assert!(same.statistics().collections > before);
    assert!(SharedSource::of_machine("no.such.machine").is_err());
}

#[test]
fn counters_work_on_many_threads() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut free = PerformanceCounter::new("Memory", "Available Bytes", "").unwrap();
                for _ in 0..20 {
                    assert!(free.next_value().unwrap() > 0.0);
                }
            });
        }
    });
}

/// The command that runs an example of this package; `None` if the example was not built.
fn example(name: &str) -> Option<Command> {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples");
    path.push(name);
    if !path.is_file() {
        eprintln!("the example {name} is not built; run this test without choosing targets");
        return None;
    }
    Some(Command::new(path))
}

#[test]
fn the_example_categories_lists_everything() {
    let Some(mut command) = example("categories") else { return };
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in ["Process", "\t_Total", "\t\t% User Time", "Memory", "\tAvailable Bytes"] {
        assert!(text.lines().any(|found| found == line), "{line:?}");
    }
}

/// A process that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_example_display_follows_a_process_to_its_end() {
    let mut burner = Burner::start("disp");
    let Some(mut command) = example("display") else { return };
    let name = burner.name.clone();
    let mut child = Ended(command.arg(&name).stdout(Stdio::piped()).spawn().unwrap());
    let output = child.0.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    assert_eq!(lines.next().unwrap().unwrap(), format!("Found {name}"));
    assert!(lines.next().unwrap().unwrap().parse::<f64>().unwrap() > 0.0);
    burner.stop();
    // The example ends when the process is gone.
    let rest = lines.count();
    assert!(child.0.wait().unwrap().success(), "after {rest} values");
}

#[test]
fn the_other_examples_run() {
    for (name, arguments) in [
        ("read_category", &["Memory"][..]),
        ("counter_sample", &["Processor", "% Processor Time", "_Total"]),
        ("statistics", &[r"\System\Context Switches/sec", "3", "20"]),
    ] {
        let Some(mut command) = example(name) else { continue };
        let output = command.args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !output.stdout.is_empty(), "{name}: {error}");
    }
}
