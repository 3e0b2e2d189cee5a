//! `perfhive measure`: measures sensors in three stages, and prints what measuring cost.

mod cost;
mod rows;

use super::watch::following;
use crate::args::{Global, Measure};
use crate::failure::{Exit, Failure, Outcome, complain};
use crate::output::Output;
use crate::sensors::{Asked, Opened, find, plain, with_syntax};
use crate::session::Faults;
use crate::signals::{Event, Signals, end_by};
use crate::text::escape::Escaped;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use crate::text::time::local;
use cost::Cost;
use perfhive::measure::{
    Anomaly, DataSource as _, DataSources, MeasureError, MeasurementContext, MeasurementOptions,
    Readings, SampleRecord, SensorName, TimeSource, WallTime,
};
use perfhive::{CalendarTime, FileTime, is_identifier};
use perfhive_view::number::{push_float, push_grouped};
use perfhive_view::time::rfc3339;
use perfhive_view::{Detail, LOCAL_KEYS, Quantity};
use rows::{KEYS, Rows, SampleRef};
use std::time::{Duration, Instant};

/// The longest time that the program waits for the current sample, and for the cost, after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(3);

/// A running measurement.
struct Measuring {
    output: Output,
    /// The rows for programs; `None` if a table is printed.
    rows: Option<Rows>,
    faults: Faults,
    asked: Vec<Asked>,
    /// Whether each of the asked sensors has had a value.
    answered: Vec<bool>,
    cost: Cost,
    /// The time between samples; `None` for a recording that is read without a pause.
    pause: Option<Duration>,
    is_live: bool,
}

/// The reason why measuring ended.
enum End {
    /// All samples were taken, or the recording ended.
    Done,
    /// Ctrl-C or another signal to end, by its number.
    Signal(i32),
}

pub(super) fn run(global: &Global, args: &Measure) -> Outcome {
    let opened = Opened::open(global).map_err(|failure| with_syntax(failure, &args.sensors))?;
    let (faults, is_live) = (opened.faults.clone(), opened.is_live);
    let own = opened.source.name().to_string();
    let mut sources = DataSources::new();
    sources.add(opened.source)?;
    let asked = find(&mut sources, &own, global, &args.sensors)?;
    let names: Vec<SensorName> = asked.iter().map(|asked| asked.name.clone()).collect();

    let mut cost = Cost::default();
    let options = clocks(&mut cost);
    let output = Output::new(global);
    let mut text = String::new();
    let signals = Signals::listen_with(PATIENCE);
    let context = MeasurementContext::with_options(&mut sources, &names, options)?;
    // Faults of the sensors are reported as anomalies of their samples. Other faults, which
    // recordings may have, are about objects that are not measured.
    let rows = (!output.is_table()).then(|| {
        let keys = KEYS.into_iter().chain(output.local(LOCAL_KEYS));
        Rows {
            records: output.stream(keys, &mut text),
            scales: output.scales(),
            names: opened.names,
        }
    });
    output.write(&text)?;
    let answered = vec![false; asked.len()];
    let pause = args.interval.or_else(|| is_live.then_some(Duration::from_secs(1)));
    let mut measuring = Measuring { output, rows, faults, asked, answered, cost, pause, is_live };
    let end = measuring.run(context, &signals, pause, args.count);
    if measuring.cost.samples() > 0 && !matches!(end, Err(Failure::Output(_))) {
        measuring.end()?;
    }
    match end? {
        End::Signal(signal) => end_by(signal),
        End::Done => Ok(measuring.exit()),
    }
}

/// The options with the clocks that are read before and after each sample; the clock that is added last
/// is read closest to it. Each is added to `cost`, too.
fn clocks(cost: &mut Cost) -> MeasurementOptions {
    fn with<T: TimeSource + 'static>(
        options: MeasurementOptions,
        cost: &mut Cost,
        mut clock: T,
    ) -> MeasurementOptions {
        cost.clock(&mut clock);
        options.time(clock)
    }
    let options = MeasurementOptions::new();
    #[cfg(any(target_os = "linux", windows))]
    {
        use perfhive::measure::{PerformanceCounterTime, ProcessCpuTime, ThreadCpuTime};
        let options = with(options, cost, PerformanceCounterTime);
        let options = with(options, cost, ProcessCpuTime);
        with(options, cost, ThreadCpuTime)
    }
    #[cfg(not(any(target_os = "linux", windows)))]
    with(options, cost, perfhive::measure::MonotonicTime::default())
}

/// The number of samples after the baseline in which the growth of a buffer is not reported. Samples fill several
/// buffers in turn, and each of these grows when it is first filled.
const WARM: u64 = 3;

