//! Any bytes as a title list: reading never fails, and what was read comes
//! back the same when it is written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_format::LanguageId;
use perfhive_format::titles::TitleList;

fuzz_target!(|data: &[u8]| {
    let list = TitleList::from_multi_sz(data);
    // Nothing is invented: each UTF-16 unit gives at most three bytes of text.
    let text: usize = list.titles.iter().map(|title| title.text.len()).sum();
    assert!(text <= data.len() / 2 * 3);
    check(&list);

    if let Ok(text) = std::str::from_utf8(data) {
        check(&TitleList::from_text(text));
        if let Ok(language) = text.parse::<LanguageId>() {
            assert_eq!(language.to_string().parse(), Ok(language));
            let _ = (language.code(), language.name());
        }
    }
});

fn check(list: &TitleList) {
    for fault in &list.faults {
        assert!(!fault.to_string().is_empty());
    }
    let again = TitleList::from_multi_sz(&list.to_multi_sz());
    assert_eq!(again.faults.first(), None);
    // A NUL ends a string in MULTI_SZ, so it cannot be kept.
    let kept = |text: &str, drop: char| text.chars().filter(|c| *c != drop).collect::<String>();
    assert_eq!(again.titles.len(), list.titles.len());
    for (old, new) in list.titles.iter().zip(&again.titles) {
        assert_eq!((old.index, kept(&old.text, '\0')), (new.index, new.text.clone()));
    }

    let again = TitleList::from_text(&list.to_text());
    assert_eq!(again.faults.first(), None);
    assert_eq!(again.titles.len(), list.titles.len());
    for (old, new) in list.titles.iter().zip(&again.titles) {
        // A line break cannot be kept in a list of lines.
        assert_eq!((old.index, old.text.replace(['\r', '\n'], " ")), (new.index, new.text.clone()));
    }
}
