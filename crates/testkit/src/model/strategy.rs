//! Arbitrary models.

use super::{BlockModel, BodyModel, CounterModel, InstanceModel, ObjectModel, ValuesModel};
use perfhive_format::{CalendarTime, Clocks, CounterType, DetailLevel, TitleIndex, encode_utf16};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A block of up to four objects, or of up to one where tests are slow; each object has any layout.
/// A writer must be able to write the block, and a reader must find the same model in it again.
pub fn any_block() -> impl Strategy<Value = BlockModel> {
    (
        text(),
        option::of(0..0x7fff_ffffu32),
        system_time(),
        clocks(),
        vec(any_object(), 0..if crate::is_slow() { 2 } else { 5 }),
    )
        .prop_map(|(system_name, default_object, system_time, clocks, objects)| BlockModel {
            system_name,
            default_object: default_object.map(TitleIndex),
            system_time,
            clocks,
            objects,
        })
}

/// An object of any layout.
pub fn any_object() -> impl Strategy<Value = ObjectModel> {
    let code_page = prop_oneof![
        4 => Just(0u32),
        1 => Just(1252),
        1 => Just(932),
        1 => Just(65001),
        1 => Just(437),
        1 => 1..=u32::MAX,
    ];
    (counters(), code_page)
        .prop_flat_map(|(counters, code_page)| {
            let body = body(&counters, code_page);
            (Just(counters), Just(code_page), body)
        })
        .prop_flat_map(|(counters, code_page, body)| {
            let head = (
                title(),
                title(),
                any::<u32>(),
                option::of(0..0x7fff_ffffu32),
                any::<i64>(),
                any::<i64>(),
            );
            (head, Just(counters), Just(code_page), Just(body))
        })
        .prop_map(|(head, counters, code_page, body)| {
            let (name, help, detail, default_counter, time, frequency) = head;
            ObjectModel {
                name,
                help,
                detail: DetailLevel(detail),
                default_counter,
                code_page,
                time,
                frequency,
                counters,
                body,
            }
        })
}

fn title() -> impl Strategy<Value = TitleIndex> {
    prop_oneof![
        3 => prop::sample::select(vec![2u32, 4, 230, 232, 238]),
        2 => 0..10_000u32,
        1 => any::<u32>(),
    ]
    .prop_map(TitleIndex)
}

fn system_time() -> impl Strategy<Value = CalendarTime> {
    any::<[u16; 8]>().prop_map(|t| CalendarTime {
        year: t[0],
        month: t[1],
        day_of_week: t[2],
        day: t[3],
        hour: t[4],
        minute: t[5],
        second: t[6],
        milliseconds: t[7],
    })
}

fn clocks() -> impl Strategy<Value = Clocks> {
    any::<[i64; 3]>().prop_map(|c| Clocks {
        perf_time: c[0],
        perf_freq: c[1],
        time_100ns: c[2],
        object_time: 0,
        object_freq: 0,
    })
}

/// The place of a counter's data in the counter block.
#[derive(Clone, Copy, Debug)]
enum DataOffset {
    /// Behind the data of all counters before, aligned to 4 or 8 bytes.
    Aligned,
    /// Right behind the data of all counters before.
    Packed,
    /// At this offset; counters may overlap, and share their data.
    At(u32),
}

fn counters() -> impl Strategy<Value = Vec<CounterModel>> {
    let counter_type = prop_oneof![
        4 => prop::sample::select(CounterType::named()).prop_map(|info| info.counter_type),
        1 => any::<u32>().prop_map(CounterType),
    ];
    let size = prop::sample::select(vec![4u32, 8, 0, 1, 2, 12]);
    let place = prop_oneof![
        4 => Just(DataOffset::Aligned),
        2 => Just(DataOffset::Packed),
        1 => (4..64u32).prop_map(DataOffset::At),
    ];
    let counter = (title(), title(), counter_type, any::<i32>(), any::<u32>(), size, place);
    vec(counter, 0..7).prop_map(|drawn| {
        let mut end = 4u32;
        drawn
            .into_iter()
            .map(|(name, help, counter_type, scale, detail, size, place)| {
                let offset = match place {
                    DataOffset::Aligned => end.next_multiple_of(if size >= 8 { 8 } else { 4 }),
                    DataOffset::Packed => end,
                    DataOffset::At(offset) => offset,
                };
                end = end.max(offset + size);
                CounterModel {
                    name,
                    help,
                    counter_type,
                    scale,
                    detail: DetailLevel(detail),
                    size,
                    offset,
                }
            })
            .collect()
    })
}

fn body(counters: &[CounterModel], code_page: u32) -> BoxedStrategy<BodyModel> {
    prop_oneof![
        3 => values(counters).prop_map(BodyModel::Single),
        6 => vec(instance(counters, code_page), 0..6).prop_map(BodyModel::Instances),
        1 => Just(BodyModel::MetadataInstances),
        1 => Just(BodyModel::MetadataNoInstances),
    ]
    .boxed()
}

fn instance(
    counters: &[CounterModel],
    code_page: u32,
) -> impl Strategy<Value = InstanceModel> + use<> {
    (
        option::weighted(0.9, name(code_page)),
        option::weighted(0.3, any::<i32>().prop_filter("-1 is none", |id| *id != -1)),
        option::weighted(0.3, (1..=u32::MAX, any::<u32>())),
        values(counters),
    )
        .prop_map(|(name, unique_id, parent, values)| InstanceModel {
            name,
            unique_id,
            parent: parent.map(|(object, place)| (TitleIndex(object), place)),
            values,
        })
}

/// The bytes of a name without terminator, and without a NUL inside, which would end the name.
fn name(code_page: u32) -> BoxedStrategy<Vec<u8>> {
    const USUAL: &[&str] = &[
        "svchost",
        "svchost",
        "_Total",
        "Idle",
        "0 C:",
        "a\\b*(c)/d#1",
        "",
        "Microsoft 6zu4-Adapter",
    ];
    if code_page == 0 {
        prop_oneof![
            3 => prop::sample::select(USUAL).prop_map(encode_utf16),
            2 => text().prop_map(|text| encode_utf16(&text)),
            // Any units, lone surrogates among them.
            1 => vec(1..=u16::MAX, 0..8).prop_map(bytes_of),
            1 => vec(0xd800..=0xdfffu16, 1..4).prop_map(bytes_of),
        ]
        .boxed()
    } else {
        prop_oneof![
            prop::sample::select(USUAL).prop_map(|text| text.as_bytes().to_vec()),
            vec(1..=u8::MAX, 0..12),
        ]
        .boxed()
    }
}

/// Text of any characters but NUL.
fn text() -> impl Strategy<Value = String> {
    let character = any::<char>().prop_map(|c| if c == '\0' { ' ' } else { c });
    vec(character, 0..12).prop_map(String::from_iter)
}

fn bytes_of(units: Vec<u16>) -> Vec<u8> {
    units.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// The values in a counter block of arbitrary bytes. Three blocks of four are whole, the others may
/// end before some of the values.
fn values(counters: &[CounterModel]) -> impl Strategy<Value = ValuesModel> + use<> {
    let counters = counters.to_vec();
    let ends = counters.iter().map(|counter| counter.offset + counter.size);
    let whole = ends.max().unwrap_or(4).max(4) as usize;
    let length = prop_oneof![3 => Just(whole), 1 => 4..=whole];
    length
        .prop_flat_map(|length| vec(any::<u8>(), length))
        .prop_map(move |block| ValuesModel::cut_from(&counters, &block))
}
