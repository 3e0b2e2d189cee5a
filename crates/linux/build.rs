//! Lists the languages of the folder `titles`, and compiles the BPF program where the
//! feature `bpf` is set.
//!
//! Without clang the build succeeds: the crate then reads `/proc` only, and gives
//! the reason when the BPF reader is asked for.

#[cfg(feature = "bpf")]
#[path = "src/bpf/btf.rs"]
mod btf;
#[cfg(feature = "bpf")]
#[path = "build/link.rs"]
mod link;

use std::fmt::Write as _;
use std::path::PathBuf;
#[cfg(feature = "bpf")]
use std::{path::Path, process::Command};

/// The folder of translations: a file for each language, named by the language's code, such as `de.txt`.
const TITLES: &str = "titles";
const SOURCE: &str = "src/bpf/processes.bpf.c";
const HEADER: &str = "src/bpf/kernel.h";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(perfhive_bpf)");
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed={HEADER}");
    println!("cargo::rerun-if-changed={TITLES}");
    if let Err(why) = list_titles() {
        println!("cargo::error={TITLES}: {why}");
    }
    println!("cargo::rerun-if-env-changed=PERFHIVE_CLANG");
    #[cfg(feature = "bpf")]
    build_program();
}

#[cfg(feature = "bpf")]
fn build_program() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    // The program's slots are laid out for pointers of 64 bits.
    if variable("CARGO_CFG_TARGET_OS") != "linux"
        || variable("CARGO_CFG_TARGET_POINTER_WIDTH") != "64"
    {
        return;
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    let object = out.join("processes.bpf.o");
    let built = compile(&variable("CARGO_CFG_TARGET_ENDIAN"), &object).and_then(|()| {
        let read = std::fs::read(&object).map_err(|error| error.to_string())?;
        let code = link::link(&read).map_err(|error| error.to_string())?;
        std::fs::write(out.join("processes.rs"), code).map_err(|error| error.to_string())
    });
    match built {
        Ok(()) => println!("cargo::rustc-cfg=perfhive_bpf"),
        Err(why) => println!(
            "cargo::warning=without the BPF reader of processes, which takes clang to build: {why}"
        ),
    }
}

/// Writes `titles.rs`: a list of the code and text of every translation, in the order of the codes.
fn list_titles() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder.join(TITLES))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let code = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.push((code, path));
        }
    }
    files.sort();
    let mut list = String::from("[\n");
    for (code, path) in files {
        let _ = writeln!(list, "    ({code:?}, include_str!({:?})),", path.to_string_lossy());
    }
    list.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    std::fs::write(out.join("titles.rs"), list)
}

#[cfg(feature = "bpf")]
fn compile(endian: &str, object: &Path) -> Result<(), String> {
    let clang = std::env::var_os("PERFHIVE_CLANG").unwrap_or_else(|| "clang".into());
    let target = if endian == "big" { "bpfeb" } else { "bpfel" };
    let status = Command::new(&clang)
        .args(["-target", target, "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"])
        // The object file must not contain a path of this machine.
        .args(["-fdebug-compilation-dir", ".", "-c", SOURCE, "-o"])
        .arg(object)
        .status()
        .map_err(|error| format!("{}: {error}", clang.to_string_lossy()))?;
    if status.success() { Ok(()) } else { Err(format!("clang: {status}")) }
}
