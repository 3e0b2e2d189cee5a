//! Reading a query: as a whole, and in parts after it failed.

use super::{KnownQuery, REMEMBERED, RegistrySource};
use crate::codes::NOT_FOUND;
use crate::parts::{self, Failed, NO_OBJECT_NAME, Search, Split, read_block};
use crate::read::{ReadError, Size};
use crate::registry::ValueName;
use perfhive_engine::{Ask, Frame, ObjectQuery, Snapshot, SourceError};
use std::sync::Arc;
use std::time::Instant;

impl RegistrySource {
    /// Reads the answer to a query into `out`, which is cleared first. If a provider makes the
    /// query fail, the objects of the other providers are read.
    pub(super) fn fetch(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        if let ObjectQuery::Indexes(list) = &request.objects
            && list.is_empty()
        {
            // An empty name would mean all objects to Windows.
            return Ok(());
        }
        if !self.requests.contains_key(&request.objects) {
            if self.requests.len() >= REMEMBERED {
                self.requests.clear();
            }
            let name = ValueName::new(&request.objects.to_string());
            let size = Size::first_for(&request.objects);
            let asked = KnownQuery { name, size, split: None };
            self.requests.insert(request.objects.clone(), asked);
        }
        self.generation += 1;
        self.look_back();
        let mut is_whole = false;
        if let Some(asked) = self.requests.get_mut(&request.objects)
            && let Some(split) = &mut asked.split
        {
            // The whole query is tried again after a time or, after a hang, when the calls have
            // returned.
            let lasts = Instant::now() < split.until || self.hangs.knows(&request.objects);
            is_whole = lasts && split.is_whole;
            if lasts && !is_whole {
                let (registry, name) = (&mut *self.registry, (&split.name, &mut split.size));
                let frame =
                    read_block(registry, &mut self.pool, self.generation, name, request.until);
                match frame {
                    Ok(frame) => {
                        out.push_frame(frame, &self.name);
                        split.faults.iter().for_each(|fault| out.push_fault(fault.clone()));
                        return Ok(());
                    }
                    Err(failed) if !failed.may_be_a_providers() => return Err(self.error(failed)),
                    // Another provider fails now.
                    Err(failed) => self.hangs.note(failed, &request.objects),
                }
            }
            if !is_whole {
                asked.split = None;
            }
        }
        if self.hangs.knows(&request.objects) {
            return self.fetch_parts(request, Failed::Read(ReadError::Hangs), out);
        }
        match self.read_whole(request) {
            Ok(frame) => {
                let (damaged, sound) = (!frame.damaged().is_empty(), frame.object_count());
                out.push_frame(frame, &self.name);
                if damaged && !is_whole {
                    return self.fetch_more(request, sound, out);
                }
                Ok(())
            }
            Err(failed) if failed.may_be_a_providers() => {
                self.hangs.note(failed, &request.objects);
                self.fetch_parts(request, failed, out)
            }
            Err(failed) => Err(self.error(failed)),
        }
    }

    /// Reads the answer to a query as a whole. The query must be in `requests`.
    fn read_whole(&mut self, ask: &Ask) -> Result<Arc<Frame>, Failed> {
        // For the first query for all objects, Windows loads the libraries of all providers.
        let longer = match self.timeouts {
            Some(timeouts) if ask.objects == ObjectQuery::Global => {
                let usual = self.registry.set_limit(timeouts.first_of_all);
                if usual < timeouts.call {
                    // A trial has its own timeout.
                    self.registry.set_limit(usual);
                    None
                } else {
                    self.timeouts = None;
                    Some(usual)
                }
            }
            _ => None,
        };
        let Some(asked) = self.requests.get_mut(&ask.objects) else {
            return Err(Failed::Read(ReadError::Code(NOT_FOUND)));
        };
        let (registry, name) = (&mut *self.registry, (&asked.name, &mut asked.size));
        let frame = read_block(registry, &mut self.pool, self.generation, name, ask.until);
        longer.map(|usual| self.registry.set_limit(usual));
        frame
    }

    /// Reads the query in parts after a reply with a damaged object, since objects behind a damaged
    /// one may be missing. `out` holds that reply, and `sound` is the number of its sound objects.
    /// The reply is kept unless the parts have more objects.
    fn fetch_more(
        &mut self,
        request: &Ask,
        sound: usize,
        out: &mut Snapshot,
    ) -> Result<(), SourceError> {
        let Ok(mut split) = self.split(&request.objects) else { return Ok(()) };
        split.is_whole = split.objects <= sound;
        let is_whole = split.is_whole;
        let Some(asked) = self.requests.get_mut(&request.objects) else { return Ok(()) };
        let split = asked.split.insert(Box::new(split));
        if is_whole {
            return Ok(());
        }
        let (registry, name) = (&mut *self.registry, (&split.name, &mut split.size));
        match read_block(registry, &mut self.pool, self.generation, name, request.until) {
            Ok(frame) => {
                out.clear();
                out.push_frame(frame, &self.name);
                split.faults.iter().for_each(|fault| out.push_fault(fault.clone()));
            }
            // The damaged reply is more than that.
            Err(_) => split.is_whole = true,
        }
        Ok(())
    }

