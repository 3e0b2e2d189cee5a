//! Which instances a path means.

use crate::identity::Identity;
use crate::label::InstanceLabel;
use crate::path::{InstancePattern, NamePattern, OrderNumber, Spelling};

/// A name as PDH prints it: square brackets for parentheses, underscores for `#`, `/` and `\`.
fn pdh_spelling(name: &str) -> String {
    let replaced = name.chars().map(|c| match c {
        '(' => '[',
        ')' => ']',
        '#' | '/' | '\\' => '_',
        other => other,
    });
    replaced.collect()
}

impl InstancePattern {
    /// The spelling by which the pattern is compared with the instances of one sample. It is
    /// [`Spelling::ProcessId`] if the pattern has a process ID and instances are processes or
    /// threads. Otherwise it is the first of [`Spelling::OF_NAMES`] by which an instance matches,
    /// or [`Spelling::AnyCase`] if none does.
    #[must_use]
    pub fn spelling(&self, labels: &[InstanceLabel], identities: &[Identity]) -> Spelling {
        let is_process =
            |one: &Identity| matches!(one, Identity::Process { .. } | Identity::Thread { .. });
        if self.process_id().is_some() && identities.iter().any(is_process) {
            return Spelling::ProcessId;
        }
        let means = |way: &Spelling| {
            let mut instances = labels.iter().zip(identities);
            instances.any(|(label, identity)| self.matches(*way, label, identity))
        };
        Spelling::OF_NAMES.into_iter().find(means).unwrap_or(Spelling::AnyCase)
    }

    /// Whether the pattern matches an instance when names are compared by `spelling`.
    #[must_use]
    pub fn matches(&self, spelling: Spelling, label: &InstanceLabel, identity: &Identity) -> bool {
        if spelling == Spelling::ProcessId {
            return self.means_process(identity);
        }
        let order_fits = match self.order {
            _ if spelling == Spelling::WithNumber => label.order == 0,
            OrderNumber::All => true,
            OrderNumber::Nth(wanted) => wanted == label.order,
            OrderNumber::Default => label.order == 0 || self.is_wild(),
        };
        if !order_fits {
            return false;
        }
        let fits = |pattern: &NamePattern, name: &str| match spelling {
            Spelling::Exact => pattern.as_literal() == Some(name),
            Spelling::AnyCase | Spelling::WithNumber => pattern.matches(name),
            Spelling::ProcessId => false,
            Spelling::Pdh => pattern.has_any("[]_") && pattern.matches(&pdh_spelling(name)),
        };
        let numbered = match (spelling, self.order) {
            (Spelling::WithNumber, OrderNumber::Nth(number)) => {
                let Some(name) = self.name.as_literal() else { return false };
                Some(NamePattern::literal(&format!("{name}#{number}")))
            }
            (Spelling::WithNumber, _) => return false,
            _ => None,
        };
        let own = numbered.as_ref().unwrap_or(&self.name);
        match (&self.parent, label.parent.as_deref()) {
            (Some(pattern), Some(parent)) => fits(pattern, parent) && fits(own, &label.name),
            // The pattern may mean a name with a slash in it, written without a caret.
            (Some(pattern), None) => {
                label.name.contains('/') && fits(&pattern.joined_by_slash(own), &label.name)
            }
            // `Thread(*)` means every thread, whatever its parent.
            (None, Some(_)) => own.is_any() && spelling != Spelling::Exact,
            (None, None) => fits(own, &label.name),
        }
    }

    /// The pattern `pid:1234` for a process, `pid:1234/5` for its thread with the ID 5; for any
    /// other instance the pattern of its label.
    pub(crate) fn of_process(identity: Option<&Identity>, label: &InstanceLabel) -> Self {
        match identity {
            Some(Identity::Process { id, .. }) => Self {
                parent: None,
                name: NamePattern::literal(&format!("pid:{id}")),
                order: OrderNumber::Default,
            },
            Some(Identity::Thread { process, id, .. }) => Self {
                parent: Some(NamePattern::literal(&format!("pid:{process}"))),
                name: NamePattern::literal(&id.to_string()),
                order: OrderNumber::Default,
            },
            _ => label.pattern(),
        }
    }

    /// Whether the instance is the process of the pattern `pid:1234`, or, for `pid:1234/NAME`, a
    /// thread of that process with an ID that `NAME` matches.
    fn means_process(&self, identity: &Identity) -> bool {
        let Some(wanted) = self.process_id() else { return false };
        match (identity, &self.parent) {
            (Identity::Process { id, .. }, None) => *id == wanted,
            (Identity::Thread { process, id, .. }, Some(_)) => {
                *process == wanted && (self.name.is_any() || self.name.matches(&id.to_string()))
            }
            _ => false,
        }
    }
}
