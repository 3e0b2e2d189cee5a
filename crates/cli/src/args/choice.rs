//! Options of `get` and `watch`: which instances, in which order, and how they are laid out.

use super::value;
use crate::failure::Failure;
use clap::Args;
use perfhive::{NamePattern, Query, nearest};
use perfhive_view::{Arrangement, Order, did_you_mean};
use std::path::PathBuf;

/// Which instances are shown, their order and layout, and the file that they are written to.
#[derive(Clone, Debug, Args)]
pub(crate) struct Choice {
    /// Order of instances: value, name, source, or the name of a counter among the paths
    ///
    /// `value` sorts by the values of the first path with a wildcard, and a counter such as `Working Set`
    /// by its own values, largest first. `source` keeps the order of the source. A `+` before the word
    /// reverses the order. The default is `value` on a terminal, otherwise `source`. Sums and idle time
    /// come last.
    #[arg(long, value_name = "ORDER", allow_hyphen_values = true, value_parser = value::order)]
    pub(crate) sort: Option<String>,

    /// Show the N largest instances of each object; with --sort, the first N in that order
    #[arg(long, value_name = "N", value_parser = value::top)]
    pub(crate) top: Option<usize>,

    /// Show instances with TEXT in their name; if TEXT has a * (any text), the whole name must match
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,

    /// Do not show idle time
    #[arg(long)]
    pub(crate) no_idle: bool,

    /// Print a line for each sample, with a column for each counter
    ///
    /// The columns are the counters of the first sample.
    #[arg(long, short)]
    pub(crate) wide: bool,

    /// Write to a file instead of standard output; - is standard output
    ///
    /// The ending .csv, .tsv, .json or .jsonl decides the format, unless --format is given.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Choice {
    /// Fails if `--sort` names a counter that no reading of the query has; `Ok` also without `--sort`.
    pub(crate) fn check_order(&self, query: &Query) -> Result<(), Failure> {
        let Some(counters) = self.arrangement(false).counters_without_order(query) else {
            return Ok(());
        };
        let wanted = self.sort.as_deref().unwrap_or_default();
        let near = nearest(wanted, counters.iter().map(String::as_str), 3);
        let hint = match near.is_empty() {
            true => "; expected one of their counters, or value, name or source".to_string(),
            false => did_you_mean(&near),
        };
        let message = format!("--sort {wanted}: the paths have no such counter{hint}");
        Err(Failure::Usage(message))
    }

    /// The message that `--filter`, or `--filter` together with `--no-idle`, leaves none of the query's instances.
    /// `None` if it leaves some, if the query has no instances, and without `--filter`.
    pub(crate) fn without_match(&self, query: &Query) -> Option<String> {
        let text = self.filter.as_deref()?;
        let arrangement = self.arrangement(false);
        let has_any = query.readings().iter().any(|one| one.instance.is_some());
        let shown = arrangement.of(query, query.readings().iter().collect(), None).readings;
        let is_none = has_any && !shown.iter().any(|one| one.instance.is_some());
        is_none.then(|| {
            let place = if text.contains('*') { "as" } else { "in" };
            let rest = if self.no_idle { ", without idle time" } else { "" };
            format!("no instance has {text:?} {place} its name{rest}")
        })
    }

    /// The arrangement that the options ask for. Without `--sort`, instances are sorted by value if `--top` is
    /// given or `busiest_first` is true, and otherwise keep the order of the source.
    pub(crate) fn arrangement(&self, busiest_first: bool) -> Arrangement {
        let text = self.sort.as_deref().map(str::trim);
        let reversed = text.is_some_and(|text| text.starts_with('+'));
        let order = match text.map(|text| text.trim_start_matches(['+', '-'])) {
            None if busiest_first || self.top.is_some() => Order::Value,
            None => Order::Source,
            Some(word) if word.eq_ignore_ascii_case("value") => Order::Value,
            Some(word) if word.eq_ignore_ascii_case("name") => Order::Name,
            Some(word) if word.eq_ignore_ascii_case("source") => Order::Source,
            Some(counter) => Order::Counter(counter.to_string()),
        };
        Arrangement {
            order,
            reversed,
            top: self.top,
            filter: self.filter.as_deref().map(NamePattern::with_wildcards),
            without_idle: self.no_idle,
        }
    }
}
