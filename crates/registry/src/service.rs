//! Registered providers.

use perfhive_format::TitleIndex;

/// `Base Index`: the last title index that Windows keeps for its own objects.
pub const BASE_INDEX: u32 = 1847;

/// The largest number of indexes that a registration can claim by its first and last index; further
/// indexes are ignored.
const CLAIMED: u32 = 4096;

/// A registered provider: those values of `Services\NAME\Performance` that are needed to ask the
/// provider alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Service {
    /// The service's name.
    pub name: String,
    /// `Library`: the provider's DLL.
    pub library: String,
    /// `Object List`; empty without such a list.
    pub objects: Vec<TitleIndex>,
    /// `First Counter`; `None` if the registration has none.
    pub first: Option<u32>,
    /// `Last Counter`; `None` if the registration has none.
    pub last: Option<u32>,
    /// Whether `Disable Performance Counters` is set: the system does not call the provider.
    pub disabled: bool,
    /// Whether perfhive made the registration.
    pub ours: bool,
}

impl Service {
    /// The title indexes that the provider's names can have, from first to last, at most
    /// [`CLAIMED`] of them; empty if the registration names none.
    fn range(&self) -> std::ops::Range<u32> {
        let (Some(first), Some(last)) = (self.first, self.last) else { return 0..0 };
        first..last.saturating_add(1).min(first.saturating_add(CLAIMED))
    }

    /// Whether the registration claims an index, by its `Object List` or by the range of its names.
    #[must_use]
    pub fn owns(&self, index: TitleIndex) -> bool {
        self.objects.contains(&index) || self.range().contains(&index.0)
    }

    /// The indexes for which the provider can be asked: the objects of its `Object List` or,
    /// without such a list, every second index from its first to its last (registration gives names
    /// every second index), since any name may be that of an object.
    #[must_use]
    pub fn candidates(&self) -> Vec<TitleIndex> {
        if self.objects.is_empty() {
            return self.range().step_by(2).map(TitleIndex).collect();
        }
        self.objects.clone()
    }
}
