//! An owned model of a data block, with equality: the meaning of a block
//! without its layout.
//!
//! Two blocks have the same model exactly if they state the same about the machine, their objects,
//! counters and instances, and every counter block holds the same data of the same counters.
//! Padding, unused fields, longer headers and the order of bytes between counters are not part of
//! it.

mod strategy;

pub use strategy::{any_block, any_object};

use perfhive_format::{
    BlockHead, BlockWriter, CalendarTime, Clocks, CounterBlock, CounterDefinition, CounterSpec,
    CounterType, DataBlock, DetailLevel, Instance, InstanceHead, NameRef, ObjectLayout, ObjectSpec,
    ObjectTemplate, ObjectWriting, PerfObject, TitleIndex, WriteError,
};

/// The meaning of a data block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockModel {
    /// Name of the machine.
    pub system_name: String,
    /// The object that a tool should show first; `None` if the block names none.
    pub default_object: Option<TitleIndex>,
    /// The calendar time of the block.
    pub system_time: CalendarTime,
    /// The block's clocks; the object's clock among them is zero.
    pub clocks: Clocks,
    /// The objects in order.
    pub objects: Vec<ObjectModel>,
}

/// The meaning of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectModel {
    /// Title index of the name.
    pub name: TitleIndex,
    /// Title index of the help text.
    pub help: TitleIndex,
    /// The level of detail.
    pub detail: DetailLevel,
    /// The index of the counter that a tool should show first; `None` if the object names none.
    pub default_counter: Option<u32>,
    /// Code page of the instance names.
    pub code_page: u32,
    /// The time on the object's clock, in its ticks.
    pub time: i64,
    /// Ticks a second of the object's clock.
    pub frequency: i64,
    /// The counter definitions in order.
    pub counters: Vec<CounterModel>,
    /// The values or instances, which follow the definitions.
    pub body: BodyModel,
}

/// The meaning of a counter definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterModel {
    /// Title index of the name.
    pub name: TitleIndex,
    /// Title index of the help text.
    pub help: TitleIndex,
    /// The counter type.
    pub counter_type: CounterType,
    /// The exponent of the power of ten by which charts multiply values.
    pub scale: i32,
    /// The level of detail.
    pub detail: DetailLevel,
    /// Size of the data in bytes.
    pub size: u32,
    /// The offset of the data in the counter block, in bytes.
    pub offset: u32,
}

/// The content of an object behind its definitions: values, instances or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyModel {
    /// The values of an object that never has instances.
    Single(ValuesModel),
    /// The instances in order, perhaps none.
    Instances(Vec<InstanceModel>),
    /// Nothing: the block holds only the definition of an object with instances.
    MetadataInstances,
    /// Nothing: the block holds only the definition of an object without instances.
    MetadataNoInstances,
}

/// The meaning of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceModel {
    /// The bytes of the name without terminator; `None` if the instance has no name.
    pub name: Option<Vec<u8>>,
    /// The number that identifies the instance; `None` if it has none.
    pub unique_id: Option<i32>,
    /// The title index of the parent's object, and the index (from 0) of the parent among that
    /// object's instances; `None` without a parent.
    pub parent: Option<(TitleIndex, u32)>,
    /// The raw data.
    pub values: ValuesModel,
}

/// The raw data of each counter in one counter block, in the order of the definitions; `None` for a
/// counter with data that the block does not hold.
#[derive(Clone, PartialEq, Eq)]
pub struct ValuesModel(pub Vec<Option<Vec<u8>>>);

/// Writes the data in hexadecimal, one word for each counter, since a failing property prints many
/// values.
impl std::fmt::Debug for ValuesModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = |data: &Option<Vec<u8>>| match data {
            Some(data) => data.iter().map(|byte| format!("{byte:02x}")).collect(),
            None => "none".to_string(),
        };
        f.write_str(&self.0.iter().map(word).collect::<Vec<String>>().join(" "))
    }
}

impl BlockModel {
    /// The model of a block.
    #[must_use]
    pub fn read(block: DataBlock<'_>) -> Self {
        Self {
            system_name: block.system_name().to_text(),
            default_object: block.default_object(),
            system_time: block.system_time(),
            clocks: block.clocks(),
            objects: block.objects().map(ObjectModel::read).collect(),
        }
    }

    /// Writes a block with the model's meaning; [`BlockWriter::finish`] then returns it.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn write(&self, writer: &mut BlockWriter) -> Result<(), WriteError> {
        writer.start(&BlockHead {
            system_name: &self.system_name,
            default_object: self.default_object,
            system_time: self.system_time,
            clocks: self.clocks,
        });
        self.objects.iter().try_for_each(|object| object.write(writer))
    }

    /// The bytes of a block with the model's meaning.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        let mut writer = BlockWriter::new();
        self.write(&mut writer)?;
        writer.finish();
        Ok(writer.into_buffer())
    }
}

impl ObjectModel {
    /// The model of an object.
    #[must_use]
    pub fn read(object: PerfObject<'_>) -> Self {
        let definitions: Vec<CounterDefinition<'_>> = object.counters().collect();
        let body = match object.layout() {
            ObjectLayout::NoInstances => {
                let block = object.counter_block();
                let missing = || ValuesModel(vec![None; definitions.len()]);
                BodyModel::Single(
                    block.map_or_else(missing, |block| ValuesModel::read(&definitions, block)),
                )
            }
            ObjectLayout::Instances(_) => {
                let instances = object.instances();
                let read = |instance| InstanceModel::read(&definitions, instance);
                BodyModel::Instances(instances.map(read).collect())
            }
            ObjectLayout::MetadataInstances => BodyModel::MetadataInstances,
            ObjectLayout::MetadataNoInstances => BodyModel::MetadataNoInstances,
        };
        Self {
            name: object.name_index(),
            help: object.help_index(),
            detail: object.detail_level(),
            default_counter: object.default_counter(),
            code_page: object.code_page(),
            time: object.clocks().object_time,
            frequency: object.clocks().object_freq,
            counters: definitions.iter().map(CounterModel::read).collect(),
            body,
        }
    }

