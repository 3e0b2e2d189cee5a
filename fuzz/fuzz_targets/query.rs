//! Any bytes as two samples of a recording, read through a query for
//! everything: readings with a value or a reason, in bounded time.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_engine::Query;
use perfhive_recording::ReplaySource;

fuzz_target!(|data: &[u8]| {
    let (first, second) = data.split_at(data.len() / 2);
    // One block twice, and two different ones.
    for samples in [[data, data], [first, second]] {
        let blocks = samples.map(|bytes| ("sample".to_string(), bytes.to_vec()));
        let Ok(source) = ReplaySource::new("fuzz:", blocks) else { continue };
        let mut query = Query::new(source).expect("a recording has a catalogue");
        for path in [r"\*(*)\*", r"\*\*"] {
            let _ = query.add(path);
        }
        // Two samples and the end; a query without paths never ends.
        for _ in 0..3 {
            if query.collect().is_err() {
                break;
            }
            for reading in query.readings() {
                if let Ok(value) = &reading.value {
                    // A raw count may be anything; a cooked double is finite.
                    assert!(value.as_f64().is_finite());
                }
                let path = query.path_of(reading).to_string();
                assert!(path.parse::<perfhive_engine::CounterPath>().is_ok(), "{path:?}");
            }
        }
    }
});
