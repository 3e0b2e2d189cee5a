//! Options of `get` and `watch`: which instances, in which order, and how they are laid out.

use clap::Args;
use perfhive::NamePattern;
use perfhive_view::{Arrangement, Order};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Which instances are shown, in which order, and where.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// Order of instances: value, name, source, or the name of a counter
    ///
    /// `value` is the first path's, the largest first; so is a counter's, such as `Working Set`.
    /// `source` is the order in which the source has them. A `+` before it turns the order round.
    /// A terminal shows the largest first; elsewhere, and for programs, the default is `source`.
    /// Sums and idle time stand behind the others.
    #[arg(long, value_name = "ORDER", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,

    /// Show the N largest instances of each object, or the first N in another order
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<NonZeroUsize>,

    /// Show instances with TEXT in their name; * stands for any text
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,

    /// Leave idle time out
    #[arg(long)]
    pub(crate) no_idle: bool,

    /// Print a line for each sample, with a column for each counter
    ///
    /// The columns are the counters of the first sample.
    #[arg(long, short)]
    pub(crate) wide: bool,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Choice {
    /// The arrangement that the options ask for; `busiest_first` without `--sort` and `--top`.
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
            top: self.top.map(NonZeroUsize::get),
            filter: self.filter.as_deref().map(NamePattern::with_wildcards),
            without_idle: self.no_idle,
        }
    }
}
