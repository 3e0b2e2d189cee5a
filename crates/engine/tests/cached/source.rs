//! A source whose answers tell which collection they came from.

use perfhive_engine::{
    Ask, Catalogue, CatalogueObject, Cost, Frame, FramePool, ObjectQuery, Snapshot, Source,
    SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::{
    BlockHead, BlockWriter, Clocks, LanguageId, ObjectSpec, ObjectTemplate, TitleIndex,
};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};

type Then = Box<dyn FnMut() + Send>;

/// A source that answers with every object that it is asked for. Clones are the same
/// source.
#[derive(Clone, Default)]
pub(crate) struct Numbered {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    then: Mutex<Option<Then>>,
    gate: Mutex<Option<Gate>>,
}

#[derive(Default)]
struct State {
    collections: u64,
    asked: Vec<Vec<u32>>,
    brings: Vec<(u32, u32)>,
    without: Vec<u32>,
    global: Vec<u32>,
    catalogue: Vec<(u32, Cost)>,
    kept: Option<Arc<Catalogue>>,
    generation: u64,
    fails: bool,
    pool: Option<FramePool>,
    /// Kept for their allocations.
    templates: HashMap<u32, ObjectTemplate>,
    written: Vec<u32>,
}

/// A gate that holds a collection until the gate is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<(bool, bool)>, Condvar)>);

impl Gate {
    pub(crate) fn wait_until_entered(&self) {
        let (state, changed) = &*self.0;
        let _state = changed.wait_while(state.lock().unwrap(), |(entered, _)| !*entered).unwrap();
    }

    pub(crate) fn open(&self) {
        let (state, changed) = &*self.0;
        state.lock().unwrap().1 = true;
        changed.notify_all();
    }

    pub(crate) fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut guard = state.lock().unwrap();
        guard.0 = true;
        changed.notify_all();
        let _guard = changed.wait_while(guard, |(_, open)| !*open).unwrap();
    }
}

impl Numbered {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn with(self, change: impl FnOnce(&mut State)) -> Self {
        change(&mut self.shared.state.lock().unwrap());
        self
    }

    /// Makes each answer with `object` hold `other` as well.
    pub(crate) fn brings(self, object: u32, other: u32) -> Self {
        self.with(|state| state.brings.push((object, other)))
    }

    /// Makes the source lack an object.
    pub(crate) fn without(self, object: u32) -> Self {
        self.with(|state| state.without.push(object))
    }

    pub(crate) fn global(self, objects: &[u32]) -> Self {
        self.with(|state| state.global = objects.to_vec())
    }

    pub(crate) fn catalogued(self, global: &[u32], costly: &[u32]) -> Self {
        let of = |cost, list: &[u32]| list.iter().map(|name| (*name, cost)).collect::<Vec<_>>();
        let catalogue = [of(Cost::Global, global), of(Cost::Costly, costly)].concat();
        self.with(|state| state.catalogue = catalogue)
    }

    /// Makes the source use the frames of a pool again, as sources for long use do.
    pub(crate) fn pooled(self) -> Self {
        self.with(|state| state.pool = Some(FramePool::default()))
    }

    pub(crate) fn register(&self, object: u32) {
        let mut state = self.shared.state.lock().unwrap();
        state.catalogue.push((object, Cost::Global));
        state.generation += 1;
    }

    pub(crate) fn fail(&self, fails: bool) {
        self.shared.state.lock().unwrap().fails = fails;
    }

    /// Makes the source call a function within each collection from now on.
    pub(crate) fn then(&self, then: impl FnMut() + Send + 'static) {
        let old = self.shared.then.lock();
        let mut old = old.unwrap_or_else(std::sync::PoisonError::into_inner);
        *old = Some(Box::new(then));
    }

    /// A gate that holds every collection from now on until it is opened.
    pub(crate) fn gate(&self) -> Gate {
        let gate = Gate::default();
        *self.shared.gate.lock().unwrap() = Some(gate.clone());
        gate
    }

    pub(crate) fn collections(&self) -> u64 {
        self.shared.state.lock().unwrap().collections
    }

    /// The indexes that each collection was asked for.
    pub(crate) fn asked(&self) -> Vec<Vec<u32>> {
        self.shared.state.lock().unwrap().asked.clone()
    }
}

