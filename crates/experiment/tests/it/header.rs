//! The header for C and C++.

use super::calls::Folder;
use super::{context, shown};
use perfhive_experiment::{CALLS_VARIABLE, Calls, EventKind, Experiment};
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"
#include "perfhive_experiment.h"
#include <pthread.h>
#include <stdio.h>

static void *work(void *unused)
{
    for (int i = 0; i < 20; i++) {
        perfhive_start("checkout");
        perfhive_call("paid");
        perfhive_end("checkout");
    }
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    errno = 33;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    work(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return errno == 33 ? 7 : 1;
}
"#;

#[test]
fn program_in_c_and_cpp_calls_as_one_in_rust() {
    let folder = Folder::new();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for (language, standard) in [("c", "-std=gnu99"), ("c", "-std=c11"), ("c++", "-std=c++11")] {
        let (source, program) = (folder.path("program.src"), folder.path("program"));
        std::fs::write(&source, PROGRAM).unwrap();
        let compiled = Command::new("cc")
            .args(["-x", language, standard, "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"])
            .arg("-I")
            .arg(&include)
            .arg(&source)
            .args(["-o"])
            .arg(&program)
            .arg("-pthread")
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let fifo = folder.path("calls");
        let calls = Calls::listen(&fifo, &["checkout", "paid"]).unwrap();
        let experiment = Experiment::builder().start().unwrap();
        experiment.bind(calls, context(shown())).unwrap();
        let status = Command::new(&program).env(CALLS_VARIABLE, &fifo).status().unwrap();
        assert_eq!(status.code(), Some(7), "errno stays as it was");
        let end = experiment.end();
        let counts: Vec<_> = (end.summary.events.iter())
            .map(|one| (one.name.to_string(), one.kind, one.count))
            .collect();
        for kind in [Some(EventKind::Start), Some(EventKind::End), None] {
            assert!(counts.contains(&("checkout".to_string(), kind, 80)), "{counts:?}");
        }
        assert!(counts.contains(&("paid".to_string(), Some(EventKind::Point), 80)), "{counts:?}");
        assert_eq!((end.summary.unmatched, end.bindings[0].missed), (0, 0));
        // Without an experiment the program runs all the same.
        assert_eq!(Command::new(&program).status().unwrap().code(), Some(7));
    }
}
