//! The command on Windows: a provider's library is registered, loaded by the
//! system, and read.
//!
//! `cargo xtask test --only wine` runs these tests and builds the library before. They change only the
//! registry of Wine's prefix.
#![cfg(windows)]

use crate::run::{Folder, Run, command, finish, perfhive};
use perfhive::{Query, open};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The lock of the registry, which all tests share.
static REGISTRY: Mutex<()> = Mutex::new(());

/// The shop of the example, which stays registered until this is dropped.
struct Shop {
    file: PathBuf,
    _folder: Folder,
    _registry: MutexGuard<'static, ()>,
}

impl Shop {
    /// Registers the shop; `None`, with a message, if the registry is not Wine's.
    fn open() -> Option<Self> {
        if !perfhive::windows::is_wine() {
            eprintln!("this test changes the registry, and is run under Wine only");
            return None;
        }
        let registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Folder::new();
        let file = folder.path().join("shop.txt");
        let (ini, file_name) = (ini(), file.display().to_string());
        let (library, linkage) = (library(), file_name.as_str());
        let said = perfhive(["register", ini, "--library", &library, "--linkage", linkage]).ok();
        assert!(said.starts_with("PrintShop is registered: names "), "{said}");
        let shop = Self { file, _folder: folder, _registry: registry };
        shop.prints([120, 4, 3]);
        Some(shop)
    }

    /// Writes the shop's file: two printers, the first of which has these
    /// pages, jobs and waiting jobs.
    fn prints(&self, [pages, jobs, waiting]: [u64; 3]) {
        let text = format!("laser\t{pages}\t{jobs}\t{waiting}\nstar (24 pin)\t7\t7\t0\n");
        std::fs::write(&self.file, text).unwrap();
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let said = perfhive(["unregister", "PrintShop"]);
        assert!(said.code == Some(0) || std::thread::panicking(), "{}", said.err);
    }
}

/// The path of the example's library.
fn library() -> String {
    let library = Path::new(env!("CARGO_BIN_EXE_perfhive"));
    let library = library.with_file_name("examples").join("print_shop.dll");
    assert!(library.is_file(), "{} is not built", library.display());
    library.display().to_string()
}

/// The path of the example's definition.
fn ini() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../perfhive/examples/print_shop.ini")
}

/// Runs a command on this machine, without the note that some objects come from elsewhere than the
/// registry: Wine's does not have them.
fn local<const N: usize>(args: [&str; N]) -> Run {
    perfhive(args.into_iter().chain(["--quiet"]))
}

#[test]
fn provider_is_registered_listed_and_unregistered() {
    let Some(shop) = Shop::open() else { return };
    let again = perfhive(["register", ini()]).ok();
    assert!(again.starts_with("PrintShop was already registered like this"), "{again}");
    let list = perfhive(["register", "--list"]).ok();
    assert!(list.contains("PrintShop") && list.contains("print_shop.dll"), "{list}");
    let line = perfhive(["register", ini(), "--user"]).fails(2);
    assert!(line.contains("--system"), "{line}");
    drop(shop);
    assert!(!perfhive(["register", "--list"]).ok().contains("PrintShop"));
    assert!(!local(["list"]).ok().contains("Print Shop"));
    perfhive(["unregister", "PrintShop"]).fails(1);
}

/// The program has the version that Windows shows among the properties of the file.
#[test]
fn the_program_has_its_version_as_a_resource() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_perfhive")).unwrap();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let key = utf16("ProductVersion");
    let at = program.windows(key.len()).position(|part| part == key).unwrap();
    let version = utf16(env!("CARGO_PKG_VERSION"));
    // The key is followed by its NUL, and zeros up to a multiple of four bytes.
    let value: Vec<u8> = program[at + key.len()..]
        .chunks(2)
        .skip_while(|unit| *unit == [0, 0])
        .flatten()
        .copied()
        .take(version.len())
        .collect();
    assert_eq!(value, version);
}

#[test]
fn the_library_cooks_what_a_registered_provider_writes() {
    let Some(shop) = Shop::open() else { return };
    let mut query = Query::new(open("local:").unwrap()).unwrap();
    query.add(r"\Print Shop(laser)\Pages/Job").unwrap();
    query.add(r"\Print Shop(*)\Pages Printed").unwrap();
    query.collect().unwrap();
    // Two jobs of 15 pages on average.
    shop.prints([150, 6, 1]);
    query.collect().unwrap();
    let readings = query.readings();
    let values: Vec<f64> =
        readings.iter().map(|reading| reading.value.as_ref().unwrap().as_f64()).collect();
    assert_eq!(values, [15.0, 150.0, 7.0]);
}

