//! Prints the content of a definition file, for its author.

use crate::args::Global;
use crate::failure::{Exit, Outcome};
use crate::output::Output;
use crate::text::escape::Escaped;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::LanguageId;
use perfhive::registration::{DeclaredCounter, InstanceKind, ProviderDefinition, Texts};
use perfhive_view::Field;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

pub(super) fn print(global: &Global, definitions: &[ProviderDefinition]) -> Outcome {
    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        for (place, definition) in definitions.iter().enumerate() {
            if place > 0 {
                text.push('\n');
            }
            table(&output, definition, global.language, &mut text);
        }
    } else {
        records(&output, definitions, &mut text);
    }
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The item that a definition declares at an offset: a counter, an object (by the kind of its instances), or
/// nothing.
enum Declared<'a> {
    Counter(&'a DeclaredCounter),
    Object(InstanceKind),
    Nothing,
}

/// The objects and counters of a definition, by offset.
struct Index<'a> {
    objects: HashSet<u32>,
    declared: HashMap<u32, Declared<'a>>,
}

impl<'a> Index<'a> {
    fn of(definition: &'a ProviderDefinition) -> Self {
        let mut declared = HashMap::new();
        for object in &definition.declared {
            declared.insert(object.offset, Declared::Object(object.instances));
            let counters = object.counters.iter();
            declared.extend(counters.map(|one| (one.offset, Declared::Counter(one))));
        }
        Self { objects: definition.objects.iter().copied().collect(), declared }
    }

    fn declared(&self, offset: u32) -> &Declared<'a> {
        self.declared.get(&offset).unwrap_or(&Declared::Nothing)
    }

    /// `object` or `counter` for the name at an offset; `None` if the definition does not tell which names are
    /// objects.
    fn kind(&self, offset: u32) -> Option<&'static str> {
        match () {
            () if self.objects.contains(&offset) => Some("object"),
            () if self.objects.is_empty() => None,
            () => Some("counter"),
        }
    }
}

/// The help text of the name at this offset; `None` if there is none.
fn help(texts: &Texts, offset: u32) -> Option<&str> {
    let place = texts.help.binary_search_by_key(&offset, |(at, _)| *at).ok()?;
    texts.help.get(place).map(|(_, text)| text.as_str())
}

/// The texts to show: those of the wanted language, else English ones, else the first ones; `None` if there are
/// none.
fn shown(definition: &ProviderDefinition, wanted: Option<LanguageId>) -> Option<&Texts> {
    let of = |language| definition.titles.iter().find(|texts| texts.language == language);
    wanted.and_then(of).or_else(|| of(LanguageId::ENGLISH)).or_else(|| definition.titles.first())
}

fn table(
    output: &Output,
    definition: &ProviderDefinition,
    wanted: Option<LanguageId>,
    text: &mut String,
) {
    let palette = output.palette;
    palette.push(text, Style::Heading, &Escaped(&definition.name).to_string());
    let languages: Vec<String> =
        definition.titles.iter().map(|texts| texts.language.to_string()).collect();
    palette.push(text, Style::Faint, &format!("  languages {}", languages.join(", ")));
    text.push_str("\n\n");
    let Some(texts) = shown(definition, wanted) else { return };
    let index = Index::of(definition);
    let mut table =
        Table::new(&[("OFFSET", Align::Right), ("KIND", Align::Left), ("NAME", Align::Left)]);
    let types = !definition.declared.is_empty();
    if types {
        table.column("TYPE", Align::Left);
    }
    table.column("HELP", Align::Left);
    for (offset, name) in &texts.names {
        table.text(Style::Faint, &offset.to_string());
        table.text(Style::Plain, index.kind(*offset).unwrap_or_default());
        table.text(Style::Name, name);
        if types {
            let mut about = String::new();
            match index.declared(*offset) {
                Declared::Counter(counter) => {
                    let _ = write!(about, "{}", counter.counter_type);
                    if counter.scale != 0 {
                        let _ = write!(about, ", scale {}", counter.scale);
                    }
                    if counter.no_display {
                        about.push_str(", not shown");
                    }
                }
                Declared::Object(instances) => about = instances.to_string(),
                Declared::Nothing => {}
            }
            table.text(Style::Faint, &about);
        }
        table.text(Style::Plain, help(texts, *offset).unwrap_or_default());
    }
    table.render(text, output.layout(true));
}

fn records(output: &Output, definitions: &[ProviderDefinition], text: &mut String) {
    let keys = [
        "provider",
        "language",
        "offset",
        "kind",
        "name",
        "help",
        "type",
        "id",
        "base_id",
        "scale",
        "advanced",
        "no_display",
        "aggregate",
        "instances",
        "struct",
        "field",
    ];
    let mut records = output.records(keys, text);
    for definition in definitions {
        let index = Index::of(definition);
        for texts in &definition.titles {
            let language = texts.language.to_string();
            for (offset, name) in &texts.names {
                let head = [
                    Field::Text(&definition.name),
                    Field::Text(&language),
                    Field::Unsigned((*offset).into()),
                    Field::text(index.kind(*offset)),
                    Field::Text(name),
                    Field::text(help(texts, *offset)),
                ];
                let (type_name, instances);
                let mut about = [Field::None; 10];
                match index.declared(*offset) {
                    Declared::Counter(counter) => {
                        type_name = counter.counter_type.to_string();
                        let field = counter.field.as_ref();
                        about = [
                            Field::Text(&type_name),
                            Field::Unsigned(counter.id.into()),
                            Field::unsigned(counter.base.map(u64::from)),
                            Field::Signed(counter.scale.into()),
                            Field::Bool(counter.advanced),
                            Field::Bool(counter.no_display),
                            Field::text(counter.aggregate.as_deref()),
                            Field::None,
                            Field::text(field.map(|(name, _)| name.as_str())),
                            Field::text(field.map(|(_, name)| name.as_str())),
                        ];
                    }
                    Declared::Object(kind) => {
                        instances = kind.to_string();
                        about[7] = Field::Text(&instances);
                    }
                    Declared::Nothing => {}
                }
                records.row(text, head.into_iter().chain(about));
            }
        }
    }
    records.end(text);
}
