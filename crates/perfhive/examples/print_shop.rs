//! A library that publishes a program's own counters.
//!
//! The program, a print shop, keeps a small file with a line for each printer:
//! its name, the pages and jobs that it has printed, and the jobs that wait,
//! apart by tabs. Where the file is is the linkage of the registration; several
//! linkage strings are several files.
//! A reader of counters, perfmon or perfhive, loads this library, which makes
//! an object of the file: one instance for each printer.
//!
//! `cargo build --release -p perfhive --example print_shop` makes
//! `print_shop.dll`, or `libprint_shop.so`; `perfhive register print_shop.ini
//! --library print_shop.dll --linkage FILE` registers it.

use perfhive::format::titles::TitleList;
use perfhive::format::{CounterSpec, InstanceHead, ObjectSpec, ObjectTemplate};
use perfhive::provide::{
    Collection, Numbering, ObjectDescription, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive::{CounterType, LanguageId, TitleIndex};
use std::path::PathBuf;

perfhive::provider_dll! {
    provider: PrintShop,
    open: OpenPrintShop,
    collect: CollectPrintShop,
    close: ClosePrintShop,
}

/// Offset from First Counter, and type, of each counter.
const COUNTERS: [(u32, CounterType); 5] = [
    (2, CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
    (4, CounterType::PERF_COUNTER_BULK_COUNT),
    (6, CounterType::PERF_AVERAGE_BULK),
    // The denominator of the counter before; it has no name of its own that readers show.
    (8, CounterType::PERF_AVERAGE_BASE),
    (10, CounterType::PERF_COUNTER_RAWCOUNT),
];

const NAMES: &str = "0\nPrint Shop\n2\nPages Printed\n4\nPages/sec\n6\nPages/Job\n8\nJobs\n\
                     10\nJobs Waiting";
const HELP: &str = "0\nThe printers of the shop.\n2\nPages printed since the shop opened.\n\
                    4\nPages printed in a second.\n6\nPages of a job, on average.\n\
                    8\nJobs printed.\n10\nJobs that wait for the printer.";

struct PrintShop;

fn counters(first: u32) -> Vec<CounterSpec> {
    let spec =
        |(offset, kind): &(u32, CounterType)| CounterSpec::new(TitleIndex(first + offset), *kind);
    COUNTERS.iter().map(spec).collect()
}

impl Provider for PrintShop {
    fn name(&self) -> &str {
        "PrintShop"
    }

    fn describe(&self) -> ProviderDescription {
        ProviderDescription::new(
            Numbering::Allotted,
            vec![ObjectDescription::new(
                ObjectSpec::new(TitleIndex(0)).with_instances(),
                counters(0),
            )],
        )
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        vec![ProvidedTitles::new(
            LanguageId::ENGLISH,
            TitleList::from_text(NAMES),
            TitleList::from_text(HELP),
        )]
    }

    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let Some(files) = context.linkage else {
            let message = "the registration has no linkage: it names the shop's file";
            return Err(ProviderError::Failed(message.to_string()));
        };
        let first = context.first_counter;
        let spec = ObjectSpec::new(TitleIndex(first)).with_instances();
        let template = ObjectTemplate::new(&spec, &counters(first))?;
        let files = files.split('\0').map(PathBuf::from).collect();
        Ok(Box::new(Till { files, template }))
    }
}

struct Till {
    files: Vec<PathBuf>,
    template: ObjectTemplate,
}

impl Session for Till {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let name = self.template.name();
        if !collection.wants(name) {
            return Ok(());
        }
        let mut text = String::new();
        for file in &self.files {
            let read = std::fs::read_to_string(file);
            text += &read.map_err(|error| ProviderError::io(file.display().to_string(), error))?;
            text.push('\n');
        }
        let mut object = out.object(&self.template)?;
        let mut bad = None;
        for line in text.lines().filter(|line| !line.is_empty()) {
            match printer(line) {
                Some((printer, [pages, jobs, waiting])) => {
                    let values = [pages, pages, pages, jobs, waiting];
                    object.instance(&InstanceHead::named(printer), &values)?;
                }
                None => bad = Some(line),
            }
        }
        object.finish()?;
        if let Some(line) = bad {
            out.fault(name, None, format_args!("{line:?} is not a line of a shop's file"));
        }
        Ok(())
    }
}

/// The printer of a line: its name, and the numbers of its pages, jobs and waiting jobs; `None` if
/// the line lacks one of these.
fn printer(line: &str) -> Option<(&str, [u64; 3])> {
    let mut fields = line.split('\t');
    let name = fields.next().filter(|name| !name.is_empty())?;
    let mut number = || fields.next()?.parse().ok();
    Some((name, [number()?, number()?, number()?]))
}
