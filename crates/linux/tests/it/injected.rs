//! Errors and delays that the kernel can cause at any moment but hardly ever does: `strace` injects them.

use crate::common::{Look, Machine};
use crate::warm::Sleepers;
use perfhive_engine::Ask;
use perfhive_format::TitleIndex;
use perfhive_linux::{LinuxOptions, ProcRoot, ReaderChoice};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const INJECTED: &str = "PERFHIVE_LINUX_INJECTED";
/// The title index of Thread Details.
const THREAD_DETAILS: u32 = 816;

/// Runs the body of a test of this module in a process of its own, with the option `-e what` of strace.
fn injected(test: &str, what: &str, body: impl FnOnce()) {
    if std::env::var(INJECTED).is_ok_and(|name| name == test) {
        return body();
    }
    let tracing = |program: &mut Command| {
        program.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
    };
    if !tracing(Command::new("strace").args(["-o", "/dev/null", "true"])) {
        eprintln!("{test}: strace cannot be used here");
        return;
    }
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", what])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("injected::{test}"), "--nocapture"])
        .env(INJECTED, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{said}");
}

fn proc() -> Machine {
    Machine::with(&ProcRoot::default(), &LinuxOptions::new().reader(ReaderChoice::Proc))
}

/// If no process can open another file, everything that needs no further file is delivered.
#[test]
fn without_free_descriptors_the_rest_is_delivered() {
    let test = "without_free_descriptors_the_rest_is_delivered";
    // By then the test program has started.
    injected(test, "inject=openat:error=ENFILE:when=20000+", || {
        let sleepers = Sleepers::new(10);
        let (mut known, mut fresh) = (proc(), proc());
        let before = known.look(&[230], &[]);
        assert!(before.process(sleepers.0[9].id()).is_some());
        while std::fs::File::open("/dev/null").is_ok() {}
        let now = known.look(&[230], &[]);
        // Processes whose files are open are read as before.
        for pid in sleepers.0.iter().map(std::process::Child::id) {
            assert!(now.process(pid).is_some(), "{:?}", now.fault_texts());
        }
        let none = fresh.look(&[2, 4, 230, 238], &[]);
        assert_eq!(none.names(230), ["_Total"]);
        assert!(!none.has(4) && !none.has(238));
        let texts = none.fault_texts();
        assert!(texts.iter().any(|text| text.contains("open files in system")), "{texts:?}");
    });
}

/// Reading files takes long.
#[test]
fn slow_files_are_delivered_until_the_deadline() {
    let test = "slow_files_are_delivered_until_the_deadline";
    injected(test, "inject=pread64:delay_enter=1000", || {
        let _sleepers = Sleepers::new(100);
        let mut machine = proc();
        let wanted = [TitleIndex(230)];
        let whole = machine.look_with(&Ask::objects(&wanted), &wanted);
        assert_eq!(whole.fault_texts(), Vec::<String>::new());
        let mut request = Ask::objects(&wanted);
        request.until = Some(Instant::now() + Duration::from_millis(50));
        let some = machine.look_with(&request, &wanted);
        let (count, all) = (some.names(230).len(), whole.names(230).len());
        assert!(count < all, "{count} of {all}");
        let texts = some.fault_texts();
        assert!(texts.iter().any(|text| text.contains("the deadline passed")), "{texts:?}");
        // The next collection is complete again.
        let again = machine.look_with(&Ask::objects(&wanted), &wanted);
        assert!(again.names(230).len() >= 100);
    });
}

/// Listing threads takes long; Process, which they belong to, does not.
#[test]
fn slow_lists_of_threads_end_at_the_deadline() {
    let test = "slow_lists_of_threads_end_at_the_deadline";
    injected(test, "inject=getdents64:delay_enter=10000", || {
        let _sleepers = Sleepers::new(100);
        let mut machine = proc();
        let wanted = [TitleIndex(230), TitleIndex(THREAD_DETAILS)];
        let mut request = Ask::objects(&wanted);
        let whole = machine.look_with(&request, &wanted);
        assert_eq!(whole.fault_texts(), Vec::<String>::new());
        // The lists of the threads alone take a second; Process has more time than it needs.
        let begun = Instant::now();
        machine.look_with(&Ask::objects(&wanted[..1]), &wanted[..1]);
        request.until = Some(Instant::now() + begun.elapsed() * 2 + Duration::from_millis(200));
        let some = machine.look_with(&request, &wanted);
        let count = |look: &Look| look.object(THREAD_DETAILS).instances().count();
        assert!(count(&some) < count(&whole), "{} of {}", count(&some), count(&whole));
        let texts = some.fault_texts();
        assert!(texts.iter().any(|text| text.contains("the threads of some")), "{texts:?}");
    });
}
