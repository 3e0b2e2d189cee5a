use super::*;
use perfhive_engine::{Fault, TestLevel};
use perfhive_format::{DataBlock, InstanceHead};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const STATUS: StatusObject = StatusObject { object: TitleIndex(700), counter: TitleIndex(702) };

/// A network whose connections a test switches on and off.
#[derive(Clone, Default)]
struct Network {
    down: Arc<Mutex<Vec<String>>>,
    connects: Arc<AtomicU32>,
    tells_time: bool,
}

struct Line {
    network: Network,
    machine: String,
    value: u64,
}

impl Network {
    fn is_down(&self, machine: &str) -> bool {
        let down = self.down.lock().unwrap_or_else(PoisonError::into_inner);
        down.iter().any(|name| name == machine)
    }
}

impl Reach for Network {
    type Link = Line;

    fn connect(&mut self, machine: &str) -> Result<Option<Line>, ProviderError> {
        if machine == "NOBODY" {
            return Ok(None);
        }
        self.connects.fetch_add(1, Ordering::Relaxed);
        if self.is_down(machine) {
            return Err(ProviderError::Failed("no route".to_string()));
        }
        Ok(Some(Line { network: self.clone(), machine: machine.to_string(), value: 0 }))
    }
}

impl Link for Line {
    fn collect(&mut self, out: &mut BlockWriter) -> Result<RemoteTimes, ProviderError> {
        if self.network.is_down(&self.machine) {
            return Err(ProviderError::Failed("the line is dead".to_string()));
        }
        self.value += 1;
        let counter = CounterSpec::new(TitleIndex(602), CounterType::PERF_COUNTER_RAWCOUNT);
        let spec = ObjectSpec::new(TitleIndex(600)).with_instances();
        let template = ObjectTemplate::new(&spec, &[counter])?;
        let mut object = out.object(&template)?;
        object.instance(&InstanceHead::named("x"), &[self.value])?;
        object.finish()?;
        let counter = self.network.tells_time.then_some((77, 1000));
        Ok(RemoteTimes { counter, ..RemoteTimes::default() })
    }
}

/// The answer to one request.
struct Seen {
    blocks: Vec<Vec<u8>>,
    faults: Vec<Fault>,
}

fn ask(machines: &mut ForeignMachines<Network>, name: &str) -> Seen {
    let mut block = BlockWriter::new();
    block.start(&BlockHead::default());
    let (mut faults, mut blocks) = (Vec::new(), Vec::new());
    let mut out = ObjectWriter::new(&mut block, "x", TestLevel::All, &mut faults, &mut blocks);
    machines.answer(name, &mut out).unwrap();
    assert_eq!(block.object_count(), 0, "nothing of it is ours");
    Seen { blocks, faults }
}

impl Seen {
    /// The machine's name, its value if there is one, its status, and the clocks of the
    /// block.
    fn read(&self) -> (String, Option<u64>, u64, Clocks) {
        let block = DataBlock::parse(&self.blocks[0]).unwrap();
        let value = |name: u32| {
            let object = block.objects().find(|object| object.name_index() == TitleIndex(name))?;
            let counter = object.counters().next().unwrap();
            let data = match object.instances().next() {
                Some(instance) => instance.counter_block(),
                None => object.counter_block().unwrap(),
            };
            let at = counter.raw().CounterOffset as usize;
            let bytes = data.as_bytes().get(at..)?.first_chunk::<4>()?;
            Some(u64::from(u32::from_le_bytes(*bytes)))
        };
        let (head, _) = DataBlock::scan(&self.blocks[0]).unwrap();
        (head.system_name().to_string(), value(600), value(700).unwrap(), head.clocks())
    }
}

fn machines(network: &Network) -> ForeignMachines<Network> {
    ForeignMachines::new(network.clone(), STATUS).unwrap().pause(Duration::ZERO)
}

#[test]
fn lost_connection_gives_last_data_until_it_is_made_again() {
    let network = Network { tells_time: true, ..Network::default() };
    let mut machines = machines(&network);
    for value in 1..=3 {
        let seen = ask(&mut machines, "MARS");
        let (name, found, status, clocks) = seen.read();
        assert_eq!((&*name, found, status), ("MARS", Some(value), 1));
        assert_eq!((clocks.perf_time, clocks.perf_freq), (77, 1000), "its own clock");
        assert!(clocks.time_100ns > 0, "and ours for what it does not tell");
        assert!(seen.faults.is_empty());
    }
    assert_eq!(network.connects.load(Ordering::Relaxed), 1, "made once");

    // Lost: the last valid data with its own clocks, and the status.
    network.down.lock().unwrap().push("MARS".to_string());
    let before = ask(&mut machines, "MARS");
    let (name, found, status, clocks) = before.read();
    assert_eq!((&*name, found, status), ("MARS", Some(3), 0));
    assert!(before.faults[0].message.contains("MARS cannot be reached: no route"));
    let again = ask(&mut machines, "MARS").read();
    assert_eq!((again.1, again.2, again.3), (Some(3), 0, clocks));

    // Back: a new connection, new data.
    network.down.lock().unwrap().clear();
    let (_, found, status, _) = ask(&mut machines, "MARS").read();
    assert_eq!((found, status), (Some(1), 1));
}

#[test]
fn machine_that_was_never_reached_has_only_a_status() {
    let network = Network::default();
    network.down.lock().unwrap().push("PLUTO".to_string());
    let mut machines = machines(&network);
    let (name, found, status, clocks) = ask(&mut machines, "PLUTO").read();
    assert_eq!((&*name, found, status), ("PLUTO", None, 0));
    assert_eq!(clocks.perf_freq, 1_000_000_000, "the local clock stands in");
    assert!(ask(&mut machines, "NOBODY").blocks.is_empty(), "not mine");
    assert!(ask(&mut machines, "").blocks.is_empty());
}

#[test]
fn failed_connection_is_not_retried_during_the_pause() {
    for pause in [Duration::from_secs(3600), Duration::MAX] {
        let network = Network::default();
        network.down.lock().unwrap().push("PLUTO".to_string());
        let mut machines = machines(&network).pause(pause);
        for _ in 0..10 {
            assert_eq!(ask(&mut machines, "PLUTO").read().2, 0);
        }
        assert_eq!(network.connects.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn machines_beyond_the_limit_replace_the_oldest() {
    let network = Network::default();
    let mut machines = machines(&network);
    for number in 0..200 {
        ask(&mut machines, &format!("M{number}"));
    }
    assert_eq!(machines.machines.len(), ForeignMachines::<Network>::MOST);
    assert_eq!(ask(&mut machines, "M199").read().1, Some(2), "the newest are kept");
    assert_eq!(ask(&mut machines, "M0").read().1, Some(1), "the oldest begins anew");
}