    /// Whether the object can have instances.
    #[must_use]
    pub fn has_instances(&self) -> bool {
        matches!(self.body, BodyModel::Instances(_) | BodyModel::MetadataInstances)
    }

    /// The template of the object for the writer.
    ///
    /// # Errors
    /// [`WriteError::BadLayout`] for a counter with an impossible offset or size,
    /// [`WriteError::TooLong`] if the definitions or a counter block are too long.
    pub fn template(&self) -> Result<ObjectTemplate, WriteError> {
        let spec = ObjectSpec {
            name: self.name,
            help: self.help,
            detail: self.detail,
            default_counter: self.default_counter,
            has_instances: self.has_instances(),
            code_page: self.code_page,
        };
        let counters: Vec<CounterSpec> = self.counters.iter().map(CounterModel::spec).collect();
        ObjectTemplate::new(&spec, &counters)
    }

    /// Appends the object to the block being written.
    ///
    /// # Errors
    /// The error of the writer; the object is then left out whole.
    pub fn write(&self, writer: &mut BlockWriter) -> Result<(), WriteError> {
        self.write_body(writer.object(&self.template()?)?.clock(self.time, self.frequency))
    }

    /// Writes what follows the definitions, and completes the object.
    ///
    /// # Errors
    /// The error of the writer; the object is then left out whole.
    pub fn write_body(&self, mut writing: ObjectWriting<'_, '_>) -> Result<(), WriteError> {
        match &self.body {
            BodyModel::Single(values) => writing.values_bytes(&values.lay_out(&self.counters))?,
            BodyModel::Instances(instances) => {
                for instance in instances {
                    let data = instance.values.lay_out(&self.counters);
                    writing.instance_bytes(&instance.head(), &data)?;
                }
                writing
            }
            BodyModel::MetadataInstances | BodyModel::MetadataNoInstances => writing.metadata()?,
        }
        .finish()
    }
}

impl CounterModel {
    fn read(definition: &CounterDefinition<'_>) -> Self {
        Self {
            name: definition.name_index(),
            help: definition.help_index(),
            counter_type: definition.counter_type(),
            scale: definition.default_scale(),
            detail: definition.detail_level(),
            size: definition.size(),
            offset: definition.offset(),
        }
    }

    /// The counter's definition, as the writer takes it.
    #[must_use]
    pub fn spec(&self) -> CounterSpec {
        CounterSpec {
            name: self.name,
            help: self.help,
            counter_type: self.counter_type,
            scale: self.scale,
            detail: self.detail,
            size: self.size,
            offset: Some(self.offset),
        }
    }

    /// The bytes of this counter in a counter block; empty for a size of 0. `block` begins with its
    /// length field. `None` if the counter's place is not inside the block's data.
    fn data_in(self, block: &[u8]) -> Option<&[u8]> {
        match self.size {
            0 => Some(&[]),
            _ => block.get(self.range()?),
        }
    }

    /// The range of the data in the counter block; `None` where it begins in the block's
    /// length field.
    fn range(self) -> Option<std::ops::Range<usize>> {
        let start = self.offset as usize;
        (start >= 4).then(|| start..start.saturating_add(self.size as usize))
    }
}

impl InstanceModel {
    fn read(definitions: &[CounterDefinition<'_>], instance: Instance<'_>) -> Self {
        let named = instance.raw().NameLength != 0;
        Self {
            name: named.then(|| instance.name().as_bytes().to_vec()),
            unique_id: instance.unique_id(),
            parent: instance.parent(),
            values: ValuesModel::read(definitions, instance.counter_block()),
        }
    }

    /// The instance's definition, as the writer takes it.
    #[must_use]
    pub fn head(&self) -> InstanceHead<'_> {
        InstanceHead {
            name: self.name.as_deref().map_or(NameRef::None, NameRef::Bytes),
            unique_id: self.unique_id,
            parent: self.parent,
        }
    }
}

impl ValuesModel {
    fn read(definitions: &[CounterDefinition<'_>], block: CounterBlock<'_>) -> Self {
        let data = |definition| block.data(definition).ok().map(<[u8]>::to_vec);
        Self(definitions.iter().map(data).collect())
    }

    /// The values in a counter block; `block` has its bytes from the length field on.
    #[must_use]
    pub fn cut_from(counters: &[CounterModel], block: &[u8]) -> Self {
        let data = |counter: &CounterModel| counter.data_in(block).map(<[u8]>::to_vec);
        Self(counters.iter().map(data).collect())
    }

    /// The bytes of a counter block with these values. They begin after the length field,
    /// and end with the last value.
    fn lay_out(&self, counters: &[CounterModel]) -> Vec<u8> {
        let mut block = vec![0; 4];
        for (counter, data) in counters.iter().zip(&self.0) {
            if let (Some(range), Some(data)) = (counter.range(), data)
                && counter.size > 0
            {
                if block.len() < range.end {
                    block.resize(range.end, 0);
                }
                if let Some(place) = block.get_mut(range) {
                    place.copy_from_slice(data);
                }
            }
        }
        block.split_off(4)
    }
}