impl Source for Numbered {
    fn name(&self) -> &str {
        "numbered"
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let gate = self.shared.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.pass();
        }
        let then = self.shared.then.lock();
        let mut then = then.unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(then) = &mut *then {
            then();
        }
        drop(then);
        let mut state = self.shared.state.lock().unwrap();
        if state.fails {
            let message = "is not to be had";
            return Err(SourceError::new(SourceErrorKind::Unavailable, "numbered", message));
        }
        state.collections += 1;
        let number = state.collections;
        let counting = state.pool.is_none();
        let head = BlockHead {
            system_name: "machine",
            clocks: Clocks { perf_time: number as i64, perf_freq: 1, ..Clocks::default() },
            ..BlockHead::default()
        };
        let State { brings, without, global, pool, asked, templates, written, .. } = &mut *state;
        let list = match &request.objects {
            ObjectQuery::Indexes(list) => list.clone_into_numbers(),
            ObjectQuery::Global => Numbers::of(global),
            _ => Numbers::default(),
        };
        if counting {
            asked.push(list.iter().collect());
        }
        written.clear();
        let mut write = |writer: &mut BlockWriter| {
            for object in list.iter() {
                let along = brings.iter().filter(|(of, _)| *of == object).map(|(_, other)| *other);
                for object in std::iter::once(object).chain(along) {
                    let is_new = !written.contains(&object);
                    if is_new && !without.contains(&object) {
                        written.push(object);
                        let template = templates.entry(object).or_insert_with(|| {
                            ObjectTemplate::new(&ObjectSpec::new(TitleIndex(object)), &[]).unwrap()
                        });
                        writer.object(template).unwrap().values(&[]).unwrap().finish().unwrap();
                    }
                }
            }
        };
        let frame = match pool {
            Some(pool) => pool.write(number, &head, write).unwrap(),
            None => {
                let mut writer = BlockWriter::new();
                writer.start(&head);
                write(&mut writer);
                Arc::new(Frame::new(writer.finish().to_vec(), number).unwrap())
            }
        };
        out.push_frame(frame, "numbered");
        Ok(())
    }

    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let mut state = self.shared.state.lock().unwrap();
        let generation = state.generation;
        if let Some(kept) = state.kept.as_ref().filter(|kept| kept.generation == generation) {
            return Ok(Arc::clone(kept));
        }
        let object = |(name, cost): &(u32, Cost)| {
            let mut object = CatalogueObject::new(TitleIndex(*name), Vec::new());
            object.cost = *cost;
            object
        };
        let objects = state.catalogue.iter().map(object).collect();
        let catalogue = Catalogue::new("", Vec::new(), objects).with_generation(generation);
        let catalogue = Arc::new(catalogue);
        state.kept = Some(Arc::clone(&catalogue));
        Ok(catalogue)
    }

    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::NotFound, "numbered", "has no titles"))
    }
}

/// A list of up to 16 numbers without an allocation.
#[derive(Clone, Copy, Default)]
struct Numbers {
    list: [u32; 16],
    count: usize,
}

impl Numbers {
    fn of(list: &[u32]) -> Self {
        let mut numbers = Self { count: list.len(), ..Self::default() };
        numbers.list[..list.len()].copy_from_slice(list);
        numbers
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        self.list[..self.count].iter().copied()
    }
}

trait CloneIntoNumbers {
    fn clone_into_numbers(&self) -> Numbers;
}

impl CloneIntoNumbers for Vec<TitleIndex> {
    fn clone_into_numbers(&self) -> Numbers {
        let mut numbers = Numbers { count: self.len(), ..Numbers::default() };
        for (place, index) in numbers.list.iter_mut().zip(self) {
            *place = index.0;
        }
        numbers
    }
}

pub(crate) fn request(objects: &[u32]) -> Ask {
    let objects: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
    Ask::objects(&objects)
}

/// Each object of an answer and the collection that it came from.
pub(crate) fn numbers(snapshot: &Snapshot) -> Vec<(u32, u64)> {
    let objects = snapshot.objects();
    let mut all: Vec<_> =
        objects.map(|object| (object.view().name_index().0, object.generation())).collect();
    all.sort_unstable();
    all
}
