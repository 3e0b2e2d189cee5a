//! What was read can be written, and what was written is read the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_format::{
    BlockHead, BlockWriter, CounterDefinition, CounterSpec, DataBlock, Instance, InstanceHead,
    NameRef, ObjectLayout, ObjectSpec, ObjectTemplate, ParseErrorKind, PerfObject, WriteError,
};

/// Definitions can ask for counter blocks of any length; what is longer than
/// this is refused, and that is an answer.
const LIMIT: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Ok(block) = DataBlock::parse(data) else {
        return;
    };
    let name = block.system_name().to_text();
    let head = BlockHead {
        system_name: &name,
        default_object: block.default_object(),
        system_time: block.system_time(),
        clocks: block.clocks(),
    };
    let mut writer = BlockWriter::new();
    writer.set_limit(LIMIT);

    // As they stand: every byte of every object.
    writer.start(&head);
    for object in block.objects() {
        match writer.raw_objects(object.as_bytes()) {
            Ok(count) => assert_eq!(count, 1),
            Err(WriteError::Full { .. }) => return,
            Err(error) => panic!("a good object is refused: {error}"),
        }
    }
    let again = read(&mut writer);
    assert_eq!(again.clocks(), block.clocks());
    assert_eq!(again.system_time(), block.system_time());
    assert_eq!(again.default_object(), block.default_object());
    assert_eq!(again.system_name().to_text(), name);
    assert_eq!(again.object_count(), block.object_count());
    for (old, new) in block.objects().zip(again.objects()) {
        assert_eq!(old.as_bytes(), new.as_bytes());
    }

    // From their meaning: every field that has one.
    for object in block.objects() {
        writer.start(&head);
        let mark = writer.mark();
        if write(&mut writer, object).is_err() {
            assert_eq!(writer.mark(), mark, "an object that failed leaves no trace");
            continue;
        }
        match DataBlock::parse(writer.finish()) {
            Ok(again) => {
                let new = again.objects().next();
                compare(object, new.unwrap_or_else(|| panic!("the object is gone")));
            }
            // The writer leaves out the padding that made the original large
            // enough for its own numbers.
            Err(error) => assert_eq!(error.kind, ParseErrorKind::TooManyValues, "{error}"),
        }
    }
});

fn read(writer: &mut BlockWriter) -> DataBlock<'_> {
    match DataBlock::parse(writer.finish()) {
        Ok(block) => block,
        Err(error) => panic!("what was written is not read: {error}"),
    }
}

fn write(writer: &mut BlockWriter, object: PerfObject<'_>) -> Result<(), WriteError> {
    let spec = ObjectSpec {
        name: object.name_index(),
        help: object.help_index(),
        detail: object.detail_level(),
        default_counter: object.default_counter(),
        has_instances: object.has_instances(),
        code_page: object.code_page(),
    };
    let counters: Vec<CounterSpec> = object.counters().map(counter).collect();
    let template = ObjectTemplate::new(&spec, &counters)?;
    let clocks = object.clocks();
    let mut writing = writer.object(&template)?.clock(clocks.object_time, clocks.object_freq);
    match object.layout() {
        ObjectLayout::NoInstances => {
            let block = object.counter_block().map_or(&[][..], |block| block.as_bytes());
            writing = writing.values_bytes(block.get(4..).unwrap_or_default())?;
        }
        ObjectLayout::MetadataInstances | ObjectLayout::MetadataNoInstances => {
            writing = writing.metadata()?;
        }
        ObjectLayout::Instances(_) => {
            for instance in object.instances() {
                let data = instance.counter_block().as_bytes();
                writing.instance_bytes(&head(&instance), data.get(4..).unwrap_or_default())?;
            }
        }
    }
    writing.finish()
}

fn counter(definition: CounterDefinition<'_>) -> CounterSpec {
    CounterSpec {
        name: definition.name_index(),
        help: definition.help_index(),
        counter_type: definition.counter_type(),
        scale: definition.default_scale(),
        detail: definition.detail_level(),
        size: definition.size(),
        offset: Some(definition.offset()),
    }
}

fn head<'a>(instance: &Instance<'a>) -> InstanceHead<'a> {
    let name = instance.name();
    InstanceHead {
        name: match name.is_empty() {
            true => NameRef::None,
            false => NameRef::Bytes(name.as_bytes()),
        },
        unique_id: instance.unique_id(),
        parent: instance.parent(),
    }
}

fn compare(old: PerfObject<'_>, new: PerfObject<'_>) {
    assert_eq!(old.name_index(), new.name_index());
    assert_eq!(old.help_index(), new.help_index());
    assert_eq!(old.detail_level(), new.detail_level());
    assert_eq!(old.default_counter(), new.default_counter());
    assert_eq!(old.layout(), new.layout());
    assert_eq!(old.code_page(), new.code_page());
    assert_eq!(old.clocks(), new.clocks());
    assert!(old.counters().map(counter).eq(new.counters().map(counter)));
    if let (Some(old_block), Some(new_block)) = (old.counter_block(), new.counter_block()) {
        for (old, new) in old.counters().zip(new.counters()) {
            if let Ok(data) = old_block.data(&old) {
                assert_eq!(new_block.data(&new), Ok(data));
            }
        }
    }
    for (old_instance, new_instance) in old.instances().zip(new.instances()) {
        assert_eq!(head(&old_instance), head(&new_instance));
        let (old_block, new_block) = (old_instance.counter_block(), new_instance.counter_block());
        for (old, new) in old.counters().zip(new.counters()) {
            // The writer pads to 8 bytes, so what was outside may be inside now.
            if let Ok(data) = old_block.data(&old) {
                assert_eq!(new_block.data(&new), Ok(data));
            }
        }
    }
}
