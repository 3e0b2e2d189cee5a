//! The header for C is what the tables say, and C compilers take it.

use perfhive_contract::c_header;
use std::path::Path;

fn file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include/perfhive_provider.h")
}

#[test]
fn header_file_equals_the_generated_text() {
    let header = c_header();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file(), &header).unwrap();
    }
    let there = std::fs::read_to_string(file()).unwrap_or_default();
    assert!(there == header, "perfhive_provider.h is out of date: run this test with UPDATE=1");
}

/// The header's assertions on sizes and offsets hold, in C and in C++.
#[cfg(target_os = "linux")]
#[test]
fn header_compiles_as_c_and_cpp() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    for (compiler, language) in [("cc", "c"), ("cc", "c++")] {
        let mut cc = Command::new(compiler)
            .args(["-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let include = format!("#include \"{}\"\nPERFHIVE_HOST host;\n", file().display());
        cc.stdin.take().unwrap().write_all(include.as_bytes()).unwrap();
        assert!(cc.wait().unwrap().success(), "{language}");
    }
}
