//! Objects and counters that are known by name, through catalogues that change.

use perfhive_format::TitleIndex;

/// The title index of something that is known by its name: indexes may be
/// allotted anew, and then one of before is another's. Several objects of a
/// source, and several counters of an object, may have one name; which of them
/// this is, is remembered.
///
/// ```
/// use perfhive_engine::Followed;
/// use perfhive_format::TitleIndex;
///
/// let (mine, other, new) = (TitleIndex(10), TitleIndex(20), TitleIndex(30));
/// let mut followed = Followed::new(mine, [mine, other]);
/// // It has another index now: the only new one of its name.
/// assert!(followed.follow(&[other, new], false));
/// assert_eq!(followed.index(), new);
/// // It is gone, and its index is something else's. The other one of its name
/// // is not it.
/// assert!(followed.follow(&[other], true));
/// assert!(!followed.is_there());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    index: TitleIndex,
    is_there: bool,
    /// Others of the same name.
    namesakes: Vec<TitleIndex>,
}

impl Followed {
    /// What has an index now, with all indexes that have its name.
    pub fn new(index: TitleIndex, named: impl IntoIterator<Item = TitleIndex>) -> Self {
        let namesakes = named.into_iter().filter(|other| *other != index).collect();
        Self { index, is_there: true, namesakes }
    }

    /// The index, which is its own only while [it is there](Self::is_there).
    #[must_use]
    pub fn index(&self) -> TitleIndex {
        self.index
    }

    /// Whether the index can be asked for: `false` while it is another's.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// Finds it in a new catalogue, in which `named` have its name, and in which
    /// its index is in use by somebody or not. Answers whether anything is not
    /// as before.
    ///
    /// What is listed nowhere may still be delivered: only an index that another
    /// name has is lost.
    pub fn follow(&mut self, named: &[TitleIndex], in_use: bool) -> bool {
        let mut new = named.iter().filter(|index| !self.namesakes.contains(index));
        let found = match (named.contains(&self.index), new.next(), new.next()) {
            (true, ..) => Some(self.index),
            // If one of its namesakes is missing too, this may be that one.
            (false, Some(one), None) if self.namesakes.iter().all(|n| named.contains(n)) => {
                Some(*one)
            }
            _ => None,
        };
        let (index, is_there) = match found {
            Some(index) => (index, true),
            None => (self.index, !in_use),
        };
        if found.is_some() {
            self.namesakes = named.iter().copied().filter(|other| *other != index).collect();
        }
        let moved = (index, is_there) != (self.index, self.is_there);
        (self.index, self.is_there) = (index, is_there);
        moved
    }
}

/// How often a collection is made again because what was asked for was another's
/// meanwhile.
pub(crate) const ATTEMPTS: usize = 3;

/// What there is to say of an object whose index is another's.
pub(crate) const NOT_THERE: &str =
    "nothing has its name any more, and its title index is another's";

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: TitleIndex = TitleIndex(1);
    const OTHER: TitleIndex = TitleIndex(2);

    #[test]
    fn what_is_listed_nowhere_may_still_be_delivered() {
        let mut followed = Followed::new(MINE, [MINE]);
        assert!(!followed.follow(&[], false));
        assert_eq!((followed.index(), followed.is_there()), (MINE, true));
        assert!(followed.follow(&[], true));
        assert!(!followed.is_there());
        // And it may come back.
        assert!(followed.follow(&[OTHER], true));
        assert_eq!((followed.index(), followed.is_there()), (OTHER, true));
    }

    #[test]
    fn nobody_takes_the_place_of_who_has_the_same_name() {
        let mut followed = Followed::new(MINE, [MINE, OTHER]);
        // Both have other indexes: which is which?
        assert!(followed.follow(&[TitleIndex(3), TitleIndex(4)], true));
        assert!(!followed.is_there());
        // One is left, of the two.
        let mut followed = Followed::new(MINE, [MINE, OTHER]);
        assert!(followed.follow(&[TitleIndex(3)], true));
        assert!(!followed.is_there());
    }
}
