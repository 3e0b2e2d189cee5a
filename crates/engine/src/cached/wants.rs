//! [`Wants`]: the set of objects that a run collects.

use super::lane::Wishes;
use super::reply::Key;
use crate::ask::{Ask, InstanceWish, ObjectQuery};
use perfhive_format::TitleIndex;
use std::time::{Duration, Instant};

/// A set of objects, of whole answers (`Global`, `Costly`, `Foreign`), and of counters that cost
/// extra.
#[derive(Debug)]
pub(super) struct Wants {
    objects: Vec<TitleIndex>,
    words: Vec<ObjectQuery>,
    extra: Vec<(TitleIndex, TitleIndex)>,
    /// The wanted instances of objects that no request wants with all instances.
    instances: Vec<(TitleIndex, InstanceWish)>,
    /// The objects that at least one request wants with all instances.
    whole: Vec<TitleIndex>,
    /// The ask that is handed to the source; kept for its allocations.
    request: Ask,
}

impl Default for Wants {
    fn default() -> Self {
        Self {
            objects: Vec::new(),
            words: Vec::new(),
            extra: Vec::new(),
            instances: Vec::new(),
            whole: Vec::new(),
            request: Ask::new(ObjectQuery::Indexes(Vec::new())).max_age(Duration::ZERO),
        }
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

impl Wants {
    /// Forgets everything, keeping the allocations.
    pub(super) fn reset(&mut self) {
        self.objects.clear();
        self.words.clear();
        self.extra.clear();
        self.instances.clear();
        self.whole.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.words.is_empty()
    }

    /// Adds a key, and the extra counters that a request wants of it.
    pub(super) fn add(&mut self, key: &Key, request: &Ask) {
        match key {
            Key::Object(name) => {
                add(&mut self.objects, *name);
                let asked = request.extra_counters.iter().filter(|(of, _)| of == name);
                asked.for_each(|extra| add(&mut self.extra, *extra));
                let before = self.instances.len();
                let wishes = request.instances.iter().filter(|(of, _)| of == name);
                self.instances.extend(wishes.cloned());
                if self.instances.len() == before {
                    self.want_whole(*name);
                } else if self.whole.contains(name) {
                    self.instances.truncate(before);
                }
            }
            Key::Whole(word) => {
                add(&mut self.words, word.clone());
                request.extra_counters.iter().for_each(|extra| add(&mut self.extra, *extra));
            }
        }
    }

    /// Wants all instances of an object.
    fn want_whole(&mut self, object: TitleIndex) {
        add(&mut self.whole, object);
        self.instances.retain(|(of, _)| *of != object);
    }

    /// Calls `ask` for each request that is needed: one for the objects by index, and one for each
    /// whole answer (`Global`, `Costly`, `Foreign`).
    pub(super) fn each_request(&mut self, deadline: Option<Instant>, mut ask: impl FnMut(&Ask)) {
        self.request.until = deadline;
        std::mem::swap(&mut self.request.extra_counters, &mut self.extra);
        if !self.objects.is_empty() {
            let objects = std::mem::take(&mut self.objects);
            self.request.objects = ObjectQuery::Indexes(objects);
            std::mem::swap(&mut self.request.instances, &mut self.instances);
            ask(&self.request);
            std::mem::swap(&mut self.request.instances, &mut self.instances);
            if let ObjectQuery::Indexes(objects) = &mut self.request.objects {
                self.objects = std::mem::take(objects);
            }
        }
        for word in &self.words {
            self.request.objects = word.clone();
            ask(&self.request);
        }
        std::mem::swap(&mut self.request.extra_counters, &mut self.extra);
    }

    /// Whether a run for this set brings every instance of `object` that `other` wants.
    fn has_instances(&self, object: TitleIndex, other: &Self) -> bool {
        let mut wished = other.instances.iter().filter(|(of, _)| *of == object).peekable();
        self.whole.contains(&object)
            || (wished.peek().is_some() && wished.all(|wish| self.instances.contains(wish)))
    }

    /// Whether a run for this set fills every extra counter of `object` that `other` wants.
    fn has_extra(&self, object: TitleIndex, other: &Self) -> bool {
        let asked = other.extra.iter().filter(|(of, _)| *of == object);
        asked.into_iter().all(|(of, counter)| {
            self.extra.contains(&(*of, *counter)) || self.extra.contains(&(*of, TitleIndex(0)))
        })
    }
}

impl Wishes for Wants {
    fn merge(&mut self, other: &Self) {
        other.objects.iter().for_each(|name| add(&mut self.objects, *name));
        other.words.iter().for_each(|word| add(&mut self.words, word.clone()));
        other.extra.iter().for_each(|extra| add(&mut self.extra, *extra));
        other.whole.iter().for_each(|object| self.want_whole(*object));
        for wish in other.instances.iter().filter(|(of, _)| !self.whole.contains(of)) {
            add(&mut self.instances, wish.clone());
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let mut objects = other.objects.iter();
        let mut words = other.words.iter();
        objects.any(|name| {
            self.objects.contains(name)
                && self.has_extra(*name, other)
                && self.has_instances(*name, other)
        }) || words.any(|word| {
            let extra = other.extra.iter();
            self.words.contains(word)
                && extra.into_iter().all(|(object, _)| self.has_extra(*object, other))
        })
    }

    fn clear(&mut self) {
        self.reset();
    }
}