/// Windows passes a list of strings; all of them reach the provider.
#[test]
fn linkage_that_is_given_twice_is_two_strings() {
    let Some(shop) = Shop::open() else { return };
    let second = shop.file.with_file_name("second.txt");
    std::fs::write(&second, "plotter\t50\t5\t1\n").unwrap();
    let (first, second) = (shop.file.display().to_string(), second.display().to_string());
    let library = library();
    let args =
        ["register", ini(), "--library", &library, "--linkage", &first, "--linkage", &second];
    assert!(perfhive(args).ok().starts_with("PrintShop is updated"));
    let rows = local(["get", r"\Print Shop(*)\Pages Printed", "--format", "json"]).json();
    let printers: Vec<_> = rows.iter().map(|row| row["instance"].as_str().unwrap()).collect();
    assert_eq!(printers, ["laser", "star (24 pin)", "plotter"]);
}

/// Indexes of an incomplete registration would be taken for those of the next one.
#[test]
fn a_partial_registration_is_refused_and_not_listed() {
    if !perfhive::windows::is_wine() {
        return;
    }
    let _registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    let key = r"HKLM\SYSTEM\CurrentControlSet\Services\PrintShop\Performance";
    let value = ["/v", "First Counter", "/t", "REG_DWORD", "/d", "4000", "/f"];
    let help = ["/v", "First Help", "/t", "REG_DWORD", "/d", "4001", "/f"];
    for value in [value, help] {
        assert!(finish(Command::new("reg").args(["add", key]).args(value)).code == Some(0));
    }
    let said = perfhive(["register", ini(), "--library", &library()]);
    let is_left = perfhive(["register", "--list"]).ok();
    let service = r"HKLM\SYSTEM\CurrentControlSet\Services\PrintShop";
    finish(Command::new("reg").args(["delete", service, "/f"]));
    let line = said.fails(3);
    assert!(line.contains("not whole: `unlodctr PrintShop` takes them back"), "{line}");
    assert!(!is_left.contains("PrintShop"), "{is_left}");
}

/// The rows of a verdict that are not good, as `severity asked: message`.
fn objections(run: Run, code: i32) -> Vec<String> {
    assert_eq!((run.code, run.err.as_str()), (Some(code), ""), "{}", run.out);
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_string();
    run.json()
        .iter()
        .map(|row| [text(row, "severity"), text(row, "asked"), text(row, "message")])
        .filter(|[severity, ..]| severity != "good")
        .map(|[severity, asked, message]| format!("{severity} {asked}: {message}"))
        .collect()
}

#[test]
fn a_sound_library_is_checked() {
    let folder = Folder::new();
    let file = folder.file("shop.txt", "laser\t120\t4\t3\n");
    let library = library();
    let verdict = perfhive(["check", &library, "--linkage", &file]).ok();
    assert!(verdict.contains("print_shop.dll is sound; Global is "), "{verdict}");
    assert!(verdict.contains("gives 50000 ("), "{verdict}");
    // Without a linkage the library does not know the file of the shop.
    let verdict = perfhive(["check", &library, "--json"]);
    let wrong = objections(verdict, 1);
    assert!(wrong[0].contains("Open answered with error 31"), "{wrong:?}");
    assert!(wrong[0].contains("the registration has no linkage"), "{wrong:?}");
}

/// Windows leaves such a provider out silently.
#[test]
fn a_provider_that_cannot_open_is_told_with_the_way_out() {
    let Some(_shop) = Shop::open() else { return };
    let providers = perfhive(["providers", "PrintShop", "--json"]).json();
    assert_eq!(providers[0]["state"], "open", "{providers:?}");
    assert!(!perfhive(["list"]).err.contains("PrintShop"));
    // The provider opens only with a linkage, and the file that this one names does not exist.
    let library = library();
    perfhive(["register", ini(), "--library", &library, "--linkage", "C:\\nowhere.txt"]).ok();
    let providers = perfhive(["providers", "PrintShop", "--json"]).json();
    assert_eq!(providers[0]["state"], "failed", "{providers:?}");
    let wanted = "`perfhive check PrintShop` says which";
    assert!(providers[0]["last_fault"].as_str().unwrap().contains(wanted), "{providers:?}");
    let list = perfhive(["list"]);
    assert!(list.err.contains(wanted), "{}", list.err);
    let wrong = perfhive(["check", "PrintShop", "--brief"]);
    assert!(wrong.out.contains("nowhere.txt"), "{}{}", wrong.out, wrong.err);
}

