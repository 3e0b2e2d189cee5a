//! Limits of what a consumer remembers.

use super::*;
use crate::frame::Frame;
use perfhive_format::{BlockHead, BlockWriter};

/// A source whose answers hold no object.
struct Empty(u64);

impl Source for Empty {
    fn name(&self) -> &str {
        "empty"
    }
    fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        self.0 += 1;
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        let frame = Frame::new(writer.finish().to_vec(), self.0).unwrap();
        out.push_frame(Arc::new(frame), "empty");
        Ok(())
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::default())
    }
    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::NotFound, "empty", "has no titles"))
    }
}

#[test]
fn a_consumer_of_ever_new_objects_remembers_a_limited_number() {
    let mut one = Cached::new(Empty(0));
    let mut other = one.clone();
    let mut out = Snapshot::new();
    for number in 0..3 * MOST_SEEN as u32 {
        one.collect(&Ask::objects(&[TitleIndex(number)]), &mut out).unwrap();
    }
    assert!(one.seen.len() <= MOST_SEEN + 1, "{}", one.seen.len());
    // Data that the consumer had and no longer remembers is not given to it again.
    let had = Ask::objects(&[TitleIndex(1)]).max_age(Duration::MAX);
    let before = one.statistics().collections;
    one.collect(&had, &mut out).unwrap();
    assert_eq!(one.statistics().collections, before + 1);
    // Another consumer gets the kept data.
    other.collect(&had, &mut out).unwrap();
    assert_eq!(one.statistics().collections, before + 1);
}
