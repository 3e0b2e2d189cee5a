//! The example's DLL in a program that reads for a long time. Runs under Wine and writes to
//! its registry: `cargo xtask test --only wine`.
#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::contract::{Functions, ProviderDefinition, Registrar as _, Texts};
use perfhive::windows::{WindowsRegistrar, is_wine, local_source};
use perfhive::{Ask, LanguageId, ObjectQuery, Snapshot, Source as _};
use std::path::PathBuf;

const SERVICE: &str = "PrintShop";

/// The registration of the example's shop, until it is dropped.
struct Shop(PathBuf);

impl Shop {
    fn open() -> Self {
        let file = std::env::temp_dir().join(format!("shop-{}.txt", std::process::id()));
        std::fs::write(&file, "laser\t120\t4\t3\n").unwrap();
        let tests = std::env::current_exe().unwrap();
        let library = tests.parent().unwrap().parent().unwrap().join("examples/print_shop.dll");
        assert!(library.is_file(), "{} is not built", library.display());
        let names = ["Print Shop", "Pages Printed", "Pages/sec", "Pages/Job", "Jobs", "Waiting"];
        let mut definition = ProviderDefinition::new(SERVICE);
        definition.objects = vec![0];
        definition.titles = vec![Texts {
            language: LanguageId::ENGLISH,
            names: (0..).step_by(2).zip(names.map(str::to_string)).collect(),
            help: Vec::new(),
        }];
        let functions = Functions {
            library: Some(library),
            open: Some("OpenPrintShop".into()),
            collect: Some("CollectPrintShop".into()),
            close: Some("ClosePrintShop".into()),
            linkage: Some(vec![file.display().to_string()]),
            ..Functions::default()
        };
        WindowsRegistrar::new().register(&definition, &functions).unwrap();
        Self(file)
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = WindowsRegistrar::new().unregister(SERVICE);
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Wine loads and unloads the library for each query. Each loading of a library with
/// thread-local variables takes one of 1088 TLS indexes for good: without pinning, a reader
/// that samples once a second would end after 18 minutes.
#[test]
fn more_readings_than_thread_local_indexes() {
    if !is_wine() {
        eprintln!("this test changes the registry, and is run under Wine only");
        return;
    }
    let _shop = Shop::open();
    let mut source = local_source("local:");
    let name = source.catalogue(&Ask::everything()).unwrap().objects[0].name;
    let request = Ask::new(ObjectQuery::one(name));
    let mut snapshot = Snapshot::new();
    for round in 0..1100 {
        source.collect(&request, &mut snapshot).unwrap();
        let object = snapshot.object(name);
        let object = object.unwrap_or_else(|| panic!("{round}: {:?}", snapshot.faults()));
        assert_eq!(object.view().instances().count(), 1, "{round}");
    }
}
