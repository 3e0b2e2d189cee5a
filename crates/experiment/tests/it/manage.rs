//! Management over a socket, by processes that behave and others.

use super::calls::Folder;
use super::{Burst, context, shown};
use perfhive_experiment::{
    BindRequest, Experiment, ExperimentManager, Interval, ManagedExperiment, RecordBatch, Section,
};
use serde_json::{Value, json};
use std::io::{ErrorKind, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Long enough for an answer on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// The patience with a process that does not answer.
const SHORT: Duration = Duration::from_millis(200);

/// An experiment with an interval of a millisecond, and its manager.
fn running(socket: &Path) -> (Experiment, ExperimentManager) {
    let experiment = Experiment::builder().start().unwrap();
    let interval = Interval::new("interval 1ms", Duration::from_millis(1));
    experiment.bind(interval, context(shown())).unwrap();
    let handle = experiment.handle();
    let bind = move |wanted: BindRequest| match wanted.event.as_str() {
        "burst" => {
            let bound = handle.bind(Burst::new(7), context(shown()));
            bound.map(|()| None).map_err(std::io::Error::other)
        }
        other => {
            let what = format!("no event {other}; sensors {:?}", wanted.sensors);
            Err(std::io::Error::new(ErrorKind::NotFound, what))
        }
    };
    let about = || json!({"program": ["shop"], "pid": 4711});
    let sensors = |text: Option<&str>| Ok(json!({"sensors": ["Engine/Speed"], "text": text}));
    let handle = experiment.handle();
    let manager = ExperimentManager::serve(socket, handle, about, bind, sensors).unwrap();
    (experiment, manager)
}

fn client(socket: &Path, patience: Duration) -> ManagedExperiment {
    ManagedExperiment::connect(socket, std::process::id(), patience).unwrap()
}

fn events(client: &mut ManagedExperiment) -> u64 {
    let about = client.ask(&json!({"do": "list"})).unwrap();
    about["bindings"][0]["events"].as_u64().unwrap()
}

/// Waits until the experiment has more than `count` events; returns their number.
fn more_than(client: &mut ManagedExperiment, count: u64) -> u64 {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < LONG, "no events");
        match events(client) {
            now if now > count => return now,
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

#[test]
fn request_after_the_manager_was_dropped_has_no_effect() {
    let folder = Folder::new();
    let socket = folder.path("manage");
    let (experiment, manager) = running(&socket);
    let mut client = client(&socket, LONG);
    client.ask(&json!({"do": "list"})).unwrap();
    drop(manager);
    client.ask(&json!({"do": "stop", "source": null})).unwrap_err();
    assert!(experiment.bindings()[0].running);
}

#[test]
fn experiment_is_listed_stopped_started_limited_and_bound() {
    let folder = Folder::new();
    let socket = folder.path("manage");
    let (experiment, manager) = running(&socket);
    let mut client = client(&socket, LONG);
    let about = client.ask(&json!({"do": "list"})).unwrap();
    assert_eq!((&about["program"][0], &about["pid"]), (&"shop".into(), &4711.into()));
    let binding = &about["bindings"][0];
    assert_eq!((&binding["source"], &binding["running"]), (&"interval 1ms".into(), &true.into()));
    assert_eq!(binding["sensors"][0]["name"], "test.host/Engine/Speed#main");

    more_than(&mut client, 3);
    let stop = json!({"do": "stop", "source": "interval 1ms"});
    assert_eq!(client.ask(&stop).unwrap(), json!({"bindings": 1}));
    let skipped = || experiment.bindings()[0].skipped;
    let before = skipped();
    while skipped() < before + 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let stopped = events(&mut client);
    client.ask(&json!({"do": "start"})).unwrap();
    let on = more_than(&mut client, stopped);
    client.ask(&json!({"do": "limit", "events": on + 5})).unwrap();
    let before = skipped();
    while skipped() < before + 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(events(&mut client) <= on + 5 + 100, "events between the list and the limit");
    client.ask(&json!({"do": "limit", "events": null})).unwrap();
    more_than(&mut client, on + 105);

    client.ask(&json!({"do": "bind", "event": "burst"})).unwrap();
    while !experiment.bindings()[1].ended {
        std::thread::sleep(Duration::from_millis(1));
    }
    let about = client.ask(&json!({"do": "list"})).unwrap();
    assert_eq!(about["bindings"][1]["ended"], true);
    use ErrorKind::{InvalidInput, NotFound};
    for (request, kind, message) in [
        (json!({"do": "start", "source": "burst"}), InvalidInput, "has ended"),
        (json!({"do": "bind", "event": "wink", "sensors": ["a"]}), NotFound, "no event wink"),
        (json!({"do": "bind"}), InvalidInput, "missing field `event`"),
        (
            json!({"do": "bind", "event": "burst", "sensors": [1]}),
            InvalidInput,
            "expected a string",
        ),
        (json!({"do": "stop", "source": "no such"}), NotFound, "no event source"),
        (json!({"do": "stop", "source": 7}), InvalidInput, "expected a string"),
        (json!({"do": "stop", "sauce": "interval 1ms"}), InvalidInput, "sauce"),
        (json!({"do": "limit", "events": "many"}), InvalidInput, "expected u64"),
        (json!({"do": "limit", "events": -1}), InvalidInput, "expected u64"),
        (json!({"do": "limit", "source": "interval 1ms"}), InvalidInput, "missing field `events`"),
        (json!({"do": "limit", "events": null, "where": 7}), InvalidInput, "expected a string"),
        (json!({"do": "list", "more": 1}), InvalidInput, "more"),
        (json!({"do": "dance"}), InvalidInput, "dance"),
        (json!({}), InvalidInput, "no request"),
        (json!(7), InvalidInput, "no request"),
        (json!([[[[[]]]]]), InvalidInput, "no request"),
    ] {
        let error = client.ask(&request).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    assert!(experiment.bindings()[0].running, "nothing of it had an effect");
    let end = experiment.end();
    assert_eq!(end.bindings[1].events, 7);
    drop(manager);
    assert!(!socket.exists());
}

#[test]
fn filter_without_a_source_is_for_all_but_intervals() {
    let folder = Folder::new();
    let socket = folder.path("manage");
    let (experiment, manager) = running(&socket);
    let mut client = client(&socket, LONG);
    let none = json!({"do": "limit", "events": null, "where": "name = burst and every 2"});
    let error = client.ask(&none).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    client.ask(&json!({"do": "bind", "event": "burst"})).unwrap();
    client.ask(&none).unwrap();
    let now = events(&mut client);
    more_than(&mut client, now + 3);
    assert_eq!(experiment.end().bindings[0].filtered, 0);
    drop(manager);
}

#[test]
fn records_are_fetched_until_the_end() {
    let folder = Folder::new();
    let socket = folder.path("manage");
    let (experiment, manager) = running(&socket);
    let mut client = client(&socket, LONG);
    client.fetch().unwrap();
    let mut kinds = Vec::new();
    let mut next = |client: &mut ManagedExperiment| {
        let line: Option<Value> = client.next_line().unwrap();
        line.map(|line| kinds.push(line["kind"].as_str().unwrap().to_string())).is_some()
    };
    for _ in 0..4 {
        assert!(next(&mut client));
    }
    let end = experiment.end();
    while next(&mut client) {}
    assert_eq!(kinds[..3], ["experiment", "source", "record"]);
    assert_eq!(kinds.last().unwrap(), "end");
    assert!(end.failures.is_empty());
    drop(manager);
}

#[test]
fn a_place_added_shortly_before_the_end_has_the_records_to_the_end() {
    let folder = Folder::new();
    let (experiment, manager) = running(&folder.path("manage"));
    // The delivering thread waits for its next second by now.
    std::thread::sleep(Duration::from_millis(100));
    let (sender, delivered) = std::sync::mpsc::channel();
    experiment
        .handle()
        .deliver(move |batch: &RecordBatch<'_>, _: &[Section]| {
            let _ = sender.send(batch.len());
        })
        .unwrap();
    drop(experiment.end());
    assert!(delivered.iter().sum::<usize>() > 0);
    drop(manager);
}

/// Clients that say nothing, too much, or fetch and read nothing, do not hold up the experiment
/// or another client.
#[test]
fn clients_that_hang_hold_no_one_up() {
    let folder = Folder::new();
    let socket = folder.path("manage");
    let (experiment, manager) = running(&socket);
    let _silent = UnixStream::connect(&socket).unwrap();
    let mut half = UnixStream::connect(&socket).unwrap();
    half.write_all(b"{\"do\": ").unwrap();
    let mut deaf = UnixStream::connect(&socket).unwrap();
    deaf.write_all(b"{\"do\": \"fetch\"}\n").unwrap();
    let mut endless = UnixStream::connect(&socket).unwrap();
    // The manager closes the connection when the line is too long.
    let mut closed = false;
    for _ in 0..100 {
        closed |= endless.write_all(&[b'x'; 4096]).is_err();
    }
    assert!(closed);
    let mut client = client(&socket, LONG);
    let now = events(&mut client);
    more_than(&mut client, now);

    // There is room for a few more.
    let mut many: Vec<ManagedExperiment> = (0..8).map(|_| self::client(&socket, LONG)).collect();
    let list = json!({"do": "list"});
    let errors = many.iter_mut().filter_map(|one| one.ask(&list).err());
    let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
    assert!((1..8).contains(&errors.len()), "{errors:?}");
    assert!(errors.iter().all(|error| error.starts_with("8 managers are connected")), "{errors:?}");
    let begun = Instant::now();
    let end = experiment.end();
    drop(manager);
    assert!(begun.elapsed() < LONG);
    assert!(end.failures.is_empty(), "{:?}", end.failures);
}

/// The error of a request to a listener in place of an experiment, which answers with these bytes.
fn lying(socket: &Path, answer: Vec<u8>) -> std::io::Error {
    let listener = UnixListener::bind(socket).unwrap();
    let mut client = client(socket, SHORT);
    let (mut stream, _) = listener.accept().unwrap();
    let writer = std::thread::spawn(move || {
        let _ = stream.write_all(&answer);
        stream
    });
    let begun = Instant::now();
    let error = client.ask(&json!({"do": "list"})).unwrap_err();
    assert!(begun.elapsed() < LONG);
    drop(client);
    drop(writer.join().unwrap());
    std::fs::remove_file(socket).unwrap();
    error
}

#[test]
fn process_that_hangs_or_lies_holds_no_manager_up() {
    let folder = Folder::new();
    let socket = folder.path("manage");
    assert_eq!(lying(&socket, Vec::new()).kind(), ErrorKind::TimedOut);
    assert_eq!(lying(&socket, b"half a line".to_vec()).kind(), ErrorKind::TimedOut);
    assert_eq!(lying(&socket, b"no json\n".to_vec()).kind(), ErrorKind::InvalidData);
    assert_eq!(lying(&socket, b"[[[[[]]]]]\n".to_vec()).kind(), ErrorKind::InvalidData);
    let endless = lying(&socket, vec![b'x'; 5 << 20]);
    assert!([ErrorKind::InvalidData, ErrorKind::TimedOut].contains(&endless.kind()), "{endless}");
    let deep = "[".repeat(100_000) + "\n";
    assert_eq!(lying(&socket, deep.into_bytes()).kind(), ErrorKind::InvalidData);
    assert_eq!(lying(&socket, b"{\"error\": \"no\"}\n".to_vec()).kind(), ErrorKind::Other);
    // Another process than the one that was meant.
    let _listener = UnixListener::bind(&socket).unwrap();
    let error = ManagedExperiment::connect(&socket, 1, SHORT).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn socket_that_accepts_nothing_is_not_waited_for() {
    let folder = Folder::new();
    let socket = folder.path("manage");
    let listener = UnixListener::bind(&socket).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let process = std::process::id();
    let tries = (0..10).map(|_| ManagedExperiment::connect(&socket, process, SHORT));
    let tries: Vec<_> = tries.collect();
    assert!(tries.iter().any(Result::is_err));
}
