//! Which instances a path means.

use crate::identity::Identity;
use crate::label::InstanceLabel;
use crate::path::{InstancePattern, NamePattern, OrderNumber};

/// The way in which the text of a pattern is compared with the names of instances.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Character by character; a pattern with a wildcard matches no name.
    Exact,
    /// Character by character, with the parent and the name of the pattern as one name: `a/b` is an
    /// instance without a parent that is called `a/b`.
    WithSlash,
    /// Without regard to case, as PDH compares.
    AnyCase,
    /// With the order number as the end of the name: `a#2` is an instance that is called `a#2`.
    WithNumber,
    /// As PDH prints names that its paths cannot hold: `(R)` is `[R]`.
    Pdh,
    /// By process ID: `pid:1234` is the process with this ID. In an object with instances that are
    /// processes or threads, such a text is a name only with an order number.
    ProcessId,
}

impl Spelling {
    /// The ways to compare names, in the order in which they are tried.
    const OF_NAMES: [Self; 5] =
        [Self::Exact, Self::WithSlash, Self::AnyCase, Self::WithNumber, Self::Pdh];
}

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

/// Whether a name has a length that the pattern may match: the spelling of PDH does not change the
/// length. `true` for a pattern with a wildcard, and for texts that are not ASCII.
fn is_as_long(pattern: &NamePattern, name: &str) -> bool {
    let is_other = |text: &str| text.is_ascii() && name.is_ascii() && text.len() != name.len();
    !pattern.as_literal().is_some_and(is_other)
}

impl InstancePattern {
    /// The instances of one sample that the pattern means, in their order, each with its index. The
    /// instances are given by their labels and identities, in the same order.
    pub fn among<'a>(
        &self,
        labels: &'a [InstanceLabel],
        identities: &'a [Identity],
    ) -> impl Iterator<Item = (usize, &'a InstanceLabel, &'a Identity)> {
        let spelling = self.spelling(labels, identities);
        (0..).zip(labels).zip(identities).filter_map(move |((place, label), identity)| {
            self.matches(spelling, label, identity).then_some((place, label, identity))
        })
    }

    /// Whether the pattern means this instance and no other one of its sample: all names are the same
    /// letter by letter, the order number is not `#*`, and the pattern has no process ID.
    pub(super) fn is_exactly(&self, label: &InstanceLabel, identity: &Identity) -> bool {
        self.order != OrderNumber::All
            && self.parent.is_some() == label.parent.is_some()
            && self.matches(Spelling::Exact, label, identity)
            && self.process_id().is_none()
    }

    /// The spelling by which the pattern is compared with the instances of one sample. It is
    /// [`Spelling::ProcessId`] if the pattern has a process ID and instances are processes or
    /// threads. Otherwise it is the first of [`Spelling::OF_NAMES`] by which an instance matches,
    /// or [`Spelling::AnyCase`] if none does.
    fn spelling(&self, labels: &[InstanceLabel], identities: &[Identity]) -> Spelling {
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
    fn matches(&self, spelling: Spelling, label: &InstanceLabel, identity: &Identity) -> bool {
        if spelling == Spelling::ProcessId {
            return self.means_process(identity);
        }
        let order_fits = match self.order {
            _ if spelling == Spelling::WithNumber => label.order == 0,
            OrderNumber::All => true,
            OrderNumber::Nth(wanted) => wanted == label.order,
            OrderNumber::Default => label.order == 0 || self.is_wild(),
        };
        let may_be_pdh =
            || self.name.has_any("[]_") || self.parent.as_ref().is_some_and(|it| it.has_any("[]_"));
        if !order_fits || spelling == Spelling::Pdh && !may_be_pdh() {
            return false;
        }
        let fits = |pattern: &NamePattern, name: &str| match spelling {
            Spelling::Exact | Spelling::WithSlash => pattern.as_literal() == Some(name),
            Spelling::AnyCase | Spelling::WithNumber => pattern.matches(name),
            Spelling::ProcessId => false,
            Spelling::Pdh => is_as_long(pattern, name) && pattern.matches(&pdh_spelling(name)),
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
            // The pattern may mean a name with a slash in it, written without a caret.
            (Some(pattern), None) if spelling != Spelling::Exact => {
                label.name.contains('/') && fits(&pattern.joined_by_slash(own), &label.name)
            }
            (Some(_), None) => false,
            _ if spelling == Spelling::WithSlash => false,
            (Some(pattern), Some(parent)) => fits(pattern, parent) && fits(own, &label.name),
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