/// Disables the shop as Windows does with a provider that fails its tests; returns the registry key.
fn disable_shop() -> &'static str {
    let key = r"HKLM\SYSTEM\CurrentControlSet\Services\PrintShop\Performance";
    let value = ["/v", "Disable Performance Counters", "/t", "REG_DWORD", "/d", "1", "/f"];
    assert!(finish(Command::new("reg").args(["add", key]).args(value)).code == Some(0));
    key
}

/// A provider that Windows disabled is reported as such, and enabled as by `lodctr /E:NAME`.
#[test]
fn a_disabled_provider_is_told_as_that_and_enabled() {
    let Some(_shop) = Shop::open() else { return };
    let key = disable_shop();
    let providers = perfhive(["providers", "PrintShop", "-n", "0", "--json"]).json();
    assert_eq!(providers[0]["state"], "disabled", "{providers:?}");
    // Windows does not tell how often the provider was asked.
    assert!(providers[0]["collections"].is_null(), "{providers:?}");
    let why = providers[0]["last_fault"].as_str().unwrap();
    assert!(why.contains(r#"`perfhive providers --enable "PrintShop"`"#), "{why}");
    let providers = perfhive(["providers", "--enable", "printshop", "--json"]).json();
    assert_eq!(providers[0]["state"], "open", "{providers:?}");
    let query = ["query", key, "/v", "Disable Performance Counters"];
    let left = finish(Command::new("reg").args(query));
    assert_eq!(left.code, Some(1), "{}{}", left.out, left.err);
    // Enabling again is not an error; libraries without a registration are never disabled.
    for name in ["PrintShop", "windows-native"] {
        let providers = perfhive(["providers", "--enable", name, "--json"]).json();
        assert_eq!(providers[0]["state"], "open", "{providers:?}");
    }
    perfhive(["providers", "--enable", "nobody"]).fails(1);
    let line = perfhive(["providers", "--enable", "X", "-s", "registry://BOX"]).fails(2);
    assert!(line.contains("providers of BOX are enabled there: `lodctr /E:X`"), "{line}");
}

#[test]
fn a_registered_name_is_checked_as_its_readers_load_it() {
    let Some(shop) = Shop::open() else { return };
    let verdict = perfhive(["check", "printshop"]).ok();
    assert!(verdict.contains("print_shop.dll is sound; Global is "), "{verdict}");
    // The library is registered under a name that is not the provider's: it finds no indexes.
    let folder = Folder::new();
    let text = std::fs::read_to_string(ini()).unwrap();
    let other = folder.file("other.ini", text.replace("=PrintShop", "=CopyShop"));
    let symbols = Path::new(ini()).with_file_name("print_shop.h");
    std::fs::copy(symbols, folder.path().join("print_shop.h")).unwrap();
    let (library, linkage) = (library(), shop.file.display().to_string());
    perfhive(["register", &other, "--library", &library, "--linkage", &linkage]).ok();
    let wrong = perfhive(["check", "CopyShop", "--json"]);
    perfhive(["unregister", "CopyShop"]).ok();
    drop(shop);
    // While PrintShop was registered, indexes were found, but those of PrintShop.
    let wrong = objections(wrong, 1);
    assert!(wrong.iter().any(|one| one.contains("which is not")), "{wrong:?}");
}

#[test]
fn faults_of_a_library_are_reported_and_cost_no_other_provider() {
    let zoo = library().replace("print_shop", "zoo");
    for (kind, wanted) in [
        (
            "Crashes",
            "error Global: crashed with exception 0xC0000005 (access outside of its memory) in Collect",
        ),
        ("Hangs", "error Global: did not come back from Collect within 4s: its process was ended"),
        ("Refuses", "error Global: Open answered with error 5"),
        ("Greedy", "error Global: it answers ERROR_MORE_DATA even with"),
        ("Count", "error Global: 5 objects were announced, 1 were found"),
        ("Overruns", "error Global: the guard region was written to at offset"),
        ("Fails", "error Global: it returns error 31"),
        ("Claims", "warning Global: the byte count says"),
    ] {
        let (open, collect) = (format!("Open{kind}"), format!("Collect{kind}"));
        let args = ["check", &zoo, "--open", &open, "--collect", &collect, "--close", "CloseZoo"];
        // The check waits for a provider that hangs; the others have more time than they need.
        let timeout = if kind == "Hangs" { "4" } else { "60" };
        let args = [&args[..], &["--timeout", timeout, "--json"]].concat();
        let wrong = objections(perfhive(&args), 1);
        assert!(wrong.iter().any(|one| one.starts_with(wanted)), "{kind}: {wrong:#?}");
    }
}

#[test]
fn missing_names_are_errors_with_the_way_out() {
    let line = perfhive(["register", "nosuch.ini"]).fails(3);
    assert!(line.contains("name the .ini or .man file that describes"), "{line}");
    let line = perfhive(["unregister", "nobody"]).fails(1);
    assert!(line.contains("perfhive register --list shows what is registered"), "{line}");
}

#[test]
fn list_get_and_enum_show_it() {
    let Some(_shop) = Shop::open() else { return };
    let list = local(["list"]).ok();
    let line = list.lines().find(|line| line.contains("Print Shop")).unwrap();
    assert!(line.split_whitespace().any(|word| word == "global"), "{line}");
    let counters = local(["list", "print shop"]).ok();
    for name in ["Pages Printed", "Pages/sec", "Pages/Job", "Jobs Waiting", "star (24 pin)"] {
        assert!(counters.contains(name), "{name}: {counters}");
    }

    let path = r"\Print Shop(*)\Jobs Waiting";
    let rows = local(["get", path, "--format", "json"]).json();
    let values: Vec<_> = rows.iter().map(|row| (&row["instance"], &row["value"])).collect();
    assert_eq!(
        format!("{values:?}"),
        r#"[(String("laser"), Number(3)), (String("star (24 pin)"), Number(0))]"#
    );
    assert_eq!(local(["get", "-b", r"\Print Shop(laser)\Pages Printed"]).ok(), "120\n");
    // Nothing is printed between the samples, and the mean of no jobs is not a number.
    let rate = local(["get", "-b", "-i", "0.05", r"\Print Shop(laser)\Pages/sec"]).ok();
    assert_eq!(rate, "0.0\n");

    let all = local(["enum", "Print Shop"]).ok();
    assert!(all.contains("Pages Printed") && all.contains("120"), "{all}");
    assert!(local(["enum"]).ok().contains("star (24 pin)"));
    let german = local(["list", "--language", "de", "Druckerei"]).ok();
    assert!(german.contains("Gedruckte Seiten"), "{german}");
    let help = local(["explain", r"\Print Shop\Pages Printed"]).ok();
    assert!(help.contains("Pages printed since the shop opened."), "{help}");
}

#[test]
fn watch_sensors_and_measure_show_it() {
    let Some(_shop) = Shop::open() else { return };
    let path = r"\Print Shop(laser)\Jobs Waiting";
    let rows = local(["watch", "-n", "2", "-i", "0.05", path, "--format", "csv"]).ok();
    assert_eq!(rows.lines().filter(|row| row.contains(",3,")).count(), 2, "{rows}");
    let sensors = local(["sensors"]).ok();
    assert!(sensors.contains("windows.winperf/Print Shop/Pages Printed"), "{sensors}");
    let sensor = "windows.winperf/Print Shop/Pages Printed#laser";
    let measured = local(["measure", "-n", "2", "-i", "0.05", sensor]).ok();
    assert!(measured.contains("120"), "{measured}");
}

#[test]
fn a_shop_without_its_file_costs_its_own_object_only() {
    let Some(shop) = Shop::open() else { return };
    std::fs::remove_file(&shop.file).unwrap();
    let list = local(["list"]).ok();
    assert!(!list.contains("Print Shop"), "{list}");
    // The provider is registered, so that its object's name is not taken for a mistake.
    let line = local(["get", r"\Print Shop(laser)\Jobs Waiting"]).fails(3);
    assert!(line.contains("Print Shop") && line.contains("perfhive check PrintShop"), "{line}");
}

/// A bad provider of the zoo, `PerfhiveKIND` with the object `KIND Things`, which stays
/// registered until this is dropped.
struct Bad(&'static str);

impl Bad {
    fn register(kind: &'static str) -> Self {
        use perfhive::contract::{Functions, ProviderDefinition, Registrar as _, Texts};
        let library = Path::new(env!("CARGO_BIN_EXE_perfhive")).with_file_name("examples");
        let library = library.join("zoo.dll");
        assert!(library.is_file(), "{} is not built", library.display());
        let mut definition = ProviderDefinition::new(&format!("Perfhive{kind}"));
        definition.objects = vec![0];
        definition.titles = vec![Texts {
            language: perfhive::LanguageId::ENGLISH,
            names: vec![(0, format!("{kind} Things")), (2, "Pieces".to_string())],
            help: Vec::new(),
        }];
        let functions = Functions {
            library: Some(library),
            open: Some(format!("Open{kind}")),
            collect: Some(format!("Collect{kind}")),
            close: Some(match kind {
                "Lingers" => "CloseLingers".to_string(),
                _ => "CloseZoo".to_string(),
            }),
            ..Functions::default()
        };
        perfhive::windows::WindowsRegistrar::new().register(&definition, &functions).unwrap();
        Self(kind)
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        use perfhive::contract::Registrar as _;
        let _ =
            perfhive::windows::WindowsRegistrar::new().unregister(&format!("Perfhive{}", self.0));
    }
}

/// A provider that is registered without names, until this is dropped.
struct Nameless;

impl Nameless {
    const SERVICE: &str = r"HKLM\SYSTEM\CurrentControlSet\Services\PerfhiveNameless";

    fn register() -> Self {
        let key = format!(r"{}\Performance", Self::SERVICE);
        for (name, text) in [("Library", "winspool.drv"), ("Open", "Begin"), ("Collect", "Give")] {
            let added =
                finish(Command::new("reg").args(["add", &key, "/v", name, "/d", text, "/f"]));
            assert_eq!(added.code, Some(0), "{}", added.err);
        }
        Self
    }
}

impl Drop for Nameless {
    fn drop(&mut self) {
        finish(Command::new("reg").args(["delete", Self::SERVICE, "/f"]));
    }
}

#[test]
fn a_provider_that_fails_costs_itself_only_and_is_named() {
    let Some(_shop) = Shop::open() else { return };
    let _broken = Bad::register("Broken");
    let list = perfhive(["list"]);
    assert_eq!(list.code, Some(0), "{}", list.err);
    assert!(list.out.contains("Print Shop") && list.out.contains("Process"), "{}", list.out);
    for word in ["PerfhiveBroken", "zoo.dll", "perfhive check PerfhiveBroken"] {
        assert!(list.err.contains(word), "{word}: {}", list.err);
    }
    assert_eq!(local(["get", "-b", r"\Print Shop(laser)\Pages Printed"]).ok(), "120\n");
    assert!(local(["enum"]).ok().contains("star (24 pin)"));
    let said = perfhive(["get", r"\Broken Things\Pieces"]);
    assert_ne!(said.code, Some(0));
    assert!(said.err.contains("PerfhiveBroken"), "{}", said.err);
}

#[test]
fn a_close_that_hangs_for_a_minute_holds_up_no_command() {
    let Some(_shop) = Shop::open() else { return };
    let lingers = Bad::register("Lingers");
    let zoo = Path::new(env!("CARGO_BIN_EXE_perfhive")).with_file_name("examples").join("zoo.dll");
    let zoo = zoo.display().to_string();
    let functions =
        ["--open", "OpenLingers", "--collect", "CollectLingers", "--close", "CloseLingers"];
    let check = [&["check", &zoo][..], &functions].concat();
    for args in [
        &["register", "--list"][..],
        // Wine calls Close within each request.
        &["list", "--patience", "8"],
        &["providers", "--patience", "8"],
        &check,
        &["unregister", "PerfhiveLingers"],
    ] {
        let started = Instant::now();
        let said = perfhive(args);
        assert!(started.elapsed() < Duration::from_secs(30), "{args:?} waited");
        let is_checked = args[0] == "check";
        assert_eq!(said.code, Some(if is_checked { 1 } else { 0 }), "{args:?}: {}", said.err);
        assert!(!is_checked || said.out.contains("Close"), "{}", said.out);
    }
    drop(lingers);
}

/// The other provider ends each process that asks for its object, or for all objects.
#[test]
fn a_reader_of_one_object_asks_no_other_provider() {
    let Some(_shop) = Shop::open() else { return };
    let _fatal = Bad::register("Fatal");
    let pages = r"\Print Shop(laser)\Pages Printed";
    assert_eq!(local(["get", "-b", pages]).ok(), "120\n");
    assert!(local(["get", "-b", r"\System\Threads"]).ok().trim().parse::<u32>().is_ok());
    assert!(local(["watch", "-n", "1", pages]).ok().contains("120"));
    assert!(local(["enum", "Print Shop"]).ok().contains("star (24 pin)"));
    assert!(local(["list", "print shop"]).ok().contains("Pages Printed"));
    let help = local(["explain", r"\Print Shop\Pages Printed"]).ok();
    assert!(help.contains("Pages printed since the shop opened."), "{help}");
    let sensors = local(["sensors", "print shop/*", "--instances"]).ok();
    assert!(sensors.contains("windows.winperf/Print Shop/Pages Printed#laser"), "{sensors}");
    let sensor = "Print Shop/Pages Printed#laser";
    assert!(local(["measure", "-n", "2", "-i", "0.05", sensor]).ok().contains("120"));
    let folder = Folder::new();
    let taken = folder.path().join("taken").display().to_string();
    local(["capture", &taken, "Print Shop", "-n", "1"]).ok();
    let said = perfhive(["list", "Print Shop", "-s", &format!("file:{taken}")]).ok();
    assert!(said.contains("Pages Printed"), "{said}");
    let providers = local(["providers", "printshop", "--json"]).json();
    assert_eq!((providers.len(), &providers[0]["state"]), (1, &"open".into()), "{providers:?}");
    // A provider that is registered without names cannot be asked for an object.
    let nameless = Nameless::register();
    let providers = local(["providers", "perfhivenameless", "--json"]).json();
    assert_eq!((providers.len(), &providers[0]["state"]), (1, &"failed".into()), "{providers:?}");
    let why = providers[0]["last_fault"].as_str().unwrap();
    for words in ["neither First Counter nor Object List", "`perfhive check PerfhiveNameless`"] {
        assert!(why.contains(words), "{words}: {why}");
    }
    // The library is searched where Windows searches it.
    let check = perfhive(["check", "PerfhiveNameless", "--brief"]);
    assert!(check.out.to_lowercase().contains(r"system32\winspool.drv"), "{}", check.out);
    assert!(!check.out.contains("full path"), "{}", check.out);
    drop(nameless);
    local(["providers", "perfhivenameless"]).fails(1);
    // It is known without asking a provider that the name does not exist. Suggestions ask only the providers
    // with similar names.
    for args in [
        ["get", r"\Prnt Shop(laser)\Pages Printed"],
        ["enum", "Prnt Shop"],
        ["list", "Prnt Shop"],
        ["measure", "Prnt Shop/Pages Printed#laser"],
        ["sensors", "Prnt Shop/*"],
        ["sensors", "Prnt Shop/Pages Printed#laser"],
    ] {
        let said = local(args).fails(2);
        assert!(said.contains("Print Shop"), "{args:?}: {said}");
    }
    local(["get", r"\Xyzzy(laser)\Pages Printed"]).fails(2);
    // Otherwise the test would show nothing.
    assert_ne!(perfhive(["list"]).code, Some(0));
    assert_ne!(local(["sensors"]).code, Some(0));
}

/// Windows calls the provider on the caller's thread, without a timeout.
#[test]
fn a_provider_that_hangs_costs_itself_only_and_is_named() {
    let Some(_shop) = Shop::open() else { return };
    let _stuck = Bad::register("Stuck");
    let patiently = |args: &[&str]| perfhive(args.iter().chain(&["--patience", "16"]));
    let list = patiently(&["list"]);
    assert_eq!(list.code, Some(0), "{}", list.err);
    assert!(list.out.contains("Print Shop") && list.out.contains("Process"), "{}", list.out);
    for word in ["zoo.dll", "does not come back", "perfhive check PerfhiveStuck"] {
        assert!(list.err.contains(word), "{word}: {}", list.err);
    }
    let get = patiently(&["get", "-q", "-b", r"\Print Shop(laser)\Pages Printed"]);
    assert_eq!(get.ok(), "120\n");
    let providers = patiently(&["providers", "PerfhiveStuck", "-n", "1", "--json"]);
    assert_eq!(providers.code, Some(0), "{}", providers.err);
    let providers = providers.json();
    assert_eq!(providers[0]["state"], "failed", "{providers:?}");
    let why = providers[0]["last_fault"].as_str().unwrap();
    assert!(why.contains("does not come back"), "{why}");
    let said = patiently(&["get", r"\Stuck Things\Pieces"]);
    assert_ne!(said.code, Some(0));
    assert!(said.err.contains("does not come back"), "{}", said.err);
}

/// Wine asks every library, whatever is requested; Windows asks those without a list of objects.
#[test]
fn registry_that_hangs_for_every_request_leaves_native_objects_and_names_suspects() {
    let Some(_shop) = Shop::open() else { return };
    let _hangs = Bad::register("Hangs");
    let patiently = |args: &[&str]| perfhive(args.iter().chain(&["--patience", "16"]));
    let list = patiently(&["list"]);
    assert_eq!(list.code, Some(0), "{}", list.err);
    assert!(list.out.contains("Process") && !list.out.contains("Print Shop"), "{}", list.out);
    for words in ["one of these libraries hangs", "PerfhiveHangs", "`perfhive check NAME`"] {
        assert!(list.err.contains(words), "{words}: {}", list.err);
    }
    // A provider is enabled even though it cannot be asked at the moment.
    disable_shop();
    let enabled = patiently(&["providers", "--enable", "PrintShop", "--json"]);
    assert_eq!(enabled.code, Some(0), "{}", enabled.err);
    let words = "PrintShop is enabled, and cannot be asked at the moment: local: ";
    assert!(enabled.err.contains(words), "{}", enabled.err);
    let rows = enabled.json();
    assert_eq!((rows.len(), &rows[0]["provider"]), (1, &"PrintShop".into()), "{rows:?}");
    assert_ne!(rows[0]["state"], "disabled", "{rows:?}");
    // The registered providers are listed nevertheless.
    let providers = patiently(&["providers", "-n", "1", "--json"]);
    assert!(providers.err.contains("one of these libraries hangs"), "{}", providers.err);
    let rows = providers.json();
    for name in ["PerfhiveHangs", "PrintShop", "windows-native"] {
        assert!(rows.iter().any(|row| row["provider"] == name), "{name}: {rows:?}");
    }
}

#[test]
fn another_machine_that_is_not_there_is_explained() {
    let line = perfhive(["list", "-s", "registry://no-such-host"]).fails(3);
    assert!(line.contains("no-such-host cannot be reached"), "{line}");
    assert!(line.contains("Remote Registry"), "{line}");
}

/// Neither cmd.exe nor PowerShell replaces `*.phr` by names of files.
#[test]
fn logs_are_named_by_a_pattern() {
    let Some(_shop) = Shop::open() else { return };
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for name in ["a.phr", "b.phr"] {
        local(["record", "Print Shop", "-n", "2", "-i", "0.05", "-o", &at(name)]).ok();
    }
    let rows = perfhive(["info", &at("*.phr"), "--json"]).json();
    let samples: Vec<_> = rows.iter().map(|row| row["samples"].as_u64()).collect();
    assert_eq!(samples, [Some(2), Some(2)], "{rows:?}");
    let said = perfhive(["relog", &at("*.PHR")]).ok();
    assert!(said.contains("Samples:  4"), "{said}");
    let line = perfhive(["relog", &at("*.blg")]).fails(2);
    assert!(line.contains("*.blg: no file has such a name"), "{line}");
}

/// What is written to the device NUL is lost, and leaves no file behind.
#[test]
fn what_goes_to_nul_is_no_error() {
    let folder = Folder::new();
    let log = folder.file("a.csv", "\"(PDH-CSV 4.0) (GMT)(0)\",\"\\\\BOX\\Memory\\Available Bytes\"\r\n\"11/27/2026 12:00:00.000\",\"5\"\r\n");
    let path = r"\Memory\Available Bytes";
    let source = format!("file:{log}");
    for args in [
        &["get", "-s", &source, path, "-o", "NUL"][..],
        &["relog", &log, "-f", "csv", "-o", "NUL"],
        &["relog", &log, "-o", "nul", "-y"],
        &["report", &log, "-o", "NUL"],
    ] {
        let mut command = command();
        command.current_dir(folder.path()).env("TMP", folder.path()).args(args);
        finish(&mut command).ok();
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{args:?}: {files:?}");
    }
}