impl Measuring {
    fn run(
        &mut self,
        mut context: MeasurementContext,
        signals: &Signals,
        pause: Option<Duration>,
        count: Option<u64>,
    ) -> Result<End, Failure> {
        let mut readings = Readings::new();
        let mut next = Instant::now();
        loop {
            // The sample is prepared beforehand, so that it is taken on time.
            context.prepare()?;
            let now = Instant::now();
            next = pause.map_or(now, |pause| following(next, pause, now));
            loop {
                match signals.wait_until(next) {
                    Event::Timeout => break,
                    Event::End(signal) => return Ok(End::Signal(signal)),
                    Event::Resized | Event::Continued => {}
                }
            }
            // Instances that are read without a collection come with no time.
            self.faults.forget_time();
            let wall = WallTime.now().filter(|_| self.is_live);
            match context.sample() {
                Ok(record) => self.cost.add(record),
                Err(MeasureError::Source(error)) if error.is_end_of_data() => {
                    // Only faults of measured sensors are reported here, and only those that no sample has shown.
                    drop(self.faults.take());
                    let rest = context.record()?.anomalies.iter();
                    let rest = rest.filter(|one| matches!(one, Anomaly::Partial { .. }));
                    rest.for_each(|one| self.faults.add(one.to_string()));
                    self.faults.report();
                    return match self.cost.samples() {
                        0 => Err(Failure::Missing(format!(
                            "{error}, and measuring takes two: the first is the baseline; \
                             perfhive get reads a single one"
                        ))),
                        _ => Ok(End::Done),
                    };
                }
                Err(error) => return Err(error.into()),
            }
            let record = context.decode(&mut readings)?;
            let wall = wall.map(|nanos| FileTime::from_unix_nanos(nanos.into()).to_system_time());
            self.show(record, &readings, self.faults.time().or(wall))?;
            if count.is_some_and(|count| self.cost.samples() >= count) {
                return Ok(End::Done);
            }
        }
    }

    /// Prints the readings and anomalies of a sample that was taken at `time`, and notes which sensors had a value.
    fn show(
        &mut self,
        record: &SampleRecord,
        readings: &Readings,
        time: Option<CalendarTime>,
    ) -> Result<(), Failure> {
        for reading in readings.iter().filter(|reading| reading.value.is_ok()) {
            if let Some(answered) = self.answered.get_mut(reading.asked) {
                *answered = true;
            }
        }
        let mut text = String::new();
        // A buffer that grows in the first samples, or with a recording, does not disturb the figures.
        let disturbs = self.is_live && self.cost.samples() > WARM;
        let grown = |one: &&Anomaly| matches!(one, Anomaly::BufferGrown { .. });
        let anomalies = record.anomalies.iter().filter(|one| disturbs || !grown(one));
        match &mut self.rows {
            Some(rows) => {
                let time = time.and_then(rfc3339);
                let place = SampleRef { sample: self.cost.samples(), time: time.as_deref() };
                for reading in readings.iter() {
                    rows.reading(&mut text, place, self.asked.get(reading.asked), reading);
                }
                for anomaly in anomalies {
                    rows.anomaly(&mut text, place, anomaly);
                }
            }
            None => {
                let mut head = String::from("Sample ");
                push_grouped(&mut head, self.cost.samples());
                if let Some(time) = time.and_then(|time| local(time, self.pause)) {
                    head = format!("{head}  {time}");
                }
                head.push_str("  taken in ");
                push_float(&mut head, record.duration.as_secs_f64() * 1e3, 3);
                head.push_str(" ms");
                self.output.palette.push(&mut text, Style::Heading, &head);
                text.push('\n');
                self.table(readings).render(&mut text, self.output.layout_of_labels());
                for anomaly in anomalies {
                    let line = format!("! {}", Escaped(&anomaly.to_string()));
                    self.output.palette.push(&mut text, Style::Attention, &line);
                    text.push('\n');
                }
                text.push('\n');
            }
        }
        self.output.write(&text)
    }

    fn table(&self, readings: &Readings) -> Table {
        let mut table = Table::new(&[("", Align::Label), ("", Align::Point), ("", Align::Left)]);
        for reading in readings.iter() {
            // A sensor that was asked for as a counter path is shown as a path.
            let asked = self.asked.get(reading.asked).filter(|asked| asked.is_path);
            let path = asked.and_then(|asked| asked.path(&reading.slot));
            table.text(Style::Plain, &path.unwrap_or_else(|| plain(&reading.slot.name)));
            match &reading.value {
                Ok(value) => {
                    let unit = self.asked.get(reading.asked).map_or("", |asked| &asked.unit);
                    let is_identifier = is_identifier(reading.slot.name.sensor());
                    let quantity = Quantity { counter_type: None, unit, is_identifier };
                    let shown = quantity.shown(*value, self.output.detail(Detail::Full));
                    table.text(Style::Heading, &shown.number);
                    table.text(Style::Faint, &shown.unit);
                }
                Err(why) => {
                    table.text(Style::Faint, "-");
                    table.text(Style::Attention, &why.to_string());
                }
            }
        }
        table
    }

    /// Prints the cost of measuring.
    fn end(&mut self) -> Result<(), Failure> {
        let mut text = String::new();
        match self.rows.take() {
            Some(mut rows) => {
                self.cost.push(&mut rows, &mut text);
                rows.records.end(&mut text);
            }
            None => self.cost.render(&self.output, &mut text),
        }
        self.output.write(&text)
    }

    /// The exit code: [`Exit::NoValue`] if a sensor had no value in any sample. Each such sensor is
    /// reported.
    fn exit(&self) -> Exit {
        let silent = self.asked.iter().zip(&self.answered).filter(|(_, answered)| !**answered);
        let mut exit = Exit::Done;
        for (asked, _) in silent {
            complain(&format!("{} had no value in any sample", asked.name));
            exit = Exit::NoValue;
        }
        exit
    }
}
