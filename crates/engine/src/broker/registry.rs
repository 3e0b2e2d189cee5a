//! Registration: which provider has which objects, and under which indexes.

use crate::provider::{Numbering, ProvidedTitles, Provider, ProviderDescription};
use crate::source::{CatalogueCounter, CatalogueObject};
use perfhive_format::TitleIndex;
use perfhive_format::titles::TitleList;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// The highest index of Windows' own objects (`Base Index`); allotted indexes are higher.
const BASE_INDEX: u32 = 1847;

/// Fixed indexes of perfhive's own objects, far above those of any Windows machine. Indexes in this
/// range are never allotted.
const OWN_INDEXES: Range<u32> = 100_000..200_000;

/// The first of the indexes that providers of a [`Roster`](crate::Roster) may choose for
/// themselves. Chosen indexes are ignored when indexes are allotted to other providers.
pub const CHOSEN_INDEXES: u32 = 0x0100_0000;

/// A provider's description and titles under their final indexes.
pub(super) struct Registered {
    pub(super) description: ProviderDescription,
    pub(super) titles: Vec<ProvidedTitles>,
    /// The provider's [registered objects](Provider::registered_objects).
    pub(super) objects: Vec<TitleIndex>,
    pub(super) first_counter: u32,
    pub(super) first_help: u32,
}

/// Registers providers: those without indexes of their own get the next indexes, in the order of
/// the providers. `last` is the highest index in use before.
pub(super) fn register(providers: &[Arc<dyn Provider>], last: u32) -> Vec<Registered> {
    let mut described: Vec<Registered> = providers
        .iter()
        .map(|provider| Registered {
            description: provider.describe(),
            titles: provider.titles(),
            objects: provider.registered_objects(),
            first_counter: 0,
            first_help: 0,
        })
        .collect();
    let fixed = described.iter().filter(|r| r.description.numbering == Numbering::Windows);
    let highest = fixed.map(Registered::highest).max().unwrap_or(0);
    let mut last = last.max(highest).max(BASE_INDEX);
    for registered in &mut described {
        if registered.description.numbering == Numbering::Allotted {
            // Names get even indexes, help texts the odd ones behind them.
            let mut first = last.saturating_add(1).next_multiple_of(2);
            let end = first.saturating_add(1).saturating_add(registered.highest());
            if first < OWN_INDEXES.end && end >= OWN_INDEXES.start {
                first = OWN_INDEXES.end;
            }
            registered.shift(first, first.saturating_add(1));
            last = registered.highest().max(first);
        }
    }
    described
}

impl Registered {
    /// The highest index of a name or help text; indexes of perfhive's own objects and chosen ones
    /// do not count. 0 if there is none.
    pub(super) fn highest(&self) -> u32 {
        let mut highest = 0;
        let mut add = |index: TitleIndex| {
            if !OWN_INDEXES.contains(&index.0) && index.0 < CHOSEN_INDEXES {
                highest = highest.max(index.0);
            }
        };
        for object in &self.description.objects {
            add(object.spec.name);
            add(object.spec.help);
            for counter in &object.counters {
                add(counter.name);
                add(counter.help);
            }
        }
        for list in self.titles.iter().flat_map(|titles| [&titles.names, &titles.help]) {
            list.titles.iter().for_each(|title| add(title.index));
        }
        highest
    }

    /// The first and the last index of the provider's names; `None` if it has no names.
    pub(super) fn names(&self) -> Option<RangeInclusive<u32>> {
        let (mut first, mut last) = (u32::MAX, 0);
        for title in self.titles.iter().flat_map(|titles| &titles.names.titles) {
            first = first.min(title.index.0);
            last = last.max(title.index.0);
        }
        (first <= last).then_some(first..=last)
    }

    /// Turns the offsets of a provider with allotted indexes into title indexes: adds
    /// `first_counter` to those of names, and `first_help` to those of help texts.
    fn shift(&mut self, first_counter: u32, first_help: u32) {
        self.first_counter = first_counter;
        self.first_help = first_help;
        let name = |index: &mut TitleIndex| index.0 = index.0.saturating_add(first_counter);
        let help = |index: &mut TitleIndex| index.0 = index.0.saturating_add(first_help);
        for object in &mut self.description.objects {
            name(&mut object.spec.name);
            help(&mut object.spec.help);
            object.brings.iter_mut().for_each(name);
            object.on_request.iter_mut().for_each(name);
            for counter in &mut object.counters {
                name(&mut counter.name);
                help(&mut counter.help);
            }
        }
        let each = |list: &mut TitleList, shift: &dyn Fn(&mut TitleIndex)| {
            list.titles.iter_mut().for_each(|title| shift(&mut title.index));
        };
        for titles in &mut self.titles {
            each(&mut titles.names, &name);
            each(&mut titles.help, &help);
        }
    }

    /// The provider's objects as a catalogue lists them.
    pub(super) fn catalogue_objects(&self) -> impl Iterator<Item = CatalogueObject> {
        self.description.objects.iter().map(|object| CatalogueObject {
            name: object.spec.name,
            help: object.spec.help,
            detail: object.spec.detail,
            cost: object.cost,
            has_instances: object.spec.has_instances,
            default_counter: object.spec.default_counter,
            counters: object
                .counters
                .iter()
                .filter(|counter| !counter.counter_type.is_base())
                .map(|counter| CatalogueCounter {
                    name: counter.name,
                    help: counter.help,
                    counter_type: counter.counter_type,
                    scale: counter.scale,
                    detail: counter.detail,
                    on_request: object.on_request.contains(&counter.name),
                })
                .collect(),
        })
    }
}