    /// Answers a query that failed as a whole, as `failed` says, with the parts of it that can be
    /// read, and faults for the others. It is an error if no query has an answer, or if the query is a
    /// list of which no object can be read.
    fn fetch_parts(
        &mut self,
        request: &Ask,
        failed: Failed,
        out: &mut Snapshot,
    ) -> Result<(), SourceError> {
        let error = self.error(failed);
        let with = |more: &str| {
            let message = format!("{}; {more}", error.message());
            SourceError::new(error.kind(), error.source_name(), message)
        };
        let split = match self.split(&request.objects) {
            Ok(split) => split,
            // The connection is lost: no provider is at fault.
            Err(other) if other.is_the_connections() => return Err(self.error(other)),
            // Every query fails.
            Err(_) => {
                let services = self.services();
                let active = services.iter().filter(|service| !service.disabled);
                self.watch.over(active.map(|one| &*one.name), &mut *self.registry);
                let everybody = self.registry.asks_everybody();
                let way_out = parts::way_out(&services, self.registry.host(), everybody, failed);
                return Err(if way_out.is_empty() { error } else { with(&way_out) });
            }
        };
        let is_list = matches!(request.objects, ObjectQuery::Indexes(_));
        if split.objects == 0 && (is_list || split.faults.is_empty()) {
            let Some(fault) = split.faults.first() else { return Err(error) };
            return Err(with(&format!("{}: {}", fault.provider, fault.message)));
        }
        let (name, mut size) = (split.name.clone(), Size::default());
        let (registry, name) = (&mut *self.registry, (&name, &mut size));
        let frame = read_block(registry, &mut self.pool, self.generation, name, request.until);
        let frame = frame.map_err(|failed| self.error(failed))?;
        out.push_frame(frame, &self.name);
        split.faults.iter().for_each(|fault| out.push_fault(fault.clone()));
        if let Some(asked) = self.requests.get_mut(&request.objects) {
            asked.split = Some(Box::new(split));
        }
        Ok(())
    }

    /// Finds the parts of a query that can be read.
    ///
    /// # Errors
    /// If not even a query for no object has an answer.
    fn split(&mut self, query: &ObjectQuery) -> Result<Split, Failed> {
        if self.hangs.are_everywhere() {
            return Err(Failed::Read(ReadError::Hangs));
        }
        let probe = self.hangs.probe();
        let usual = self.registry.set_limit(probe);
        self.registry.set_limit(usual.min(probe));
        let split = self.search(query);
        self.registry.set_limit(usual);
        split
    }

    /// Does the work of [`split`](Self::split), once the timeout of the calls is set.
    fn search(&mut self, query: &ObjectQuery) -> Result<Split, Failed> {
        // If this hangs, a query for any provider would hang too. Testing it first saves a timeout
        // for each.
        let no_object = ValueName::new(NO_OBJECT_NAME);
        let no_object = (&no_object, &mut Size::default());
        read_block(&mut *self.registry, &mut self.pool, self.generation, no_object, None)
            .inspect_err(|failed| self.hangs.note_no_object(*failed))?;
        let global = match query {
            ObjectQuery::Costly => self.names_of_global(),
            _ => Vec::new(),
        };
        let named = match query {
            ObjectQuery::Indexes(_) => Vec::new(),
            _ => self.named(),
        };
        let services = self.services();
        let (registry, pool, generation) = (&mut self.registry, &mut self.pool, self.generation);
        let host = registry.host().map(str::to_string);
        let mut ask = |name: &ValueName| {
            read_block(&mut **registry, pool, generation, (name, &mut Size::default()), None)
        };
        let groups = parts::divide(query, &services, &named, &global);
        let search = Search::new(&services, host.as_deref(), &mut ask);
        let split = search.without(self.hangs.objects()).run(query, &groups, &self.name);
        self.hangs.found(&split.hanging, query);
        let failing = split.faults.iter().map(|fault| &*fault.provider);
        self.watch.over(failing, &mut *self.registry);
        Ok(split)
    }

    /// Ends reading in parts once the hanging calls have returned and the pause after them is over,
    /// or the registration of a failing provider has changed.
    pub(super) fn look_back(&mut self) {
        let is_over = self.hangs.are_over(&mut *self.registry);
        let is_other = self.watch.is_other(&mut *self.registry);
        if is_other {
            self.outdate();
            self.hangs.forget_pauses();
        }
        if is_over || is_other {
            self.hangs.forget();
            self.watch.end();
            self.requests.values_mut().for_each(|asked| asked.split = None);
        }
    }
}
