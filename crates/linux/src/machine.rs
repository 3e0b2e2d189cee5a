//! The provider `linux-machine`: pressure, memory of the NUMA nodes, temperatures, energy meters,
//! and idle states of the processors.

mod energy;
mod idle_states;
mod nodes;
mod pressure;
mod thermal;

use crate::clock::TimeBase;
use crate::faults::Faults;
use crate::files::Reader;
use crate::provider::LinuxProvider;
use crate::root::ProcRoot;
use crate::table::{ENERGY, IDLE_STATE, NODE, Object, PRESSURE, THERMAL};
use perfhive_engine::standard::Layouts;
use perfhive_engine::{Collection, ObjectWriter, Provider, ProviderError, Session};
use perfhive_format::TitleIndex;

static OBJECTS: [&Object; 5] = [&PRESSURE, &NODE, &THERMAL, &ENERGY, &IDLE_STATE];

/// The provider `linux-machine` for the machine below `root`.
pub(crate) fn provider(root: &ProcRoot) -> impl Provider + use<> {
    LinuxProvider::new("linux-machine", &OBJECTS, root, MachineSession::open)
}

struct MachineSession {
    proc: Reader,
    sys: Option<Reader>,
    base: TimeBase,
    faults: Faults,
    pressure: pressure::Pressure,
    nodes: nodes::Nodes,
    thermal: thermal::Zones,
    energy: energy::Meters,
    idle_states: idle_states::IdleStates,
    /// The layouts of the written objects, in the order of [`OBJECTS`].
    layouts: [Layouts; OBJECTS.len()],
}

impl MachineSession {
    fn open(root: &ProcRoot, proc: Reader) -> Self {
        Self {
            proc,
            // Without `/sys`, all objects but Pressure are written without instances.
            sys: root.sys().and_then(|sys| Reader::open(sys).ok()),
            base: TimeBase::of(root),
            faults: Faults::default(),
            pressure: pressure::Pressure::default(),
            nodes: nodes::Nodes::default(),
            thermal: thermal::Zones::default(),
            energy: energy::Meters::default(),
            idle_states: idle_states::IdleStates::default(),
            layouts: OBJECTS.map(Layouts::new),
        }
    }
}

impl Session for MachineSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wants = |object: &Object| collection.wants(TitleIndex(object.index));
        let faults = &mut self.faults;
        let [pressure, node, thermal, energy, idle] = &mut self.layouts;
        if wants(&PRESSURE) {
            let written = self.pressure.write(&mut self.proc, pressure, faults, out);
            faults.report(PRESSURE.index, out);
            written?;
        }
        let Some(sys) = &mut self.sys else {
            let of_sys =
                [(&NODE, node), (&THERMAL, thermal), (&ENERGY, energy), (&IDLE_STATE, idle)];
            for (object, layouts) in of_sys {
                if wants(object) {
                    write_nothing(object, layouts, out)?;
                }
            }
            return Ok(());
        };
        if wants(&NODE) {
            let written = self.nodes.write(sys, node, faults, out);
            faults.report(NODE.index, out);
            written?;
        }
        if wants(&THERMAL) {
            let written = self.thermal.write(sys, thermal, faults, out);
            faults.report(THERMAL.index, out);
            written?;
        }
        if wants(&ENERGY) {
            let written = self.energy.write(sys, &self.base, energy, faults, out);
            faults.report(ENERGY.index, out);
            written?;
        }
        if wants(&IDLE_STATE) {
            let written = self.idle_states.write(sys, collection, idle, faults, out);
            faults.report(IDLE_STATE.index, out);
            written?;
        }
        Ok(())
    }
}

/// Writes an object without instances: the machine has nothing that the object counts.
fn write_nothing(
    object: &Object,
    layouts: &mut Layouts,
    out: &mut ObjectWriter<'_>,
) -> Result<(), ProviderError> {
    out.object(layouts.template(object.standard())?)?.finish()?;
    Ok(())
}
