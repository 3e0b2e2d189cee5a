//! Providers that do not say which objects they offer, and the paths that may mean these.

use crate::session::told;
use perfhive::{
    Catalogue, CounterPath, NamePattern, PathId, ProviderState, ProviderStatus, Query, TitleIndex,
    TitleSet,
};
use std::ops::RangeInclusive;

/// The reason why providers do not offer the objects that a pattern matches, although they are registered for matching
/// names: last faults of theirs. `None` if there are no such providers.
pub(crate) fn silent(
    providers: &[ProviderStatus],
    titles: &TitleSet,
    catalogue: &Catalogue,
    object: &NamePattern,
) -> Option<String> {
    let Some(name) = object.as_literal() else {
        const MOST: usize = 4;
        let all = silent_ones(providers, titles, catalogue, object, |_, _| true);
        let more = all.len().saturating_sub(MOST);
        let mut said: Vec<String> = all.into_iter().take(MOST).map(|(_, why)| why).collect();
        if more > 0 {
            said.push(format!("{more} more do not answer; perfhive providers shows them"));
        }
        return (!said.is_empty()).then(|| said.join("; "));
    };
    let counters = || catalogue.objects.iter().flat_map(|object| &object.counters);
    let is_counter = |index: TitleIndex| counters().any(|counter| counter.name == index);
    let number = name.parse().ok().map(TitleIndex);
    let indexes = titles.indexes(name).into_iter().chain(number);
    // The owner of a name is the provider with the smallest range of indexes around it. A
    // name that a removed installation left behind has no owner.
    let owner = |index: TitleIndex| {
        let range = |one: &ProviderStatus| one.names.clone().filter(|all| all.contains(&index.0));
        let owners = providers.iter().filter_map(|one| Some((range(one)?, one)));
        owners.min_by_key(|(names, _)| names.end() - names.start())
    };
    let (_, owner) = indexes.filter(|index| !is_counter(*index)).find_map(owner)?;
    if owner.state == ProviderState::Open {
        return None;
    }
    owner.last_fault.as_ref().map(told)
}

/// The result of [`silent`] for the first source of a query.
pub(super) fn silent_in(query: &mut Query, object: &NamePattern) -> Option<String> {
    let providers = query.providers(0).unwrap_or_default();
    silent(&providers, query.titles(0)?, query.catalogue(0)?, object)
}

/// The failing providers that have a name matching the pattern, but no object in the catalogue: each
/// with this name and its last fault. `counts` says which names are considered, from the range of the
/// provider's indexes and the index of the name.
fn silent_ones(
    providers: &[ProviderStatus],
    titles: &TitleSet,
    catalogue: &Catalogue,
    pattern: &NamePattern,
    counts: impl Fn(&RangeInclusive<u32>, u32) -> bool,
) -> Vec<(String, String)> {
    let is_silent = |names: &RangeInclusive<u32>| {
        !catalogue.objects.iter().any(|object| names.contains(&object.name.0))
    };
    let silent = providers.iter().filter_map(|one| {
        let fails = !matches!(one.state, ProviderState::Open | ProviderState::Disabled);
        let names = one.names.clone().filter(|names| fails && is_silent(names))?;
        let mut meant = titles.databases().iter().flat_map(|database| database.all());
        let (_, name) = meant.find(|(index, name)| {
            names.contains(&index.0) && counts(&names, index.0) && pattern.matches(name)
        })?;
        Some((name.to_string(), told(one.last_fault.as_ref()?)))
    });
    silent.collect()
}

/// Messages about objects that a path with a wildcard may match as well, but that are not known because their providers
/// do not tell them. Only the first name of each provider is looked at, which by custom is an object's.
pub(super) fn missed_by(query: &mut Query, path: PathId) -> Vec<String> {
    let wild = |path: &&CounterPath| path.machine.is_none() && path.object.is_wild();
    let Some(pattern) = query.path(path).filter(wild).map(|path| path.object.clone()) else {
        return Vec::new();
    };
    let providers = query.providers(0).unwrap_or_default();
    let (Some(titles), Some(catalogue)) = (query.titles(0), query.catalogue(0)) else {
        return Vec::new();
    };
    let first = |names: &RangeInclusive<u32>, index| *names.start() == index;
    let all = silent_ones(&providers, titles, catalogue, &pattern, first);
    let message = |(object, why)| format!("object {object:?} is not there at the moment: {why}");
    all.into_iter().map(message).collect()
}
