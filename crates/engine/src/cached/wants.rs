//! [`Wants`]: the set of objects that one run of a lane collects.

use super::lane::Wishes;
use super::reply::Key;
use crate::ask::{Ask, InstanceWish, ObjectQuery};
use perfhive_format::TitleIndex;
use std::time::{Duration, Instant};

/// A set of objects and whole answers (`Global`, `Costly`, `Foreign`), with the instances of the
/// objects and the counters that cost extra.
#[derive(Debug)]
pub(super) struct Wants {
    objects: Vec<TitleIndex>,
    words: Vec<ObjectQuery>,
    extra: Vec<(TitleIndex, TitleIndex)>,
    instances: Narrowed<InstanceWish>,
    /// For each object, the counters that are [`enough`](Ask::enough).
    enough: Narrowed<TitleIndex>,
    /// The ask that is handed to the source; kept for its allocations.
    request: Ask,
}

/// What requests want of each object: the parts in `wished` or, if a request wants the whole
/// object, all of it.
#[derive(Debug)]
struct Narrowed<T> {
    wished: Vec<(TitleIndex, T)>,
    /// The objects of which a request wants everything.
    whole: Vec<TitleIndex>,
}

impl<T> Default for Narrowed<T> {
    fn default() -> Self {
        Self { wished: Vec::new(), whole: Vec::new() }
    }
}

impl<T: Clone + PartialEq> Narrowed<T> {
    fn clear(&mut self) {
        self.wished.clear();
        self.whole.clear();
    }

    /// Adds what a request wants of an object. `wished` is the list of the request; if it has
    /// nothing for the object, the request wants all of the object.
    fn add(&mut self, object: TitleIndex, wished: &[(TitleIndex, T)]) {
        let before = self.wished.len();
        self.wished.extend(wished.iter().filter(|(of, _)| *of == object).cloned());
        if self.wished.len() == before {
            self.want_whole(object);
        } else if self.whole.contains(&object) {
            self.wished.truncate(before);
        }
    }

    fn want_whole(&mut self, object: TitleIndex) {
        add(&mut self.whole, object);
        self.wished.retain(|(of, _)| *of != object);
    }

    fn merge(&mut self, other: &Self) {
        other.whole.iter().for_each(|object| self.want_whole(*object));
        for wish in other.wished.iter().filter(|(of, _)| !self.whole.contains(of)) {
            add(&mut self.wished, wish.clone());
        }
    }

    /// Whether a run for this set brings all that the set `other` wants of an object.
    fn has(&self, object: TitleIndex, other: &Self) -> bool {
        let mut wished = other.wished.iter().filter(|(of, _)| *of == object).peekable();
        self.whole.contains(&object)
            || (wished.peek().is_some() && wished.all(|wish| self.wished.contains(wish)))
    }
}

impl Default for Wants {
    fn default() -> Self {
        Self {
            objects: Vec::new(),
            words: Vec::new(),
            extra: Vec::new(),
            instances: Narrowed::default(),
            enough: Narrowed::default(),
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
        self.enough.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.words.is_empty()
    }

    /// Adds a key, with the extra counters, the instances and the sufficient counters
    /// ([`Ask::enough`]) that a request wants of it. For a whole answer, only the extra counters
    /// are added, since it has all instances.
    pub(super) fn add(&mut self, key: &Key, request: &Ask) {
        match key {
            Key::Object(name) => {
                add(&mut self.objects, *name);
                let asked = request.extra_counters.iter().filter(|(of, _)| of == name);
                asked.for_each(|extra| add(&mut self.extra, *extra));
                self.instances.add(*name, &request.instances);
                self.enough.add(*name, &request.enough);
            }
            Key::Whole(word) => {
                add(&mut self.words, word.clone());
                request.extra_counters.iter().for_each(|extra| add(&mut self.extra, *extra));
            }
        }
    }

    /// Calls `ask` for each request that is needed: one for the objects by index, and one for each
    /// whole answer (`Global`, `Costly`, `Foreign`). Each request has this deadline, and accepts no
    /// cached data.
    pub(super) fn each_request(&mut self, deadline: Option<Instant>, mut ask: impl FnMut(&Ask)) {
        self.request.until = deadline;
        std::mem::swap(&mut self.request.extra_counters, &mut self.extra);
        if !self.objects.is_empty() {
            let objects = std::mem::take(&mut self.objects);
            self.request.objects = ObjectQuery::Indexes(objects);
            std::mem::swap(&mut self.request.instances, &mut self.instances.wished);
            std::mem::swap(&mut self.request.enough, &mut self.enough.wished);
            ask(&self.request);
            std::mem::swap(&mut self.request.instances, &mut self.instances.wished);
            std::mem::swap(&mut self.request.enough, &mut self.enough.wished);
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
        self.instances.merge(&other.instances);
        self.enough.merge(&other.enough);
    }

    fn overlaps(&self, other: &Self) -> bool {
        let mut objects = other.objects.iter();
        let mut words = other.words.iter();
        objects.any(|name| {
            self.objects.contains(name)
                && self.has_extra(*name, other)
                && self.instances.has(*name, &other.instances)
                && self.enough.has(*name, &other.enough)
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
